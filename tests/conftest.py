"""What holds for the whole suite: a test that did not run is a failure.

Property tests have no deadline, since a machine may be busy; in CI they draw the same examples at
every run, so that a red run is one that can be had again.
"""

from __future__ import annotations

import os

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "enso",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("enso")

NOT_RUN = ("skipped", "xfailed")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run when any test was skipped or expected to fail."""
    if _not_run(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say why the run failed though no test did."""
    for name in _not_run(config):
        terminalreporter.write_line(f"not run, so the run fails: {name}", red=True)


def _not_run(config: pytest.Config) -> list[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a worker of pytest-xdist: the controller counts
        return []
    return [report.nodeid for kind in NOT_RUN for report in reporter.stats.get(kind, [])]
