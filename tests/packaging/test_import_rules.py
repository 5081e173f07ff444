"""The rules of the house: who may know what. The contracts stand in pyproject.toml."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.trees import ROOT

RULES = {
    "levels": ("enso/transcript.py", "import enso.wire"),
    "transcript": ("enso/thread_ids.py", "import enso.transcript"),
    "wire": ("enso/wire/shape.py", "import enso.urls"),
    "session-file": ("enso/server/rail.py", "import enso.host.decode"),
    "seam": ("enso/server/reading.py", "from enso.host import usage"),
    "runtimes": ("enso/host/decode.py", "from subprocess import run"),
    "each-runtime": (
        "enso/host/runtimes/pi/own.py",
        "import enso.host.runtimes.builtin.compaction",
    ),
    "web": ("enso/host/contract/refusals.py", "import flask"),
}
"""For each contract an import that it must refuse."""


def test_the_house_keeps_its_import_rules(tmp_path: Path) -> None:
    """Every contract of pyproject.toml holds for the package as it is."""
    done = _lint(ROOT, tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("rule", RULES)
def test_each_import_rule_refuses_what_it_is_there_for(rule: str, tmp_path: Path) -> None:
    """A contract that cannot be broken pins nothing: each is broken once, in a copy."""
    shutil.copytree(ROOT / "enso", tmp_path / "enso")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    name, line = RULES[rule]
    with (tmp_path / name).open("a", encoding="utf-8") as module:
        module.write(f"\n{line}\n")
    done = _lint(tmp_path, tmp_path, "--contract", rule)
    assert done.returncode == 1
    assert "Contracts: 0 kept, 1 broken." in done.stdout


def test_the_registry_is_the_only_caller_of_create_session() -> None:
    """One builder of live threads: nobody else can build a second runtime over one file."""
    users = {name for name, tree in _modules() if _uses(tree, "create_session")}
    assert users == {"enso/server/registry.py"}


def test_the_programs_wire_nothing_themselves() -> None:
    """app.py and ``python -m enso`` start the same: the command line with the composition root."""
    for program in ("app.py", "enso/__main__.py"):
        nodes = ast.walk(_parsed(ROOT / program))
        imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        assert imported == {"__future__", "enso.cli", "enso.composition"}


def _lint(root: Path, cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; sys.path.insert(0, '.'); "
        "from importlinter.cli import lint_imports_command as run; run()"
    )
    command = [sys.executable, "-c", code, "--no-logo", "--cache-dir", str(cache / "cache")]
    return subprocess.run(
        [*command, *arguments], cwd=root, capture_output=True, text=True, check=False
    )


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for file in [ROOT / "app.py", *sorted((ROOT / "enso").rglob("*.py"))]:
        yield file.relative_to(ROOT).as_posix(), _parsed(file)


def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _uses(tree: ast.Module, attribute: str) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == attribute for node in ast.walk(tree)
    )
