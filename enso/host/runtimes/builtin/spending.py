"""The spend limit of one thread: before a request that would begin above it, a person is asked.

Owns how much a person has agreed to, and that an unknown price is said, never counted as nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from enso.host.contract import Dialog, DialogOption, RunNotice
from enso.host.runtimes.builtin.dialogs import Dialogs, new_dialog_id
from enso.host.runtimes.builtin.run import Run
from enso.host.runtimes.builtin.thread_log import ThreadLog
from enso.host.usage import total_usage

_OPTIONS: Final = (
    DialogOption(value="yes", label="Go on"),
    DialogOption(value="no", label="Stop here"),
)
_UNKNOWN: Final = "Part of it went to a model whose price is not known, so it cost more than that."


class Spending:
    """What one live thread may spend. ``limit`` is US dollars as it is set now, or ``None``."""

    def __init__(self, log: ThreadLog, dialogs: Dialogs, limit: Callable[[], float | None]) -> None:
        self._log = log
        self._dialogs = dialogs
        self._limit = limit
        self._agreed = 0.0
        self._said_unknown = False

    async def may_go_on(self, run: Run) -> bool:
        """Whether the next request may be made; asks a person above the limit.

        Raises ``Stopped`` when the run is stopped meanwhile. A yes is good for the limit once more.
        """
        limit = self._limit()
        if limit is None:
            return True
        spent = total_usage(self._log.session.entries())
        if not spent.cost_known and not self._said_unknown:
            self._said_unknown = True
            self._log.tell(
                RunNotice(
                    "This thread used a model whose price is not known: its spend limit of "
                    f"{_dollars(limit)} holds for the rest alone."
                )
            )
        if spent.cost < max(limit, self._agreed):
            return True
        if not await run.step(self._ask(limit, spent.cost, known=spent.cost_known)):
            self._log.tell(RunNotice(f"{refused_sentence(limit)}. The next prompt asks again."))
            return False
        self._agreed = spent.cost + limit
        return True

    async def _ask(self, limit: float, spent: float, *, known: bool) -> bool:
        title = f"Go on above the spend limit of {_dollars(limit)}?"
        about = f"This thread has cost {_dollars(spent)} so far."
        dialog = Dialog(
            id=new_dialog_id(),
            kind="confirm",
            title=title,
            message=about if known else f"{about} {_UNKNOWN}",
            options=_OPTIONS,
            created_at=time.time_ns() // 1_000_000,
        )
        return (await self._dialogs.ask(dialog)).value == "yes"


def refused_sentence(limit: float | None) -> str:
    """What is stored of a request that was not made because of the limit."""
    return f"Stopped at the thread's spend limit of {_dollars(limit or 0.0)}"


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.01 or not amount else f"${amount:.4f}"
