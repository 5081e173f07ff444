"""The pump of one run: takes the runtime's events in at once, hands them on in batches.

A model may send hundreds of words a second, and every batch costs each browser a frame. So the
first event is handed on at once, and after it at most one batch in a pace's interval, unless
something other than text comes. The runtime's worker is never held up: ``offer`` only queues.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import groupby

from enso.host.contract import PartDelta, RunSettled, ThreadEvent

log = logging.getLogger(__name__)

INTERVAL = 0.04
FEW = 8
"""Pumps that run at once without any of them being slower for it."""
SLOWEST = 4
"""How many times the interval may become at most."""

TakeEvents = Callable[[Sequence[ThreadEvent]], None]


class Pace:
    """How often each of some pumps hands text on; less often while many of them run.

    So the work of all of them grows no further: who has twenty runs in flight reads one at a time.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self._running = 0
        self._lock = threading.Lock()

    @property
    def interval(self) -> float:
        """Seconds between two batches of one pump, as of now."""
        return self._interval * min(max(1.0, self._running / FEW), SLOWEST)

    @contextmanager
    def one_more(self) -> Generator[None]:
        """One more pump runs."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1


class Pump:
    """Carries the events of one run to ``take``, in order, on a worker of its own."""

    def __init__(self, take: TakeEvents, pace: Pace) -> None:
        self._take = take
        self._pace = pace
        self._events: queue.SimpleQueue[ThreadEvent] = queue.SimpleQueue()

    def offer(self, event: ThreadEvent) -> None:
        """Queue an event; never waits."""
        self._events.put(event)

    def start(self, *, name: str) -> None:
        """Begin to hand on. The worker ends with the run's ``RunSettled``."""
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        with self._pace.one_more():
            self._hand_on()

    def _hand_on(self) -> None:
        handed_on = 0.0
        while True:
            events = self._batch(not_before=handed_on + self._pace.interval)
            try:
                self._take(merged(events))
            except Exception:
                log.exception("a batch of events could not be handed on")
            handed_on = time.monotonic()
            if any(isinstance(event, RunSettled) for event in events):
                self._take_rest()
                return

    def _take_rest(self) -> None:
        """Hand on what came right behind the settlement, before it was taken in."""
        rest: list[ThreadEvent] = []
        while not self._events.empty():
            rest.append(self._events.get_nowait())
        if rest:
            self._take(rest)

    def _batch(self, *, not_before: float) -> list[ThreadEvent]:
        """Wait for an event, then for more text until the time has come or something else does."""
        batch = [self._events.get()]
        while isinstance(batch[-1], PartDelta):
            try:
                wait = not_before - time.monotonic()
                batch.append(
                    self._events.get(timeout=wait) if wait > 0 else self._events.get_nowait()
                )
            except queue.Empty:
                break
        return batch


def merged(events: Sequence[ThreadEvent]) -> list[ThreadEvent]:
    """The same events with neighbouring deltas of one part joined; costs their length, once."""
    joined: list[ThreadEvent] = []
    for part, group in groupby(events, key=_part_of):
        if part is None:
            joined.extend(group)
            continue
        text = "".join(event.text for event in group if isinstance(event, PartDelta))
        joined.append(PartDelta(part[0], part[1], text))
    return joined


def _part_of(event: ThreadEvent) -> tuple[str, int] | None:
    """The part that a delta belongs to; ``None`` for what is no delta."""
    return (event.message_id, event.index) if isinstance(event, PartDelta) else None
