"""What of a context each kind of message has: the kinds, and how stored messages count as them.

Sizes are ``enso.host.context_sums``'s; the letters of a message are ``enso.host.context_size``'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from enso.host.context_size import SystemSize, message_letters, tokens_of
from enso.host.context_sums import NOTHING, Size, Sizes, add
from enso.host.contract import ShareKind
from enso.host.session_context import Stored, role_of

KINDS: Final[tuple[ShareKind, ...]] = (
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
)
STANDING: Final = ("system", "tools")  # whose tokens are those of all system messages together
LEFT_OUT: Final = "left out"
"""Not a kind that is shown: messages that edits took out of the context."""


class Told:
    """What stands before the conversation: the newest summary, and the system messages since."""

    def __init__(self) -> None:
        self.places: dict[int, None] = {}  # a set that keeps its order
        self.sizes: Sizes = {}
        self.system = SystemSize()
        self.system_tokens = 0

    def add(self, place: int | None, messages: list[Stored], stored: list[Stored]) -> None:
        """The messages of a place as they are in the context, and as they are stored."""
        if place is not None:
            self.places[place] = None
        add(self.sizes, sizes_of(messages))
        if len(messages) < len(stored):
            add(self.sizes, {LEFT_OUT: Size(len(stored) - len(messages), 0, 0)})
        for message in messages:
            if role_of(message) == "system":
                self.system.take(message)
        self.system_tokens = tokens_of(self.system.letters)


def kind_of(role: str) -> str:
    """The kind that a message of this role counts as."""
    return role if role in KINDS and role != "tools" else "other"


def sizes_of(messages: Iterable[Stored]) -> Sizes:
    """What messages take by kind; the tools that a system message declares are their own kind."""
    sizes: Sizes = {}
    for message in messages:
        letters = message_letters(message)
        tokens = tokens_of(letters)
        role = role_of(message)
        if role == "system":
            own = SystemSize()
            own.take(message)
            tools = own.tool_letters
            of_tools = min(tokens, tools // 4)
            add(sizes, {"tools": Size(0, tools, of_tools)} if tools else {})
            letters, tokens = letters - tools, tokens - of_tools
        kind = kind_of(role)
        add(sizes, {kind: Size(1, letters, tokens)})
    return sizes


def difference(stored: Sizes, messages: list[Stored]) -> Sizes:
    """What an edit changes of the sizes of a place, and what it leaves out."""
    change = {kind: NOTHING.minus(size) for kind, size in stored.items()}
    add(change, sizes_of(messages))
    dropped = sum(size.elements for size in stored.values()) - len(messages)
    if dropped:
        add(change, {LEFT_OUT: Size(dropped, 0, 0)})
    return change
