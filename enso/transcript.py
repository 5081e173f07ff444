"""The transcript: a thread's branch, root to leaf, in types of ours.

The host decodes what a store holds into these values (``enso.host.decode``); everything above the
storage seam reads only them. They are pure and frozen. A stored kind that is not modelled here
becomes ``TranscriptOther`` with its kind's name, so that a transcript has as many entries as the
branch, in the same order.

Times are milliseconds since the epoch; ``None`` where the store has none that can be read.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

RefusalClass = Literal[
    "authentication",
    "permission",
    "model not found",
    "rate limit",
    "quota",
    "context length",
    "overloaded",
    "server error",
    "invalid request",
    "content filter",
    "timeout",
    "connection",
    "stream cut",
    "unknown",
]
"""Why a provider did not answer; the words a person reads in the bubble."""

StopReason = Literal["stop", "length", "tool-use", "error", "aborted", "other"]
"""How an assistant message ended. ``error`` is a refused attempt."""


class Usage(Struct, frozen=True, kw_only=True, gc=False):
    """Tokens and money of one request, or a sum of several.

    Tokens are counts; ``cost`` is US dollars. ``cost_known`` is false when any part of the sum was
    spent on a model whose price is not known: the sum is then a lower bound, and said as such.
    ``unpriced`` is how many requests of a sum that were; one request's own is in ``cost_known``.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    cost_known: bool = True
    unpriced: int = 0

    @property
    def unpriced_requests(self) -> int:
        """How many requests of this have a price that is not known."""
        return self.unpriced or int(not self.cost_known)

    @property
    def total_tokens(self) -> int:
        """All tokens, as pi's ``getSessionStats`` adds them."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            cost=self.cost + other.cost,
            cost_known=self.cost_known and other.cost_known,
            unpriced=self.unpriced_requests + other.unpriced_requests,
        )


class Refusal(Struct, frozen=True, kw_only=True):
    """A provider's "no": who refused, which model, of what class, and the provider's own sentence.

    ``reason`` is one line of plain text. ``status`` is the HTTP status, ``None`` without one.
    """

    provider: str
    model: str
    refusal_class: RefusalClass
    status: int | None
    reason: str

    @property
    def sentence(self) -> str:
        """The bubble's whole text."""
        status = f" ({self.status})" if self.status is not None else ""
        refused = f"refused: {self.refusal_class}{status}"
        return f"{self.provider} · {self.model} {refused} — {self.reason}"


class TextPart(Struct, frozen=True):
    """Text as it was written; markdown when an assistant wrote it."""

    text: str


class ThinkingPart(Struct, frozen=True):
    """What a model thought before it answered. Empty when the provider withheld it."""

    text: str


class ImageSketch(Struct, frozen=True):
    """What is told of an image without its bytes: how much base64 it is, and its pixels if known.

    ``size`` is width and height by the image's own header.
    """

    length: int
    size: tuple[int, int] | None


class ImagePart(Struct, frozen=True):
    """An image; ``data`` is base64 as stored, so that nothing is decoded before it is looked at.

    On a page of a thread it is not even read: then ``data`` is empty, and ``sketch`` tells of it.
    """

    mime_type: str
    data: str
    sketch: ImageSketch | None = None


class ToolCallPart(Struct, frozen=True):
    """A tool call of an assistant message. ``arguments`` is whatever JSON value the model sent."""

    id: str
    name: str
    arguments: Any


class OtherPart(Struct, frozen=True):
    """A content block of a kind that is not modelled here."""

    kind: str


Part = TextPart | ThinkingPart | ImagePart | ToolCallPart | OtherPart


class EntryBase(Struct, frozen=True, kw_only=True):
    """What every entry has: its id on the branch, and when it was made.

    ``usage`` is what models were asked for it; ``None`` when none was.
    """

    id: str
    created_at: int | None = None
    usage: Usage | None = None


class TranscriptMessage(EntryBase, frozen=True, kw_only=True):
    """A message of the person or of the model.

    ``provider`` is the stored provider id and ``model`` the model id; both empty for a user's
    message. ``refusal`` is set when ``stop_reason`` is ``error``.
    """

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...] = ()
    provider: str = ""
    model: str = ""
    stop_reason: StopReason | None = None
    refusal: Refusal | None = None
    duration_ms: int | None = None


class TranscriptToolResult(EntryBase, frozen=True, kw_only=True):
    """What a tool answered. ``details`` is the tool's own JSON (a diff, for ``edit``)."""

    tool_call_id: str
    tool_name: str
    parts: tuple[Part, ...] = ()
    is_error: bool = False
    details: Any = None
    duration_ms: int | None = None


class TranscriptMarker(EntryBase, frozen=True, kw_only=True):
    """Something that happened to the thread, shown as one quiet line that opens to ``text``."""

    kind: Literal["compaction", "branch-summary", "shell", "custom"]
    title: str
    text: str = ""


class TranscriptCustom(EntryBase, frozen=True, kw_only=True):
    """State that the runtime or an extension keeps in the log, ``modes`` among it. Not shown."""

    custom_type: str
    data: Any = None


class TranscriptModelChange(EntryBase, frozen=True, kw_only=True):
    """From here on the thread's model is ``model`` of ``provider``."""

    provider: str
    model: str


class TranscriptThinkingLevel(EntryBase, frozen=True, kw_only=True):
    """From here on the thread's thinking level is ``level``."""

    level: str


class TranscriptLabel(EntryBase, frozen=True, kw_only=True):
    """From here on the entry ``target_id`` is labelled ``label``; empty takes its label away.

    Labels hold in the whole thread: also one that stands on a branch that was left.
    """

    target_id: str
    label: str


class TranscriptOther(EntryBase, frozen=True, kw_only=True):
    """An entry of a kind that is not modelled here; ``kind`` names it (``message:system``, …)."""

    kind: str


TranscriptEntry = (
    TranscriptMessage
    | TranscriptToolResult
    | TranscriptMarker
    | TranscriptCustom
    | TranscriptModelChange
    | TranscriptThinkingLevel
    | TranscriptLabel
    | TranscriptOther
)

InterruptedTail = Literal[
    "unanswered-prompt", "tool-call-without-result", "tool-result-without-reply"
]
"""How a branch ends when its last turn did not settle. Derived on read, never stored."""


def image_of(entry: TranscriptEntry, number: int) -> ImagePart | None:
    """The image that is an entry's part ``number``, counted from 0; ``None`` without one."""
    if not isinstance(entry, TranscriptMessage | TranscriptToolResult):
        return None
    part = entry.parts[number] if 0 <= number < len(entry.parts) else None
    return part if isinstance(part, ImagePart) else None
