"""One shell command: started apart, followed until it is over, ended whole when it must be.

The command has a session of its own, no input, and one pipe for both of its outputs. It is over
when its shell is: what it left running in the background may hold the pipe, and is let be. Should
Enso be killed while it runs, the keeper ends it.
"""

from __future__ import annotations

import atexit
import os
import secrets
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from enso.host.runtimes.builtin.tools.background_output import keep_reading
from enso.host.runtimes.builtin.tools.workers import Cancellation
from enso.host.runtimes.keeper import Keeper
from enso.host.runtimes.process_tree import MARK, Command, end_commands

QUIET_SECONDS: Final = 0.2
"""How long the pipe must be quiet, once the shell is over, until nothing more is awaited."""

LINGER_SECONDS: Final = 2.0
"""How long output of what runs in the background is taken, once the shell is over."""

_PIECE: Final = 64 * 1024
_TICK_SECONDS: Final = 0.05  # where the end of a process cannot be waited for with others


@dataclass(frozen=True, slots=True)
class ShellEnd:
    """How a command ended: its shell's exit code (128 and more: by a signal), and whose doing."""

    exit_code: int
    timed_out: bool


@dataclass(frozen=True, slots=True)
class Shell:
    """What to start: the program with its arguments, where, and with which variables."""

    arguments: Sequence[str]
    cwd: Path
    variables: Mapping[str, str]


def run_shell(
    shell: Shell,
    *,
    take: Callable[[bytes], None],
    idle: Callable[[], float | None],
    timeout: float | None,
    cancellation: Cancellation,
) -> ShellEnd:
    """Run a command and give ``take`` its output, piece by piece. Blocks until it is over.

    ``idle`` is called between pieces; it says in how many seconds it wants to be called again.
    Raises ``Cancelled`` when it must not start any more, ``OSError`` when it cannot, and whatever
    ``take`` raises; the command is ended then too.
    """
    cancellation.check()
    with _started(shell) as (process, command, pipe):
        run = _Run(process, command, pipe, take=take, idle=idle)
        return run.follow(timeout, cancellation)


def end_running_commands() -> None:
    """End every command that runs, whole: for the end of the server, which calls it itself."""
    with _lock:
        commands = list(_commands)
    if commands:
        end_commands(commands)
    _keeper.close()


_lock = threading.Lock()
_commands: set[Command] = set()
_keeper = Keeper()
atexit.register(end_running_commands)


@contextmanager
def _started(shell: Shell) -> Generator[tuple[subprocess.Popen[bytes], Command, int]]:
    mark = secrets.token_hex(8)
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            shell.arguments,
            cwd=shell.cwd,
            env={**shell.variables, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            start_new_session=True,
        )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    command, kept = Command(process.pid, mark), _keeper.keep(process.pid, None)
    with _lock:
        _commands.add(command)
    try:
        yield process, command, reading
    except BaseException:
        end_commands([command])
        raise
    finally:
        keep_reading(reading)
        process.wait()
        _keeper.release(kept)
        with _lock:
            _commands.discard(command)


class _Run:
    """Follows one command."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        command: Command,
        pipe: int,
        *,
        take: Callable[[bytes], None],
        idle: Callable[[], float | None],
    ) -> None:
        self._process, self._command, self._pipe = process, command, pipe
        self._take, self._idle = take, idle
        self._is_open = True
        self._heard_at = self._over_at = 0.0
        self._end: threading.Thread | None = None

    def follow(self, timeout: float | None, cancellation: Cancellation) -> ShellEnd:
        """Take the output until the command is over, or has been ended."""
        until = None if timeout is None else time.monotonic() + timeout
        timed_out = False
        with _Waker(cancellation, self._process.pid) as waker:
            while not self._is_over():
                self._read(waker.wait(self._pipe if self._is_open else None, self._patience(until)))
                if until is not None and not self._over_at and time.monotonic() >= until:
                    timed_out = True
                if timed_out or cancellation.is_set:
                    self._end_once()
        if self._end is not None:
            self._end.join()
        return ShellEnd(_exit_code(self._process), timed_out)

    def _is_over(self) -> bool:
        if self._process.poll() is None:
            return False
        now = time.monotonic()
        self._over_at = self._over_at or now
        if not self._is_open:
            return True
        if self._end is not None and self._end.is_alive():
            return False
        quiet_since = max(self._over_at, self._heard_at)
        return now >= quiet_since + QUIET_SECONDS or now >= self._over_at + LINGER_SECONDS

    def _patience(self, until: float | None) -> float | None:
        """For how long nothing has to be done, unless something happens."""
        waits = [self._idle()]
        if self._over_at or self._end is not None:
            waits.append(_TICK_SECONDS)
        elif until is not None:
            waits.append(until - time.monotonic())
        return min((max(0.0, wait) for wait in waits if wait is not None), default=None)

    def _read(self, is_ready: bool) -> None:
        if not is_ready:
            return
        data = os.read(self._pipe, _PIECE)
        self._heard_at = time.monotonic()
        if data:
            self._take(data)
        else:
            self._is_open = False

    def _end_once(self) -> None:
        """End the command from another worker: what it still says is heard, and its pipe empty."""
        if self._end is None:
            self._end = threading.Thread(
                target=end_commands, args=([self._command],), name="enso-end-command", daemon=True
            )
            self._end.start()


class _Waker:
    """Waits for the pipe, for the end of a process and for the cancellation, at once."""

    def __init__(self, cancellation: Cancellation, pid: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._process = _process_handle(pid)
        if self._process is not None:
            self._selector.register(self._process, selectors.EVENT_READ)
        self._pipe: int | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        cancellation.call(self._ring)

    def __enter__(self) -> _Waker:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True
            self._selector.close()
            for handle in (self._woken, self._wake, self._process):
                if handle is not None:
                    os.close(handle)

    def wait(self, pipe: int | None, seconds: float | None) -> bool:
        """Wait until something happened; whether the pipe can be read."""
        self._watch(pipe)
        if self._process is None:
            seconds = _TICK_SECONDS if seconds is None else min(seconds, _TICK_SECONDS)
        ready = {key.fd for key, _ in self._selector.select(seconds)}
        for handle in ready & {self._woken, self._process}:
            self._selector.unregister(handle)  # once is enough
        return pipe in ready

    def _watch(self, pipe: int | None) -> None:
        if pipe == self._pipe:
            return
        if self._pipe is not None:
            self._selector.unregister(self._pipe)
        if pipe is not None:
            self._selector.register(pipe, selectors.EVENT_READ)
        self._pipe = pipe

    def _ring(self) -> None:
        with self._lock:
            if not self._is_closed:
                os.write(self._wake, b"!")


def _process_handle(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _exit_code(process: subprocess.Popen[bytes]) -> int:
    code = process.wait()
    return 128 - code if code < 0 else code
