"""What is read of a session file that another program writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enso.host.session_file import SessionFile

HEADER = {"type": "session", "version": 3, "id": "t1", "timestamp": "", "cwd": "/shop"}


def line(entry_id: str, parent: str | None, text: str = "") -> bytes:
    """One stored entry with its newline."""
    entry: dict[str, Any] = {"type": "custom", "customType": "note", "data": text}
    return json.dumps({**entry, "id": entry_id, "parentId": parent}).encode() + b"\n"


def append(path: Path, *pieces: bytes) -> None:
    """Append as another program would."""
    with path.open("ab") as stream:
        stream.write(b"".join(pieces))


def ids(entries: list[dict[str, Any]]) -> list[str]:
    """The ids of entries."""
    return [entry["id"] for entry in entries]


def opened(tmp_path: Path) -> SessionFile:
    """A session of one entry."""
    path = tmp_path / "t1.jsonl"
    append(path, json.dumps(HEADER).encode() + b"\n", line("a", None))
    return SessionFile.open(path)


def test_only_what_was_appended_is_taken_in(tmp_path: Path) -> None:
    """Once each, in order; afterwards the file counts as known."""
    session = opened(tmp_path)
    assert session.take_in() == []
    append(session.path, line("b", "a"), line("c", "b"))
    assert session.changed_elsewhere()
    assert ids(session.take_in()) == ["b", "c"]
    assert not session.changed_elsewhere()
    assert session.take_in() == []
    assert ids(session.entries()) == ["a", "b", "c"]


def test_the_leaf_stays_until_it_is_said(tmp_path: Path) -> None:
    """Another program's branch is not ours."""
    session = opened(tmp_path)
    append(session.path, line("b", "a"))
    session.take_in()
    assert session.leaf_id == "a"
    assert session.go_to("b")
    assert ids(session.branch()) == ["a", "b"]


def test_half_a_line_is_left_for_the_next_time(tmp_path: Path) -> None:
    """And no line is ended by what only Unicode calls a line end, or by a carriage return."""
    session = opened(tmp_path)
    whole = line("b", "a", "\u2028 raw \r").replace(b"\\u2028", "\u2028".encode())
    append(session.path, whole[:40])
    assert session.take_in() == []
    assert session.changed_elsewhere()
    append(session.path, whole[40:])
    (entry,) = session.take_in()
    assert entry["data"] == "\u2028 raw \r"


def test_a_file_that_another_program_makes_is_found_where_it_lies(tmp_path: Path) -> None:
    """With its header, whose cwd and id are known already."""
    session = SessionFile.create(tmp_path, "t1", Path("/shop"))
    made = tmp_path / "elsewhere.jsonl"
    session.lies_at(made)
    assert session.take_in() == []
    append(made, json.dumps(HEADER).encode() + b"\n", line("a", None))
    assert ids(session.take_in()) == ["a"]
    assert session.exists()
    assert session.path == made


def test_an_entry_that_was_told_before_is_not_taken_in_again(tmp_path: Path) -> None:
    """All in order, the last is the leaf meanwhile."""
    session = SessionFile.create(tmp_path, "t1", Path("/shop"))
    b = json.loads(line("b", "a"))
    assert ids(session.learn([b])) == ["b"]
    assert ids(session.learn([json.loads(line("a", None)), b])) == ["a"]
    assert session.leaf_id == "b"
    written = [line("a", None), line("b", "a")]
    append(tmp_path / "t1.jsonl", json.dumps(HEADER).encode() + b"\n", *written)
    session.lies_at(tmp_path / "t1.jsonl")
    assert session.take_in() == []
    assert ids(session.branch()) == ["a", "b"]


def test_a_file_that_was_replaced_is_read_whole(tmp_path: Path) -> None:
    """What is new in it is told."""
    session = opened(tmp_path)
    content = session.path.read_bytes() + line("b", "a")
    session.path.unlink()
    append(session.path, content)
    assert ids(session.take_in()) == ["b"]
    assert session.leaf_id == "a"
