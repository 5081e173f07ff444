"""A fork's file, against those that real pi wrote, and what becomes of labels in the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from enso.host.session_fork import forked_entries
from enso.host.session_host import SessionHost
from enso.host.session_log import Entry, read_session
from enso.projects import Projects
from tests.fakes.file_runtimes import ScriptedRuntimes
from tests.host.corpus import CORPUS

SESSIONS = CORPUS / "sessions" / "--home-dev-shop-api--"


def entries(name: str) -> list[Entry]:
    """The entries of a recorded session, by the end of its id."""
    (path,) = SESSIONS.glob(f"*{name}.jsonl")
    log = read_session(path)
    assert log is not None
    return log.entries


@pytest.mark.parametrize(
    "source, fork", [("9c9c95193a91", "9c9e77316ce8"), ("9c9e77316ce8", "9ca13d757232")]
)
def test_a_fork_begins_as_pis_does(source: str, fork: str) -> None:
    """Entry for entry, ids and times among them."""
    recorded = entries(fork)
    original = entries(source)
    shared = [entry for entry in recorded if entry in original]
    assert shared
    following = original[len(shared) :]
    prompt = next((e["id"] for e in following if e["message"]["role"] == "user"), None)
    assert forked_entries(original, prompt, original[-1]["id"]) == shared


def label(entry_id: str, parent: str | None, target: str, text: str | None) -> Entry:
    """A label in the line."""
    entry: Entry = {"type": "label", "id": entry_id, "parentId": parent, "targetId": target}
    return {**entry, "label": text} if text else entry


def message(entry_id: str, parent: str | None, role: str = "user") -> Entry:
    """A message in the line."""
    said: dict[str, Any] = {"role": role, "content": []}
    return {"type": "message", "id": entry_id, "parentId": parent, "message": said}


def test_labels_leave_the_line_and_follow_it() -> None:
    """What hung on one hangs on what was before it; only labels that still hold are taken over."""
    source = [
        message("a", None),
        label("l1", "a", "a", "first"),
        message("b", "l1", "assistant"),
        label("l2", "b", "b", "gone"),
        label("l3", "l2", "b", None),
        message("c", "l3"),
        label("l4", "c", "elsewhere", "not ours"),
    ]
    forked = forked_entries(source, None, "l4")
    assert forked is not None
    assert [(e["id"], e["parentId"]) for e in forked[:3]] == [("a", None), ("b", "a"), ("c", "b")]
    (kept,) = forked[3:]
    assert (kept["targetId"], kept["label"], kept["parentId"]) == ("a", "first", "c")
    assert kept["id"] not in {e["id"] for e in source}
    assert source[2]["parentId"] == "l1"


def test_a_compaction_keeps_what_it_kept_though_that_was_a_label() -> None:
    """The first message behind the label stands for it."""
    compaction = {"type": "compaction", "id": "k", "parentId": "b", "firstKeptEntryId": "l1"}
    source = [message("a", None), label("l1", "a", "a", "x"), message("b", "l1"), compaction]
    forked = forked_entries(source, None, "k")
    assert forked is not None
    assert forked[2]["firstKeptEntryId"] == "b"
    assert compaction["firstKeptEntryId"] == "l1"


def test_a_fork_names_its_source_and_keeps_version_and_directory(tmp_path: Path) -> None:
    """As pi's header does; an old session is forked in today's version."""
    project = tmp_path / "shop"
    project.mkdir()
    directory = tmp_path / "agent" / "sessions" / "x"
    directory.mkdir(parents=True)
    lines = [
        f'{{"type":"session","id":"old","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{project}"}}',
        '{"type":"message","message":{"role":"user","content":"One"}}',
        '{"type":"message","message":{"role":"assistant","content":[]}}',
    ]
    path = directory / "2026_old.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    host = SessionHost(
        agent_dir=tmp_path / "agent", projects=Projects([project]), runtimes=ScriptedRuntimes()
    )
    before = path.read_bytes()
    assert host.fork("old", None, "new") == "new"
    forked = read_session(next((tmp_path / "agent").rglob("*_new.jsonl")))
    assert forked is not None
    assert list(forked.header.raw) == [
        *("type", "version", "id", "timestamp", "cwd", "parentSession")
    ]
    assert (forked.header.id, forked.header.version) == ("new", 3)
    assert forked.header.raw["parentSession"] == str(path)
    assert forked.header.cwd == str(project)
    assert len(forked.entries) == 2
    assert path.read_bytes() == before
    host.close()
