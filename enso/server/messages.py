"""Transcript entries to messages: what a person reads, assembled from what the log holds.

Owns the pairing of tool results with their calls, the state of a call, and how a branch that ends
inside a turn is named. Decodes nothing and knows no file format: it reads ``enso.transcript`` and
writes ``enso.wire``, value by value as ``enso.server.shapes`` gives them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from enso import transcript, wire
from enso.server.message_draft import Draft
from enso.server.shapes import usage_shape


def settled(messages: Iterable[wire.Message]) -> list[wire.Message]:
    """The same messages of a thread on which nothing runs: what ran or streamed was interrupted."""
    return [_settled_message(message) for message in messages]


def _settled_message(message: wire.Message) -> wire.Message:
    unsettled = ("running", "streaming")
    calls = [part for part in message.parts if isinstance(part, wire.ToolCallPart)]
    if not any(call.state in unsettled for call in calls):
        return message
    parts = [
        part.model_copy(update={"state": "interrupted"})
        if isinstance(part, wire.ToolCallPart) and part.state in unsettled
        else part
        for part in message.parts
    ]
    return message.model_copy(update={"parts": parts})


@dataclass(slots=True)
class _Turn:
    """What the turn under way used so far, and the place of the reply that says so."""

    requests: int = 0
    usage: transcript.Usage = field(default_factory=transcript.Usage)
    end: int | None = None

    def spend(self) -> wire.TurnSpend:
        """It as it is sent."""
        return wire.TurnSpend(requests=self.requests, usage=usage_shape(self.usage))


def _ends_turn(entry: transcript.TranscriptEntry) -> bool:
    """Whether an entry is a reply after which its turn may be over."""
    return (
        isinstance(entry, transcript.TranscriptMessage)
        and entry.role == "assistant"
        and entry.stop_reason not in (None, "tool-use", "error")
    )


class MessageAssembler:
    """Assembles messages entry by entry, each entry in constant time however long the branch is.

    A result is paired with the newest call of its id that has none; within one message in the order
    of its calls. So ids that a model repeats in every turn, or twice in one, do not mix answers up.
    A result without such a call is dropped. A call without a result is running when its message was
    fed last and while ``running``; any other is interrupted.

    ``labels`` are a person's, by entry id: of the whole thread, so they do not come from what is
    fed.

    The last reply of a turn says what the turn used: with the numbers of the thread's stats, which
    count what a branch holds the same way. ``requests`` and ``usage`` are what a turn under way
    used before the first entry that is fed.
    """

    def __init__(
        self,
        *,
        running: bool = False,
        labels: Mapping[str, str] | None = None,
        requests: int = 0,
        usage: transcript.Usage | None = None,
    ) -> None:
        self._running = running
        self._labels = dict(labels or {})
        self._places: dict[str, list[int]] = {}
        self._drafts: list[Draft] = []
        self._messages: list[wire.Message] = []
        self._dirty: set[int] = set()
        self._open: dict[str, deque[tuple[int, int]]] = {}
        self._live: int | None = None
        self._turn = _Turn(requests, usage or transcript.Usage())

    @property
    def messages(self) -> Sequence[wire.Message]:
        """Every message so far, in order. The same list at every call: not to be changed."""
        for index in sorted(self._dirty):
            message = self._drafts[index].message()
            if index < len(self._messages):
                self._messages[index] = message
            else:
                self._messages.append(message)
        self._dirty.clear()
        return self._messages

    def feed(self, entry: transcript.TranscriptEntry) -> list[int]:
        """Take the branch's next entry; returns the indexes of messages it added or changed."""
        changed = self._feed(entry)
        return sorted({*changed, *self._count(entry)})

    def _feed(self, entry: transcript.TranscriptEntry) -> list[int]:
        if isinstance(entry, transcript.TranscriptToolResult):
            return self._feed_result(entry)
        if isinstance(entry, transcript.TranscriptMessage):
            return self._feed_message(entry)
        if isinstance(entry, transcript.TranscriptMarker):
            return [self._add(Draft(entry=entry))]
        return []

    def set_label(self, entry_id: str, label: str) -> list[int]:
        """Label an entry, or take its label away; returns the indexes of messages this changed."""
        self._labels[entry_id] = label
        changed = self._places.get(entry_id, [])
        for index in changed:
            self._drafts[index].label = label
        self._dirty.update(changed)
        return list(changed)

    def set_running(self, running: bool) -> list[int]:
        """Say that a run began or ended; returns the indexes of messages this changed."""
        self._running = running
        return [] if running else self._settle_live()

    @property
    def running(self) -> bool:
        """Whether a run is in flight."""
        return self._running

    @property
    def is_told(self) -> bool:
        """Whether a reply says already what the turn under way used: one that comes may instead."""
        return self._turn.end is not None

    @property
    def spent(self) -> tuple[int, transcript.Usage]:
        """What the turn under way used so far: how many requests, and their sum."""
        return self._turn.requests, self._turn.usage

    def waiting(self) -> Iterator[str]:
        """The ids of calls that have no result."""
        return (call_id for call_id, places in self._open.items() if places)

    def rename(self, before: str, entry: transcript.TranscriptEntry) -> list[int]:
        """The message that was fed under the id ``before`` is this entry; the indexes changed."""
        if not isinstance(entry, transcript.TranscriptMessage):
            return []
        for index in range(len(self._drafts) - 1, -1, -1):
            if self._drafts[index].entry.id == before:
                self._drafts[index].entry = entry
                self._dirty.add(index)
                return [index]
        return []

    def _count(self, entry: transcript.TranscriptEntry) -> list[int]:
        """Count what an entry used; returns the indexes of the replies that say another sum now."""
        spoken = entry if isinstance(entry, transcript.TranscriptMessage) else None
        if spoken is not None and spoken.role == "user":
            self._turn = _Turn()
            return []
        if spoken is None and entry.usage is None:
            return []
        turn = self._turn
        turn.requests += 1
        turn.usage += entry.usage or transcript.Usage()
        before = turn.end
        if _ends_turn(entry):
            turn.end = len(self._drafts) - 1
        if turn.end is None:
            return []
        said = {turn.end} if before is None else {before, turn.end}
        for index in said:
            self._drafts[index].turn = turn.spend() if index == turn.end else None
        self._dirty |= said
        return sorted(said)

    def _feed_message(self, entry: transcript.TranscriptMessage) -> list[int]:
        changed = self._settle_live()
        going_on = self._running and entry.stop_reason not in ("error", "aborted")
        draft = Draft(entry=entry, live=going_on)
        index = self._add(draft)
        calls = draft.calls()
        for _, call in calls:
            self._open[call.id] = deque()
        for at, call in calls:
            self._open[call.id].append((index, at))
        if draft.live and calls:
            self._live = index
        return [*changed, index]

    def _feed_result(self, entry: transcript.TranscriptToolResult) -> list[int]:
        waiting = self._open.get(entry.tool_call_id)
        if not waiting:
            return []
        index, at = waiting.popleft()
        self._drafts[index].results[at] = entry
        self._dirty.add(index)
        return [index]

    def _settle_live(self) -> list[int]:
        index, self._live = self._live, None
        if index is None:
            return []
        draft = self._drafts[index]
        draft.live = False
        if not draft.waits():
            return []
        self._dirty.add(index)
        return [index]

    def _add(self, draft: Draft) -> int:
        self._drafts.append(draft)
        index = len(self._drafts) - 1
        draft.label = self._labels.get(draft.entry.id)
        self._places.setdefault(draft.entry.id, []).append(index)
        self._dirty.add(index)
        return index


