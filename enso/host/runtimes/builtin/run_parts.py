"""How the parts of one run are put together: who asks, who tries again, who sums up."""

from __future__ import annotations

from dataclasses import dataclass

from enso.host.runtimes.activities import Activities
from enso.host.runtimes.builtin.asking import Asker
from enso.host.runtimes.builtin.attempts import Attempts
from enso.host.runtimes.builtin.compactor import Compactor
from enso.host.runtimes.builtin.kept_conversation import KeptConversation
from enso.host.runtimes.builtin.run import Run
from enso.host.runtimes.builtin.run_settings import RunSettings
from enso.host.runtimes.builtin.services import Services
from enso.host.runtimes.builtin.spending import Spending
from enso.host.runtimes.builtin.thread_log import ThreadLog
from enso.host.runtimes.models.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """The parts of one run to one model. ``settings`` are as they were when it began."""

    run: Run
    log: ThreadLog
    activities: Activities
    spending: Spending
    asker: Asker
    attempts: Attempts
    compactor: Compactor
    settings: RunSettings


def run_parts(
    run: Run,
    *,
    log: ThreadLog,
    services: Services,
    activities: Activities,
    spending: Spending,
    kept: KeptConversation,
    model: Model,
    level: str,
) -> RunParts:
    """Put together what one run needs; nothing begins."""
    asker = Asker(run, log, services, activities, kept=kept, model=model, level=level)
    attempts = Attempts(run, log, asker, activities, lambda: services.settings.retry)
    compactor = Compactor(
        run,
        log,
        asker,
        attempts,
        activities=activities,
        spending=spending,
        settings=services.settings.compaction(model),
    )
    return RunParts(
        run=run,
        log=log,
        activities=activities,
        spending=spending,
        asker=asker,
        attempts=attempts,
        compactor=compactor,
        settings=services.settings,
    )
