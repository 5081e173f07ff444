"""What every test of the tools has."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from enso.host.runtimes.builtin.tools.grep import GrepTool

RIPGREP = shutil.which("rg")
ENGINES = {"own": GrepTool(lambda: None), **({"ripgrep": GrepTool()} if RIPGREP else {})}
"""What searches: our own program, and ripgrep where it is installed."""


@pytest.fixture(autouse=True)
def output_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the whole outputs of commands go, in place of the system's directory."""
    directory = tmp_path_factory.mktemp("outputs")
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.fixture(params=list(ENGINES))
def grep(request: pytest.FixtureRequest) -> GrepTool:
    """The tool ``grep`` with each of its engines."""
    return ENGINES[request.param]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project directory."""
    directory = tmp_path / "project"
    directory.mkdir()
    return directory
