"""What is stored: a row of the listing, a cold read, and the mode that a thread is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal

from msgspec import Struct, field

from enso.host.thread_ends import ThreadEnd
from enso.transcript import TranscriptEntry, Usage


class StoredThread(Struct, frozen=True, kw_only=True):
    """One stored thread, as the rail lists it.

    ``first_message`` is the first user message verbatim, empty when there is none or it has no
    text. ``name`` is the name a person gave it. ``modified`` (UTC) is the newest user or assistant
    message's time, never seconds later than the file's own. ``message_count`` counts ``message``
    entries of the whole file, as pi does. ``path`` is for logs and debugging: nothing above the
    host opens it.
    """

    id: str
    path: Path
    cwd: Path
    modified: datetime
    message_count: int
    first_message: str
    name: str | None
    end: ThreadEnd


class Listed(Struct, frozen=True, kw_only=True):
    """The listing as far as it is known: rows of threads, newest first, each id once.

    ``looked_at`` counts the logs that were looked at, ``waiting`` those that are still to be.
    """

    threads: Sequence[StoredThread]
    looked_at: int
    waiting: int = 0


class StoredThreadRead(Struct, frozen=True, kw_only=True):
    """A stored thread read cold: its branch from root to leaf, and the spend of the whole file.

    ``labels`` are those of the whole file, by the ids of the entries that they are on.
    ``skipped_lines`` counts lines that held something which is no entry: damage that the pane says.
    """

    id: str
    cwd: Path
    entries: tuple[TranscriptEntry, ...]
    usage: Usage
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    skipped_lines: int = 0


class StoredEntries(Struct, frozen=True, kw_only=True):
    """A stretch of a stored thread's branch: ``start`` of its ``total`` entries stand before it."""

    id: str
    cwd: Path
    entries: tuple[TranscriptEntry, ...]
    start: int
    total: int
    skipped_lines: int = 0


class StoredBranch(Struct, frozen=True, kw_only=True):
    """A stored thread's branch as it is now, to be walked from its root as often as is wanted.

    ``walk`` decodes an entry when it is asked for, and holds none; it ends early where the log was
    cut meanwhile. ``close`` lets go of the log, and is called by whoever asked for this.
    """

    walk: Callable[[], Iterator[TranscriptEntry]]
    close: Callable[[], None]


class StoredLog(Struct, frozen=True, kw_only=True):
    """A thread's log as it is stored, byte for byte, and the name it is stored under.

    ``stream`` is open for reading and is closed by whoever asked for it. ``size`` is how many bytes
    the log had then: whole lines where this host writes it. What comes behind them came later.
    """

    name: str
    size: int
    stream: BinaryIO


class TurnUsage(Struct, frozen=True):
    """What a part of a turn used: how many requests, and their sum."""

    requests: int = 0
    usage: Usage = field(default_factory=Usage)


class StoredThreadPage(Struct, frozen=True, kw_only=True):
    """A stretch of a stored thread's branch, and what is said of the whole thread beside it.

    ``entries`` begin at a message, unless the stretch has none. ``later`` are entries behind the
    stretch without which its messages are not whole: results that came late to its calls, and the
    rest of a turn that goes on. ``turn_before`` is what the turn that the stretch begins in used
    before it. ``messages_before`` counts the messages of the branch before the stretch,
    ``message_count`` all. ``state`` are entries of the branch, in its order: asked in
    place of the whole branch how it ends, and what mode, agent, model and thinking level it is in,
    they answer the same. ``heading`` is the text of the branch's first prompt that has text.

    ``whole`` is false while a long log was read from its end alone: ``messages_before`` is then
    ``None`` where there are messages before, ``message_count`` counts those that were read,
    ``state`` is of these, ``usage`` of nothing, and ``heading`` is the log's first prompt. The
    whole is read meanwhile, and listeners are told of the thread when that is done.
    """

    id: str
    cwd: Path
    entries: tuple[TranscriptEntry, ...]
    later: tuple[TranscriptEntry, ...]
    turn_before: TurnUsage
    messages_before: int | None
    message_count: int
    state: tuple[TranscriptEntry, ...]
    heading: str
    usage: Usage
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    skipped_lines: int = 0
    whole: bool = True


PermissionModeId = Literal["plan", "ask", "edit", "auto"]


class PermissionModeChoice(Struct, frozen=True, kw_only=True):
    """One mode that can be chosen, with its words."""

    id: str
    label: str
    description: str


class PermissionModeState(Struct, frozen=True, kw_only=True):
    """The mode a thread is in. ``mode`` may be a name this server does not know: treated as ask."""

    mode: str
    agent: str | None
    modes: tuple[PermissionModeChoice, ...]


class Passage(Struct, frozen=True, kw_only=True):
    """A passage of a stored thread that holds what was looked for.

    ``entry_id`` is empty for an entry without one. ``said_by`` is the message's role as it is
    stored, else the entry's type. ``created_at`` is milliseconds since the epoch. The passage is
    one line of plain text: ``before``, ``match``, ``after``.
    """

    thread_id: str
    entry_id: str
    said_by: str
    created_at: int | None
    before: str
    match: str
    after: str


class Found(Struct, frozen=True, kw_only=True):
    """What was found, the newest passage first. ``searched`` of ``threads`` were looked into."""

    passages: tuple[Passage, ...]
    searched: int
    threads: int
