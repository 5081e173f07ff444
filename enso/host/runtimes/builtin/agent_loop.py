"""The loop of an agent: ask, run the tools that the answer asks for, ask again, until it is done.

Owns the order of things in a run (source: pi 1.6.0, ``runLoop``): what steers is delivered after
the current tools, what comes after when the run would settle; a conversation is summed up between
turns; whatever ends the run leaves a valid branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from enso.host.contract import Activity, RunSettled
from enso.host.runtimes.builtin.asking import Asked
from enso.host.runtimes.builtin.prompt_queue import PromptQueue, Waiting, When
from enso.host.runtimes.builtin.run import Stopped
from enso.host.runtimes.builtin.run_parts import RunParts
from enso.host.runtimes.builtin.spending import refused_sentence
from enso.host.runtimes.builtin.tool_calls import (
    Call,
    Ended,
    ToolCalls,
    calls_of,
    cut_short,
    not_run,
    result_message,
)

ABORTED = RunSettled("aborted")


class StoresPrompts(Protocol):
    """Stores what a person says, with what has to stand before it."""

    def first(self) -> None:
        """Store the prompt that the run began with."""
        ...

    def queued(self, waiting: Waiting) -> None:
        """Store a queued message that is delivered now."""
        ...


class AgentLoop:
    """One run of one thread, from the prompt to its settlement."""

    def __init__(
        self, parts: RunParts, *, prompts: StoresPrompts, queue: PromptQueue, calls: ToolCalls
    ) -> None:
        self._run = parts.run
        self._log = parts.log
        self._activities = parts.activities
        self._asker = parts.asker
        self._attempts = parts.attempts
        self._compactor = parts.compactor
        self._spending = parts.spending
        self._settings = parts.settings
        self._prompts = prompts
        self._queue = queue
        self._calls = calls

    async def converse(self) -> RunSettled:
        """Run to the settlement."""
        with suppress(Stopped):  # then the prompt is stored all the same, and not answered
            await self._compactor.if_large()
        self._prompts.first()
        try:
            while (settled := await self._turn()) is None:
                pass
        except Stopped:
            return ABORTED
        return settled

    async def _turn(self) -> RunSettled | None:
        """One answer and what follows from it; ``None`` when another one is to be asked for."""
        if not await self._may_ask():
            return ABORTED
        asked = await self._attempts.ask()
        if asked.stop_reason == "aborted":
            return ABORTED
        calls = calls_of(asked.message) if asked.refusal is None else []
        if not calls and await self._compactor.recover(asked):
            return None
        if asked.refusal is not None:
            return self._after_refusal(asked)
        if asked.stop_reason != "length":
            self._compactor.begin_anew()
        if calls:
            await self._run_calls(calls, asked)
            if self._run.stopped:
                return self._stopped()
        return await self._go_on(called=bool(calls))

    async def _may_ask(self) -> bool:
        """Whether the next request is made; when it is not, the branch says so."""
        try:
            if await self._spending.may_go_on(self._run):
                return True
            self._asker.store_unasked(refused_sentence(self._settings.spend_limit))
        except Stopped:
            self._stopped()
        return False

    def _stopped(self) -> RunSettled:
        """The answer that was not asked for any more is on the branch as an aborted one."""
        self._asker.store_unasked()
        return ABORTED

    def _after_refusal(self, asked: Asked) -> RunSettled | None:
        """What was queued is said all the same, as pi does."""
        if self._deliver("steer") or self._deliver("after"):
            return None
        if not self._queue.close_if_empty():
            return self._after_refusal(asked)
        return RunSettled("refused", asked.refusal)

    async def _go_on(self, *, called: bool) -> RunSettled | None:
        """Between two turns: what was queued, and a summary when it is time for one."""
        kinds = {item.when for item in self._queue.items}
        if called or kinds:
            try:
                await self._compactor.if_large()
            except Stopped:
                return self._stopped()
            if self._deliver("steer") or called or self._deliver("after"):
                return None
        try:
            await self._compactor.if_large()
        except Stopped:
            return ABORTED
        if self._queue.close_if_empty():
            return RunSettled("complete")
        return await self._go_on(called=False)

    def _deliver(self, when: When) -> bool:
        """Say the queued messages of a kind that are due; false when there are none."""
        mode = self._settings.steering if when == "steer" else self._settings.follow_up
        due: Sequence[Waiting] = self._queue.take(when, every=mode == "all")
        for waiting in due:
            self._prompts.queued(waiting)
        if due:
            self._compactor.begin_anew()
        return bool(due)

    # -- tools ------------------------------------------------------------------------------------

    async def _run_calls(self, calls: Sequence[Call], asked: Asked) -> None:
        """Run the calls of a message and store their results; also when the run is stopped."""
        if asked.stop_reason == "length":
            for call in calls:
                self._store_result(call, cut_short(call))
            return
        names = ", ".join(dict.fromkeys(call.name for call in calls))
        self._activities.at(Activity(kind="tools", detail=names))
        waiting = list(calls)

        def store(call: Call, ended: Ended) -> None:
            waiting.remove(call)
            self._store_result(call, ended)

        with suppress(Stopped):  # every call that began has its result by then
            await self._run.step(self._calls.run(calls, store))
        for call in waiting:
            self._store_result(call, not_run())

    def _store_result(self, call: Call, ended: Ended) -> None:
        if self._run.closing and ended.was_asked:
            return  # nobody answered: the branch ends in the question
        self._log.store("message", {"message": result_message(call, ended)})
