"""The state of a live thread: a fold of its runtime's events over the branch it opened with.

What a snapshot says and what the frames say come from this one fold, so they cannot disagree. It
is plain and unguarded: whoever holds it holds the thread's lock (``enso.server.registry``).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, assert_never

from enso import transcript, wire
from enso.host import contract
from enso.server import shapes
from enso.server.messages import MessageAssembler
from enso.server.terminal_text import terminal_text
from enso.server.waiting import dialog_shape, queue_shape, surface_shape

if TYPE_CHECKING:
    from enso.server.pump import Pump


WaitingEvent = (
    contract.DialogOpened
    | contract.DialogClosed
    | contract.QueueChanged
    | contract.ActivityChanged
    | contract.ToolProgress
    | contract.SurfaceChanged
    | contract.DraftSuggested
)


class Change(NamedTuple):
    """A frame, and whether the message or part it speaks of was not there before."""

    frame: wire.Frame
    new: bool = False


@dataclass(slots=True)
class StreamingPart:
    """A part that still grows: its kind, and its text in the pieces that came."""

    part: transcript.Part
    pieces: list[str] = field(default_factory=list[str])

    def whole(self) -> transcript.Part:
        """The part with all the text that came so far."""
        match self.part:
            case transcript.TextPart(text):
                return transcript.TextPart(text + "".join(self.pieces))
            case transcript.ThinkingPart(text):
                return transcript.ThinkingPart(text + "".join(self.pieces))
            case other:
                return other


@dataclass(slots=True)
class StreamingMessage:
    """The assistant message that streams: it is not on the branch before it ends."""

    id: str
    provider: str
    model: str
    created_at: int
    parts: list[StreamingPart] = field(default_factory=list[StreamingPart])

    def as_wire(self) -> wire.Message:
        """The message as far as it came; its parts have the indexes that deltas speak of."""
        return wire.Message(
            id=self.id,
            role="assistant",
            created_at=shapes.iso_time(self.created_at),
            parts=[shapes.streaming_part(part.whole()) for part in self.parts],
            model=self.model,
            provider=self.provider,
            streaming=True,
        )


Inspect = Callable[[], contract.HostedThreadInspection]


class _Branch:
    """The branch of a thread: its entries, and the messages that they are."""

    def __init__(self, inspection: contract.HostedThreadInspection) -> None:
        self.entries: list[transcript.TranscriptEntry] = list(inspection.entries)
        self.assembler = MessageAssembler(labels=inspection.labels)
        for entry in self.entries:
            self.assembler.feed(entry)


class LiveState:
    """The branch, what streams, and the spend of one live thread.

    ``inspect`` has the branch read again that was let go of by ``rest``.
    """

    def __init__(
        self,
        *,
        inspection: contract.HostedThreadInspection,
        usage: transcript.Usage,
        permission_mode: contract.PermissionModeState,
        inspect: Inspect,
    ) -> None:
        self.cwd = inspection.cwd
        self.name = inspection.name
        self.usage = usage
        self.permission_mode = permission_mode
        self.streaming: StreamingMessage | None = None
        self.dialogs: dict[str, contract.Dialog] = {}
        self.queue: tuple[contract.QueuedPrompt, ...] = ()
        self.activity: contract.Activity | None = None
        self.surface = contract.Surface()
        self._callers: dict[str, str] = {}
        self._inspect = inspect
        self._branch: _Branch | None = _Branch(inspection)

    @property
    def entries(self) -> list[transcript.TranscriptEntry]:
        """The branch, read again where it rests."""
        return self._awake.entries

    @property
    def _assembler(self) -> MessageAssembler:
        return self._awake.assembler

    @property
    def _awake(self) -> _Branch:
        if self._branch is None:
            self._branch = _Branch(self._inspect())
        return self._branch

    def wake(self) -> None:
        """Have the branch in memory, before it grows. Raises what reading it again raises."""
        _ = self._awake

    def rest(self) -> None:
        """Let go of the branch while nothing runs; what waits and is shown stays."""
        if self.streaming is None and not self.running:
            self._branch = None
            self._callers.clear()

    def messages(self) -> list[wire.Message]:
        """The messages so far, the one that streams last; a fresh list."""
        messages = list(self._assembler.messages)
        if self.streaming is not None:
            messages.append(self.streaming.as_wire())
        return messages

    def begin_run(self) -> None:
        """From here on a call without a result is running."""
        self._assembler.set_running(True)

    def end_run(self) -> list[Change]:
        """Nothing runs any more; tells the messages that this changed."""
        self.streaming = None
        self.activity = None
        closed = [self._close_dialog(dialog_id, "stopped") for dialog_id in list(self.dialogs)]
        emptied = self._queue(()) if self.queue else []
        return [*closed, *emptied, *self._changed(self._assembler.set_running(False))]

    def apply(self, event: contract.ThreadEvent) -> list[Change]:
        """Take an event in and tell what changed; the settlement is the registry's."""
        match event:
            case contract.EntryStored(entry, streamed_as):
                return self._store(entry, streamed_as)
            case contract.MessageStarted(message_id, provider, model, created_at):
                self.streaming = StreamingMessage(message_id, provider, model, created_at)
                return [Change(wire.MessageFrame(message=self.streaming.as_wire()), new=True)]
            case contract.PartStarted(message_id, index, part) | contract.PartReplaced(
                message_id, index, part
            ):
                return self._set_part(message_id, index, part)
            case contract.PartDelta(message_id, index, text):
                return self._grow_part(message_id, index, text)
            case contract.MessageDropped(message_id):
                self.streaming = None
                return [Change(wire.MessageDroppedFrame(message_id=message_id))]
            case contract.RunNotice(sentence):
                return [Change(wire.NoticeFrame(message=terminal_text(sentence)))]
            case contract.RunSettled() | contract.RunBegan() | contract.BranchChanged():
                return []  # the registry's
            case _:
                return self._apply_waiting(event)

    def _apply_waiting(self, event: WaitingEvent) -> list[Change]:
        """The events of what waits and of what is under way."""
        match event:
            case contract.DialogOpened(dialog):
                self.dialogs[dialog.id] = dialog
                return [Change(wire.DialogFrame(dialog=dialog_shape(dialog)), new=True)]
            case contract.DialogClosed(dialog_id, outcome):
                return [self._close_dialog(dialog_id, outcome)]
            case contract.QueueChanged(items):
                return self._queue(items)
            case contract.ActivityChanged(activity):
                self.activity = activity
                return []
            case contract.ToolProgress(call_id, text):
                return self._progress(call_id, text)
            case contract.SurfaceChanged(surface):
                self.surface = surface
                return [Change(wire.SurfaceFrame(surface=surface_shape(surface)))]
            case contract.DraftSuggested(text):
                return [Change(wire.DraftFrame(text=shapes.mended(text)))]
            case _:
                assert_never(event)

    def _close_dialog(self, dialog_id: str, outcome: str) -> Change:
        self.dialogs.pop(dialog_id, None)
        return Change(wire.DialogFrame(closed=dialog_id, outcome=outcome))

    def _queue(self, items: tuple[contract.QueuedPrompt, ...]) -> list[Change]:
        self.queue = items
        return [Change(wire.QueueFrame(queue=queue_shape(items)))]

    def _progress(self, call_id: str, text: str) -> list[Change]:
        message_id = self._callers.get(call_id)
        if message_id is None:
            return []
        frame = wire.ToolProgressFrame(
            message_id=message_id, call_id=call_id, text=shapes.mended(text)
        )
        return [Change(frame)]

    def carry_over(self, before: LiveState) -> None:
        """Keep what is not in the log when the branch is read anew: what waits and is shown."""
        self.dialogs, self.queue = before.dialogs, before.queue
        self.activity, self.surface = before.activity, before.surface
        self._assembler.set_running(before.running)

    @property
    def running(self) -> bool:
        """Whether a run is in flight, for what calls without a result are."""
        return self._branch is not None and self._branch.assembler.running

    def _store(self, entry: transcript.TranscriptEntry, streamed_as: str) -> list[Change]:
        if streamed_as and self._rename(entry, streamed_as):
            return self._renamed(entry, streamed_as)
        streaming = self.streaming
        streamed = streaming is not None and streaming.id in (entry.id, streamed_as)
        if streamed:
            self.streaming = None
        changes = self._append(entry, streamed=streamed)
        if streamed and streamed_as:
            return [_replacing(change, entry.id, streamed_as) for change in changes]
        return changes

    def _rename(self, entry: transcript.TranscriptEntry, told_as: str) -> bool:
        """Give an entry that was told before the id that it has in the log."""
        for at in range(len(self.entries) - 1, -1, -1):
            if self.entries[at].id == told_as:
                self.entries[at] = entry
                return True
        return False

    def _renamed(self, entry: transcript.TranscriptEntry, told_as: str) -> list[Change]:
        changes = self._changed(self._assembler.rename(told_as, entry))
        return [_replacing(change, entry.id, told_as) for change in changes]

    def _append(self, entry: transcript.TranscriptEntry, *, streamed: bool) -> list[Change]:
        self.entries.append(entry)
        self.usage += entry.usage or transcript.Usage()
        if isinstance(entry, transcript.TranscriptMessage):
            calls = (part for part in entry.parts if isinstance(part, transcript.ToolCallPart))
            self._callers.update((call.id, entry.id) for call in calls)
        if isinstance(entry, transcript.TranscriptLabel):
            return self._changed(self._assembler.set_label(entry.target_id, entry.label))
        known = len(self._assembler.messages)
        changed = self._assembler.feed(entry)
        return self._changed(changed, first_new=known + streamed)

    def _changed(self, indexes: list[int], *, first_new: int | None = None) -> list[Change]:
        messages = self._assembler.messages
        return [
            Change(
                wire.MessageFrame(message=messages[index]),
                new=first_new is not None and index >= first_new,
            )
            for index in indexes
        ]

    def _set_part(self, message_id: str, index: int, part: transcript.Part) -> list[Change]:
        message = self.streaming
        if message is None or message.id != message_id or index > len(message.parts):
            return []
        new = index == len(message.parts)
        message.parts[index : index + 1] = [StreamingPart(part)]
        shape = shapes.streaming_part(part)
        return [Change(wire.PartFrame(message_id=message_id, index=index, part=shape), new=new)]

    def _grow_part(self, message_id: str, index: int, text: str) -> list[Change]:
        message = self.streaming
        if message is None or message.id != message_id or index >= len(message.parts):
            return []
        message.parts[index].pieces.append(text)
        frame = wire.PartDeltaFrame(message_id=message_id, index=index, delta=text)
        return [Change(frame)]


