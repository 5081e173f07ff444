"""A file is read once for each state that it is in, and no further than it grew."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from enso.host.kept_rows import KeptRows
from enso.host.lines_before import Counters
from enso.host.place_rows import PLACES
from enso.host.session_log import read_session

HEADER = {"type": "session", "version": 3, "id": "t1", "cwd": "/shop"}


def line(number: int, parent: int | None = None) -> str:
    """The line of a prompt."""
    parent_id = f"e{number - 1 if parent is None else parent}" if number else None
    message = {"role": "user", "content": f"Prompt {number}", "timestamp": 1000 + number}
    entry = {"type": "message", "id": f"e{number}", "parentId": parent_id, "message": message}
    return json.dumps(entry) + "\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session of 50 prompts."""
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(HEADER) + "\n" + "".join(map(line, range(50))))
    return path


def ids(kept: KeptRows, path: Path) -> list[str]:
    """The ids of the rows now; they are those of the whole reading."""
    read, log = kept.read(path, PLACES), read_session(path)
    assert read is not None
    assert log is not None
    assert [(row.id, row.parent) for row in read.rows] == [
        (entry["id"], entry["parentId"]) for entry in log.entries
    ]
    return [row.id for row in read.rows]


def test_what_did_not_change_is_not_read_again(path: Path) -> None:
    """The second asking reads not one byte."""
    counters = Counters()
    kept = KeptRows(counters)
    first = ids(kept, path)
    assert (counters.lines_parsed, counters.bytes_read) == (51, path.stat().st_size)
    assert ids(kept, path) == first
    assert (counters.lines_parsed, counters.bytes_read) == (51, path.stat().st_size)


def test_of_a_file_that_grew_the_new_lines_are_read(path: Path) -> None:
    """As often as it grows; and another branch is just more lines."""
    counters = Counters()
    kept = KeptRows(counters)
    ids(kept, path)
    for number in (50, 51):
        before = counters.bytes_read
        with path.open("a") as stream:
            stream.write(line(number, parent=3))
        assert len(ids(kept, path)) == number + 1
        assert counters.bytes_read - before == len(line(number, parent=3))
    assert counters.lines_parsed == 53


def test_a_file_that_was_rewritten_is_read_whole(path: Path) -> None:
    """Also where it is longer than before, or as long."""
    kept = KeptRows(Counters())
    ids(kept, path)
    content = path.read_text()
    path.write_text(content.replace('"e1"', '"x1"') + line(50))
    assert "x1" in ids(kept, path)
    path.write_text(path.read_text().replace('"x1"', '"y1"'))
    os.utime(path, (1, 1))
    assert "y1" in ids(kept, path)
    path.write_text(content[: len(content) // 2])
    assert ids(kept, path)[:2] == ["e0", "e1"]


def test_a_torn_line_is_no_end_to_go_on_from(path: Path) -> None:
    """What comes is fused with it, or completes it."""
    kept = KeptRows(Counters())
    whole = line(50)
    with path.open("a") as stream:
        stream.write(whole[:20])
    assert len(ids(kept, path)) == 50
    with path.open("a") as stream:
        stream.write(whole[20:])
    assert ids(kept, path)[-1] == "e50"


def test_who_asks_at_once_waits_for_one_reading(path: Path) -> None:
    """Eight workers, one reading."""
    counters = Counters()
    kept, together = KeptRows(counters), Barrier(8)

    def ask() -> int:
        together.wait()
        read = kept.read(path, PLACES)
        return len(read.rows) if read is not None else 0

    with ThreadPoolExecutor(8) as workers:
        found = [workers.submit(ask) for _ in range(8)]
    assert [one.result() for one in found] == [50] * 8
    assert counters.lines_parsed == 51


def test_no_more_is_kept_than_is_said(tmp_path: Path, path: Path) -> None:
    """The file that was looked at longest ago is let go."""
    counters = Counters()
    kept = KeptRows(counters, most_bytes=1000)
    other = tmp_path / "other.jsonl"
    other.write_bytes(path.read_bytes())
    for asked in (path, other, other, path):
        ids(kept, asked)
    assert counters.lines_parsed == 3 * 51


def test_what_is_no_session_has_no_rows(tmp_path: Path) -> None:
    """Nor has a file that is not there; that is asked anew each time."""
    kept = KeptRows(Counters())
    path = tmp_path / "notes.jsonl"
    with pytest.raises(FileNotFoundError):
        kept.read(path, PLACES)
    path.write_text('{"type":"note"}\n')
    assert kept.read(path, PLACES) is None
    assert kept.read(path, PLACES) is None
    path.write_text(json.dumps(HEADER) + "\n" + line(0))
    assert ids(kept, path) == ["e0"]
