"""A command with everything it started, and how all of it is ended.

A process belongs to a command when it is in its session or group, descends from its shell, or was
started with the mark that the shell has in its environment: so one that left the session, or whose
parent is gone, is still found. Looks into ``/proc``; where there is none, the group alone is known.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARK: Final = "ENSO_COMMAND"
"""The variable whose value is a command's own."""

GRACE_SECONDS: Final = 2.0
"""How long a process may take to end by itself when it is asked to."""

_LOOK_AGAIN_SECONDS: Final = 0.05
_GIVE_UP_SECONDS: Final = 3.0
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class Command:
    """A shell that leads a session of its own; ``mark`` is the value of ``MARK`` it was given."""

    pid: int
    mark: str


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    group: int
    session: int


def end_commands(commands: Sequence[Command], *, grace: float = GRACE_SECONDS) -> None:
    """End the commands whole: asked first, killed after ``grace`` seconds. Waits for their end."""
    groups = [command.pid for command in commands]
    until = time.monotonic() + grace
    left = _members(commands)
    asked = _ask_groups(left, groups)
    while left and time.monotonic() < until:
        _ask(left.keys() - asked)
        asked |= left.keys()
        time.sleep(_LOOK_AGAIN_SECONDS)
        left = _members(commands)
    _kill(commands, groups)


def started_by(pid: int) -> set[int]:
    """What a running process started that runs: descendants, and who shares a session with one.

    What has left all of these, as a daemon does, is no longer its own.
    """
    running = list(_running())
    descendants = _descendants(running, {pid})
    sessions = {one.session for one in running if one.pid == pid or one.pid in descendants}
    return descendants | {one.pid for one in running if one.session in sessions} - {pid}


def _ask_groups(members: Mapping[int, int], groups: Sequence[int]) -> set[int]:
    """Ask each group as one, so that no shell goes on when its child ends; who was asked.

    Each process is asked once: a handler that cleans up must not run twice.
    """
    if members:
        _signal_groups(groups, signal.SIGTERM)
        _signal_groups(groups, signal.SIGCONT)  # one that was stopped can end
    return {pid for pid, group in members.items() if group in groups}


def _ask(pids: Iterable[int]) -> None:
    _signal(pids, signal.SIGTERM)
    _signal(pids, signal.SIGCONT)


def _kill(commands: Sequence[Command], groups: Sequence[int]) -> None:
    until = time.monotonic() + _GIVE_UP_SECONDS
    while (left := _members(commands)) and time.monotonic() < until:
        _signal_groups(groups, signal.SIGKILL)
        _signal(left, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_SECONDS / 5)


def _members(commands: Sequence[Command]) -> dict[int, int]:
    """The processes of the commands that run, each with its group."""
    leaders = {command.pid for command in commands}
    if not _PROC.is_dir():
        return {pid: pid for pid in leaders if _group_lives(pid)}
    running = list(_running())
    found = {one.pid for one in running if leaders & {one.pid, one.group, one.session}}
    marks = [f"{MARK}={command.mark}".encode() for command in commands]
    found |= {one.pid for one in running if one.pid not in found and _has_mark(one.pid, marks)}
    found |= _descendants(running, found | leaders)
    return {one.pid: one.group for one in running if one.pid in found}


def _descendants(running: Sequence[_Process], ancestors: set[int]) -> set[int]:
    found: set[int] = set()
    while more := {
        one.pid for one in running if one.parent in ancestors | found and one.pid not in found
    }:
        found |= more
    return found


def _running() -> Iterator[_Process]:
    with os.scandir(_PROC) as entries:
        for entry in entries:
            if entry.name.isdecimal() and (process := _read(int(entry.name))) is not None:
                yield process


def _read(pid: int) -> _Process | None:
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # the name, in parentheses, may hold anything
    state, parent, group, session, *_ = text[text.rfind(b")") + 2 :].split()
    if state in {b"Z", b"X"}:
        return None
    return _Process(pid, int(parent), int(group), int(session))


def _has_mark(pid: int, marks: Iterable[bytes]) -> bool:
    try:
        variables = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # another user's, or gone
        return False
    return any(mark in variables for mark in marks)


def _group_lives(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except OSError:
        return False
    return True


def _signal_groups(leaders: Iterable[int], number: int) -> None:
    for pid in leaders:
        with contextlib.suppress(OSError):
            os.killpg(pid, number)


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)
