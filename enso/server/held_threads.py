"""Held threads: live ones in which nothing runs, kept for a while for who comes back.

Of those that stay held, the ones that were not used for long rest (``enso.server.resting``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from enso.host import contract
from enso.server.live_state import Change, LiveThread
from enso.server.reaper import Reaper
from enso.server.resting import Held, to_rest
from enso.server.slots import Slot, Slots
from enso.server.status import cold_status

LOOK_AGAIN_SECONDS: Final = 30.0
"""How often it is looked at which threads rest: looking at one has it read again."""


class HeldThreads:
    """Lets go of held threads in time, in a worker of its own.

    ``let_go`` ends a slot's live thread and is called with the slot's lock held; ``changed`` hears
    which thread is live no more. ``most_held`` is in bytes of logs.
    """

    def __init__(
        self,
        slots: Slots,
        *,
        idle_seconds: float,
        most_held: int,
        publish: Callable[[Slot, Sequence[Change]], None],
        let_go: Callable[[Slot], None],
        changed: Callable[[frozenset[str]], None],
    ) -> None:
        self._slots = slots
        self._idle_seconds = idle_seconds
        self._most_held = most_held
        self._publish = publish
        self._let_go = let_go
        self._changed = changed
        self._reaper = Reaper(self._look)

    def hold(self, live: LiveThread) -> None:
        """Nothing runs in it any more: its idle time begins now."""
        live.idle_until = time.monotonic() + self._idle_seconds
        self._reaper.notice()

    def close(self) -> None:
        """Let go of nothing more."""
        self._reaper.close()

    def _look(self) -> float | None:
        """Let go of every thread whose time is over; the seconds until this is asked again."""
        held = [one for thread_id in self._slots.live_ids() if (one := self._look_at(thread_id))]
        for thread_id in to_rest([one for _, one in held], self._most_held):
            self._rest(thread_id)
        return min([LOOK_AGAIN_SECONDS, *(left for left, _ in held)]) if held else None

    def _look_at(self, thread_id: str) -> tuple[float, Held] | None:
        """The seconds that a held thread has left; ``None`` when it is busy, or was let go now."""
        with self._slots.at(thread_id) as slot:
            live = slot.live
            if live is None or live.busy:
                return None
            left = live.idle_until - time.monotonic()
            if left > 0:
                return left, Held(thread_id, live.last_activity, live.hosted.weight)
            if len(slot.follows):
                with suppress(contract.HostError):  # its log may be gone, which is told elsewhere
                    self._publish(slot, [Change(cold_status(live.state.entries))])
            self._let_go(slot)
        self._changed(frozenset({thread_id}))
        return None

    def _rest(self, thread_id: str) -> None:
        with self._slots.at(thread_id) as slot:
            live = slot.live
            if live is not None and not live.busy and live.hosted.rest():
                live.state.rest()
