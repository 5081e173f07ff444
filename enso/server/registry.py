"""The registry of live threads: the only builder; it owns runs, generations and idle timers.

Everything that is done to a live thread is done here, with its slot's lock held. Nothing here reads
a file or writes one; the host does (``enso.host.contract``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from enso import wire
from enso.host import contract
from enso.server.event_changes import beside_messages, changes_marks
from enso.server.follow import Closed
from enso.server.held_threads import HeldThreads
from enso.server.live_state import Change, LiveState, LiveThread
from enso.server.pump import Pace, Pump
from enso.server.refusals import Refused
from enso.server.resting import MOST_HELD
from enso.server.slots import PromptMemory, Slot, Slots
from enso.server.status import live_status

log = logging.getLogger(__name__)

DRAINED = Closed(1012, "The server is stopping.")

NewDirectory = Callable[[], Path]
"""Where a thread goes that has no log yet; asked only then."""
Publish = Callable[[Slot, Sequence[Change]], None]
"""Renders frames and gives them to the slot's follows; called with the slot's lock held."""
Result = TypeVar("Result")

WRITTEN_ELSEWHERE: Final = (
    "Another program wrote to this thread while the agent worked. What was written last is shown, "
    "and the next prompt goes on from there; the rest is in the thread's tree."
)


class ThreadRegistry:
    """Builds live threads, runs prompts on them, and lets them go. Usable from any worker."""

    def __init__(
        self,
        *,
        host: contract.AgentHost,
        idle_seconds: float,
        most_held: int = MOST_HELD,
        publish: Publish,
        rail_changed: Callable[[frozenset[str]], None],
    ) -> None:
        self._host = host
        self._publish = publish
        self._rail_changed = rail_changed
        self._slots = Slots()
        self._prompts = PromptMemory()
        self._generations: dict[str, int] = {}
        self._pace = Pace()
        self._closed = False
        self._held = HeldThreads(
            self._slots,
            idle_seconds=idle_seconds,
            most_held=most_held,
            publish=publish,
            let_go=self._close,
            changed=rail_changed,
        )
        self.at = self._slots.at
        self.live_ids = self._slots.live_ids
        self.is_busy = self._slots.is_busy
        self.is_live = self._slots.is_live
        self.needs_person = self._slots.needs_person
        self.open_dialogs = self._slots.open_dialogs
        self.waiting_count = self._slots.waiting_count
        self.follow = self._slots.follow
        self.every_follow = self._slots.every_follow

    # -- runs -----------------------------------------------------------------------------------

    def prompt(
        self,
        thread_id: str,
        *,
        message: str,
        images: Sequence[contract.PromptImage],
        prompt_id: str | None,
        new_session_directory: NewDirectory,
    ) -> int:
        """Start a run and return its generation; raises ``Refused`` when none was started.

        A ``prompt_id`` that started a run before starts nothing and returns that run's generation.
        """
        return self._start(
            thread_id,
            lambda runtime: runtime.prompt(message, images),
            prompt_id=prompt_id,
            new_session_directory=new_session_directory,
        )

    def compact(self, thread_id: str, instructions: str) -> int:
        """Start a run that sums the conversation up; raises ``Refused`` when there is none to."""
        return self._start(
            thread_id,
            lambda runtime: runtime.compact(instructions),
            prompt_id=None,
            new_session_directory=no_directory,
        )

    def _start(
        self,
        thread_id: str,
        begin: Callable[[contract.ThreadRuntime], None],
        *,
        prompt_id: str | None,
        new_session_directory: NewDirectory,
    ) -> int:
        with self.at(thread_id) as slot:
            known = self._prompts.run_of(thread_id, prompt_id)
            if known is not None:
                return known
            if slot.busy:
                raise Refused(
                    409, "busy", "The agent is still working on the last prompt. Wait, or stop it."
                )
            generation = self._run(slot, begin, new_session_directory)
            self._prompts.remember(thread_id, prompt_id, generation)
        self._rail_changed(frozenset({thread_id}))
        return generation

    def _run(
        self,
        slot: Slot,
        begin: Callable[[contract.ThreadRuntime], None],
        new_session_directory: NewDirectory,
    ) -> int:
        live, built = self._live(slot, new_session_directory)
        pump = Pump(lambda events: self._take_events(slot, live, events), self._pace)
        live.pump, live.running = pump, True
        try:
            begin(live.hosted.runtime)
        except contract.HostError as refused:
            live.pump, live.running = None, False
            if built:
                self._close(slot)
            raise Refused(refused.status, refused.code, str(refused)) from refused
        if built:
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

    def abort(self, thread_id: str) -> Sequence[contract.QueuedPrompt]:
        """Stop the run in flight; returns what that took out of its queue, which is not said.

        Raises ``Refused`` when there is none.
        """
        with self.at(thread_id) as slot:
            if slot.live is None or not slot.live.busy:
                raise Refused(409, "not-busy", "Nothing is running in this thread.")
            runtime = slot.live.hosted.runtime
        return runtime.abort()  # not with the lock held: pi is asked what it takes out

    # -- what is done to a live thread ------------------------------------------------------------

    def act(
        self,
        thread_id: str,
        action: Callable[[contract.HostedThread], Result],
        *,
        new_session_directory: NewDirectory,
        anew: bool = False,
    ) -> Result:
        """Do something to a thread that is not a run, making it live first when it is not.

        ``anew``: the action changes which branch is read, so the state is taken anew after it.
        Raises ``Refused``; then the thread is as it was.
        """
        with self.at(thread_id) as slot:
            live, built = self._live(slot, new_session_directory)
            try:
                result = action(live.hosted)
            except contract.HostError as refused:
                if built:
                    self._close(slot)
                raise Refused(refused.status, refused.code, str(refused)) from refused
            self._take_told(slot, live)
            if anew:
                live.state = self._fold(live.hosted)
                slot.follows.restart()
            if built:
                self._held.hold(live)
                self._publish(slot, [Change(live_status(live))])
        self._rail_changed(frozenset({thread_id}))
        return result

    def act_live(self, thread_id: str, action: Callable[[contract.HostedThread], Result]) -> Result:
        """Do something to a thread that is live already; raises ``Refused`` when it is not."""
        with self.at(thread_id) as slot:
            if slot.live is None:
                raise Refused(409, "not-live", "This thread is not live: nothing runs or waits.")
            try:
                slot.live.state.wake()
                return action(slot.live.hosted)
            except contract.HostError as refused:
                raise Refused(refused.status, refused.code, str(refused)) from refused

    def tell(self, thread_id: str, sentence: str, links: Sequence[wire.Link] = ()) -> None:
        """Say a sentence to every follow of a thread, and what it offers; it is no part of it."""
        notice = wire.NoticeFrame(message=sentence, links=list(links) or None)
        with self.at(thread_id) as slot:
            self._publish(slot, [Change(notice)])

    def without(self, thread_id: str, action: Callable[[], Result]) -> Result:
        """Let go of a thread, then do something that it must not be live for.

        Raises ``Refused`` while it is busy.
        """
        with self.at(thread_id) as slot:
            if slot.busy:
                raise Refused(409, "busy", "The agent is at work in this thread. Stop it first.")
            self._close(slot)
            try:
                result = action()
            except contract.HostError as refused:
                raise Refused(refused.status, refused.code, str(refused)) from refused
            finally:
                slot.follows.restart()
        self._rail_changed(frozenset({thread_id}))
        return result

    # -- building -------------------------------------------------------------------------------

    def _live(self, slot: Slot, new_session_directory: NewDirectory) -> tuple[LiveThread, bool]:
        """The live thread, in step with its log, and whether it was built for this."""
        if self._closed:
            raise Refused(503, "stopping", "The server is stopping. Send it again in a moment.")
        if slot.live is not None and not slot.live.busy and slot.live.hosted.changed_elsewhere():
            self._reopen(slot)
        if slot.live is not None:
            self._wake(slot.live)
            return slot.live, False
        return self._build(slot, new_session_directory), True

    def _build(self, slot: Slot, new_session_directory: NewDirectory) -> LiveThread:
        try:
            hosted = self._host.create_session(slot.thread_id, new_session_directory)
        except contract.HostError as refused:
            raise Refused(refused.status, refused.code, str(refused)) from refused
        live = LiveThread(hosted, self._folding(hosted))
        hosted.runtime.listen(partial(self._offer, slot, live))
        slot.live = live
        return live

    @staticmethod
    def _wake(live: LiveThread) -> None:
        """Have its branch in memory before anything is added to it; raises ``Refused``."""
        try:
            live.state.wake()
        except contract.HostError as refused:
            raise Refused(refused.status, refused.code, str(refused)) from refused

    def _fold(self, hosted: contract.HostedThread) -> LiveState:
        return self._folding(hosted)()

    @staticmethod
    def _folding(hosted: contract.HostedThread) -> Callable[[], LiveState]:
        """What makes the state of this moment when it is called: after a request, not before it."""
        state_of_now = hosted.state_of_now()

        def fold() -> LiveState:
            """Make it."""
            now = state_of_now()
            return LiveState(
                inspection=now.inspection,
                usage=now.usage,
                permission_mode=now.permission_mode,
                inspect=hosted.inspect,
            )

        return fold

    # -- events ---------------------------------------------------------------------------------

    def _offer(self, slot: Slot, live: LiveThread, event: contract.ThreadEvent) -> None:
        """Take an event from a runtime; never waits for the slot's lock.

        What is told outside of a run comes from whoever did it, with the lock held, or from a
        worker of the runtime's for which that one may be waiting: then it is left for who holds it.
        """
        if live.running and live.pump is not None:
            live.pump.offer(event)
            return
        live.told.append(event)
        if slot.lock.acquire(blocking=False):
            try:
                self._take_told(slot, live)
            finally:
                slot.lock.release()
        else:
            threading.Thread(target=self._take_told, args=(slot, live), daemon=True).start()

    def _take_told(self, slot: Slot, live: LiveThread) -> None:
        """Take in what was told while another held the lock, in order."""
        with slot.lock:
            events: list[contract.ThreadEvent] = []
            while live.told:
                events.append(live.told.popleft())
            if events:
                self._take_events(slot, live, events)

    def _take_events(
        self, slot: Slot, live: LiveThread, events: Sequence[contract.ThreadEvent]
    ) -> None:
        marks = False
        with slot.lock:
            if slot.live is not live:
                return
            for event in events:
                if isinstance(event, contract.BranchChanged):
                    self._read_anew(slot, live)
                    continue
                changes = live.state.apply(event) + beside_messages(self._host, live, event)
                marks = marks or changes_marks(event)
                if isinstance(event, contract.RunBegan):
                    changes += self._begin_unasked(slot, live)
                elif isinstance(event, contract.RunSettled):
                    changes += self._settle(slot, live)
                self._publish(slot, changes)
        if marks:
            self._rail_changed(frozenset({slot.thread_id}))

    def _begin_unasked(self, slot: Slot, live: LiveThread) -> list[Change]:
        """A run began that nobody prompted: its events go on to come without a pump."""
        if live.busy:
            return []
        live.busy = True
        live.generation = self._next_generation(slot.thread_id)
        live.last_activity = time.time()
        live.state.begin_run()
        return [Change(live_status(live))]

    def _read_anew(self, slot: Slot, live: LiveThread) -> None:
        """The branch is another one: every eye gets it whole."""
        before, live.state = live.state, self._fold(live.hosted)
        live.state.carry_over(before)
        slot.follows.restart()

    def _settle(self, slot: Slot, live: LiveThread) -> list[Change]:
        live.busy = live.running = False
        live.last_activity = time.time()
        changes = live.state.end_run()
        self._held.hold(live)
        if live.hosted.changed_elsewhere():
            # Another program wrote while this run did: the log's end decides, for every eye.
            self._reopen(slot)
            changes = [Change(wire.NoticeFrame(message=WRITTEN_ELSEWHERE))]
        elif slot.live is live:
            changes.append(Change(live_status(live)))
        return changes

    # -- the log changed elsewhere --------------------------------------------------------------

    def log_changed(self, thread_ids: frozenset[str]) -> None:
        """Take in that logs changed, perhaps by another program; our own writes are told apart."""
        for thread_id in thread_ids:
            if self._slots.peek(thread_id) is None:
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
            live = self._build(slot, no_directory)
        except Refused as refused:
            log.warning("thread %s could not be reopened: %s", slot.thread_id, refused.sentence)
        else:
            live.generation = generation
            self._held.hold(live)
        slot.follows.restart()

    # -- letting go -----------------------------------------------------------------------------

    @staticmethod
    def _close(slot: Slot) -> None:
        live, slot.live = slot.live, None
        if live is None:
            return
        live.hosted.close()
        if live.pump is not None:
            # A closed runtime says nothing more, not even that its run is over.
            live.pump.offer(contract.RunSettled("aborted"))

    def drain(self) -> None:
        """End every follow with a code that makes browsers come back, and take no more prompts."""
        self._closed = True
        self._slots.close_follows(DRAINED)

    def close(self) -> None:
        """Drain, end every run, and close every runtime."""
        self.drain()
        self._held.close()
        for thread_id in self.live_ids():
            with self.at(thread_id) as slot:
                self._close(slot)


def no_directory() -> Path:
    """For what is done to stored threads alone: a thread without a log is refused."""
    raise Refused(409, "thread-gone", "The thread's file is gone.")
