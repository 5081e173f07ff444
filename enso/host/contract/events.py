"""What a runtime says while it runs. A run's last event is ``RunSettled``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from enso.host.contract.waiting import Activity, Dialog, QueuedPrompt, Surface
from enso.transcript import Part, Refusal, TranscriptEntry


class EntryStored(Struct, frozen=True):
    """The branch grew by this entry; it ends the streaming message of the same id.

    A runtime whose log is written by another program learns an entry's id only when it is there:
    ``streamed_as`` then is the id under which the message streamed, or under which the same entry
    was told before. It is the entry's place that is kept, not the id.
    """

    entry: TranscriptEntry
    streamed_as: str = ""


class MessageStarted(Struct, frozen=True):
    """An assistant message begins to stream; ``message_id`` is the id its entry will have.

    Or the one that its ``EntryStored`` names as ``streamed_as``.
    """

    message_id: str
    provider: str
    model: str
    created_at: int


class PartStarted(Struct, frozen=True):
    """A part of the streaming message begins; its text grows by ``PartDelta``. From 0 on."""

    message_id: str
    index: int
    part: Part


class PartDelta(Struct, frozen=True):
    """Text to append to a text or thinking part of the streaming message."""

    message_id: str
    index: int
    text: str


class PartReplaced(Struct, frozen=True):
    """A part as it now is, whole: a tool call whose arguments are complete."""

    message_id: str
    index: int
    part: Part


class MessageDropped(Struct, frozen=True):
    """The streaming message will not be stored (the run ended before it had anything to keep)."""

    message_id: str


class DialogOpened(Struct, frozen=True):
    """A question waits for a person."""

    dialog: Dialog


class DialogClosed(Struct, frozen=True):
    """A question waits no more. ``outcome``: the chosen value, ``cancelled`` or ``stopped``."""

    dialog_id: str
    outcome: str


class ToolProgress(Struct, frozen=True):
    """The end of a running tool's output so far; replaces what was told of this call before."""

    tool_call_id: str
    text: str


class QueueChanged(Struct, frozen=True):
    """What waits to be said to the model, as it now is, in the order of delivery."""

    items: tuple[QueuedPrompt, ...]


class ActivityChanged(Struct, frozen=True):
    """The run does something else now. A settled run has no activity."""

    activity: Activity


class BranchChanged(Struct, frozen=True):
    """The log now continues from another entry, or its entries have other ids: read it anew."""


class RunBegan(Struct, frozen=True):
    """A run began that nobody prompted: an extension started it. It settles as any other."""


class DraftSuggested(Struct, frozen=True):
    """A text for the composer: an extension's, or a prompt that came to nothing."""

    text: str


class SurfaceChanged(Struct, frozen=True):
    """What extensions show beside the conversation, as it now is."""

    surface: Surface


class RunNotice(Struct, frozen=True):
    """A sentence for the person, not part of the transcript."""

    sentence: str


class RunSettled(Struct, frozen=True):
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
