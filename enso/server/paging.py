"""Pages of a long thread: the last one first, earlier ones as the reader asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enso import wire
from enso.host.contract import fills_window

PAGE_MESSAGES = 60
"""Messages of a page; of the one that a browser shows first, no more than fill its window."""


@dataclass(frozen=True, slots=True)
class Window:
    """Some messages of a thread in a row, and how many there are before them.

    ``None``: some, and how many was not counted yet.
    """

    messages: Sequence[wire.Message]
    before: int | None

    @property
    def first(self) -> str:
        """The id of its first message; empty when it has none."""
        return self.messages[0].id if self.messages else ""


def last_page(messages: Sequence[wire.Message], size: int = PAGE_MESSAGES) -> Window:
    """The newest ``size`` messages."""
    start = max(0, len(messages) - size)
    return Window(messages[start:], start)


def first_page(messages: Sequence[wire.Message], size: int = PAGE_MESSAGES) -> Window:
    """The newest messages that fill a window, and not more than ``size``."""
    tall = 0
    for number, message in enumerate(reversed(messages[-size:]), 1):
        tall += not _is_step(message)
        if fills_window(messages=number, tall=tall):
            return last_page(messages, number)
    return last_page(messages, size)


def page_before(
    messages: Sequence[wire.Message], message_id: str, size: int = PAGE_MESSAGES
) -> Window | None:
    """The ``size`` messages before one; ``None`` when that one is not on the branch."""
    end = _index_of(messages, message_id)
    if end is None:
        return None
    start = max(0, end - size)
    return Window(messages[start:end], start)


def page_from(messages: Sequence[wire.Message], message_id: str) -> Window | None:
    """Everything from one message on; ``None`` when that one is not on the branch."""
    start = _index_of(messages, message_id)
    return None if start is None else Window(messages[start:], start)


def _is_step(message: wire.Message) -> bool:
    """Whether a tool answered it."""
    return any(part.type == "tool-call" and part.result is not None for part in message.parts)


def _index_of(messages: Sequence[wire.Message], message_id: str) -> int | None:
    # Ids repeat in damaged files; the newest is the one that a page shows last.
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].id == message_id:
            return index
    return None
