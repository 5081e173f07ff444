"""Slots: all that the server has of each thread that is live or followed, and its one lock.

A slot's lock makes an instant: a state read under it and a follow that joins under it agree on
every frame that comes after. A slot is forgotten when nothing needs it any more.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from enso.host import contract
from enso.server.follow import Closed, Dialect, Follow, Follows, Outgoing
from enso.server.live_state import LiveThread
from enso.server.render import Streams

REMEMBERED_PROMPTS = 4096


class Slot:
    """All that the server has of one thread. Its fields are read and written with ``lock`` held."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.lock = threading.RLock()
        self.follows = Follows()
        self.live: LiveThread | None = None
        self.streams = Streams()
        self.users = 0

    @property
    def busy(self) -> bool:
        """Whether a run is in flight."""
        return self.live is not None and self.live.busy


class Slots:
    """The slots of one server, by thread id. Usable from any worker."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {}
        self._lock = threading.Lock()
        self._drained: Closed | None = None

    @contextmanager
    def at(self, thread_id: str) -> Generator[Slot]:
        """The thread's slot with its lock held."""
        with self._lock:
            slot = self._slots.setdefault(thread_id, Slot(thread_id))
            slot.users += 1
        try:
            with slot.lock:
                yield slot
        finally:
            with self._lock:
                slot.users -= 1
                if not slot.users and slot.live is None and not len(slot.follows):
                    self._slots.pop(thread_id, None)

    def peek(self, thread_id: str) -> Slot | None:
        """The slot without its lock, for facts that may be a moment old; ``None`` without one."""
        return self._slots.get(thread_id)

    def is_busy(self, thread_id: str) -> bool:
        """Whether a run of this thread is in flight; does not wait for the thread's lock."""
        slot = self.peek(thread_id)
        return slot is not None and slot.busy

    def is_live(self, thread_id: str) -> bool:
        """Whether this thread's runtime is built; does not wait for the thread's lock."""
        slot = self.peek(thread_id)
        return slot is not None and slot.live is not None

    def needs_person(self, thread_id: str) -> bool:
        """Whether a dialog of this thread is open; does not wait for the thread's lock."""
        slot = self.peek(thread_id)
        live = slot.live if slot is not None else None
        return live is not None and bool(live.state.dialogs)

    def open_dialogs(self, thread_id: str) -> tuple[contract.Dialog, ...]:
        """The open dialogs of this thread; does not wait for the thread's lock."""
        slot = self.peek(thread_id)
        live = slot.live if slot is not None else None
        return tuple(live.state.dialogs.values()) if live is not None else ()

    def waiting_count(self) -> int:
        """How many threads wait for a person; does not wait for their locks."""
        return sum(self.needs_person(thread_id) for thread_id in self.live_ids())

    @contextmanager
    def follow(
        self,
        thread_id: str,
        *,
        dialect: Dialect,
        snapshot: Callable[[Slot, Follow], Outgoing],
        first: str = "",
    ) -> Generator[Follow]:
        """Follow a thread, cold or live or not stored at all; nothing is built for it."""
        with self.at(thread_id) as slot:
            follow = Follow(
                lock=slot.lock,
                snapshot=partial(snapshot, slot),
                dialect=dialect,
                first=first,
            )
            slot.follows.join(follow)
            if self._drained is not None:
                follow.close(self._drained)
        try:
            yield follow
        finally:
            with self.at(thread_id) as slot:
                slot.follows.leave(follow)

    def live_ids(self) -> list[str]:
        """The ids of threads that are live now."""
        with self._lock:
            return [slot.thread_id for slot in self._slots.values() if slot.live is not None]

    def every_follow(self) -> list[Follow]:
        """Every follow of every thread, for what concerns them all (the rail)."""
        with self._lock:
            slots = list(self._slots.values())
        return [follow for slot in slots for follow in slot.follows.all()]

    def close_follows(self, closed: Closed) -> None:
        """End every follow of every thread, and whatever joins from now on."""
        self._drained = closed
        with self._lock:
            slots = list(self._slots.values())
        for slot in slots:
            with slot.lock:
                slot.follows.close(closed)


class PromptMemory:
    """Which prompts started which runs, so that a repeat starts nothing; the newest 4,096."""

    def __init__(self) -> None:
        self._runs: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def run_of(self, thread_id: str, prompt_id: str | None) -> int | None:
        """The generation of the run that a prompt started; ``None`` when it started none."""
        with self._lock:
            return self._runs.get((thread_id, prompt_id)) if prompt_id else None

    def remember(self, thread_id: str, prompt_id: str | None, generation: int) -> None:
        """A prompt started a run."""
        if not prompt_id:
            return
        with self._lock:
            self._runs[thread_id, prompt_id] = generation
            while len(self._runs) > REMEMBERED_PROMPTS:
                self._runs.popitem(last=False)
