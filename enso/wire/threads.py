"""Threads in lists and in full, and what is sent instead of an answer."""

from __future__ import annotations

from pydantic import Field

from enso.wire.messages import PermissionMode
from enso.wire.shape import Shape, left_out


class StoredThread(Shape):
    """A row of the rail."""

    thread_id: str
    project_id: str
    title: str | None = left_out()
    name: str | None = left_out()
    last_activity_at: str
    message_count: int
    busy: bool


class StoredThreads(Shape):
    """The listing, newest first."""

    threads: list[StoredThread]


class FoundPassage(Shape):
    """A passage that holds what was looked for: one line, the match with what stands around it.

    ``saidBy`` is the message's role as it is stored, else the entry's type; ``title`` the thread's
    name, else its first message. An entry of an old file may have no id.
    """

    thread_id: str
    title: str | None = left_out()
    entry_id: str | None = left_out()
    said_by: str
    created_at: str | None = left_out()
    before: str
    match: str
    after: str


class Found(Shape):
    """What was found, thread by thread. ``searched`` of ``threads`` could be looked into so far."""

    passages: list[FoundPassage]
    searched: int
    threads: int


class ThreadSummary(Shape):
    """A live thread in short."""

    thread_id: str
    project_id: str
    busy: bool
    generation: int
    last_activity_at: str
    session_file: str | None


class Threads(Shape):
    """The live threads."""

    threads: list[ThreadSummary]


class InspectedEntry(Shape):
    """One entry of a live branch; ``kind`` is its type, ``other`` kinds with their own name."""

    id: str
    kind: str
    created_at: str | None = left_out()
    text: str | None = left_out()


class EmittedEvent(Shape):
    """Something that the runtime told, and what it is of: a message, an entry, a call, a dialog.

    ``times``: so many of the kind about the same came in a row (text that streamed); ``text`` is
    how what they brought begins.
    """

    type: str
    of: str | None = left_out()
    times: int
    text: str | None = left_out()


class ThreadInspection(Shape):
    """One live thread in full. ``emittedEvents``: what the current or last run told, in order.

    ``unknownEvents`` counts what the runtime's program said that Enso does not know, ``said`` is
    the end of what it wrote to its errors.
    """

    thread_id: str
    session_id: str
    cwd: str
    session_dir: str
    session_file: str | None
    permission_mode: PermissionMode
    commands: list[str]
    busy: bool
    generation: int
    last_activity_at: str
    name: str | None = left_out()
    loaded_extension_paths: list[str]
    emitted_events: list[EmittedEvent]
    entries: list[InspectedEntry]
    runtime: str | None = left_out()
    unknown_events: dict[str, int] = Field(default_factory=dict[str, int])
    said: list[str] = Field(default_factory=list[str])


class ErrorBody(Shape):
    """What went wrong: a code for programs, a sentence for people."""

    code: str
    message: str


class Error(Shape):
    """The body of every answer that is not a success."""

    error: ErrorBody
