"""The tools against results that real pi stored of the same calls."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enso.host.runtimes.builtin.tools.grep import GrepTool
from tests.runtimes.tools.calls import call, stored

DATA = Path(__file__).parent.parent.parent / "data"
CASES = json.loads((DATA / "tools" / "recorded.json").read_text("utf-8"))["cases"]
SEARCHES = [case for case in CASES if case["tool"] == "grep"]
SESSIONS = sorted((DATA / "corpus" / "sessions").rglob("*.jsonl"))
SHOP_API = {
    "src/orders.py": (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Line:\n    sku: str\n"
        "    price: int\n    qty: int\n\n\ndef total(lines):\n"
        "    return sum(l.price for l in lines)\n"
    ),
    "src/stock.py": (
        "STOCK = {'tea': 4, 'cup': 0}\n\n\ndef available(sku, qty=1):\n"
        "    return STOCK.get(sku, 0) > qty\n"
    ),
    "tests/test_orders.py": "",
}
SHOP_WEB = {"README.md": "", "index.html": "", "package.json": "", "src/main.js": ""}
OF_A_TOOL = ("content", "isError", "details")
KNOWN = {"read", "bash", "edit", "write", "grep", "find", "ls"}


def make_files(directory: Path, files: dict[str, Any]) -> None:
    """Make the files of a case; a name with a slash at its end is a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        elif isinstance(content, str):
            path.write_text(content, "utf-8", newline="")
        else:
            path.write_bytes(base64.b64decode(content["base64"]))


def in_words(result: dict[str, Any], directory: Path) -> dict[str, Any]:
    """A result with ``{cwd}`` for the directory."""
    return json.loads(json.dumps(result).replace(str(directory), "{cwd}"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_call_ends_in_the_result_that_was_recorded(case: dict[str, Any], tmp_path: Path) -> None:
    """Texts, ``isError`` and details are the recorded ones."""
    directory = tmp_path / "project"
    make_files(directory, case["files"])
    check(case, stored(call(case["tool"], case["arguments"], directory)), directory)


@pytest.mark.parametrize("case", SEARCHES, ids=[case["name"] for case in SEARCHES])
def test_each_engine_finds_what_was_recorded(
    case: dict[str, Any], grep: GrepTool, tmp_path: Path
) -> None:
    """The results of ``grep`` do not depend on what searches."""
    directory = tmp_path / "project"
    make_files(directory, case["files"])
    check(case, stored(call(grep, case["arguments"], directory)), directory)


def check(case: dict[str, Any], result: dict[str, Any], directory: Path) -> None:
    """The result is the recorded one; where the recorded search was parallel, in any order."""
    result, expected = in_words(result, directory), json.loads(json.dumps(case["result"]))
    if case.get("anyOrder"):
        for one in (result, expected):
            lines = one["content"][0]["text"].split("\n")
            one["content"][0]["text"] = "\n".join(sorted(lines))
    assert result == expected


def recorded_calls(session: Path) -> Iterator[tuple[str, str, Any, dict[str, Any]]]:
    """The calls of a session with their results: the directory, the tool, its arguments, it."""
    calls: dict[str, Any] = {}
    cwd = ""
    for line in session.read_bytes().split(b"\n"):
        entry = json.loads(line) if line else {}
        message = entry.get("message", {})
        cwd = entry.get("cwd", cwd)
        if message.get("role") == "assistant":
            calls |= {part["id"]: part for part in message["content"] if part["type"] == "toolCall"}
        if message.get("role") == "toolResult" and message["toolName"] in KNOWN:
            arguments = calls[message["toolCallId"]]["arguments"]
            kept = {
                key: message[key] for key in ("content", "isError", "details") if key in message
            }
            yield cwd, message["toolName"], arguments, kept


def can_be_run_again(result: dict[str, Any]) -> bool:
    """Whether a result is the tool's own: not a person's, and not of a run that was ended."""
    said = result["content"][0]["text"]
    return said != "Blocked by user" and "Command aborted" not in said


def with_one_log_name(result: dict[str, Any]) -> dict[str, Any]:
    """A result in which the file of the whole output has one name."""
    path = (result.get("details") or {}).get("fullOutputPath")
    if path is None:
        return result
    return json.loads(json.dumps(result).replace(path, "/tmp/all.log"))


def test_the_calls_of_recorded_sessions_end_as_they_did(tmp_path: Path) -> None:
    """Every call that a session of the corpus holds, run again in order over the same files."""
    count = 0
    for at, session in enumerate(SESSIONS):
        directory = tmp_path / str(at)
        for cwd, tool, arguments, result in recorded_calls(session):
            if not directory.exists():
                make_files(directory, SHOP_WEB if cwd.endswith("web") else SHOP_API)
            if not can_be_run_again(result):
                continue
            told = json.loads(json.dumps(arguments).replace(cwd, str(directory)))
            now = stored(call(tool, told, directory))
            expected = json.loads(json.dumps(result).replace(cwd, "{cwd}"))
            assert in_words(with_one_log_name(now), directory) == with_one_log_name(expected), (
                session.name,
                arguments,
            )
            count += 1
    assert count >= 40
