"""The contract between a thread's durable log and everything above it.

Whoever stores threads and runs them implements these Protocols: ``enso.host.session_host`` over
JSONL session files, and a fake over plain transcripts in the tests; one suite runs over both. What
crosses is the transcript of ours (``enso.transcript``): no entry of a file format, no event of a
runtime's own.

Threads of the operating system are called workers here. Every method may be called from any worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from enso.transcript import Part, Refusal, TranscriptEntry, Usage

# -- refusals ---------------------------------------------------------------------------------


class HostError(Exception):
    """An expected "no": ``str()`` is a sentence for a person, ``status`` the HTTP status."""

    status = 500
    code = "host-error"


class SessionDirectoryRefused(HostError):
    """The thread's directory is not one that this server serves, or is gone; nothing was built."""

    status = 409
    code = "directory-refused"

    def __init__(self, directory: Path, why: str) -> None:
        self.directory = directory
        super().__init__(f"{directory}: {why}")


class SessionUnreadable(HostError):
    """The session file cannot be continued: damaged, or of a version Enso may not write."""

    status = 409
    code = "session-unreadable"

    def __init__(self, thread_id: str, why: str) -> None:
        self.thread_id = thread_id
        super().__init__(why)


class SessionNotWritten(HostError):
    """The session file could not be written (full disk, no permission, a file that is gone)."""

    status = 409
    code = "session-not-written"

    def __init__(self, thread_id: str, why: str) -> None:
        self.thread_id = thread_id
        super().__init__(why)


class PromptRefused(HostError):
    """The runtime cannot take a prompt now: no model, no key, a model that is gone, or busy."""

    status = 409

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)


# -- what is stored -----------------------------------------------------------------------------

ThreadEnd = Literal["complete", "refused", "aborted", "cut-by-length", "interrupted", "empty"]
"""How the stored branch ends: the rail's mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredThread:
    """One stored thread, as the rail lists it.

    ``first_message`` is the first user message verbatim, empty when there is none or it has no
    text. ``name`` is the name a person gave it. ``modified`` (UTC) is the newest user or assistant
    message's time, never later than the file's own. ``message_count`` counts ``message`` entries of
    the whole file, as pi does. ``path`` is for logs and debugging: nothing above the host opens it.
    """

    id: str
    path: Path
    cwd: Path
    modified: datetime
    message_count: int
    first_message: str
    name: str | None
    end: ThreadEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredThreadRead:
    """A stored thread read cold: its branch from root to leaf, and the spend of the whole file.

    ``skipped_lines`` counts lines that held something which is no entry: damage that the pane says.
    """

    id: str
    cwd: Path
    entries: tuple[TranscriptEntry, ...]
    usage: Usage
    name: str | None = None
    skipped_lines: int = 0


PermissionModeId = Literal["plan", "ask", "edit", "auto"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionModeChoice:
    """One mode that can be chosen, with its words."""

    id: str
    label: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionModeState:
    """The mode a thread is in. ``mode`` may be a name this server does not know: treated as ask."""

    mode: str
    agent: str | None
    modes: tuple[PermissionModeChoice, ...]


# -- what a runtime says while it runs ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EntryStored:
    """The branch grew by this entry; it ends the streaming message of the same id."""

    entry: TranscriptEntry


@dataclass(frozen=True, slots=True)
class MessageStarted:
    """An assistant message begins to stream; ``message_id`` is the id its entry will have."""

    message_id: str
    provider: str
    model: str
    created_at: int


@dataclass(frozen=True, slots=True)
class PartStarted:
    """A part of the streaming message begins; its text grows by ``PartDelta``. From 0 on."""

    message_id: str
    index: int
    part: Part


@dataclass(frozen=True, slots=True)
class PartDelta:
    """Text to append to a text or thinking part of the streaming message."""

    message_id: str
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class PartReplaced:
    """A part as it now is, whole: a tool call whose arguments are complete."""

    message_id: str
    index: int
    part: Part


@dataclass(frozen=True, slots=True)
class MessageDropped:
    """The streaming message will not be stored (the run ended before it had anything to keep)."""

    message_id: str


@dataclass(frozen=True, slots=True)
class RunNotice:
    """A sentence for the person, not part of the transcript."""

    sentence: str


@dataclass(frozen=True, slots=True)
class RunSettled:
    """The run is over: the last event of every run, whatever went wrong."""

    outcome: Literal["complete", "refused", "aborted", "failed"]
    refusal: Refusal | None = None


ThreadEvent = (
    EntryStored
    | MessageStarted
    | PartStarted
    | PartDelta
    | PartReplaced
    | MessageDropped
    | RunNotice
    | RunSettled
)
EventListener = Callable[[ThreadEvent], None]


@dataclass(frozen=True, slots=True)
class PromptImage:
    """An image that comes with a prompt; ``data`` is base64."""

    mime_type: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInUse:
    """The model that the next prompt goes to, in words for the composer's chip."""

    provider: str
    model: str
    label: str
    context_window: int | None = None


