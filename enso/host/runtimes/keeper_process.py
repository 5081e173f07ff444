"""The process that outlives a killed Enso, and ends the programs that it kept; see ``keeper``.

Its input is a socket: ``keep NUMBER PID`` comes with a handle of the process and, where it has one,
of its input, ``release NUMBER`` gives them up, and the end of the socket is Enso's. Its argument is
how many seconds a program may take to end when its input closes. What it signals it knows by
handles that it got, or took while the program that started it still ran: never another process with
the same id.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from enso.host.runtimes.process_tree import started_by

_SIGNALLED_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Kept:
    """A program: its id, and the handles of its process and of its input, if it has one."""

    pid: int
    process: int
    input: int | None = None

    def let_go(self) -> None:
        """Close the handles."""
        os.close(self.process)
        self.close_input()

    def close_input(self) -> None:
        """Let the input end."""
        if self.input is not None:
            os.close(self.input)


def main() -> None:
    """Keep until the socket ends; then end what is kept."""
    kept: dict[int, Kept] = {}
    with socket.socket(fileno=sys.stdin.fileno()) as door:
        while message := _next(door):
            data, handles = message
            word, number, *pid = data.split()
            if word == b"keep":
                kept[int(number)] = Kept(int(pid[0]), *handles)
            elif (released := kept.pop(int(number), None)) is not None:
                released.let_go()
    end(kept.values(), float(sys.argv[1]))


def _next(door: socket.socket) -> tuple[bytes, list[int]] | None:
    try:
        data, handles, _, _ = socket.recv_fds(door, 64, 2)
    except OSError:
        return None
    return (data, handles) if data else None


def end(kept: Iterable[Kept], patience: float) -> None:
    """End programs: their input is closed, they are waited for, then what is left is signalled."""
    programs = list(kept)
    commands = [handle for program in programs for handle in commands_of(program)]
    for program in programs:
        program.close_input()
    told = [program.process for program in programs if program.input is not None]
    left = [program.process for program in programs if program.input is None]
    left = _running(left) + _after(told, patience)
    commands += [
        handle for program in programs if program.process in left for handle in commands_of(program)
    ]
    _ask([*left, *commands])
    left = _after([*left, *commands], _SIGNALLED_SECONDS)
    _signal(left, signal.SIGKILL)
    _after(left, _SIGNALLED_SECONDS)


def commands_of(program: Kept) -> list[int]:
    """Handles of what a program runs now; none of one that has ended.

    A handle may be of a process that took the id of one that was seen: so it is looked again, and
    the program's own id is its own as long as it has not ended.
    """
    handles: dict[int, int] = {}
    for pid in started_by(program.pid):
        with contextlib.suppress(OSError):
            handles[pid] = os.pidfd_open(pid)
    still = started_by(program.pid)
    certain = still if _running([program.process]) else set[int]()
    for pid in handles.keys() - certain:
        os.close(handles.pop(pid))
    return list(handles.values())


def _running(handles: Iterable[int]) -> list[int]:
    """Those whose process has not ended: the handle of one that has can be read."""
    poll = select.poll()
    known = list(handles)
    for handle in known:
        poll.register(handle, select.POLLIN)
    ended = {handle for handle, _ in poll.poll(0)}
    return [handle for handle in known if handle not in ended]


def _after(handles: Iterable[int], seconds: float) -> list[int]:
    """Those that still run after some time; waits no longer than until none does."""
    until = time.monotonic() + seconds
    left = _running(handles)
    while left and (rest := until - time.monotonic()) > 0:
        select.select(left, [], [], rest)
        left = _running(left)
    return left


def _ask(handles: Iterable[int]) -> None:
    known = _running(handles)
    _signal(known, signal.SIGTERM)
    _signal(known, signal.SIGCONT)  # one that was stopped can end


def _signal(handles: Iterable[int], number: int) -> None:
    for handle in handles:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(handle, number)


if __name__ == "__main__":
    main()
