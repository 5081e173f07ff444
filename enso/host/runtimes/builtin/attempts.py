"""The attempts at one answer: refused ones are tried again as pi tries them.

Owns the series: each refused attempt stays on the branch and is taken out of the model's context
(``context_edit``), but for the last one of a series that was given up (source: pi 1.6.0).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from enso.host.contract import Activity, RunNotice
from enso.host.runtimes.activities import Activities
from enso.host.runtimes.builtin.asking import Asked, Asker, PlainAnswer
from enso.host.runtimes.builtin.retries import RetryPolicy, may_pass
from enso.host.runtimes.builtin.run import Run
from enso.host.runtimes.builtin.thread_log import ThreadLog
from enso.transcript import Refusal

RefusalOf = Callable[[PlainAnswer], Refusal | None]


class Attempts:
    """The series of one run. ``policy`` is asked anew for each wait."""

    def __init__(
        self,
        run: Run,
        log: ThreadLog,
        asker: Asker,
        activities: Activities,
        policy: Callable[[], RetryPolicy],
    ) -> None:
        self._run = run
        self._log = log
        self._asker = asker
        self._activities = activities
        self._policy = policy

    async def ask(self) -> Asked:
        """An answer, or the attempt that no other follows. Raises ``Stopped`` from a wait."""
        retries = 0
        while True:
            asked = await self._asker.ask()
            delay = self._delay(asked.refusal, retries, asked.retry_after)
            if delay is None:
                return asked
            retries += 1
            self.leave_out(asked.entry_id)
            await self._wait(asked.refusal, retries, delay)

    async def ask_plainly(self, *, system: str, prompt: str, refusal: RefusalOf) -> PlainAnswer:
        """The same for a request that is no message. Raises ``Stopped``."""
        retries = 0
        while True:
            before = self._activities.doing
            asked = await self._asker.ask_plainly(system=system, prompt=prompt)
            why = refusal(asked)
            delay = self._delay(why, retries, asked.retry_after)
            if delay is None:
                return asked
            retries += 1
            await self._wait(why, retries, delay)
            if before is not None:
                self._activities.at(before)

    def leave_out(self, entry_id: str) -> None:
        """Take an entry out of the model's context; it stays on the branch."""
        self._log.store("context_edit", {"targetId": entry_id, "replacement": None})

    def _delay(self, refusal: Refusal | None, retries: int, requested: int | None) -> int | None:
        """Milliseconds before the next attempt; ``None`` when there is none."""
        policy = self._policy()
        if refusal is None or self._run.stopped or not may_pass(refusal):
            return None
        delay = policy.delay(retries + 1, requested)
        asked_to_wait = policy.enabled and retries < policy.attempts and requested
        if delay is None and asked_to_wait:
            self._log.tell(
                RunNotice(
                    f"{refusal.provider} asks to wait {_duration(asked_to_wait)} before the next "
                    "attempt: it is not made by itself."
                )
            )
        return delay

    async def _wait(self, refusal: Refusal | None, attempt: int, delay: int) -> None:
        self._activities.at(
            Activity(
                kind="retry-wait",
                detail=refusal.sentence if refusal is not None else "",
                until=time.time_ns() // 1_000_000 + delay,
                attempt=attempt,
                attempts=self._policy().attempts,
            )
        )
        await self._run.wait(delay / 1000)


def _duration(milliseconds: int) -> str:
    seconds = -(-milliseconds // 1000)
    if seconds < 120:
        return f"{seconds} seconds"
    minutes = -(-seconds // 60)
    return f"{minutes} minutes" if minutes < 120 else f"{-(-minutes // 60)} hours"
