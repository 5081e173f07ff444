"""The store whose threads a real pi runs, driven by the same script as the fakes.

A script's reply is what the model endpoint answers next. Its tool calls run in pi, by an extension
that has the tools ``bash`` and ``read`` ask this store what they give (``scripted-tools.ts``).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from enso.host.session_host import SessionHost
from enso.projects import Projects
from tests.contract.stores import Facts, FileStore
from tests.fakes.scripted_runtime import MODEL, MODEL_CHOICES, PROVIDER, Reply, Script
from tests.interop.real_pi import real_pi
from tests.interop.watched_runtimes import Watched
from tests.model_server import Gate, ModelServer, serve
from tests.model_server import Reply as Answer
from tests.runtimes.agent_files import write_json

TOOLS = Path(__file__).with_name("scripted-tools.ts")
KEPT = 20
"""How many requests are answered by the script's default at the most."""


class PiStore(FileStore):
    """Session files that a pi writes, and the host over it."""

    version = "1.6.0"
    facts = Facts(retries_at_once=False, refuses_a_failed_summary=True, names_forks=False)

    def _begin(self) -> None:
        self.endpoint = serve()
        self.script = self._calls = PiScript(self.endpoint)
        write_json(self.agent_dir / "models.json", {"providers": {PROVIDER: self._provider()}})
        write_json(
            self.agent_dir / "settings.json",
            {
                "retry": {"enabled": True, "baseDelayMs": 1},
                "compaction": {"keepRecentTokens": 4},
                "extensions": [str(TOOLS)],
            },
        )
        (self.agent_dir / "calls").write_text(self._calls.url)
        self.runtimes = Watched(
            self.agent_dir, f"{PROVIDER}/{MODEL}", command=real_pi(self.version).command
        )
        self.host = SessionHost(
            agent_dir=self.agent_dir, projects=Projects([self.project]), runtimes=self.runtimes
        )

    def _provider(self) -> Any:
        models = [
            {
                "id": choice.model,
                "name": choice.label,
                "reasoning": len(choice.levels) > 1,
                "contextWindow": 32_000,
                "maxTokens": 4096,
            }
            for choice in MODEL_CHOICES
        ]
        url = f"{self.endpoint.url}/v1"
        return {"api": "openai-completions", "baseUrl": url, "apiKey": "x", "models": models}

    def trace(self) -> Any:
        """The threads' files: what else pi keeps is its own."""
        files = sorted(self.agent_dir.rglob("*.jsonl"))
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    def close(self) -> None:
        """End pi, and what it asks."""
        super().close()
        self._calls.close()
        self.endpoint.close()


class OldPiStore(PiStore):
    """The same, with the last pi under its former package name."""

    version = "0.73.1"
    facts = Facts(
        retries_at_once=False,
        refuses_a_failed_summary=True,
        takes_back=False,
        is_given_a_file=True,
        requests_an_attempt=3,
    )


class PiScript(Script):
    """A script whose replies an endpoint gives, and whose tools an extension asks for."""

    def __init__(self, endpoint: ModelServer) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._answers: list[Answer] = []
        self._calls: dict[str, Reply] = {}
        self._server = _CallServer(self._calls)
        self.url = self._server.url
        self.add()

    def add(self, *replies: Reply) -> None:
        """Answer the next requests with these."""
        self._calls.update((one.tool_call.id, one) for one in replies if one.tool_call)
        asked = len(self._endpoint.requests())
        plain = [_answer(Reply())] * KEPT
        self._answers = [*self._answers, *plain][:asked] + [_answer(one) for one in replies]
        self._endpoint.script([*self._answers[asked:], *plain])

    def close(self) -> None:
        """Answer no call any more."""
        self._server.close()


class _ReplyGate(Gate):
    """A reply's gate, at the endpoint."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self._reply = reply

    def wait(self) -> None:
        """Say that the reply is held, and wait for its release."""
        _hold(self._reply)


def _hold(reply: Reply) -> None:
    reply.reached.set()
    if reply.gate is not None:
        reply.gate.wait()


def _answer(reply: Reply) -> Answer:
    if reply.refusal is not None:  # pi tries a 503 again, a 400 it does not
        kind = "server_error" if reply.retried else "invalid_request_error"
        error = {"message": reply.refusal.reason, "type": kind}
        return Answer(status=503 if reply.retried else 400, body={"error": error})
    call, gate = reply.tool_call, _ReplyGate(reply) if reply.gate is not None else None
    return Answer(
        thinking=reply.thinking,
        text=reply.deltas,
        tools=[{"id": call.id, "name": call.name, "args": call.arguments}] if call else [],
        usage={"input": reply.usage.input, "output": reply.usage.output},
        first_gate=gate if reply.gate_before == "message" else None,
        gate=gate if reply.gate_before == "end" else None,
    )


class _CallServer:
    """Tells the extension what a call gives: its progress, then its result, a line each."""

    def __init__(self, calls: dict[str, Reply]) -> None:
        def said(call_id: str) -> Iterator[Any]:
            reply = calls[call_id]
            yield from ({"progress": text} for text in reply.progress)
            if reply.gate_before == "result":
                _hold(reply)
            yield {"result": reply.result}

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_args: Any) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                for one in said(self.path.rpartition("/")[2]):
                    self.wfile.write(json.dumps(one).encode() + b"\n")
                    self.wfile.flush()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
