"""The rule of the extension that guards a pi is the rule of Enso's own runtime, case by case."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from enso.host.permission_rules import MODES, question
from enso.host.runtimes.permissions import remember_key, subject, verdict
from enso.host.runtimes.pi.guard import EXTENSION
from tests.interop.real_pi import HERE, node
from tests.permission_cases import (
    GUARDED,
    INSIDE,
    OTHERS,
    OUTSIDE,
    READING,
    WRITING,
    make_project,
)

ALL_MODES = [*(mode.id for mode in MODES), "yolo", "", "PLAN", "auto "]


class Judge:
    """The extension's rule, in a Node.js of its own: one line asks, one line answers."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def __call__(self, mode: str, tool: str, given: Any, cwd: Path, agent_dir: Path) -> Any:
        """What it says of a call."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = json.dumps([mode, tool, given, str(cwd), str(agent_dir)])
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """The extension's rule."""
    command = [node(), str(HERE / "judge.mjs"), str(EXTENSION.with_name("rule.ts"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Judge(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project with links that lead out, and the agent directory within it."""
    project = make_project(tmp_path_factory.mktemp("judged"))
    agent_dir = project / ".pi" / "agent"
    agent_dir.mkdir(parents=True)
    (project / "loop").symlink_to("loop")
    return project, agent_dir


def ours(mode: str, tool: str, given: Any, cwd: Path, agent_dir: Path) -> dict[str, Any]:
    """What Enso's own rule says of a call, as the extension tells it."""
    said = verdict(mode, tool, given, cwd, agent_dir=agent_dir)
    return {
        "verdict": said.verdict,
        "reason": said.reason,
        "subject": subject(tool, given),
        "key": remember_key(tool, given, cwd, agent_dir=agent_dir),
        "question": question(tool),
    }


def alike(said: dict[str, Any]) -> dict[str, Any]:
    """What is said, without the key of a call that has none that another call could have."""
    return {**said, "key": "never"} if '"never"' in said["key"] else said


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("tool", [*READING, *WRITING, *OTHERS])
def test_both_say_the_same_of_every_case(
    mode: str, tool: str, judge: Judge, place: tuple[Path, Path]
) -> None:
    """Paths inside and outside, through links, guarded, no paths at all; commands and the rest."""
    paths: list[Any] = [*INSIDE, *OUTSIDE, *GUARDED, "loop", "loop/x", "@~/x", "a%20b", "\ud83d"]
    paths += ["file:///etc/h%6fsts?a#b", "file:x", "file://host/x", "//etc/x", "", " ", "\t x "]
    paths += [None, 3, [], {}, True, "\0"]
    inputs: list[Any] = [{"path": path, "content": "x"} for path in paths]
    inputs += [{"command": command} for command in ("ls", " make\ttest ", "a\nb\r\nc\u2028d", 7)]
    inputs += [{}, [], None, "path", {"b": [1], "a": "é\x7f", "\uffff": 1, "\U0001f600": {}}]
    inputs += [{"command": "echo " + "x" * 999 + "\u202eé😀" * 99}, {"a": "\ud83d"}, {"é": None}]
    for given_input in inputs:
        call = (mode, tool, given_input, *place)
        assert alike(judge(*call)) == alike(ours(*call)), call


# Characters that newer tables of Unicode know and older ones do not are told apart differently.
TEXT = strategies.text(strategies.characters(exclude_categories=["Cn"]), max_size=12)
JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers(-(2**53), 2**53) | TEXT,
    lambda inner: strategies.lists(inner) | strategies.dictionaries(TEXT, inner),
    max_leaves=5,
)
NAMES = strategies.lists(
    strategies.sampled_from(["src", "..", ".", "out", "in", "hooks", ".git", "new", "~", "", "a b"])
).map("/".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    strategies.sampled_from(ALL_MODES),
    strategies.sampled_from([*READING, *WRITING, *OTHERS]) | TEXT,
    strategies.dictionaries(strategies.sampled_from(["path", "command", "edits"]), JSON | NAMES),
)
def test_both_say_the_same_of_whatever_a_model_sends(
    judge: Judge, place: tuple[Path, Path], mode: str, tool: str, given_input: dict[str, Any]
) -> None:
    """Also of what nobody thought of."""
    call = (mode, tool, given_input, *place)
    assert alike(judge(*call)) == alike(ours(*call))


def test_what_is_nested_too_deeply_has_no_key(judge: Judge, place: tuple[Path, Path]) -> None:
    """Calls that cannot be told apart are not taken for each other, by neither."""
    deep: list[Any] = []
    for _ in range(150):
        deep = [deep]
    call = ("ask", "other", {"a": deep}, *place)
    assert alike(judge(*call)) == alike(ours(*call))
    assert judge(*call)["key"] != judge(*call)["key"]
