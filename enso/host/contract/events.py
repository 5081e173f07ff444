"""What a runtime says while it runs. A run's last event is ``RunSettled``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from enso.host.contract.waiting import Activity, Dialog, QueuedPrompt
from enso.transcript import Part, Refusal, TranscriptEntry


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
