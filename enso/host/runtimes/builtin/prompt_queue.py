"""What waits to be said to the model while a run is in flight.

Owns the order of delivery and that an item is delivered or taken back, never both.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from enso.host.contract import PromptImage, PromptRefused, QueueChanged, QueuedPrompt

When = Literal["steer", "after"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued message with its images."""

    item: QueuedPrompt
    images: tuple[PromptImage, ...]


class PromptQueue:
    """The queue of one thread; ``tell`` hears of every change. Thread-safe.

    It takes messages from ``open`` to ``close``: nothing is put in that nobody would deliver.
    """

    def __init__(self, tell: Callable[[QueueChanged], None]) -> None:
        self._tell = tell
        self._lock = threading.RLock()
        self._waiting: list[Waiting] = []
        self._is_open = False

    def open(self) -> None:
        """A run is in flight that delivers."""
        with self._lock:
            self._is_open = True

    def close(self) -> tuple[QueuedPrompt, ...]:
        """Take everything out, and take nothing more; returns what was there still."""
        with self._lock:
            self._is_open = False
            left = self._ordered()
            if left:
                self._change([])
            return left

    def close_if_empty(self) -> bool:
        """Close, unless something waits: then the run has to go on."""
        with self._lock:
            self._is_open = bool(self._waiting)
            return not self._is_open

    def add(self, message: str, images: Sequence[PromptImage], when: When) -> str:
        """Put a message in; returns the item's id. Raises ``PromptRefused`` when none is taken."""
        item = QueuedPrompt(id=uuid.uuid4().hex[:12], message=message, when=when)
        with self._lock:
            if not self._is_open:
                raise PromptRefused("not-busy", "Nothing runs in this thread. Send it instead.")
            self._change([*self._waiting, Waiting(item, tuple(images))])
        return item.id

    def take_back(self, item_id: str) -> QueuedPrompt | None:
        """Take an item out; ``None`` when it is not there any more."""
        with self._lock:
            taken = next((w for w in self._waiting if w.item.id == item_id), None)
            if taken is None:
                return None
            self._change([w for w in self._waiting if w is not taken])
            return taken.item

    def take(self, when: When, *, every: bool = False) -> list[Waiting]:
        """Take out the oldest item of a kind, or every one, to be delivered."""
        with self._lock:
            taken = [w for w in self._waiting if w.item.when == when][: None if every else 1]
            if taken:
                self._change([w for w in self._waiting if w not in taken])
            return taken

    @property
    def items(self) -> tuple[QueuedPrompt, ...]:
        """What waits: what steers first, for it is delivered first."""
        with self._lock:
            return self._ordered()

    def _ordered(self) -> tuple[QueuedPrompt, ...]:
        items = [waiting.item for waiting in self._waiting]
        return tuple(sorted(items, key=lambda item: item.when != "steer"))

    def _change(self, waiting: list[Waiting]) -> None:
        self._waiting = waiting
        self._tell(QueueChanged(self._ordered()))
