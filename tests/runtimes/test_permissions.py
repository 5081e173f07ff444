"""What the agent may do without asking: one rule for every call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from enso.host.contract import ToolCallVerdict
from enso.host.permission_rules import MODES
from enso.host.runtimes.permissions import MAX_SUBJECT, remember_key, subject, verdict
from tests.permission_cases import (
    GUARDED,
    INSIDE,
    OTHERS,
    OUTSIDE,
    READING,
    WRITING,
    make_project,
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a repository, next to other directories, with links that lead out."""
    return make_project(tmp_path)


@pytest.fixture
def agent_dir(project: Path) -> Path:
    """An agent directory within the project, as it is when a home directory is served."""
    directory = project / ".pi" / "agent"
    directory.mkdir(parents=True)
    return directory


def said(mode: str, tool: str, path: object, project: Path, agent_dir: Path) -> str:
    """The verdict on a call with this path, in one word."""
    return verdict(mode, tool, {"path": path}, project, agent_dir=agent_dir).verdict


@pytest.mark.parametrize("mode", ["plan", "ask", "edit", "auto", "yolo", ""])
@pytest.mark.parametrize("tool", READING)
def test_reading_is_free(mode: str, tool: str, project: Path) -> None:
    """In every mode, the known and the unknown ones, wherever it reads."""
    for arguments in ({}, {"path": "/etc/hosts"}, {"path": ["x"]}):
        assert verdict(mode, tool, arguments, project) == ToolCallVerdict(verdict="allow")


@pytest.mark.parametrize("tool", [*WRITING, *OTHERS])
def test_plan_refuses_all_that_changes_or_runs(tool: str, project: Path) -> None:
    """The reason tells the model that it is in plan mode, and what it can do instead."""
    for arguments in ({"path": "src/a.py"}, {"command": "ls"}, {}):
        refused = verdict("plan", tool, arguments, project)
        assert refused.verdict == "refuse"
        assert "plan mode" in refused.reason
        assert "Say what you would do" in refused.reason


@pytest.mark.parametrize("mode", ["ask", "yolo", "", "PLAN", "auto "])
@pytest.mark.parametrize("tool", [*WRITING, *OTHERS])
def test_ask_and_every_unknown_mode_ask_for_all_else(mode: str, tool: str, project: Path) -> None:
    """A mode that this server does not know is not more permissive than ask."""
    for arguments in ({"path": "src/a.py"}, {"command": "ls"}, {}):
        assert verdict(mode, tool, arguments, project).verdict == "ask"


@pytest.mark.parametrize("tool", WRITING)
@pytest.mark.parametrize("path", INSIDE)
def test_edit_lets_edits_inside_the_project_be(
    tool: str, path: str, project: Path, agent_dir: Path
) -> None:
    """Existing and new files, by any of their names."""
    assert said("edit", tool, path, project, agent_dir) == "allow"
    assert said("edit", tool, str(project / "src" / "a.py"), project, agent_dir) == "allow"


@pytest.mark.parametrize("mode", ["edit", "auto"])
@pytest.mark.parametrize("tool", WRITING)
@pytest.mark.parametrize("path", [*OUTSIDE, *GUARDED])
def test_writing_outside_of_the_project_asks(
    mode: str, tool: str, path: str, project: Path, agent_dir: Path
) -> None:
    """Also through links, dots and the home directory; git's and the agent's own are outside."""
    asked = verdict(mode, tool, {"path": path}, project, agent_dir=agent_dir)
    assert asked.verdict == "ask"
    assert asked.reason.endswith(".")


@pytest.mark.parametrize("tool", OTHERS)
def test_edit_asks_for_commands_and_for_tools_it_does_not_know(tool: str, project: Path) -> None:
    """Only what edits a file by its path can be judged by it."""
    assert verdict("edit", tool, {"command": "ls", "path": "src/a.py"}, project).verdict == "ask"