def _replacing(change: Change, entry_id: str, before: str) -> Change:
    """The change as one of the message that had another id before."""
    frame = change.frame
    if isinstance(frame, wire.MessageFrame) and frame.message.id == entry_id:
        return Change(frame.model_copy(update={"replaces": before}))
    return change


@dataclass(slots=True)
class LiveThread:
    """A thread whose runtime is built: busy with a run, or held until its idle time is over.

    ``fold`` makes the state that it begins with, of the moment at which it was built.
    ``running``: events go through ``pump``, from the moment a run is begun to its settlement;
    ``told`` is what came outside of one and is not taken in yet. ``last_activity`` is seconds since
    the epoch, ``idle_until`` seconds of the monotonic clock.
    """

    hosted: contract.HostedThread
    fold: Callable[[], LiveState] | None
    generation: int = 0
    busy: bool = False
    running: bool = False
    last_activity: float = field(default_factory=time.time)
    idle_until: float = 0.0
    pump: Pump | None = None
    told: deque[contract.ThreadEvent] = field(default_factory=deque[contract.ThreadEvent])
    _state: LiveState = field(init=False)
    _folds: threading.Lock = field(default_factory=threading.Lock)

    @property
    def state(self) -> LiveState:
        """Its state, made when it is first asked for, which may be without the slot's lock."""
        with self._folds:
            if self.fold is not None:
                self._state, self.fold = self.fold(), None
            return self._state

    @state.setter
    def state(self, state: LiveState) -> None:
        self._state, self.fold = state, None
