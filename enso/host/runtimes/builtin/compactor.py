"""Summing up a thread: when it is done by itself, and what is stored and said of it.

Owns that a compaction that fails changes nothing on the branch and is said (source of thresholds,
order and entry: pi 1.6.0). What is summed up is ``compaction``'s, the words are ``summary_words``'.
"""

from __future__ import annotations

from typing import Any, Final

from enso.host.context_size import context_tokens
from enso.host.contract import Activity, RunNotice, RunSettled
from enso.host.refusals import read_refusal
from enso.host.runtimes.activities import Activities
from enso.host.runtimes.builtin.asking import Asked, Asker, PlainAnswer
from enso.host.runtimes.builtin.attempts import Attempts
from enso.host.runtimes.builtin.compaction import (
    CompactionPlan,
    compaction_fields,
    plan_compaction,
)
from enso.host.runtimes.builtin.run import Run, Stopped
from enso.host.runtimes.builtin.run_settings import CompactionSettings
from enso.host.runtimes.builtin.spending import Spending
from enso.host.runtimes.builtin.summary_words import (
    SYSTEM,
    added,
    history_prompt,
    turn_prompt,
    whole_summary,
)
from enso.host.runtimes.builtin.thread_log import ThreadLog, now_ms
from enso.host.session_context import projection
from enso.transcript import Refusal

_OVERFLOW_AGAIN: Final = (
    "The conversation does not fit the model's context, also after it was summed up. Shorten the "
    "prompt, or choose a model with a larger context."
)


class SummaryFailed(Exception):
    """No summary came: ``str()`` says why, in a sentence's words."""


class Compactor:
    """The compactions of one run, by the settings for its model."""

    def __init__(
        self,
        run: Run,
        log: ThreadLog,
        asker: Asker,
        attempts: Attempts,
        *,
        activities: Activities,
        spending: Spending,
        settings: CompactionSettings,
    ) -> None:
        self._run = run
        self._log = log
        self._asker = asker
        self._attempts = attempts
        self._activities = activities
        self._spending = spending
        self._settings = settings
        self._failed = False
        self._recovered = False

    # -- by itself --------------------------------------------------------------------------------

    async def if_large(self) -> None:
        """Sum up when the context comes near its limit; once it failed, no more in this run.

        Raises ``Stopped``.
        """
        settings = self._settings
        window = self._asker.model.context_window
        if not settings.enabled or not window or self._failed:
            return
        branch = self._log.session.branch()
        if context_tokens(projection(branch), branch) <= window - settings.reserve:
            return
        plan = plan_compaction(branch, keep=settings.keep)
        if plan is not None:
            await self._try(plan, "The context is nearly full")

    def begin_anew(self) -> None:
        """Something was said that fits: what overflows after it may be recovered from again."""
        self._recovered = False

    async def recover(self, asked: Asked) -> bool:
        """After an attempt that overflowed or was cut: sum up once, and say whether to try again.

        Raises ``Stopped``.
        """
        settings = self._settings
        overflow = asked.refusal is not None and asked.refusal.refusal_class == "context length"
        if not settings.enabled or not (overflow or self._cut_early(asked)):
            return False
        if self._recovered:
            if overflow:
                self._log.tell(RunNotice(_OVERFLOW_AGAIN))
            return False
        if not overflow and self._plan(settings) is None:
            return False
        self._recovered = True
        self._attempts.leave_out(asked.entry_id)
        plan = self._plan(settings)
        return plan is not None and await self._try(plan, "The context was too long")

    def _plan(self, settings: CompactionSettings) -> CompactionPlan | None:
        return plan_compaction(self._log.session.branch(), keep=settings.keep)

    def _cut_early(self, asked: Asked) -> bool:
        """Whether an answer was cut before the model's own limit: for want of room, it seems."""
        limit = self._asker.model.max_tokens
        said = asked.message["usage"]["output"]
        return asked.stop_reason == "length" and limit is not None and said < limit

    async def _try(self, plan: CompactionPlan, why: str) -> bool:
        try:
            if await self._spending.may_go_on(self._run):
                await self._sum_up(plan, "", why)
                return True
        except SummaryFailed as failed:
            self._failed = True
            self._log.tell(RunNotice(f"{why}, and could not be summed up: {failed}"))
        return False

    # -- by hand ----------------------------------------------------------------------------------

    async def by_hand(self, plan: CompactionPlan, instructions: str) -> RunSettled:
        """Sum up because a person wants it, keeping what ``instructions`` say above all."""
        try:
            if not await self._spending.may_go_on(self._run):
                return RunSettled("aborted")
            await self._sum_up(plan, instructions, "")
        except Stopped:
            return RunSettled("aborted")
        except SummaryFailed as failed:
            self._log.tell(RunNotice(f"The conversation could not be summed up: {failed}"))
            return RunSettled("failed")
        return RunSettled("complete")

    # -- both -------------------------------------------------------------------------------------

    async def _sum_up(self, plan: CompactionPlan, instructions: str, why: str) -> None:
        self._activities.at(Activity(kind="compacting", detail=why))
        usages: list[dict[str, Any]] = []
        history = turn = ""
        if plan.history:
            history = await self._ask(history_prompt(plan, instructions), usages)
        if plan.turn:
            turn = await self._ask(turn_prompt(plan, instructions), usages)
        self._log.session.begin()
        fields = compaction_fields(
            plan,
            self._log.session.branch(),
            summary=whole_summary(plan, history=history, turn=turn),
            usage=added(usages),
            timestamp=now_ms(),
        )
        self._log.store("compaction", fields)

    async def _ask(self, prompt: str, usages: list[dict[str, Any]]) -> str:
        asked = await self._attempts.ask_plainly(
            system=SYSTEM, prompt=prompt, refusal=self._refusal
        )
        usages.append(asked.message["usage"])
        refusal = self._refusal(asked)
        if refusal is not None:
            raise SummaryFailed(refusal.sentence)
        if asked.message["stopReason"] != "stop":
            raise SummaryFailed("the summary was cut before its end.")
        if not asked.text.strip():
            raise SummaryFailed("the model wrote nothing.")
        return asked.text

    def _refusal(self, asked: PlainAnswer) -> Refusal | None:
        if asked.message["stopReason"] != "error":
            return None
        model = self._asker.model
        return read_refusal(
            provider_name=model.provider_name,
            model=model.id,
            error_message=asked.message["errorMessage"],
        )
