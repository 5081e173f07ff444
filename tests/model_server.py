"""A scripted model endpoint on loopback, for tests: it speaks the four protocols Enso speaks.

OpenAI chat completions (``/v1/chat/completions``), OpenAI responses (``/v1/responses``), Anthropic
messages (``/v1/messages``) and Google (``/v1beta/models/<model>:streamGenerateContent?alt=sse``),
all streaming. Each request is answered by the next ``Reply`` of the script, else by a keyword in
the last user text (``KEYWORDS``), else by ``DEFAULT``. Nothing sleeps unless a reply asks for it;
a reply can be held at a ``Gate`` instead, so that a test decides when it goes on.

    server = serve()
    server.script([Reply(text=("Hello ", "there.")), refused("429")])
    ... server.requests()[0].body ...
    server.close()

It knows nothing of Enso but where ``models.json`` lies (``configure``).
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.model_protocols import PROTOCOLS, SIGNATURE, stream_error
from tests.model_replies import REFUSALS, Gate, Reply, chop, refused

__all__ = [
    "COST",
    "DEFAULT",
    "KEYWORDS",
    "SIGNATURE",
    "Gate",
    "ModelServer",
    "Reply",
    "Request",
    "chop",
    "configure",
    "refused",
    "serve",
]


@dataclass(frozen=True)
class Request:
    """One request that was made: headers by lower-case name, the body as decoded JSON."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def api(self) -> str:
        """Which of the four protocols it speaks, by pi's names."""
        if "/chat/completions" in self.path:
            return "openai-completions"
        if "/responses" in self.path:
            return "openai-responses"
        return "anthropic-messages" if "/messages" in self.path else "google-generative-ai"


DEFAULT = Reply(text=chop("Hello. What shall we look at first in this project?"))

KEYWORDS: Mapping[str, Callable[[str], Reply]] = {
    **{f"#{kind}": lambda api, kind=kind: refused(kind, api) for kind in REFUSALS},
    "#cut": lambda _api: Reply(text=("I will begin with ", "the order model and then"), cut=True),
    "#slow": lambda _api: Reply(text=chop("Slow words " * 200, 11), delay=0.3),
    "#think": lambda _api: Reply(
        thinking=("The user asks for a comparison. ", "First the costs."),
        text=("Option B is ", "cheaper."),
    ),
    "#long": lambda _api: Reply(text=chop("A paragraph about queues and pressure. " * 500, 400)),
    "#code": lambda _api: Reply(text=chop("```python\nprint('hello')\n```\n")),
}


def _last_user_text(body: Any) -> str:
    """The text of the newest user message, whatever the protocol."""
    messages = body.get("messages") or body.get("input") or body.get("contents") or []
    for message in reversed(messages if isinstance(messages, list) else []):
        if message.get("role") == "user":
            content = message.get("content", message.get("parts", ""))
            return content if isinstance(content, str) else json.dumps(content)
    return ""


def _unscripted(request: Request) -> Reply:
    text = _last_user_text(request.body)
    for keyword, reply in KEYWORDS.items():
        if keyword in text:
            return reply(request.api)
    return DEFAULT


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Endpoint

    def log_message(self, *_args: Any) -> None:
        """Say nothing: what was asked is in ``requests()``."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(raw or b"{}"))
        reply = self.server.next_reply(request)
        with contextlib.suppress(OSError):  # clients that go away are part of the game
            self._answer(request, reply)

    def _answer(self, request: Request, reply: Reply) -> None:
        if reply.first_gate:
            reply.first_gate.wait()
        if reply.status != 200:
            self._plain(reply)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._stream(request, reply)

    def _plain(self, reply: Reply) -> None:
        body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def _stream(self, request: Request, reply: Reply) -> None:
        model = str(request.body.get("model") or request.path.split("/models/")[-1].split(":")[0])
        for event in PROTOCOLS[request.api](reply, model):
            if event is not None:
                self._chunk(event)
                if reply.delay:
                    time.sleep(reply.delay)
            elif not self._goes_on(request, reply):
                return
        self._chunk("")

    def _goes_on(self, request: Request, reply: Reply) -> bool:
        """What happens after the deltas; false when the answer ends there."""
        if reply.gate:
            reply.gate.wait()
        if reply.cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return False
        if reply.stream_error is not None:
            self._chunk(stream_error(request.api, reply.stream_error))
        if reply.stream_error is not None or reply.eof:
            self._chunk("")
            return False
        return True

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class _Endpoint(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.lock = threading.Condition()
        self.queue: list[Reply] = []
        self.made: list[Request] = []

    def next_reply(self, request: Request) -> Reply:
        """Write the request down and choose what it gets."""
        with self.lock:
            self.made.append(request)
            self.lock.notify_all()
            return self.queue.pop(0) if self.queue else _unscripted(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up."""


class ModelServer:
    """A running endpoint. ``url`` is ``http://127.0.0.1:<port>``, without the protocol's path."""

    def __init__(self, port: int = 0) -> None:
        self._server = _Endpoint(port)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def script(self, replies: Sequence[Reply]) -> None:
        """Answer the next requests with these, in order; what was scripted before is dropped."""
        with self._server.lock:
            self._server.queue[:] = replies

    def requests(self) -> list[Request]:
        """All requests so far, oldest first."""
        with self._server.lock:
            return list(self._server.made)

    def wait_for_requests(self, count: int, timeout: float = 20) -> list[Request]:
        """Wait until ``count`` requests have been made; raises ``TimeoutError``."""
        with self._server.lock:
            if not self._server.lock.wait_for(lambda: len(self._server.made) >= count, timeout):
                raise TimeoutError(f"{len(self._server.made)} of {count} requests were made")
            return list(self._server.made)

    def close(self) -> None:
        """Stop listening, so that the next connection is refused."""
        self._server.shutdown()
        self._server.server_close()


def serve(port: int = 0) -> ModelServer:
    """Start an endpoint; port 0 takes a free one."""
    return ModelServer(port)


COST = {"input": 0.6, "output": 2.2, "cacheRead": 0.11, "cacheWrite": 0.75}
"""What the configured models cost, US dollars a million tokens."""


def configure(agent_dir: Path, url: str, *, api_key: str = "lab-key") -> None:
    """Write a ``models.json`` with one provider for each protocol, all at ``url``.

    ``labserver``/``lab-coder``, ``labresponses``/``lab-thinker``, ``labclaude``/``lab-sonnet`` and
    ``labgoogle``/``lab-gemini``; every one thinks and sees images, but ``lab-coder`` thinks not.
    """

    def provider(name: str, api: str, path: str, model: str, *, reasoning: bool = True) -> Any:
        entry = {"id": model, "name": model.replace("-", " ").title(), "reasoning": reasoning}
        entry |= {"input": ["text", "image"], "contextWindow": 32768, "maxTokens": 4096}
        fields = {"name": name, "api": api, "baseUrl": f"{url}{path}", "apiKey": api_key}
        return {**fields, "models": [{**entry, "cost": COST}]}

    providers = {
        "labserver": provider(
            "Lab server", "openai-completions", "/v1", "lab-coder", reasoning=False
        ),
        "labresponses": provider("Lab Responses", "openai-responses", "/v1", "lab-thinker"),
        "labclaude": provider("Lab Claude", "anthropic-messages", "", "lab-sonnet"),
        "labgoogle": provider("Lab Google", "google-generative-ai", "/v1beta", "lab-gemini"),
    }
    agent_dir.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"providers": providers}, indent=2)
    (agent_dir / "models.json").write_text(text, encoding="utf-8")
