"""How much of a thread's end is shown at first: what fills a window, and not much more."""

from __future__ import annotations

from typing import Final

WINDOW_MESSAGES: Final = 20
"""Messages that fill the first window of a thread."""

WINDOW_TALL: Final = 6
"""How many of them, at least, are more than a step of work, which is one line, or folded away."""

WINDOW_BYTES: Final = 1 << 21
"""Bytes of a log from which on fewer messages do: images, or long outputs."""


def fills_window(*, messages: int, tall: int, length: int = 0) -> bool:
    """Whether so many of a thread's last messages fill a window.

    ``tall`` of them are more than a step of work: no result of a tool follows them at once.
    ``length`` is how many bytes of the log they take, where that is known.
    """
    return tall >= WINDOW_TALL and (messages >= WINDOW_MESSAGES or length >= WINDOW_BYTES)
