"""What waits in pi's two queues, with ids of ours: pi names queued messages by their text alone.

Owns which text of pi's is which item: a template or a skill is expanded before it is queued, so a
text that comes just after a message was sent is that message's, whatever it says.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from enso.host.contract import PromptImage, QueueChanged, QueuedPrompt
from enso.host.json_lines import clean_text

When = Literal["steer", "after"]
FIELDS: Final[Mapping[When, str]] = {"steer": "steering", "after": "followUp"}


@dataclass(slots=True)
class Waiting:
    """A queued message; ``text`` is how pi has it, ``None`` until pi told of it."""

    item: QueuedPrompt
    images: tuple[PromptImage, ...] = ()
    text: str | None = None


@dataclass(slots=True)
class _Lane:
    waiting: list[Waiting] = field(default_factory=list[Waiting])

    def take(self, texts: Sequence[str], new: Callable[[str], QueuedPrompt]) -> None:
        """Bring the items in line with pi's texts, which are in the order of delivery.

        A text that nobody here sent is one that an extension queued: ``new`` makes an item of it.
        """
        left = list(self.waiting)
        self.waiting = [_match(left, text) or Waiting(new(text), text=text) for text in texts]
        self.waiting += [one for one in left if one.text is None]


class PiQueue:
    """The queue of one thread; ``tell`` hears of every change. Thread-safe.

    ``can_be_taken_back``: whether this pi lets anything be taken out again.
    """

    def __init__(self, tell: Callable[[QueueChanged], None]) -> None:
        self._tell = tell
        self.can_be_taken_back = True
        self._lock = threading.RLock()
        self.last: Mapping[str, Any] = {}
        """What pi told of its queues last."""
        self._lanes: dict[When, _Lane] = {"steer": _Lane(), "after": _Lane()}

    def sending(self, message: str, images: Sequence[PromptImage], when: When) -> Waiting:
        """A message is about to be sent: the text that pi tells next is its."""
        waiting = Waiting(self._item(message, when), tuple(images))
        with self._lock:
            self._lanes[when].waiting.append(waiting)
        return waiting

    def not_sent(self, waiting: Waiting) -> None:
        """Pi did not take it, or handled it at once: it waits no more."""
        with self._lock:
            lane = self._lanes[waiting.item.when]
            if waiting.text is None and waiting in lane.waiting:
                lane.waiting.remove(waiting)

    def update(self, record: Mapping[str, Any]) -> None:
        """Take in a ``queue_update``."""
        with self._lock:
            before, self.last = self.items, record
            for when, name in FIELDS.items():
                self._lanes[when].take(
                    _texts(record.get(name)), lambda text, when=when: self._item(text, when)
                )
            if self.items != before:
                self._tell(QueueChanged(self.items))

    def _item(self, message: str, when: When) -> QueuedPrompt:
        return QueuedPrompt(
            id=uuid.uuid4().hex[:12],
            message=message,
            when=when,
            can_be_taken_back=self.can_be_taken_back,
        )

    def clear(self) -> None:
        """Nothing waits any more."""
        with self._lock:
            waited = bool(self.items)
            self._lanes = {"steer": _Lane(), "after": _Lane()}
            if waited:
                self._tell(QueueChanged(()))

    def items_of(
        self, waited: Sequence[Waiting], cleared: Mapping[str, Any]
    ) -> tuple[QueuedPrompt, ...]:
        """The items whose texts pi took out of its queues, in the order of delivery.

        ``waited`` is what was there before: pi delivers from the front, so of two with one text
        the later one is meant. A text that none of them has is an item of its own: nothing that pi
        gave back is left out.
        """
        found: list[QueuedPrompt] = []
        for when, name in FIELDS.items():
            left = [one for one in reversed(waited) if one.item.when == when]
            lane = [
                one.item if (one := _match(left, text)) else self._item(text, when)
                for text in reversed(_texts(cleared.get(name)))
            ]
            found += reversed(lane)
        return tuple(found)

    @property
    def items(self) -> tuple[QueuedPrompt, ...]:
        """What waits: what steers first, for it is delivered first."""
        return tuple(waiting.item for waiting in self.waiting if waiting.text is not None)

    @property
    def waiting(self) -> list[Waiting]:
        """The same with images and pi's texts, also what pi has not told of yet."""
        with self._lock:
            return [*self._lanes["steer"].waiting, *self._lanes["after"].waiting]


def _match(left: list[Waiting], text: str) -> Waiting | None:
    """Take out the item that this text is: the first of the same text, else one just sent."""
    found = next((one for one in left if one.text == text), None)
    found = found or next((one for one in left if one.text is None), None)
    if found is not None:
        left.remove(found)
        found.text = text
    return found


def _texts(value: Any) -> list[str]:
    return [clean_text(text) for text in value if isinstance(text, str)] if value else []