@pytest.mark.parametrize("tool", OTHERS)
def test_auto_asks_for_nothing_but_writing_outside(tool: str, project: Path) -> None:
    """A command is not judged by its words."""
    assert verdict("auto", tool, {"command": "rm -rf /"}, project).verdict == "allow"


@pytest.mark.parametrize("path", INSIDE)
def test_auto_lets_edits_inside_the_project_be(path: str, project: Path, agent_dir: Path) -> None:
    """As edit does."""
    assert said("auto", "write", path, project, agent_dir) == "allow"


@pytest.mark.parametrize("mode", ["edit", "auto"])
@pytest.mark.parametrize("path", [None, 3, [], {}, True, "\0", b"a"], ids=repr)
def test_a_path_that_is_none_is_never_free(
    mode: str, path: object, project: Path, agent_dir: Path
) -> None:
    """What names no file is asked about; it is no exception."""
    assert said(mode, "write", path, project, agent_dir) == "ask"
    assert verdict(mode, "write", {}, project, agent_dir=agent_dir).verdict == "ask"


def test_the_project_itself_may_be_reached_through_a_link(project: Path, agent_dir: Path) -> None:
    """A served directory that is a link is the directory that it leads to."""
    link = project.parent / "link"
    link.symlink_to(project)
    for path in ("src/a.py", str(project / "src"), str(link / "src")):
        assert said("edit", "edit", path, link, agent_dir) == "allow"
    assert said("edit", "edit", "../other/x", link, agent_dir) == "ask"


def test_the_agent_directory_is_the_one_of_the_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who does not name it gets the one that the server was started with."""
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(project / "src"))
    assert verdict("auto", "write", {"path": "src/x"}, project).verdict == "ask"
    monkeypatch.delenv("PI_CODING_AGENT_DIR")
    monkeypatch.setenv("HOME", str(project))
    assert verdict("auto", "write", {"path": "src/x"}, project).verdict == "allow"
    assert verdict("auto", "write", {"path": ".pi/agent/x"}, project).verdict == "ask"


def test_a_project_that_is_gone_is_no_exception(tmp_path: Path, agent_dir: Path) -> None:
    """The rule answers also where nothing is any more."""
    assert said("edit", "write", "a", tmp_path / "gone", agent_dir) == "allow"
    assert said("edit", "write", "../a", tmp_path / "gone", agent_dir) == "ask"


JSON = strategies.recursive(
    strategies.none() | strategies.integers() | strategies.floats() | strategies.text(max_size=9),
    lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
    max_leaves=5,
)
TOOLS = strategies.sampled_from([*READING, *WRITING, *OTHERS])
KEYS = strategies.sampled_from(["path", "command", "edits", "content", "more"])


@given(
    strategies.sampled_from([*(mode.id for mode in MODES), "other"]),
    TOOLS,
    strategies.dictionaries(KEYS, JSON),
)
def test_whatever_a_model_sends_there_is_a_verdict(
    mode: str, tool: str, arguments: dict[str, Any]
) -> None:
    """The rule, the line of the dialog and the key never raise, and are text that can be stored."""
    cwd = Path("/nowhere/project")
    judged = verdict(mode, tool, arguments, cwd)
    assert judged.verdict in {"allow", "ask", "refuse"}
    for text in (judged.reason, subject(tool, arguments), remember_key(tool, arguments, cwd)):
        assert "\n" not in text
        text.encode()


@pytest.mark.parametrize("arguments", [[], None, "path", 3], ids=repr)
def test_arguments_that_are_no_object_are_never_free(arguments: Any, project: Path) -> None:
    """What is no JSON object is asked about or refused."""
    for tool in WRITING:
        assert verdict("edit", tool, arguments, project).verdict == "ask"
        assert verdict("plan", tool, arguments, project).verdict == "refuse"
        assert subject(tool, arguments)
        assert remember_key(tool, arguments, project)


# -- the line of a dialog -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool, arguments, line",
    [
        ("bash", {"command": "  make test "}, "make test"),
        ("bash", {"command": "a\nb\r\nc\u2028d"}, "a ⏎ b ⏎ c ⏎ d"),
        ("bash", {"command": "rm\tx \x1b[2K\u202eevil"}, "rm x \\u{1b}[2K\\u{202e}evil"),
        ("bash", {"command": "a\ud83d\x00"}, "a\ufffd\\u{0}"),
        ("write", {"path": "src/a.py", "content": "x"}, "src/a.py"),
        ("edit", {"path": "~/x"}, "~/x"),
        ("read", {"path": 3}, '{"path": 3}'),
        ("other", {"b": [1], "a": "é"}, '{"a": "é", "b": [1]}'),
        ("other", {}, "{}"),
        ("bash", {}, "{}"),
    ],
)
def test_a_call_is_told_in_one_line(tool: str, arguments: dict[str, Any], line: str) -> None:
    """What it is about, with nothing in it that changes how it is read."""
    assert subject(tool, arguments) == line


def test_the_end_of_a_long_command_is_not_hidden() -> None:
    """A command that is padded shows its beginning and its end, and how much is between."""
    line = subject("bash", {"command": "echo " + "x" * 10_000_000 + "; rm -rf ~"})
    assert line.startswith("echo xxx")
    assert line.endswith("xxx; rm -rf ~")
    assert " … 9999715 characters … " in line
    assert len(line) < MAX_SUBJECT + 40


# -- what is remembered -------------------------------------------------------------------------


def keys(project: Path, agent_dir: Path, *calls: tuple[str, dict[str, Any]]) -> set[str]:
    """The keys of calls."""
    return {remember_key(tool, given, project, agent_dir=agent_dir) for tool, given in calls}


def test_an_edit_in_the_project_is_remembered_for_the_project(
    project: Path, agent_dir: Path
) -> None:
    """Allowed once for the thread, edits of any of its files are; writes are asked about apart."""
    edits = [("edit", {"path": path}) for path in INSIDE]
    assert len(keys(project, agent_dir, *edits)) == 1
    assert len(keys(project, agent_dir, edits[0], ("write", {"path": "src/a.py"}))) == 2


def test_an_edit_outside_is_remembered_for_the_file(project: Path, agent_dir: Path) -> None:
    """Names of one file are one key; other files, and the project's, have others."""
    one = [("edit", {"path": path}) for path in ("out/x", "../other/x", "out/./y/../x")]
    assert len(keys(project, agent_dir, *one)) == 1
    others = [("edit", {"path": path}) for path in (*OUTSIDE, *GUARDED, "src/a.py")]
    assert len(keys(project, agent_dir, *others)) > 12


