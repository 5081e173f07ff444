"""Gathers which threads something happened to, and tells of them together, on a worker of its own.

Whoever reports is never held up, and may hold any lock; many reports in a short time become one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

Tell = Callable[[frozenset[str]], None]
"""Told the ids of the threads that were reported since the last time."""


class Gatherer:
    """Tells ``tell`` of reported threads, at most once in ``interval`` seconds."""

    def __init__(self, *, name: str, interval: float, tell: Tell) -> None:
        self._name = name
        self._interval = interval
        self._tell = tell
        self._reported: set[str] = set()
        self._wake = threading.Condition()
        self._closed = False

    def start(self) -> None:
        """Begin to tell."""
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def report(self, thread_ids: frozenset[str]) -> None:
        """Something happened to these threads; never waits."""
        with self._wake:
            self._reported |= thread_ids
            self._wake.notify()

    def close(self) -> None:
        """Tell of nothing more."""
        with self._wake:
            self._closed = True
            self._wake.notify()

    def _run(self) -> None:
        while (reported := self._gathered()) is not None:
            try:
                self._tell(reported)
            except Exception:
                log.exception("%s: what was gathered could not be told", self._name)

    def _gathered(self) -> frozenset[str] | None:
        """The threads reported by the time the interval after the first report is over."""
        with self._wake:
            self._wake.wait_for(lambda: self._reported or self._closed)
            if self._wake.wait_for(lambda: self._closed, self._interval):
                return None
            reported, self._reported = frozenset(self._reported), set()
        return reported
