"""What the built-in runtime says of itself: models, keys, the bundled model, programs it can use.

Asks no provider and starts nothing but ``--version`` of two programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from enso.host.contract import Check, HostReadiness, HostReport
from enso.host.runtimes.builtin import openmp
from enso.host.runtimes.models.configuration import Configuration
from enso.host.runtimes.models.local_weights import find_local_weights
from enso.host.runtimes.models.model_choice import BUNDLED_MODEL_LINE
from enso.host.runtimes.models.report import directory_report
from enso.host.runtimes.programs import find_program


def runtime_report(configuration: Configuration, readiness: HostReadiness) -> HostReport:
    """The report of the built-in runtime over this configuration."""
    found = directory_report(configuration, readiness)
    own = (
        *_bundled_checks(readiness),
        _program_check("ripgrep", "rg", "the tool grep searches with Enso's own program, slower"),
        _program_check("pi", "pi", "threads run without it; with it they can be carried on there"),
    )
    return replace(found, checks=(*found.checks, *own))


def _bundled_checks(readiness: HostReadiness) -> Iterator[Check]:
    weights = find_local_weights()
    if weights is None:
        yield Check(
            about="bundled model",
            state="notice",
            said="is not installed",
            what_to_do=f"To try Enso without a key: {BUNDLED_MODEL_LINE}",
        )
        return
    yield Check(about="bundled model", state="good", said=str(weights))
    if openmp.is_installed() or openmp.carried_library():
        return
    is_default = readiness.model is not None and readiness.model.provider == "local"
    yield Check(
        about="bundled model",
        state="bad" if is_default else "notice",
        said=f"its engine needs {openmp.LIBRARY}, which this machine does not have",
        what_to_do=f"Install libgomp1 with the system's packages, or pip install {openmp.CARRIER}.",
    )


def _program_check(about: str, name: str, without: str) -> Check:
    program = find_program(name)
    if program is None:
        return Check(about=about, state="notice", said=f"is not on the path: {without}")
    said = f"{program.version} at {program.path}".strip()
    return Check(about=about, state="good", said=said)
