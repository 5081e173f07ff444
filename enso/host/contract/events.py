"""What a runtime says while it runs. A run's last event is ``RunSettled``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from enso.host.contract.waiting import Activity, Dialog, QueuedPrompt, Surface
from enso.transcript import Part, Refusal, TranscriptEntry


@dataclass(frozen=True, slots=True)
class EntryStored:
    """The branch grew by this entry; it ends the streaming message of the same id.

    A runtime whose log is written by another program learns an entry's id only when it is there:
    ``streamed_as`` then is the id under which the message streamed, or under which the same entry
    was told before. It is the entry's place that is kept, not the id.
    """

    entry: TranscriptEntry
    streamed_as: str = ""


@dataclass(frozen=True, slots=True)
class MessageStarted:
    """An assistant message begins to stream; ``message_id`` is the id its entry will have.

    Or the one that its ``EntryStored`` names as ``streamed_as``.
    """

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
class BranchChanged:
    """The log now continues from another entry, or its entries have other ids: read it anew."""


@dataclass(frozen=True, slots=True)
class RunBegan:
    """A run began that nobody prompted: an extension started it. It settles as any other."""


@dataclass(frozen=True, slots=True)
class DraftSuggested:
    """A text for the composer: an extension's, or a prompt that came to nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class SurfaceChanged:
    """What extensions show beside the conversation, as it now is."""

    surface: Surface


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
    | BranchChanged
    | RunBegan
    | DraftSuggested
    | SurfaceChanged
    | RunNotice
    | RunSettled
)


EventListener = Callable[[ThreadEvent], None]
