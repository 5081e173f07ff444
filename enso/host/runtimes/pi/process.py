"""One ``pi --mode rpc``: requests to it, what it says, and its end. Format: pi's ``docs/rpc.md``.

Owns the framing (one JSON object a line, lines end at LF bytes and nowhere else), which response
answers which request, the last lines of its errors, and that it ends whole, with the commands it
started. It ends by itself when its input closes, which is so whatever becomes of Enso: then a
``Keeper`` closes it, and ends the commands that pi leaves. Knows no event's meaning.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import subprocess
import threading
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import IO, Any, Final, cast

from enso.host.json_lines import MalformedLine, dump_line, parse_line
from enso.host.runtimes.keeper import Keeper
from enso.host.runtimes.pi.program import last_words
from enso.host.runtimes.process_tree import MARK, Command, end_commands

log = logging.getLogger(__name__)

Record = dict[str, Any]

ANSWER_SECONDS: Final = 30.0
"""How long an answer may take that needs no model and no person."""

_ORDERLY_SECONDS: Final = 3.0
_SIGNALLED_SECONDS: Final = 1.0
_KEPT_LINES: Final = 200
_KEPT_CHARACTERS: Final = 2000


class PiFailed(Exception):
    """Pi answered a request with an error: ``str()`` is what it said."""


class PiSilent(PiFailed):
    """Pi did not answer within the time."""


class PiGone(PiFailed):
    """The process has ended: ``str()`` says how, and with what last words."""


class PiProcess:
    """A process that runs until ``close``, or until it ends by itself. Thread-safe.

    ``hear`` takes what is no response, ``ended`` the sentence for an end that nobody asked for;
    both are called from one worker, in order, and must not wait for an answer of this process.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        hear: Callable[[Record], None],
        ended: Callable[[str], None],
        keeper: Keeper,
    ) -> None:
        """Raises ``PiGone`` when it cannot be started."""
        self._hear = hear
        self._ended = ended
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[str, Future[Any]] = {}
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._closing = False
        self._gone: str | None = None
        self._mark = uuid.uuid4().hex
        self._process = self._spawn(argv, cwd, environment)
        self._keeper = keeper
        self._kept = keeper.keep(self._process.pid, self._stdin.fileno())
        self._errors = threading.Thread(target=self._read_errors, name="pi-errors", daemon=True)
        self._errors.start()
        self._reader = threading.Thread(target=self._read, name="pi-reader", daemon=True)

    def begin(self) -> None:
        """Hear from now on."""
        self._reader.start()

    def _spawn(
        self, argv: Sequence[str], cwd: Path, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                argv,
                cwd=cwd,
                env={**environment, MARK: self._mark},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise PiGone(f"{argv[0]} cannot be started: {error.strerror}.") from error

    # -- requests ---------------------------------------------------------------------------------

    def ask(self, command: str, /, *, limit: float = ANSWER_SECONDS, **fields: Any) -> Any:
        """Send a command and wait for its answer's ``data``; raises ``PiFailed`` without one.

        Must not be called from the worker that hears.
        """
        return self.answer_to(command, self.start(command, **fields), limit=limit)

    @staticmethod
    def answer_to(command: str, answer: Future[Any], *, limit: float = ANSWER_SECONDS) -> Any:
        """Wait for the answer to a command that was started; as ``ask`` does."""
        try:
            return answer.result(limit)
        except FutureTimeout:
            raise PiSilent(f"pi did not answer {command} within {limit:g} seconds.") from None

    def start(self, command: str, /, **fields: Any) -> Future[Any]:
        """Send a command; its answer's ``data``, or ``PiFailed``, comes to the future.

        What is called back is called in the worker that hears, in the order of what pi said.
        """
        number = f"enso-{next(self._numbers)}"
        answer: Future[Any] = Future()
        with self._lock:
            if self._gone is not None:
                answer.set_exception(PiGone(self._gone))
                return answer
            self._waiting[number] = answer
        self.send({"id": number, "type": command, **fields})
        return answer

    def send(self, record: Record) -> None:
        """Send a record that is not answered. One that is gone takes none; its end is told."""
        with self._writing, contextlib.suppress(OSError, ValueError):
            self._stdin.write(dump_line(record))
            self._stdin.flush()

    @property
    def running(self) -> bool:
        """Whether it runs, as far as was heard."""
        return self._gone is None and not self._closing

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def said(self) -> tuple[str, ...]:
        """The last lines that it wrote to its errors."""
        return tuple(self._said)

    @property
    def in_reader(self) -> bool:
        """Whether the caller is the worker that hears."""
        return threading.current_thread() is self._reader

    # -- the worker that hears --------------------------------------------------------------------

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), _output(self._process.stdout) as stdout:
            for line in stdout:  # a binary stream ends lines at LF alone
                self._take(line)
        self._end()

    def _take(self, line: bytes) -> None:
        try:
            record = parse_line(line)
        except MalformedLine:
            record = None
        if not isinstance(record, dict):
            if line.strip():
                self._said.append("stdout: " + _kept(line))
            return
        known = cast("Record", record)
        try:
            if not self._answer(known):
                self._hear(known)
        except Exception:
            log.exception("What pi said could not be taken in: %s", known.get("type"))

    def _answer(self, record: Record) -> bool:
        """Hand a response to whoever waits for it; False for what is no such response."""
        if record.get("type") != "response":
            return False
        with self._lock:
            answer = self._waiting.pop(str(record.get("id")), None)
        if answer is None:
            return False
        if record.get("success") is True:
            answer.set_result(record.get("data"))
        else:
            answer.set_exception(PiFailed(str(record.get("error") or "it did not say why")))
        return True

    def _end(self) -> None:
        status = self._process.wait()
        self._close_input()
        self._errors.join(1.0)
        sentence = self._how_it_ended(status)
        with self._lock:
            self._gone = sentence
            waiting, self._waiting = list(self._waiting.values()), {}
        for answer in waiting:
            answer.set_exception(PiGone(sentence))
        if not self._closing:
            self._end_tree()
            try:
                self._ended(sentence)
            except Exception:
                log.exception("The end of pi could not be taken in")

    def _how_it_ended(self, status: int) -> str:
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        why = last_words([line for line in self._said if not line.startswith("Warning:")])
        return f"pi ended {how}: {why}" if why else f"pi ended {how} and said nothing."

    def _read_errors(self) -> None:
        with contextlib.suppress(OSError, ValueError), _output(self._process.stderr) as stderr:
            for line in stderr:
                self._said.append(_kept(line))

    # -- the end ----------------------------------------------------------------------------------

    def close(self) -> None:
        """End it in order: its input is closed, it is waited for, then it is signalled."""
        self._closing = True
        self._close_input()
        try:
            self._process.wait(_ORDERLY_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("pi %s did not end when its input closed", self._process.pid)
            self._end_tree()
            self._process.wait()
        if self._reader.is_alive() and not self.in_reader:
            self._reader.join(_SIGNALLED_SECONDS)

    @property
    def _stdin(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdin)

    def _close_input(self) -> None:
        self._keeper.release(self._kept)
        with self._writing, contextlib.suppress(OSError, ValueError):
            self._stdin.close()

    def _end_tree(self) -> None:
        """End itself, if it still runs, and the commands it started: nobody else would now.

        Not done after an orderly end: what a command left running on purpose goes on then.
        """
        end_commands([Command(self._process.pid, self._mark)], grace=_SIGNALLED_SECONDS)


def _output(stream: IO[bytes] | None) -> IO[bytes]:
    return cast("IO[bytes]", stream)


def _kept(line: bytes) -> str:
    return line[: 4 * _KEPT_CHARACTERS].decode("utf-8", "replace").strip()[:_KEPT_CHARACTERS]


def environment_for(agent_dir: Path) -> dict[str, str]:
    """The environment of a pi that keeps everything where Enso does."""
    return {**os.environ, "PI_CODING_AGENT_DIR": str(agent_dir)}
