"""Who answers a person goes first: work in the background waits between its steps.

Python runs one worker at a time, and a step that parses a line of a megabyte gives nothing up in
between: beside two such workers, what takes 5 ms takes 20. What nobody waits for begins once it is
quiet.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

LONG_STEP: Final = 1 << 15
"""Bytes of a line from which on work in the background gives way before it."""

LONGEST_SECONDS: Final = 0.25
"""How long work in the background waits at most before one step."""

QUIET_SECONDS: Final = 0.05
"""For how long nobody went first, where it is quiet: a page that was read is drawn meanwhile."""


class Precedence:
    """Lets workers go first. Usable from any worker."""

    def __init__(
        self, longest_seconds: float = LONGEST_SECONDS, quiet_seconds: float = QUIET_SECONDS
    ) -> None:
        """``longest_seconds``: how long work waits at most."""
        self._longest_seconds = longest_seconds
        self._quiet_seconds = quiet_seconds
        self._last_at = 0.0
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
                self._last_at = time.monotonic()
                if not self._going_first:
                    self._free.set()

    def give_way(self) -> None:
        """Wait until nobody goes first, or for as long as work waits at most."""
        if self._going_first:
            self._free.wait(self._longest_seconds)

    def wait_for_quiet(self, until: threading.Event | None = None) -> None:
        """Wait until nobody went first for a moment from now on, or until that is set.

        For as long as work waits at most.
        """
        until = until or threading.Event()
        begun = now = time.monotonic()
        while now < begun + self._longest_seconds:
            loud = now if self._going_first else max(begun, self._last_at)
            rest = loud + self._quiet_seconds - now
            if rest <= 0 or until.wait(rest):
                return
            now = time.monotonic()


answers: Final = Precedence()
"""Of this process: answers to persons go first."""
