"""Who answers a person goes first: work in the background waits between its steps.

Python runs one worker at a time, and a step that parses a line of a megabyte gives nothing up in
between: beside two such workers, what takes 5 ms takes 20.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

LONG_STEP: Final = 1 << 15
"""Bytes of a line from which on work in the background gives way before it."""

LONGEST_SECONDS: Final = 0.25
"""How long work in the background waits at most before one step."""


class Precedence:
    """Lets workers go first. Usable from any worker."""

    def __init__(self, longest_seconds: float = LONGEST_SECONDS) -> None:
        """``longest_seconds``: how long work waits at most."""
        self._longest_seconds = longest_seconds
        self._lock = threading.Lock()
        self._going_first = 0
        self._free = threading.Event()
        self._free.set()

    @contextmanager
    def first(self) -> Generator[None]:
        """Go first until this ends."""
        with self._lock:
            self._going_first += 1
            self._free.clear()
        try:
            yield
        finally:
            with self._lock:
                self._going_first -= 1
                if not self._going_first:
                    self._free.set()

    def give_way(self) -> None:
        """Wait until nobody goes first, or for as long as work waits at most."""
        if self._going_first:
            self._free.wait(self._longest_seconds)


answers: Final = Precedence()
"""Of this process: answers to persons go first."""
