"""What a person reads: messages, their parts, and a thread's whole history."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal

from pydantic import Field

from enso.wire.shape import Shape, left_out


class TextPart(Shape):
    """Text of a message; markdown when the agent wrote it."""

    type: Literal["text"] = "text"
    content: str


class ThinkingPart(Shape):
    """What the model thought; empty when its provider withheld it."""

    type: Literal["thinking"] = "thinking"
    content: str


class ImagePlace(Shape):
    """Where an image is asked for: part ``number`` of an entry; and what is told of it before.

    ``length`` is how much base64 it is, ``size`` its width and height in pixels if they are known.
    """

    entry_id: str
    number: int
    length: int
    size: tuple[int, int] | None


class ImagePart(Shape):
    """An image, its bytes inline as a data URL; ``url`` is empty when its kind is not shown.

    Pages show it from its ``place``, which is not sent as JSON. On a page that was read without its
    images ``url`` is empty also where there is a place.
    """

    type: Literal["image"] = "image"
    mime_type: str
    url: str
    place: ImagePlace | None = Field(default=None, exclude=True)


class ToolResult(Shape):
    """What a tool answered: its text and images, and the tool's own details (a diff)."""

    content: list[TextPart | ImagePart]
    is_error: bool
    details: Any = left_out()


class ToolCallPart(Shape):
    """A tool call. ``state``: its arguments stream, it runs, it is done, or it never ended."""

    type: Literal["tool-call"] = "tool-call"
    id: str
    name: str
    arguments: Any
    state: Literal["streaming", "running", "done", "failed", "interrupted"]
    result: ToolResult | None = left_out()
    duration_ms: int | None = left_out()


MessagePart = Annotated[
    TextPart | ThinkingPart | ImagePart | ToolCallPart, Field(discriminator="type")
]


class Usage(Shape):
    """Tokens, and US dollars. ``costKnown`` false: the true cost is higher by an unknown price.

    ``unpricedRequests`` is how many requests have one. ``cost`` is null when all of it is unknown.
    """

    input: int
    output: int
    cache_read: int
    cache_write: int
    total_tokens: int
    cost: float | None
    cost_known: bool
    unpriced_requests: int = 0


class TurnSpend(Shape):
    """What a turn used, of the branch: a prompt and all that followed until the next."""

    requests: int
    usage: Usage


class Refusal(Shape):
    """A provider's "no"; ``sentence`` is the whole bubble."""

    provider: str
    model: str
    refusal_class: Annotated[str, Field(alias="class")]
    status: int | None
    reason: str
    sentence: str


class Message(Shape):
    """What a person reads as one: a prompt, a reply with its tool calls, or a quiet marker line.

    ``createdAt`` is ISO 8601 in UTC. A marker has a ``title``; its parts open under it. ``label``
    is a person's bookmark. ``turn`` is what the turn used that this reply ends, so far.
    """

    id: str
    role: Literal["user", "assistant", "marker"]
    created_at: str | None = left_out()
    parts: list[MessagePart]
    model: str | None = left_out()
    provider: str | None = left_out()
    usage: Usage | None = left_out()
    turn: TurnSpend | None = left_out()
    stop_reason: Literal["stop", "length", "tool-use", "error", "aborted", "other"] | None = (
        left_out()
    )
    refusal: Refusal | None = left_out()
    title: str | None = left_out()
    marker: Literal["compaction", "branch-summary", "shell", "custom"] | None = left_out()
    streaming: bool = Field(default=False, exclude_if=operator.not_)
    duration_ms: int | None = left_out()
    label: str | None = left_out()


InterruptedTail = Literal[
    "unanswered-prompt", "tool-call-without-result", "tool-result-without-reply"
]


class PermissionModeChoice(Shape):
    """A mode that can be chosen."""

    id: str
    label: str
    description: str


class PermissionMode(Shape):
    """The mode a thread is in, and those it can be put in."""

    mode: str
    agent: str | None = left_out()
    modes: list[PermissionModeChoice]


class History(Shape):
    """A thread as it is mounted: every message of its branch, live or cold."""

    thread_id: str
    project_id: str
    messages: list[Message]
    permission_mode: PermissionMode
    interrupted: InterruptedTail | None = left_out()
