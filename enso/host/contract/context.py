"""What a model was shown: the context of every request of a branch, in sizes, and one in full.

A request is an answer of the branch, refused and aborted ones too; it was assembled from what stood
before the answer. Requests are counted from 1; ``next`` is the one that the next prompt adds to.
Characters are counted as pi counts them (UTF-16, an image as 4,800), and four of them are a token.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

from enso.transcript import StopReason

RequestNumber = int | Literal["next"]
"""One request of a branch: its number from 1 on, or the one to come."""

ShareKind = Literal[
    "system",
    "tools",
    "user",
    "assistant",
    "toolResult",
    "custom",
    "bashExecution",
    "branchSummary",
    "compactionSummary",
    "other",
]
"""What a part of a context is: pi's word for the role, and the tools beside the system prompt."""

PieceKind = Literal[
    "text", "thinking", "image", "tool-call", "section", "tool", "removed", "output", "other"
]
"""What a part of one element is; ``section`` and ``tool`` are parts of a system message."""


class ContextShare(Struct, frozen=True, kw_only=True, gc=False):
    """What one kind adds to a context. Tools are no elements: they stand in system messages."""

    kind: ShareKind
    elements: int
    characters: int
    tokens: int


class ContextSize(Struct, frozen=True, kw_only=True, gc=False):
    """How much a model was shown, or would be.

    ``tokens`` is what pi takes the context for: the provider's own count of the last answer where
    it still holds, and an estimate of what came after; else an estimate of all. The shares are
    estimates. ``left_out`` counts the messages that an edit took out.
    """

    elements: int
    characters: int
    tokens: int
    shares: tuple[ContextShare, ...]
    left_out: int


class BranchRequest(Struct, frozen=True, kw_only=True, gc=False):
    """One request: its answer's entry, and what it was assembled from.

    ``counted`` is how many tokens the provider says it was shown; ``None`` when it does not say.
    ``compacted``: the conversation was summed up between the request before and this one.
    """

    index: int
    entry_id: str
    created_at: int | None
    provider: str
    model: str
    stop_reason: StopReason | None
    counted: int | None
    compacted: bool
    size: ContextSize


class BranchContext(Struct, frozen=True, kw_only=True):
    """Every request of a branch in order, and the one to come.

    ``compacted``: the conversation was summed up after the last answer.
    """

    requests: tuple[BranchRequest, ...]
    next: ContextSize
    compacted: bool


class StoredThreadContext(Struct, frozen=True, kw_only=True):
    """A stored thread's context, read cold."""

    id: str
    cwd: Path
    branch: BranchContext


class ContextPiece(Struct, frozen=True, kw_only=True):
    """A part of an element: a block of its content, a section, a tool; ``name`` if it has one."""

    kind: PieceKind
    name: str
    characters: int


class ContextElement(Struct, frozen=True, kw_only=True):
    """One message of a context, by pi's role word, and the entry it comes from.

    ``text`` is how it begins. ``name`` is a tool result's tool or a custom message's type.
    ``edited``: its content is not the stored one, an edit put another in its place.
    """

    role: str
    entry_id: str
    name: str
    text: str
    characters: int
    tokens: int
    pieces: tuple[ContextPiece, ...]
    edited: bool


class BranchRequestDetail(Struct, frozen=True, kw_only=True):
    """One request in full: one element for each message of its context, in order.

    ``left_out`` are the messages that would be there had no edit taken them out.
    """

    request: RequestNumber
    tokens: int
    elements: tuple[ContextElement, ...]
    left_out: tuple[ContextElement, ...]