def transcript_to_messages(
    entries: Iterable[transcript.TranscriptEntry], labels: Mapping[str, str] | None = None
) -> list[wire.Message]:
    """The messages of a branch that nothing runs on: a call without a result is interrupted."""
    assembler = MessageAssembler(labels=labels)
    for entry in entries:
        assembler.feed(entry)
    return list(assembler.messages)


def page_messages(
    entries: Iterable[transcript.TranscriptEntry],
    later: Iterable[transcript.TranscriptEntry],
    *,
    labels: Mapping[str, str],
    requests: int,
    usage: transcript.Usage,
) -> list[wire.Message]:
    """The messages of a stretch of a branch, each as it is in the whole branch.

    ``later`` are what belongs to it of the entries behind; ``requests`` and ``usage`` what the turn
    used before it that it begins in.
    """
    assembler = MessageAssembler(labels=labels, requests=requests, usage=usage)
    for entry in entries:
        assembler.feed(entry)
    count = len(assembler.messages)
    for entry in later:
        assembler.feed(entry)
    return list(assembler.messages[:count])


def heading_of(messages: Iterable[wire.Message]) -> str:
    """The text of the first prompt that has text."""
    for message in messages:
        if message.role == "user":
            texts = [part.content for part in message.parts if isinstance(part, wire.TextPart)]
            if any(text.strip() for text in texts):
                return " ".join(texts)
    return ""


def interrupted_tail(
    entries: Sequence[transcript.TranscriptEntry],
) -> transcript.InterruptedTail | None:
    """How the branch ends inside a turn; ``None`` when its last turn settled.

    A refused or stopped attempt is a settled turn: it says itself what became of it.
    """
    results: Counter[str] = Counter()
    for entry in reversed(entries):
        if isinstance(entry, transcript.TranscriptToolResult):
            results[entry.tool_call_id] += 1
        elif isinstance(entry, transcript.TranscriptMessage):
            return _tail_at(entry, results)
    return None


def _tail_at(
    entry: transcript.TranscriptMessage, results: Counter[str]
) -> transcript.InterruptedTail | None:
    """The tail when ``entry`` is the last message and ``results`` are the answers behind it."""
    if entry.role == "user":
        return "unanswered-prompt"
    if entry.stop_reason in ("error", "aborted"):
        return None
    calls = Counter(part.id for part in entry.parts if isinstance(part, transcript.ToolCallPart))
    if calls - results:
        return "tool-call-without-result"
    return "tool-result-without-reply" if calls else None
