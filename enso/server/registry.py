"""The registry of live threads: the only builder; it owns runs, generations and idle timers.

Every thread that is live or followed has a ``Slot`` here. The slot's one lock makes an instant: a
state read under it and a follow that joins under it agree on every frame that comes after. Nothing
here reads a file or writes one; the host does (``enso.host.contract``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from enso import transcript, wire
from enso.host import contract
from enso.server.follow import Closed, Dialect, Follow, Follows, Outgoing
from enso.server.live_state import Change, LiveState, LiveThread
from enso.server.pump import Pump
from enso.server.refusals import Refused
from enso.server.render import Streams
from enso.server.status import cold_status, live_context, live_status, mode_shape, usage_shape

log = logging.getLogger(__name__)

REMEMBERED_PROMPTS = 4096
DRAINED = Closed(1012, "The server is stopping.")

Publish = Callable[["Slot", Sequence[Change]], None]
"""Renders frames and gives them to the slot's follows; called with the slot's lock held."""


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


class ThreadRegistry:
    """Builds live threads, runs prompts on them, and lets them go. Usable from any worker."""

    def __init__(
        self,
        *,
        host: contract.AgentHost,
        idle_seconds: float,
        publish: Publish,
        rail_changed: Callable[[frozenset[str]], None],
    ) -> None:
        self._host = host
        self._idle_seconds = idle_seconds
        self._publish = publish
        self._rail_changed = rail_changed
        self._slots: dict[str, Slot] = {}
        self._slots_lock = threading.Lock()
        self._prompts: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._generations: dict[str, int] = {}
        self._idle = threading.Condition()
        self._closed = False
        self._reaper = threading.Thread(target=self._reap, name="enso-idle", daemon=True)
        self._reaper.start()

    # -- slots ----------------------------------------------------------------------------------

    @contextmanager
    def at(self, thread_id: str) -> Generator[Slot]:
        """The thread's slot with its lock held. It is forgotten when nothing needs it any more."""
        with self._slots_lock:
            slot = self._slots.setdefault(thread_id, Slot(thread_id))
            slot.users += 1
        try:
            with slot.lock:
                yield slot
        finally:
            with self._slots_lock:
                slot.users -= 1
                if not slot.users and slot.live is None and not len(slot.follows):
                    self._slots.pop(thread_id, None)

    def live_ids(self) -> list[str]:
        """The ids of threads that are live now."""
        with self._slots_lock:
            return [slot.thread_id for slot in self._slots.values() if slot.live is not None]

    def is_busy(self, thread_id: str) -> bool:
        """Whether a run of this thread is in flight; does not wait for the thread's lock."""
        slot = self._slots.get(thread_id)
        return slot is not None and slot.busy

    def is_live(self, thread_id: str) -> bool:
        """Whether this thread's runtime is built; does not wait for the thread's lock."""
        slot = self._slots.get(thread_id)
        return slot is not None and slot.live is not None

    def followed(self, thread_id: str) -> bool:
        """Whether anybody watches this thread, or it is live."""
        return thread_id in self._slots

    def every_follow(self) -> list[Follow]:
        """Every follow of every thread, for what concerns them all (the rail)."""
        with self._slots_lock:
            slots = list(self._slots.values())
        found: list[Follow] = []
        for slot in slots:
            found.extend(slot.follows.all())
        return found

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
            if self._closed:
                follow.close(DRAINED)
        try:
            yield follow
        finally:
            with self.at(thread_id) as slot:
                slot.follows.leave(follow)

    # -- prompts --------------------------------------------------------------------------------

    def prompt(
        self,
        thread_id: str,
        *,
        message: str,
        images: Sequence[contract.PromptImage],
        prompt_id: str | None,
        new_session_directory: Callable[[], Path],
    ) -> int:
        """Start a run and return its generation; raises ``Refused`` when none was started.

        A ``prompt_id`` that started a run before starts nothing and returns that run's generation.
        """
        with self.at(thread_id) as slot:
            known = self._prompts.get((thread_id, prompt_id)) if prompt_id else None
            if known is not None:
                return known
            if self._closed:
                raise Refused(503, "stopping", "The server is stopping. Send it again in a moment.")
            if slot.busy:
                raise Refused(
                    409, "busy", "The agent is still working on the last prompt. Wait, or stop it."
                )
            generation = self._run(slot, message, images, new_session_directory)
            if prompt_id:
                self._remember(thread_id, prompt_id, generation)
        self._rail_changed(frozenset({thread_id}))
        return generation

    def _remember(self, thread_id: str, prompt_id: str, generation: int) -> None:
        with self._slots_lock:
            self._prompts[(thread_id, prompt_id)] = generation
            while len(self._prompts) > REMEMBERED_PROMPTS:
                self._prompts.popitem(last=False)

    def _run(
        self,
        slot: Slot,
        message: str,
        images: Sequence[contract.PromptImage],
        new_session_directory: Callable[[], Path],
    ) -> int:
        if slot.live is not None and slot.live.hosted.changed_elsewhere():
            self._reopen(slot)
        was_live = slot.live is not None
        live = slot.live or self._build(slot, new_session_directory)
        pump = Pump(lambda events: self._take_events(slot, live, events))
        live.pump = pump
        try:
            live.hosted.runtime.prompt(message, images)
        except contract.HostError as refused:
            if not was_live:
                self._close(slot)
            raise Refused(refused.status, refused.code, str(refused)) from refused
        if not was_live:
            self._publish(slot, [Change(live_status(live))])
        live.generation = self._next_generation(slot.thread_id)
        live.busy = True
        live.last_activity = time.time()
        live.state.begin_run()
        self._publish(slot, [Change(live_status(live))])
        pump.start(name=f"enso-run-{slot.thread_id}")
        return live.generation

    def _next_generation(self, thread_id: str) -> int:
        # Runs are numbered per thread for as long as the server runs, also across idle times.
        self._generations[thread_id] = self._generations.get(thread_id, 0) + 1
        return self._generations[thread_id]

    def _build(self, slot: Slot, new_session_directory: Callable[[], Path]) -> LiveThread:
        try:
            hosted = self._host.create_session(slot.thread_id, new_session_directory)
        except contract.HostError as refused:
            raise Refused(refused.status, refused.code, str(refused)) from refused
        live = LiveThread(hosted, self._fold(hosted))
        hosted.runtime.listen(lambda event: self._offer(live, event))
        slot.live = live
        return live

    def _fold(self, hosted: contract.HostedThread) -> LiveState:
        return LiveState(
            inspection=hosted.inspect(),
            usage=hosted.usage(),
            permission_mode=hosted.permission_mode(),
        )

    @staticmethod
    def _offer(live: LiveThread, event: contract.ThreadEvent) -> None:
        if live.pump is not None:
            live.pump.offer(event)

    def _take_events(
        self, slot: Slot, live: LiveThread, events: Sequence[contract.ThreadEvent]
    ) -> None:
        stored = settled = False
        with slot.lock:
            if slot.live is not live:
                return
            for event in events:
                changes = live.state.apply(event)
                if isinstance(event, contract.EntryStored):
                    stored = True
                    changes += self._after_entry(live, event.entry)
                if isinstance(event, contract.RunSettled):
                    settled = True
                    changes += self._settle(slot, live)
                self._publish(slot, changes)
        if stored or settled:
            self._rail_changed(frozenset({slot.thread_id}))

    @staticmethod
    def _after_entry(live: LiveThread, entry: transcript.TranscriptEntry) -> list[Change]:
        """What a stored entry changes beside the messages: the spend, the mode."""
        if isinstance(entry, transcript.TranscriptMessage) and entry.usage is not None:
            usage = usage_shape(live.state.usage)
            return [Change(wire.UsageFrame(usage=usage, context=live_context(live)))]
        if isinstance(entry, transcript.TranscriptCustom):
            live.state.permission_mode = live.hosted.permission_mode()
            mode = mode_shape(live.state.permission_mode)
            return [Change(wire.ModeFrame(permission_mode=mode))]
        return []

    def _settle(self, slot: Slot, live: LiveThread) -> list[Change]:
        live.busy = False
        live.last_activity = time.time()
        changes = live.state.end_run()
        self._hold(live)
        if live.hosted.changed_elsewhere():
            # Another program wrote while this run did: the log's end decides, for every eye.
            self._reopen(slot)
        elif slot.live is live:
            changes.append(Change(live_status(live)))
        return changes

    def abort(self, thread_id: str) -> None:
        """Stop the run in flight; raises ``Refused`` when there is none."""
        with self.at(thread_id) as slot:
            if slot.live is None or not slot.live.busy:
                raise Refused(409, "not-busy", "Nothing is running in this thread.")
            runtime = slot.live.hosted.runtime
        runtime.abort()

    # -- the log changed elsewhere --------------------------------------------------------------

    def log_changed(self, thread_ids: frozenset[str]) -> None:
        """Take in that logs changed, perhaps by another program; our own writes are told apart."""
        for thread_id in thread_ids:
            if not self.followed(thread_id):
                continue
            with self.at(thread_id) as slot:
                if slot.live is None:
                    slot.follows.restart()
                elif not slot.live.busy and slot.live.hosted.changed_elsewhere():
                    self._reopen(slot)

    def _reopen(self, slot: Slot) -> None:
        """Open a held thread's log anew, so that the next prompt continues from its new leaf."""
        generation = slot.live.generation if slot.live is not None else 0
        self._close(slot)
        try:
            live = self._build(slot, _no_directory)
        except Refused as refused:
            log.warning("thread %s could not be reopened: %s", slot.thread_id, refused.sentence)
        else:
            live.generation = generation
            self._hold(live)
        slot.follows.restart()

    # -- idle time ------------------------------------------------------------------------------

    def _hold(self, live: LiveThread) -> None:
        live.idle_until = time.monotonic() + self._idle_seconds
        with self._idle:
            self._idle.notify()

    def _reap(self) -> None:
        while not self._closed:
            due = self._let_go_of_idle()
            with self._idle:
                if not self._closed:
                    self._idle.wait(due)

    def _let_go_of_idle(self) -> float | None:
        """Let go of every thread whose idle time is over; return the seconds until the next is."""
        waits: list[float] = []
        for thread_id in self.live_ids():
            with self.at(thread_id) as slot:
                live = slot.live
                if live is None or live.busy:
                    continue
                left = live.idle_until - time.monotonic()
                if left > 0:
                    waits.append(left)
                    continue
                self._publish(slot, [Change(cold_status(live.state.entries))])
                self._close(slot)
            self._rail_changed(frozenset({thread_id}))
        return min(waits, default=None)

    @staticmethod
    def _close(slot: Slot) -> None:
        live, slot.live = slot.live, None
        if live is None:
            return
        live.hosted.close()
        if live.pump is not None:
            # A closed runtime says nothing more, not even that its run is over.
            live.pump.offer(contract.RunSettled("aborted"))

    # -- the end --------------------------------------------------------------------------------

    def drain(self) -> None:
        """End every follow with a code that makes browsers come back, and take no more prompts."""
        self._closed = True
        with self._slots_lock:
            slots = list(self._slots.values())
        for slot in slots:
            with slot.lock:
                slot.follows.close(DRAINED)

    def close(self) -> None:
        """Drain, end every run, and close every runtime."""
        self.drain()
        with self._idle:
            self._idle.notify_all()
        for thread_id in self.live_ids():
            with self.at(thread_id) as slot:
                self._close(slot)


def _no_directory() -> Path:
    raise Refused(409, "gone", "The thread's file is gone.")
