"""What holds for every tool: its schema, its arguments, and that it always ends in an outcome."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from enso.host.runtimes.builtin.tools import TOOLS, ToolOutcome
from enso.host.runtimes.builtin.tools.arguments import WrongArguments, check_arguments
from enso.host.runtimes.builtin.tools.workers import Cancellation, in_own_worker, in_worker
from tests.runtimes.tools.calls import call, in_loop, running, text

ROOT = Path(__file__).parent.parent.parent.parent
ARGUMENTS = {
    "read": (["path"], {"path": "string", "offset": "number", "limit": "number"}),
    "bash": (["command"], {"command": "string", "timeout": "number"}),
    "edit": (["path", "edits"], {"path": "string", "edits": "array"}),
    "write": (["path", "content"], {"path": "string", "content": "string"}),
    "grep": (
        ["pattern"],
        {
            "pattern": "string",
            "path": "string",
            "glob": "string",
            "ignoreCase": "boolean",
            "literal": "boolean",
            "context": "number",
            "limit": "number",
        },
    ),
    "find": (["pattern"], {"pattern": "string", "path": "string", "limit": "number"}),
    "ls": ([], {"path": "string", "limit": "number"}),
}


def test_names_and_arguments_are_those_of_pi() -> None:
    """A model, and a stored call, finds the same tools with the same arguments in both."""
    shapes = {
        name: (
            list(tool.parameters.get("required", [])),
            {key: value["type"] for key, value in tool.parameters["properties"].items()},
        )
        for name, tool in TOOLS.items()
    }
    assert shapes == ARGUMENTS
    edit = TOOLS["edit"].parameters["properties"]["edits"]["items"]
    assert edit["required"] == ["oldText", "newText"]
    assert {key: value["type"] for key, value in edit["properties"].items()} == {
        "oldText": "string",
        "newText": "string",
    }


def test_a_tool_describes_itself_in_few_words() -> None:
    """All that a model is told of them is less than 4 kB: a small one reads it each time."""
    told = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in TOOLS.values()
    ]
    assert len(json.dumps(told)) < 4_000
    assert all(tool.description for tool in TOOLS.values())


def test_the_tools_load_no_model_library() -> None:
    """Importing them starts nothing and loads nothing heavy."""
    source = (
        "import sys\n"
        "import enso.host.runtimes.permissions\n"
        "import enso.host.runtimes.instructions.project_context\n"
        "import enso.host.runtimes.builtin.tools\n"
        "print([name for name in ('pydantic_ai', 'openai', 'anthropic') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# -- arguments ----------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "required": ["name", "items"],
    "properties": {
        "name": {"type": "string"},
        "size": {"type": "number"},
        "is_it": {"type": "boolean"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"type": "string"}},
            },
        },
    },
}


@pytest.mark.parametrize(
    "given_values, fitted",
    [
        ({"size": "42"}, {"size": 42}),
        ({"size": 4.0}, {"size": 4}),
        ({"size": 10**400}, {"size": 2**53 - 1}),
        ({"size": None, "is_it": None}, {}),
        ({"is_it": "true"}, {"is_it": True}),
        ({"is_it": 0}, {"is_it": False}),
        ({"name": 12.5}, {"name": "12.5"}),
        ({"name": True}, {"name": "true"}),
        ({"items": {"a": "x"}}, {"items": [{"a": "x"}]}),
        ({"items": [{"a": 1, "b": None}]}, {"items": [{"a": "1", "b": None}]}),
        ({"more": [1]}, {"more": [1]}),
    ],
)
def test_arguments_are_fitted_where_the_meaning_is_plain(
    given_values: dict[str, Any], fitted: dict[str, Any]
) -> None:
    """What models send for a number, a switch or a list is taken as what they mean."""
    base = {"name": "n", "items": []}
    assert check_arguments("tool", SCHEMA, {**base, **given_values}) == {**base, **fitted}


def test_every_wrong_argument_is_named() -> None:
    """The model is told of all of them at once, by their places, with what it sent."""
    wrong = {"size": "many", "is_it": "perhaps", "items": [{"a": []}, 3, {}]}
    with pytest.raises(WrongArguments) as refused:
        check_arguments("tool", SCHEMA, wrong)
    assert str(refused.value) == (
        'Validation failed for tool "tool":\n'
        "  - name: missing\n"
        "  - size: expected number, got string\n"
        "  - is_it: expected boolean, got string\n"
        "  - items.0.a: expected string, got array\n"
        "  - items.1: expected object, got integer\n"
        "  - items.2.a: missing\n\n"
        f"Received arguments:\n{json.dumps(wrong, indent=2)}"
    )


@pytest.mark.parametrize(
    "arguments",
    [[], None, "text", {"name": math.nan}, {1: 2}],
    ids=["list", "null", "text", "NaN", "key"],
)
def test_arguments_that_are_none_are_refused(arguments: object) -> None:
    """Whatever a model sends as arguments, it is told what was expected."""
    with pytest.raises(WrongArguments) as refused:
        check_arguments("tool", SCHEMA, arguments)
    assert str(refused.value).startswith('Validation failed for tool "tool":\n  - ')


# -- outcomes -----------------------------------------------------------------------------------

STRINGS = strategies.sampled_from(
    [
        "",
        ".",
        "..",
        "a",
        "a/b",
        "@a",
        "~",
        "\0",
        "\ud83d",
        "a\nb",
        "[",
        "{",
        "(",
        "*",
        "é",
        "x" * 300,
    ]
)
JSON = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | STRINGS,
    lambda inner: (
        strategies.lists(inner, max_size=3) | strategies.dictionaries(STRINGS, inner, max_size=3)
    ),
    max_leaves=6,
)
EDITS = strategies.lists(
    strategies.fixed_dictionaries({"oldText": STRINGS, "newText": STRINGS}), max_size=3
)


@strategies.composite
def calls(draw: Any) -> tuple[str, dict[str, Any]]:
    """A tool, and arguments for it of which any may be anything; no command that does something."""
    name = draw(strategies.sampled_from(sorted(TOOLS)))
    arguments: dict[str, Any] = {}
    for key in TOOLS[name].parameters["properties"]:
        if draw(strategies.booleans()):
            usual = EDITS if key == "edits" else STRINGS
            arguments[key] = draw(usual if draw(strategies.booleans()) else JSON)
    if isinstance(arguments.get("command"), str):
        arguments["command"] = draw(strategies.sampled_from(["true", "", "exit 3", "\0", "\ud83d"]))
    return name, arguments


@given(calls())
@settings(max_examples=150)
def test_whatever_a_model_sends_ends_in_an_outcome(made: tuple[str, dict[str, Any]]) -> None:
    """No call raises, and every outcome can be stored."""
    name, arguments = made
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "project").mkdir()
        (Path(directory) / "project" / "a").write_text("a\nb\n")
        outcome = call(name, arguments, Path(directory) / "project")
    assert outcome.content[0]["type"] == "text"
    assert text(outcome) or name == "read"
    json.dumps({"content": outcome.content, "details": outcome.details}, allow_nan=False).encode()
    outcome.content[0]["text"].encode()


@pytest.mark.parametrize("arguments", [[], "text", None, 3], ids=repr)
@pytest.mark.parametrize("name", sorted(TOOLS))
def test_arguments_that_are_no_object_end_in_an_outcome(
    name: str, arguments: Any, tmp_path: Path
) -> None:
    """Also what is no JSON object is answered."""
    outcome = call(name, arguments, tmp_path)
    assert outcome.is_error
    assert text(outcome)


# -- workers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_a_worker", [in_worker, lambda work: in_own_worker("enso-test", work)])
def test_a_cancelled_call_ends_when_its_work_has(in_a_worker: Any) -> None:
    """Work that is told to stop is waited for, also when the call is cancelled once more."""
    begun, may_end, has_ended = threading.Event(), threading.Event(), threading.Event()

    def work(cancellation: Cancellation) -> None:
        told = threading.Event()
        cancellation.call(told.set)
        begun.set()
        told.wait()
        may_end.wait()
        has_ended.set()
        cancellation.check()

    async def cancelled() -> None:
        task = asyncio.ensure_future(in_a_worker(work))
        while not begun.is_set():
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        may_end.set()
        await asyncio.wait([task])
        assert task.cancelled()

    in_loop(cancelled())
    assert has_ended.is_set()


def test_many_calls_of_every_tool_run_at_once(project: Path) -> None:
    """A hundred calls of one answer end in a hundred outcomes, in the order of the calls."""
    (project / "f").write_text("x\n")
    made = [
        ("read", {"path": "f"}),
        ("bash", {"command": "echo x"}),
        ("write", {"path": "g", "content": "x"}),
        ("grep", {"pattern": "x", "path": "f"}),
        ("ls", {"path": "."}),
    ]

    async def together() -> list[ToolOutcome]:
        return await asyncio.gather(*(running(*one, project) for one in made * 20))

    outcomes = in_loop(together())
    assert [outcome.is_error for outcome in outcomes] == [False] * 100
    assert [text(outcome) for outcome in outcomes[::5]] == ["x\n"] * 20
    assert [text(outcome) for outcome in outcomes[3::5]] == ["f:1: x"] * 20
