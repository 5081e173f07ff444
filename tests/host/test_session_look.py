"""Rows: what is taken of a file for the rail is what the full scan says, whatever it holds."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enso.host.session_look import RowFile, look_at
from enso.host.session_order import row_of
from enso.host.session_scan import scan_file
from tests.host.corpus import ALL, Recorded, place
from tests.host.session_lines import BEGINNING_MS, LINES, STEPS, VERSIONS, at, header, message

PI_LINE = (
    '{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-01-01T00:00:01.000Z",'
    '"message":{"role":"%s","content":[{"type":"text","text":"%s"}],"timestamp":%d}%s}'
)


def agrees(path: Path, earlier: RowFile | None = None) -> RowFile | None:
    """Look at a file, and see that the row is the full scan's."""
    scanned = scan_file(path)
    looked = look_at(str(path), earlier)
    assert (looked is None) == (scanned is None)
    if looked is not None and scanned is not None:
        assert row_of(looked) == scanned.thread
    return looked


@pytest.mark.parametrize("recorded", ALL, ids=str)
def test_every_recorded_file_has_the_full_scans_row(recorded: Recorded, tmp_path: Path) -> None:
    """Whole, cut in its middle and inside its last line, and read on from there."""
    path = place(recorded, tmp_path)
    content = path.read_bytes()
    agrees(path)
    for cut in (len(content) // 2, len(content) - 3):
        path.write_bytes(content[:cut])
        known = agrees(path)
        path.write_bytes(content)
        agrees(path, known)


@settings(max_examples=100)
@given(VERSIONS, STEPS)
def test_reading_on_gives_the_full_scans_row(
    version: int | None, steps: list[tuple[str, list[bytes]]]
) -> None:
    """After any appends, truncations and rewrites, with any damage."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.jsonl"
        begin = json.dumps(header(version=version)).encode() + b"\n"
        path.write_bytes(begin)
        known = agrees(path)
        for number, (step, lines) in enumerate(steps):
            if step == "append":
                with path.open("ab") as stream:
                    stream.write(b"".join(lines))
            elif step == "cut":
                os.truncate(path, path.stat().st_size // 2)
            else:
                path.write_bytes(begin + b"".join(lines))
            os.utime(path, (at(BEGINNING_MS + number * 10),) * 2)
            known = agrees(path, known)


@settings(max_examples=100)
@given(st.lists(LINES, max_size=8))
def test_any_lines_have_the_full_scans_row(lines: list[bytes]) -> None:
    """Also behind a line as pi writes it, and before one."""
    good = (PI_LINE % ("p", "null", "user", "Hello", BEGINNING_MS, "")).encode() + b"\n"
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.jsonl"
        for body in (lines, [good, *lines], [*lines, good]):
            path.write_bytes(json.dumps(header()).encode() + b"\n" + b"".join(body))
            agrees(path)


def pi_line(role: str = "assistant", text: str = "x", later: str = "") -> str:
    """A line as pi lays it out, with more behind its message."""
    return PI_LINE % ("b", '"a"', role, text, BEGINNING_MS + 5, later)


ADVERSARIAL = {
    "a type that comes again": pi_line(later=',"type":"label"'),
    "a message that comes again": pi_line(later=',"message":{"role":"user","content":"other"}'),
    "a message that becomes nothing": pi_line(later=',"message":null'),
    "a message that becomes a number": pi_line(later=',"message":7'),
    "a role that comes again": pi_line(later="").replace('"timestamp":1', '"role":"user","a":1'),
    "a timestamp that comes again": pi_line().replace("}}", ',"timestamp":-1}}'),
    "a timestamp of text": pi_line().replace(f":{BEGINNING_MS + 5}", ':"1"'),
    "a timestamp with a fraction": pi_line().replace(f"{BEGINNING_MS + 5}", "1767225600009.5"),
    "a timestamp without bounds": pi_line().replace(f"{BEGINNING_MS + 5}", "1" * 400),
    "content that is no more": pi_line().replace('"content"', '"contents"'),
    "content only deeper": pi_line().replace('"content":', '"details":{"content":1},"c":'),
    "a type spelled with escapes": pi_line().replace('"message"', '"mess\\u0061ge"', 1),
    "a key spelled with escapes": pi_line().replace('"role"', '"r\\u006fle"'),
    "a nested entry": pi_line(later=',"details":{"type":"session_info","name":"No"}'),
    "a name in a message": pi_line(later=',"name":"No"'),
    "another order": '{"message":{"timestamp":9,"content":"y","role":"user"},"type":"message"}',
    "blanks between": pi_line().replace(":", " : ").replace(",", " , "),
    "fused with the next": pi_line()[:90] + pi_line(),
    "two on a line": pi_line() + pi_line(),
    "cut": pi_line()[:-1],
    "nothing behind the brace": pi_line() + "x",
    "a raw tab in a text": pi_line(text="a\tb"),
    "NULs inside": pi_line(text="a\x00\x00b"),
    "half a surrogate pair": pi_line("user", text="\\ud83d"),
    "an unknown role": pi_line("narrator"),
    "a header": json.dumps(header("other")),
    "a list": "[" + pi_line() + "]",
    "a bare NaN": pi_line(later=',"x":NaN'),
    "a name that is a number": '{"type":"session_info","id":"b","parentId":"a","name":7}',
    "two names": '{"type":"session_info","id":"b","name":"One","name":"Two"}',
    "its own parent": '{"type":"label","id":"b","parentId":"b"}',
    "a parent that is missing": '{"type":"label","id":"b","parentId":"gone"}',
    "no parent": '{"type":"label","id":"b"}',
    "a number for an id": '{"type":"label","id":5,"parentId":"a"}',
    "a number for a parent": '{"type":"label","id":"b","parentId":5}',
    "a parent that comes later": '{"type":"label","id":"b","parentId":"d"}',
    "the id of its parent": '{"type":"label","id":"a","parentId":"a"}',
}


@pytest.mark.parametrize("line", ADVERSARIAL.values(), ids=list(ADVERSARIAL))
def test_a_line_that_only_looks_as_usual_is_read_as_it_is(line: str, tmp_path: Path) -> None:
    """At the end, in the middle, without its newline, and read on from before it."""
    first = PI_LINE % ("a", "null", "user", "Hello", BEGINNING_MS, "")
    change = '{"type":"label","id":"c","parentId":"b"}'
    later = '{"type":"label","id":"d","parentId":"c"}'
    path = tmp_path / "a.jsonl"
    begin = "".join(f"{one}\n" for one in (json.dumps(header()), first))
    path.write_text(begin)
    known = agrees(path)
    for rest in (f"{line}\n", line, f"{line}\n{change}\n", f"{line}\n{change}\n{later}\n"):
        path.write_text(begin + rest)
        agrees(path)
        agrees(path, known)


def test_a_grown_file_is_read_from_where_it_ended(tmp_path: Path) -> None:
    """Bytes before the old end are not looked at again, but for a few that prove it is the file."""
    path = tmp_path / "a.jsonl"
    lines: list[Any] = [header(), *(message(f"m{n}", None) for n in range(50))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    known = look_at(str(path))
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + b"X" * 100 + content[middle + 100 :])
    with path.open("ab") as stream:
        stream.write(json.dumps(message("new", None)).encode() + b"\n")
    looked = look_at(str(path), known)
    assert looked is not None
    assert looked.facts is not None
    assert looked.facts.message_count == 51


def test_another_file_in_its_place_is_read_anew(tmp_path: Path) -> None:
    """Longer than before, and not the same bytes: nothing of the old file is kept."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(header()) + "\n" + json.dumps(message("a", None)) + "\n")
    known = look_at(str(path))
    lines = [header("t2"), *(message(f"m{n}", None, text="New") for n in range(9))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    agrees(path, known)