def test_a_command_is_remembered_exactly(project: Path, agent_dir: Path) -> None:
    """Not a blank may differ; a time limit may."""
    commands = ["make test", "make test ", "make  test", "make test; rm x"]
    calls = [("bash", {"command": command}) for command in commands]
    assert len(keys(project, agent_dir, *calls)) == 4
    limited = ("bash", {"command": "make test", "timeout": 3})
    assert len(keys(project, agent_dir, calls[0], limited)) == 1


def test_another_call_is_remembered_with_its_arguments(project: Path, agent_dir: Path) -> None:
    """The order of the arguments does not matter, their values do."""
    one, same, other = {"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 1, "b": [3]}
    assert len(keys(project, agent_dir, ("x", one), ("x", same))) == 1
    assert len(keys(project, agent_dir, ("x", one), ("x", other), ("y", one))) == 3


def test_what_has_no_key_is_not_remembered(project: Path, agent_dir: Path) -> None:
    """Calls that cannot be told apart are not taken for each other."""
    deep: list[Any] = []
    for _ in range(3000):
        deep = [deep]
    for arguments in ({"a": deep}, {"a": float("nan")}, {"a": "\ud83d"}):
        assert len(keys(project, agent_dir, ("x", arguments))) == 1
        first = remember_key("x", arguments, project, agent_dir=agent_dir)
        assert first != remember_key("x", arguments, project, agent_dir=agent_dir)