class ThreadRuntime(Protocol):
    """What runs one thread: takes prompts, one run at a time, and tells what happens.

    A run begins with ``prompt`` and ends with ``RunSettled``; its events reach the one listener in
    order, from a worker of the runtime's, which must not be held up.
    """

    def listen(self, listener: EventListener) -> None:
        """Set the listener. Called once, before the first prompt."""
        ...

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """Start a run and return at once. Raises ``PromptRefused`` when none was started."""
        ...

    def abort(self) -> None:
        """End the run that is in flight, if any, leaving a valid branch; ``RunSettled`` follows."""
        ...

    def model(self) -> ModelInUse | None:
        """The model of the next prompt; ``None`` when none is configured."""
        ...

    def close(self) -> None:
        """Let go of everything. Ends a run first; nothing is emitted afterwards."""
        ...


# -- a live thread ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedThreadInspection:
    """What one live thread holds. ``session_file`` is ``None`` until the file exists."""

    session_id: str
    cwd: Path
    session_dir: Path
    session_file: Path | None
    entries: tuple[TranscriptEntry, ...]
    commands: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallVerdict:
    """What would be said of a tool call: allowed, asked about, or refused with a reason."""

    verdict: Literal["allow", "ask", "refuse"]
    reason: str = ""


class HostedThread(Protocol):
    """A live thread: its runtime, and a read-only view of what it holds."""

    @property
    def runtime(self) -> ThreadRuntime:
        """What runs it."""
        ...

    @property
    def loaded_extension_paths(self) -> Sequence[str]:
        """The extensions that were loaded, for inspection."""
        ...

    def inspect(self) -> HostedThreadInspection:
        """The branch and where it is kept, as of now."""
        ...

    def usage(self) -> Usage:
        """The spend of the whole file, every branch, as pi's ``getSessionStats`` adds it."""
        ...

    def emitted_events(self) -> list[ThreadEvent]:
        """The last events of the current or last run; a fresh copy per call."""
        ...

    def permission_mode(self) -> PermissionModeState:
        """The mode this thread is in now."""
        ...

    def probe_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any]
    ) -> ToolCallVerdict | None:
        """What the runtime would say of this call; runs nothing. ``None``: no rule knows it."""
        ...

    def changed_elsewhere(self) -> bool:
        """Whether another process changed the thread's log since this one last read or wrote it."""
        ...

    def close(self) -> None:
        """Close the runtime and let go of the log."""
        ...


# -- the host -----------------------------------------------------------------------------------

ChangeListener = Callable[[frozenset[str]], None]
"""Told the ids of threads whose log was made, grew, shrank or went; called from any worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReadiness:
    """Whether a prompt to a new thread could be answered, and what to do if it could not."""

    model: ModelInUse | None
    what_to_do: str = ""
    warnings: tuple[str, ...] = field(default=())


class AgentHost(Protocol):
    """Where threads are stored and run."""

    def create_session(
        self, thread_id: str, new_session_directory: Callable[[], Path]
    ) -> HostedThread:
        """Open the log under this id in the directory it records, or create one under this id.

        ``new_session_directory`` is asked only when there is no log under the id. Raises
        ``SessionDirectoryRefused`` or ``SessionUnreadable``; then nothing was built or written.
        """
        ...

    def list_sessions(self) -> list[StoredThread]:
        """Every stored thread in a directory this host serves, newest first, each id once."""
        ...

    def stored_thread(self, thread_id: str) -> StoredThread | None:
        """The listing's row of one thread; ``None`` when it would not be listed."""
        ...

    def stored_thread_directory(self, thread_id: str) -> Path | None:
        """The directory the log under this id records, served or not; ``None`` without a log."""
        ...

    def read_stored_thread(self, thread_id: str) -> StoredThreadRead | None:
        """Read a thread cold; builds and writes nothing. ``None``: no log, or not served."""
        ...

    def fresh_permission_mode(self) -> PermissionModeState:
        """What a new thread starts in."""
        ...

    def stored_permission_mode(self, transcript: Sequence[TranscriptEntry]) -> PermissionModeState:
        """The mode a transcript ends in: its last ``modes`` entry, else the fresh state."""
        ...

    def readiness(self, transcript: Sequence[TranscriptEntry] = ()) -> HostReadiness:
        """Which model a prompt to the thread of this transcript would go to, without building."""
        ...

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id (``OpenAI``); the id itself when it has none."""
        ...

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Watch the store; returns what ends the watch."""
        ...

    def close(self) -> None:
        """End the watch and every child process."""
        ...
