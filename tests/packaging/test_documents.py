"""README.md, CHANGELOG.md and docs/: what they say is so."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from enso.settings import Settings
from tests.packaging.fences import documents, fences
from tests.packaging.trees import ROOT

DOCUMENTS = [document.relative_to(ROOT).as_posix() for document in documents()]
FLOWS = [name for name in DOCUMENTS if name.startswith("docs/flows/")]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_of_a_document_leads_somewhere(name: str) -> None:
    """A relative link names a file that is there, and a heading in it where it names one."""
    text = _without_fences(ROOT / name)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), f"{name} links to {link}"
        assert not anchor or anchor in _anchors(target), f"{name} links to {link}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_excerpt_of_a_document_is_the_source(name: str) -> None:
    """A fence that names its source is that source (``python -m tests.packaging.fences``)."""
    for fence in fences(ROOT / name):
        assert fence.text == fence.source, f"{fence.name} of {fence.file} has moved on"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_that_a_document_names_is_there(name: str) -> None:
    """A path of the project in code type exists; one with ``::`` names something defined in it."""
    text = _without_fences(ROOT / name)
    for path, wanted in re.findall(
        r"`((?:enso|tests|docs|templates|static|benchmarks)/[\w./-]*)(?:::(\w+))?`", text
    ):
        assert (ROOT / path).exists() or path.startswith("static/vendor"), f"{name} names {path}"
        assert not wanted or wanted in _defined(ROOT / path), f"{name} names {path}::{wanted}"


@pytest.mark.parametrize("name", FLOWS)
def test_every_invariant_of_a_flow_is_pinned_by_tests(name: str) -> None:
    """Each thing that a flow says holds names where it is stated and which tests would fail."""
    _, *invariants = _without_fences(ROOT / name).split("\n### ")
    assert invariants
    for invariant in invariants:
        assert re.search(r"^Stated at `enso/", invariant, re.MULTILINE), invariant
        assert re.search(r"^- `tests/[\w./]+::test_\w+`", invariant, re.MULTILINE), invariant


def test_the_storage_page_shows_the_contract() -> None:
    """The page of the storage seam holds the contract itself, not a retelling."""
    shown = {fence.name for fence in fences(ROOT / "docs/seams/storage.md")}
    assert {"AgentHost", "HostedThread", "StoredThread", "StoredThreadRead"} <= shown


def test_the_readmes_table_is_the_settings() -> None:
    """Every setting stands in the README with its option, its default and its meaning; no other."""
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (.+?) \| (.+?) \|$", _readme(), re.MULTILINE)
    documented = {
        variable: (option, default, meaning) for variable, option, default, meaning in rows
    }
    fields = {str(field.validation_alias): field for field in Settings.model_fields.values()}
    assert documented.keys() == fields.keys()
    for variable, field in fields.items():
        _, default, meaning = documented[variable]
        assert meaning == field.description
        if field.default_factory is None and field.default is not None:
            assert default == f"`{field.default}`"


def test_the_readmes_options_are_those_of_the_program() -> None:
    """The README names the options that ``python app.py --help`` lists, all of them."""
    done = subprocess.run(
        [sys.executable, "app.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = set(re.findall(r"--[a-z][a-z-]+", done.stdout)) - {"--help"}
    assert set(re.findall(r"\| `(--[a-z-]+)", _readme())) == listed


def test_the_readmes_set_up_lines_install_what_the_project_declares() -> None:
    """The lines that a newcomer copies name extras that exist, and the program that exists."""
    lines = re.findall(
        r"pip install -e '\.\[([\w,]+)\]' && pip install --no-deps (\S+) && (.+)", _readme()
    )
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = declared["optional-dependencies"].keys()
    assert [command.split()[0] for _, _, command in lines] == ["python", "pytest"]
    assert all(set(named.split(",")) <= extras for named, _, _ in lines)
    assert (ROOT / "app.py").is_file()


def test_the_readmes_json_is_json() -> None:
    """What a person copies into models.json can be read."""
    examples = re.findall(r"```json\n(.*?)```", _readme(), re.DOTALL)
    assert examples
    assert all(json.loads(example) for example in examples)


def test_the_changelog_has_a_place_for_what_is_not_released() -> None:
    """A change has a place to be told, and the version of the package is either told or to come."""
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"


def _readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def _without_fences(document: Path) -> str:
    return re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _without_fences(document), re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def _defined(file: Path) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
