"""What waits to be said to the model while a run is in flight.

Owns the order of delivery and that an item is delivered or taken back, never both.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from enso.host.contract import PromptImage, QueueChanged, QueuedPrompt

When = Literal["steer", "after"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued message with its images."""

    item: QueuedPrompt
    images: tuple[PromptImage, ...]


class PromptQueue:
    """The queue of one thread; ``tell`` hears of every change. Thread-safe."""

    def __init__(self, tell: Callable[[QueueChanged], None]) -> None:
        self._tell = tell
        self._lock = threading.RLock()
        self._waiting: list[Waiting] = []

    def add(self, message: str, images: Sequence[PromptImage], when: When) -> str:
        """Put a message in; returns the item's id."""
        item = QueuedPrompt(id=uuid.uuid4().hex[:12], message=message, when=when)
        with self._lock:
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

    def next(self, when: When) -> Waiting | None:
        """Take out the oldest item of a kind, to be delivered; ``None`` when there is none."""
        with self._lock:
            taken = next((w for w in self._waiting if w.item.when == when), None)
            if taken is not None:
                self._change([w for w in self._waiting if w is not taken])
            return taken

    def clear(self) -> None:
        """Take everything out."""
        with self._lock:
            if self._waiting:
                self._change([])

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
