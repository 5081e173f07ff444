"""A small driver of ``pi --mode rpc``, for tests: what it is told, what it says, one record a line.

Records are split at LF alone, on bytes: text may hold every other line separator. Every record that
pi wrote is kept, in order; whoever waits looks at those from a mark on.

    with PiRpc.start(pi, cwd=project, agent_dir=agent, arguments=["--session", str(path)]) as rpc:
        rpc.run("What does this project do?")
        rpc.ask("get_state")["sessionId"]

It knows nothing of Enso.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tests.interop.real_pi import RealPi

Record = dict[str, Any]

PATIENCE = 60
"""Seconds until a test gives up: the machine may be busy."""

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


class PiFailed(Exception):
    """pi ended, refused a command, or said nothing in time; ``str()`` holds what it did say."""


class PiRpc:
    """One running pi. Thread-safe; ``records`` are all that it wrote so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.records: list[Record] = []
        self.errors = b""
        self._input: IO[bytes] = process.stdin
        self._changed = threading.Condition()
        self._asked = 0
        self._over = False
        self._workers = [
            threading.Thread(target=self._read, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(process.stderr,), daemon=True),
        ]
        for worker in self._workers:
            worker.start()

    @classmethod
    def start(
        cls,
        pi: RealPi,
        *,
        cwd: Path,
        agent_dir: Path,
        arguments: Sequence[str] = (),
        variables: dict[str, str] | None = None,
    ) -> PiRpc:
        """Start this pi in a directory, with more variables."""
        return cls(
            subprocess.Popen(
                [*pi.command, "--mode", "rpc", *arguments],
                cwd=cwd,
                env={**environment(agent_dir), **(variables or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )

    def __enter__(self) -> PiRpc:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> int:
        """End it in order: close its input and wait; the exit code."""
        with self._changed:
            if not self._input.closed:
                self._input.close()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise PiFailed(self._said("it did not end")) from None
        for worker in self._workers:
            worker.join()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code

    # -- telling it -------------------------------------------------------------------------------

    def send(self, record: Record) -> None:
        """Write one record."""
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        with self._changed:
            self._input.write(line)
            self._input.flush()

    def ask(self, command: str, /, **fields: Any) -> Any:
        """Send a command and wait for its answer's ``data``. Raises ``PiFailed`` for a refusal."""
        answer = self.answer_to(self.begin(command, **fields))
        if not answer["success"]:
            raise PiFailed(answer["error"])
        return answer.get("data")

    def begin(self, command: str, /, **fields: Any) -> str:
        """Send a command and do not wait; its id."""
        with self._changed:
            self._asked += 1
            asked = f"request-{self._asked}"
        self.send({"id": asked, "type": command, **fields})
        return asked

    def answer_to(self, asked: str) -> Record:
        """Wait for the answer to a command."""
        return self.wait_for(lambda said: said["type"] == "response" and said.get("id") == asked)

    def run(self, text: str, images: Sequence[Record] = ()) -> list[Record]:
        """Prompt, and wait until nothing goes on by itself any more; what was said meanwhile."""
        mark = self.mark()
        self.ask("prompt", message=text, **({"images": list(images)} if images else {}))
        return self.settle(mark)

    def settle(self, mark: int) -> list[Record]:
        """Wait until a run that began after ``mark`` is over; what was said from there on.

        pi 1 says so. An older one is settled when a run ended and it neither streams, nor compacts,
        nor waits to try again.
        """
        at = mark
        while True:
            end = self.wait_for(_ends_run, at)
            at = self._index(end) + 1
            if end["type"] == "agent_settled" or self._is_idle(mark):
                return self.since(mark)

    def reply(self, request: Record, **fields: Any) -> None:
        """Answer a dialog."""
        self.send({"type": "extension_ui_response", "id": request["id"], **fields})

    # -- listening --------------------------------------------------------------------------------

    def mark(self) -> int:
        """Where the next record will stand."""
        with self._changed:
            return len(self.records)

    def since(self, mark: int) -> list[Record]:
        """What was said from a mark on."""
        with self._changed:
            return self.records[mark:]

    def wait_for(self, wanted: Callable[[Record], bool], mark: int = 0) -> Record:
        """The first record from ``mark`` on that is wanted. Raises ``PiFailed``."""

        def found() -> bool:
            return self._over or any(map(wanted, self.records[mark:]))

        with self._changed:
            self._changed.wait_for(found, PATIENCE)
            for record in self.records[mark:]:
                if wanted(record):
                    return record
        raise PiFailed(self._said("it never said that"))

    def wait_for_dialog(self, method: str, mark: int = 0) -> Record:
        """The first dialog of a kind from ``mark`` on."""
        return self.wait_for(
            lambda said: said["type"] == "extension_ui_request" and said["method"] == method, mark
        )

    def wait_for_error(self, text: str) -> None:
        """Wait until its error output holds a text. Raises ``PiFailed`` when it does not."""
        with self._changed:
            if self._changed.wait_for(lambda: text.encode() in self.errors, PATIENCE):
                return
        raise PiFailed(self._said(f"its error output does not say: {text}"))

    def _is_idle(self, mark: int) -> bool:
        state = self.ask("get_state")
        waits = [said["type"] for said in self.since(mark)]
        retrying = waits.count("auto_retry_start") > waits.count("auto_retry_end")
        return not (state["isStreaming"] or state["isCompacting"] or retrying)

    def _index(self, record: Record) -> int:
        with self._changed:
            return next(i for i, said in enumerate(self.records) if said is record)

    def _read(self, stream: IO[bytes]) -> None:
        while line := stream.readline():
            record = json.loads(line)
            with self._changed:
                self.records.append(record)
                self._changed.notify_all()
        self._workers[1].join()
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _read_errors(self, stream: IO[bytes]) -> None:
        while data := stream.readline():
            with self._changed:
                self.errors += data
                self._changed.notify_all()

    def _said(self, what: str) -> str:
        with self._changed:
            last = "\n".join(json.dumps(record)[:400] for record in self.records[-12:])
            return f"{what}:\n{last}\n{self.errors.decode(errors='replace')}"


def environment(agent_dir: Path) -> dict[str, str]:
    """The variables of a pi that sees nothing of the person's own configuration, nor a network."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    own = {"HOME": str(agent_dir), "PI_CODING_AGENT_DIR": str(agent_dir)}
    return {**kept, **own, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


def _ends_run(record: Record) -> bool:
    """Whether a record is the end of a run, as either version says it.

    pi 1 ends a run and then settles: its ``agent_end`` says whether it goes on.
    """
    if record["type"] == "agent_end":
        return "willRetry" not in record
    return bool(record["type"] == "agent_settled")
