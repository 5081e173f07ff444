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


class ThreadNotStored(HostError):
    """No log is stored under this id, or none that this server serves."""

    status = 404
    code = "not-found"

    def __init__(self, thread_id: str, why: str = "No thread is stored under this id.") -> None:
        self.thread_id = thread_id
        super().__init__(why)


class PromptRefused(HostError):
    """The runtime cannot do this now: no model, no key, a model that is gone, busy, or not busy."""

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


# -- what a runtime waits for, and what it is doing -----------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogOption:
    """One answer that can be chosen; ``value`` is what ``DialogAnswer`` says."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialog:
    """A question that holds up a run until a person answers it, however long that takes.

    A ``permission`` asks about a call of ``tool_name`` with ``arguments``; its values are ``once``,
    ``thread`` and ``deny``. A ``confirm``'s are ``yes`` and ``no``. An ``input`` or ``editor`` is
    answered by any text. Times are milliseconds since the epoch.
    """

    id: str
    kind: Literal["permission", "select", "confirm", "input", "editor"]
    title: str
    message: str = ""
    options: tuple[DialogOption, ...] = ()
    tool_name: str = ""
    arguments: Any = None
    tool_call_id: str = ""
    created_at: int
    expires_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogAnswer:
    """What a person said: a value, or that the question was put away; ``reason`` for a ``deny``."""

    value: str | None = None
    cancelled: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedPrompt:
    """A message that waits: ``steer`` for the current tools, ``after`` for the run to settle."""

    id: str
    message: str
    when: Literal["steer", "after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a busy run is doing now, for the status line.

    ``until`` (ms since the epoch) is when a ``retry-wait`` ends; ``attempt`` of ``attempts`` is the
    retry that follows it.
    """

    kind: Literal[
        "asking", "answering", "tools", "retry-wait", "compacting", "stopping", "needs-you"
    ]
    detail: str = ""
    until: int | None = None
    attempt: int = 0
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command, named without its slash.

    ``prompt`` and ``skill`` ones are expanded by the runtime when a prompt begins with them; an
    ``enso`` one is done by whoever takes it from the person, through the contract's methods.
    """

    name: str
    description: str
    source: Literal["enso", "prompt", "skill"]
    argument_hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model that can be chosen, with the thinking levels that it takes."""

    provider: str
    model: str
    label: str
    levels: tuple[str, ...]
    context_window: int | None


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
class DialogOpened:
    """A question waits for a person."""

    dialog: Dialog


@dataclass(frozen=True, slots=True)
class DialogClosed:
    """A question waits no more. ``outcome``: the chosen value, ``cancelled`` or ``stopped``."""

    dialog_id: str
    outcome: str


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """The end of a running tool's output so far; replaces what was told of this call before."""

    tool_call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """What waits to be said to the model, as it now is, in the order of delivery."""

    items: tuple[QueuedPrompt, ...]


@dataclass(frozen=True, slots=True)
class ActivityChanged:
    """The run does something else now. A settled run has no activity."""

    activity: Activity


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
    | DialogOpened
    | DialogClosed
    | ToolProgress
    | QueueChanged
    | ActivityChanged
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

    A run begins with ``prompt`` or ``compact`` and ends with ``RunSettled``; its events reach the
    one listener in order, from a worker of the runtime's, which must not be held up. What is stored
    outside of a run is told before the method that stores it returns, from the caller's worker.
    Entries stay in memory until the first answer begins: a thread without one leaves no file.
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

    # -- while a run is in flight

    def queue(
        self,
        message: str,
        images: Sequence[PromptImage] = (),
        *,
        when: Literal["steer", "after"],
    ) -> str:
        """Have a message delivered to the run in flight; returns the queued item's id.

        ``steer``: after the current tools; ``after``: when the run would settle. It stays one run.
        Raises ``PromptRefused`` with code ``not-busy`` when there is none.
        """
        ...

    def take_back(self, item_id: str) -> QueuedPrompt | None:
        """Take a queued item out again; ``None`` when it is gone or was delivered."""
        ...

    def queued(self) -> tuple[QueuedPrompt, ...]:
        """What waits, in the order of delivery."""
        ...

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """Answer a dialog. False: it is unknown or was answered before, so this does nothing.

        Raises ``PromptRefused`` for a value that is none of its options; then it still waits.
        """
        ...

    def dialogs(self) -> tuple[Dialog, ...]:
        """The dialogs that are open, oldest first."""
        ...

    def activity(self) -> Activity | None:
        """What the run in flight is doing; ``None`` when there is none."""
        ...

    def retry_now(self) -> bool:
        """End a retry wait at once, without giving up. False: the run is in none."""
        ...

    # -- what a person sets; each is an entry

    def set_mode(self, mode: str) -> None:
        """Change the permission mode, also while busy; raises ``PromptRefused`` for an unknown."""
        ...

    def set_model(self, provider: str, model: str, level: str | None = None) -> None:
        """Choose the model, and the thinking level, of the next prompt.

        Raises ``PromptRefused`` while busy, and for a model that is not configured or has no key.
        """
        ...

    def compact(self, instructions: str = "") -> None:
        """Start a run that sums up the conversation so far. Raises ``PromptRefused``."""
        ...

    def rename(self, name: str) -> None:
        """Name the thread; the empty name takes its name away."""
        ...

    def label(self, entry_id: str, label: str) -> None:
        """Label an entry of the file; the empty label takes it away. Raises ``PromptRefused``."""
        ...

    def go_to(self, entry_id: str | None) -> None:
        """Continue from another entry of the file, as pi's ``/tree`` does without a summary.

        The leaf becomes that entry; for a user message what it answered, so that it can be said
        differently; ``None``: before everything. Nothing is stored before the next entry is, and
        no event tells: read the thread anew. Raises ``PromptRefused`` while busy, or for an
        unknown id.
        """
        ...

    def commands(self) -> tuple[Command, ...]:
        """The slash commands of this thread."""
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

    def models(self) -> list[ModelChoice]:
        """Every configured model that a prompt could go to, in the order of the configuration."""
        ...

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The slash commands of a thread of this directory, without building one."""
        ...

    def files(self, directory: Path, query: str, limit: int) -> tuple[str, ...]:
        """Files and directories below a served directory that fit a query, the best first."""
        ...

    def fork(self, thread_id: str, entry_id: str | None, new_id: str) -> Path:
        """Store a new thread under ``new_id``: the branch up to this user message, without it.

        Entries keep their ids; the header names the file it comes from. ``None``: the whole branch.
        A fork that holds no answer yet is not stored: it is returned as the path it will have, and
        ``create_session`` under ``new_id`` continues it. Raises ``HostError``.
        """
        ...

    def delete(self, thread_id: str) -> None:
        """Move a stored thread, which must not be live, to the trash. Raises ``HostError``."""
        ...

    def restore(self, thread_id: str) -> bool:
        """Take a deleted thread back from the trash; False when it is not there."""
        ...

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Watch the store; returns what ends the watch."""
        ...

    def close(self) -> None:
        """End the watch and every child process."""
        ...
