"""Transcript entries to messages: what a person reads, assembled from what the log holds.

Owns the pairing of tool results with their calls, the state of a call, and how a branch that ends
inside a turn is named. Decodes nothing and knows no file format: it reads ``enso.transcript`` and
writes ``enso.wire``. Nothing leaves it that could not be sent: lone surrogates become U+FFFD,
numbers that JSON cannot hold and nesting that would break a reader are replaced.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from enso import transcript, wire

SHOWN_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The kinds of image that are shown; SVG is not among them, because it can hold a document."""

MAX_JSON_DEPTH = 64
"""Nesting of arguments and details beyond which ``"…"`` stands instead."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_MAX_EXACT_INT = 2**64

CallState = Literal["streaming", "running", "done", "failed", "interrupted"]


def mended(text: str) -> str:
    """``text`` without lone surrogates: each becomes U+FFFD; halves that belong together join."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def iso_time(milliseconds: int | None) -> str | None:
    """Milliseconds since the epoch as ISO 8601 in UTC; ``None`` for what no calendar holds."""
    if milliseconds is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError, TypeError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def json_value(value: Any, depth: int = 0) -> Any:
    """A JSON value that every reader can take: mended strings, finite numbers, bounded nesting."""
    if isinstance(value, str):
        return mended(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < _MAX_EXACT_INT else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= MAX_JSON_DEPTH:
        return "…"
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {mended(str(key)): json_value(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [json_value(item, depth + 1) for item in cast("Sequence[Any]", value)]
    return mended(str(value))


def image_part(part: transcript.ImagePart) -> wire.ImagePart:
    """An image with its bytes as a data URL; without a URL when its kind is not shown, or torn."""
    mime_type = mended(part.mime_type).strip().lower()
    if mime_type == "image/jpg":
        mime_type = "image/jpeg"
    shown = mime_type in SHOWN_IMAGE_TYPES and _BASE64.fullmatch(part.data) is not None
    url = f"data:{mime_type};base64,{part.data}" if shown else ""
    return wire.ImagePart(mime_type=mime_type, url=url)


def usage_shape(usage: transcript.Usage) -> wire.Usage:
    """Usage as it is sent; a cost that is no number is 0 and not known."""
    finite = math.isfinite(usage.cost)
    return wire.Usage(
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        total_tokens=usage.total_tokens,
        cost=usage.cost if finite else 0.0,
        cost_known=usage.cost_known and finite,
    )


def refusal_shape(refusal: transcript.Refusal) -> wire.Refusal:
    """A refusal as it is sent, with the bubble's whole sentence."""
    return wire.Refusal(
        provider=mended(refusal.provider),
        model=mended(refusal.model),
        refusal_class=refusal.refusal_class,
        status=refusal.status,
        reason=mended(refusal.reason),
        sentence=mended(refusal.sentence),
    )


def content_part(
    part: transcript.Part,
) -> wire.TextPart | wire.ThinkingPart | wire.ImagePart | None:
    """A text, thinking or image part as it is sent; ``None`` for blank text and unknown kinds.

    Thinking stays when it is empty: its provider withheld it, and the message says so.
    """
    if isinstance(part, transcript.TextPart):
        return wire.TextPart(content=mended(part.text)) if part.text.strip() else None
    if isinstance(part, transcript.ThinkingPart):
        return wire.ThinkingPart(content=mended(part.text))
    if isinstance(part, transcript.ImagePart):
        return image_part(part)
    return None


def streaming_part(part: transcript.Part) -> wire.MessagePart:
    """A part of a message that still streams; none is left out, because deltas count them all.

    A block of an unknown kind stands as empty text.
    """
    if isinstance(part, transcript.ToolCallPart):
        return wire.ToolCallPart(
            id=mended(part.id),
            name=mended(part.name),
            arguments=json_value(part.arguments),
            state="streaming",
        )
    if isinstance(part, transcript.TextPart):
        return wire.TextPart(content=mended(part.text))
    return content_part(part) or wire.TextPart(content="")


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


def _result_shape(entry: transcript.TranscriptToolResult) -> wire.ToolResult:
    parts = [content_part(part) for part in entry.parts]
    return wire.ToolResult(
        content=[part for part in parts if isinstance(part, wire.TextPart | wire.ImagePart)],
        is_error=entry.is_error,
        details=json_value(entry.details),
    )


@dataclass(slots=True)
class _Draft:
    """A message under assembly: its entry, and the results that came for its calls so far."""

    entry: transcript.TranscriptMessage | transcript.TranscriptMarker
    live: bool = False
    results: dict[int, transcript.TranscriptToolResult] = field(
        default_factory=dict[int, transcript.TranscriptToolResult]
    )

    def calls(self) -> list[tuple[int, transcript.ToolCallPart]]:
        """The tool calls of this message with their places among its parts."""
        if not isinstance(self.entry, transcript.TranscriptMessage):
            return []
        parts = enumerate(self.entry.parts)
        return [(at, part) for at, part in parts if isinstance(part, transcript.ToolCallPart)]

    def waits(self) -> bool:
        """Whether a call of this message has no result."""
        return len(self.results) < len(self.calls())

    def message(self) -> wire.Message:
        """The message as it now is."""
        if isinstance(self.entry, transcript.TranscriptMarker):
            return _marker_message(self.entry)
        return self._spoken(self.entry)

    def _spoken(self, entry: transcript.TranscriptMessage) -> wire.Message:
        parts = (self._part(at, part) for at, part in enumerate(entry.parts))
        return wire.Message(
            id=mended(entry.id),
            role=entry.role,
            created_at=iso_time(entry.created_at),
            parts=[part for part in parts if part is not None],
            model=mended(entry.model) or None,
            provider=mended(entry.provider) or None,
            usage=usage_shape(entry.usage) if entry.usage else None,
            stop_reason=entry.stop_reason,
            refusal=refusal_shape(entry.refusal) if entry.refusal else None,
            duration_ms=entry.duration_ms,
        )

    def _part(self, at: int, part: transcript.Part) -> wire.MessagePart | None:
        if not isinstance(part, transcript.ToolCallPart):
            return content_part(part)
        result = self.results.get(at)
        return wire.ToolCallPart(
            id=mended(part.id),
            name=mended(part.name),
            arguments=json_value(part.arguments),
            state=self._state(result),
            result=_result_shape(result) if result else None,
            duration_ms=result.duration_ms if result else None,
        )

    def _state(self, result: transcript.TranscriptToolResult | None) -> CallState:
        if result is not None:
            return "failed" if result.is_error else "done"
        return "running" if self.live else "interrupted"


def _marker_message(entry: transcript.TranscriptMarker) -> wire.Message:
    text = mended(entry.text)
    return wire.Message(
        id=mended(entry.id),
        role="marker",
        created_at=iso_time(entry.created_at),
        parts=[wire.TextPart(content=text)] if text.strip() else [],
        title=mended(entry.title),
        marker=entry.kind,
    )


class MessageAssembler:
    """Assembles messages entry by entry, each entry in constant time however long the branch is.

    A result is paired with the newest call of its id that has none; within one message in the order
    of its calls. So ids that a model repeats in every turn, or twice in one, do not mix answers up.
    A result without such a call is dropped. A call without a result is running when its message was
    fed last and while ``running``; any other is interrupted.
    """

    def __init__(self, *, running: bool = False) -> None:
        self._running = running
        self._drafts: list[_Draft] = []
        self._messages: list[wire.Message] = []
        self._dirty: set[int] = set()
        self._open: dict[str, deque[tuple[int, int]]] = {}
        self._live: int | None = None

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
        if isinstance(entry, transcript.TranscriptToolResult):
            return self._feed_result(entry)
        if isinstance(entry, transcript.TranscriptMessage):
            return self._feed_message(entry)
        if isinstance(entry, transcript.TranscriptMarker):
            return [self._add(_Draft(entry=entry))]
        return []

    def set_running(self, running: bool) -> list[int]:
        """Say that a run began or ended; returns the indexes of messages this changed."""
        self._running = running
        return [] if running else self._settle_live()

    def _feed_message(self, entry: transcript.TranscriptMessage) -> list[int]:
        changed = self._settle_live()
        going_on = self._running and entry.stop_reason not in ("error", "aborted")
        draft = _Draft(entry=entry, live=going_on)
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

    def _add(self, draft: _Draft) -> int:
        self._drafts.append(draft)
        index = len(self._drafts) - 1
        self._dirty.add(index)
        return index


def transcript_to_messages(entries: Iterable[transcript.TranscriptEntry]) -> list[wire.Message]:
    """The messages of a branch that nothing runs on: a call without a result is interrupted."""
    assembler = MessageAssembler()
    for entry in entries:
        assembler.feed(entry)
    return list(assembler.messages)


def interrupted_tail(
    entries: Sequence[transcript.TranscriptEntry],
) -> transcript.InterruptedTail | None:
    """How the branch ends inside a turn (design, 5.6); ``None`` when its last turn settled.

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
