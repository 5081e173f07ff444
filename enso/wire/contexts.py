"""What a model was shown: the context of each request in sizes, and one element by element.

Characters are counted as ``pi`` counts them; an estimate of tokens is a quarter of them.
"""

from __future__ import annotations

from typing import Literal

from enso.wire.shape import Shape, left_out


class ContextShare(Shape):
    """What one kind adds to a context; ``tools`` are definitions, which stand in no element."""

    kind: Literal[
        "system",
        "tools",
        "compactionSummary",
        "branchSummary",
        "user",
        "assistant",
        "toolResult",
        "custom",
        "bashExecution",
        "other",
    ]
    elements: int
    characters: int
    tokens: int


class ContextSize(Shape):
    """How much a model is shown. ``tokens`` is what ``pi`` takes it for; the shares are estimates.

    ``leftOut`` counts the messages that an edit took out of it.
    """

    elements: int
    characters: int
    tokens: int
    shares: list[ContextShare]
    left_out: int


class RequestContext(ContextSize):
    """One request of a branch: the answer it came to, and what it was assembled from.

    ``counted`` is the provider's own count of tokens that it was shown. ``compacted``: earlier
    messages were summed up between the request before and this one.
    """

    index: int
    entry_id: str
    created_at: str | None = left_out()
    provider: str
    model: str
    stop_reason: Literal["stop", "length", "tool-use", "error", "aborted", "other"] | None = (
        left_out()
    )
    counted: int | None = left_out()
    compacted: bool


class ThreadContext(Shape):
    """Every request of a thread's branch in order, and the one that the next prompt adds to."""

    thread_id: str
    project_id: str
    requests: list[RequestContext]
    next: ContextSize
    compacted: bool


class ContextPiece(Shape):
    """A part of an element: a block of its content, a section, a tool. ``size`` in characters."""

    kind: Literal[
        "text", "thinking", "image", "tool-call", "section", "tool", "removed", "output", "other"
    ]
    name: str | None = left_out()
    size: int


class ContextElement(Shape):
    """One message of a context by ``pi``'s role word, and the entry that it comes from.

    ``size`` is in characters, ``text`` how it begins. ``edited``: an edit replaced its content.
    """

    role: str
    entry_id: str
    name: str | None = left_out()
    size: int
    tokens: int
    text: str
    pieces: list[ContextPiece]
    edited: bool


class RequestDetail(Shape):
    """One request in full: an element for each message; ``leftOut`` is what edits took out."""

    thread_id: str
    request: int | Literal["next"]
    tokens: int
    elements: list[ContextElement]
    left_out: list[ContextElement]


class StoredEntry(Shape):
    """An entry as it is stored: JSON as text to look at, cut where it is long."""

    thread_id: str
    entry_id: str
    text: str
    characters: int
