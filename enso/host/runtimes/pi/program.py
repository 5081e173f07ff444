"""Which pi there is, of which version, and whether Enso speaks its protocol.

Owns the one start of ``pi --version`` for each program file, and the sentences for a pi that is
absent, cannot start, or is of a version whose protocol Enso does not know.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_VERSION_SECONDS: Final = 30.0
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)\S*")
_FIRST_SPOKEN: Final = (0, 73)
"""The oldest version whose protocol Enso was tried with; see ``Protocol``."""


class PiUnusable(Exception):
    """There is no pi that Enso could run: ``str()`` is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the RPC mode of one version differs, as far as Enso has to know.

    ``settles``: a run ends with ``agent_settled`` (else with an ``agent_end`` nothing follows).
    ``takes_session_id``: a new session can be made under a chosen id.
    ``clears_queue``: what is queued can be taken out. ``lists_entries``: ``get_entries`` is there.
    ``forks``: a fork has the id of its file and names where it comes from, whatever it holds.
    ``stops_summaries``: ``abort`` also ends a summary.
    """

    settles: bool
    takes_session_id: bool
    clears_queue: bool
    lists_entries: bool
    forks: bool
    stops_summaries: bool


_NOW: Final = Protocol(True, True, True, True, True, True)
_BEFORE_1_0: Final = Protocol(False, False, False, False, False, False)


@dataclass(frozen=True, slots=True)
class PiProgram:
    """A pi that was asked for its version. ``command`` starts it, options follow."""

    command: tuple[str, ...]
    version: str
    protocol: Protocol


def find_pi() -> tuple[str, ...] | None:
    """The command of the pi on the ``PATH``; ``None`` without one."""
    found = shutil.which("pi")
    return (found,) if found else None


class Programs:
    """The programs that were asked for their version, once each for every state of their file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[object, ...], PiProgram] = {}

    def ask(self, command: Sequence[str] | None) -> PiProgram:
        """The program that this command starts; raises ``PiUnusable``. Takes a second at first."""
        if command is None:
            raise PiUnusable("There is no pi on the PATH. Install it, or set ENSO_RUNTIME=builtin.")
        with self._lock:
            key = (*command, _stamp(command))
            if key not in self._known:
                self._known[key] = _asked(tuple(command))
            return self._known[key]


def _stamp(command: Sequence[str]) -> tuple[object, ...]:
    """What tells one state of the program's files from another: an update is asked again."""
    stamps: list[object] = []
    for part in command:
        try:
            status = Path(part).stat()
        except OSError:
            continue
        stamps.append((str(Path(part).resolve()), status.st_mtime_ns, status.st_size))
    return tuple(stamps)


def _asked(command: tuple[str, ...]) -> PiProgram:
    try:
        done = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except OSError as error:
        raise PiUnusable(f"{command[-1]} cannot be started: {error.strerror}.") from error
    except subprocess.TimeoutExpired as error:
        raise PiUnusable(
            f"{command[-1]} --version did not answer within {_VERSION_SECONDS:g} seconds."
        ) from error
    said = (done.stdout.strip() or done.stderr).decode("utf-8", "replace").strip()  # 0.73: stderr
    version = _VERSION.fullmatch(said.splitlines()[-1].strip()) if said else None
    if done.returncode or version is None:
        raise PiUnusable(_no_version(command[-1], done.returncode, done.stderr or done.stdout))
    return PiProgram(command, version[0], _protocol(version))


def _no_version(program: str, status: int, said: bytes) -> str:
    """What a program says that ends at once: Node tells of its own version in such lines."""
    why = last_words(said.decode("utf-8", "replace").splitlines())
    if status == 127 and "node" in why:
        return f"{program} needs Node.js, which is not on the PATH: {why}"
    ended = f"ended with status {status}" if status else "told no version"
    return f"{program} --version {ended}: {why or 'it said nothing'}"


def _protocol(version: re.Match[str]) -> Protocol:
    numbers = int(version[1]), int(version[2])
    if numbers < _FIRST_SPOKEN or (1, 0) > numbers > _FIRST_SPOKEN or numbers[0] > 1:
        raise PiUnusable(
            f"This is pi {version[0]}. Enso speaks the RPC protocol of pi 1.x and of 0.73: "
            "install one of these, or set ENSO_RUNTIME=builtin."
        )
    return _NOW if numbers >= (1, 0) else _BEFORE_1_0


def last_words(lines: Sequence[str]) -> str:
    """The lines of a process's errors that tell a person most, in one line: the error itself.

    A stack trace is left out, and so is what Node says of itself below it.
    """
    told = [line.strip() for line in lines if line.strip()]
    told = [line for line in told if not re.match(r"at .+|Node\.js v|\^+$", line)]
    errors = [line for line in told if re.match(r"(?i)(\w*error|fatal|failed|cannot)\b", line)]
    return " ".join((errors or told)[-3:])[:500]
