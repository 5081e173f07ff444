"""The rules of the test suite itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.trees import ROOT

SKIPPED = "import pytest\n\n\ndef test_it():\n    pytest.skip('no')\n"
EXPECTED_TO_FAIL = "import pytest\n\n\n@pytest.mark.xfail\ndef test_it():\n    assert False\n"
PASSED = "def test_it():\n    pass\n"


@pytest.mark.parametrize(
    "source, workers, code",
    [(PASSED, 0, 0), (SKIPPED, 0, 1), (SKIPPED, 2, 1), (EXPECTED_TO_FAIL, 0, 1)],
    ids=["passed", "skipped", "skipped in a worker", "expected to fail"],
)
def test_a_run_in_which_a_test_did_not_run_has_failed(
    source: str, workers: int, code: int, tmp_path: Path
) -> None:
    """A skipped test is no passed test: the run's exit code says so, also with several workers."""
    (tmp_path / "test_it.py").write_text(source)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "xdist.plugin"]
    done = subprocess.run(
        [*command, "-n", str(workers)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert ("not run, so the run fails" in done.stdout) == bool(code)
