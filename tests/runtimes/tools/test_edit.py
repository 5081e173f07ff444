"""The tool ``edit``: exact and unique or not at all; the rest of the file keeps its bytes."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from enso.host.runtimes.builtin.tools import ToolOutcome
from enso.host.runtimes.builtin.tools.edit_diff import edit_details
from enso.host.runtimes.builtin.tools.edit_matching import Edit, apply_edits, plain_line_ends
from enso.host.runtimes.builtin.tools.line_diff import diff_lines
from enso.host.runtimes.builtin.tools.tool import ToolFailed
from tests.runtimes.tools.calls import call, text


def edit(path: str, cwd: Path, *edits: tuple[str, str]) -> ToolOutcome:
    """The outcome of an edit with old and new texts."""
    listed = [{"oldText": old, "newText": new} for old, new in edits]
    return call("edit", {"path": path, "edits": listed}, cwd)


def patched(before: str, patch: str) -> str:
    """What a unified patch makes of a text."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", before)
    result: list[str] = []
    at = 0
    body = patch.split("\n")[2:-1]
    for line, following in zip(body, [*body[1:], ""], strict=True):
        if line.startswith("@@"):
            start, count = map(int, line.split()[1][1:].split(","))
            result += lines[at : start - (1 if count else 0)]
            at = start - (1 if count else 0)
            continue
        whole = line[1:] + ("" if following.startswith("\\") else "\n")
        if line[0] in " -":
            assert lines[at] == whole
            at += 1
        if line[0] in " +":
            result.append(whole)
    return "".join([*result, *lines[at:]])


# -- what is changed ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before, old, new, after",
    [
        (b"one\r\ntwo\r\nthree", "two\nthree", "2\n3\n", b"one\r\n2\r\n3\r\n"),
        (b"\xef\xbb\xbfone\ntwo\n", "one", "1", b"\xef\xbb\xbf1\ntwo\n"),
        (b"one\ntwo", "two", "2", b"one\n2"),
        (b"one\ntwo", "two", "2\n", b"one\n2\n"),
        (b"a\r\nb\nc\r\n", "b", "B\nB", b"a\r\nB\nB\nc\r\n"),
        (b"a\r\nb\nc\r\n", "c", "C\nC", b"a\r\nb\nC\r\nC\r\n"),
        (b"old\rmac\r", "mac", "m\nac", b"old\rm\rac\r"),
        (b"caf\xe9 and more\n", "more", "less", b"caf\xe9 and less\n"),
        (b"nul \0 kept\n", "kept", "here", b"nul \0 here\n"),
        ("\u2028line\u2028\x85\n".encode(), "line", "LINE", "\u2028LINE\u2028\x85\n".encode()),
    ],
    ids=[
        "CRLF without a last end",
        "byte order mark",
        "no last end",
        "a last end comes",
        "mixed, at LF",
        "mixed, at CRLF",
        "CR alone",
        "no UTF-8",
        "NUL",
        "other line ends of Unicode",
    ],
)
def test_what_is_not_edited_keeps_its_bytes(
    before: bytes, old: str, new: str, after: bytes, project: Path
) -> None:
    """Line ends, marks, bytes that are no text and a missing last end stay."""
    (project / "f").write_bytes(before)
    outcome = edit("f", project, (old, new))
    assert not outcome.is_error, text(outcome)
    assert (project / "f").read_bytes() == after


def test_an_old_text_with_crlf_matches_a_file_with_lf(project: Path) -> None:
    """Line ends do not count when a text is looked for."""
    (project / "f").write_bytes(b"one\ntwo\n")
    assert not edit("f", project, ("one\r\ntwo", "1\r\n2")).is_error
    assert (project / "f").read_bytes() == b"1\n2\n"


def test_all_edits_are_looked_for_in_the_file_as_it_was(project: Path) -> None:
    """An edit does not see what another one puts in; their order does not matter."""
    (project / "f").write_text("a b\n")
    assert not edit("f", project, ("b", "a"), ("a", "b")).is_error
    assert (project / "f").read_text() == "b a\n"


def test_one_edit_that_fails_leaves_the_file_alone(project: Path) -> None:
    """All edits are made, or none."""
    (project / "f").write_text("a b\n")
    before = (project / "f").stat()
    assert edit("f", project, ("a", "A"), ("c", "C")).is_error
    after = (project / "f").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_text_that_overlaps_itself_is_not_unique(project: Path) -> None:
    """Two places that share characters are two places."""
    (project / "f").write_text("aXaXa\n")
    outcome = edit("f", project, ("aXa", "b"))
    assert text(outcome).startswith("Found 2 occurrences of the text in f.")


def test_a_text_that_differs_in_white_space_is_not_edited_but_named(project: Path) -> None:
    """The model is told where the text nearly is, behind pi's own sentence."""
    (project / "f").write_text("start\n\tif  x:\n\t\treturn 1\n")
    outcome = edit("f", project, ("    if x:\n        return 1", "pass"))
    assert text(outcome) == (
        "Could not find the exact text in f. The old text must match exactly including all "
        "whitespace and newlines. From line 2 on it matches except for white space: read these "
        "lines."
    )


def test_a_pipe_and_a_file_that_is_too_large_are_refused(project: Path) -> None:
    """What cannot be edited is said at once."""
    with (project / "huge").open("wb") as file:
        file.truncate(100 * 1024 * 1024 + 1)
    outcome = edit("huge", project, ("a", "b"))
    assert text(outcome).startswith("huge is 100.0MB, and edit takes files of up to 100.0MB.")
    assert text(edit("/dev/null", project, ("a", "b"))).startswith("/dev/null is no regular file")


def test_a_file_of_five_megabytes_is_edited_at_once(project: Path) -> None:
    """Edits far apart in a large file with CRLF change what they name and nothing else."""
    lines = [f"{number:07d} a line of a large file, with CRLF" for number in range(130_000)]
    (project / "f").write_bytes("".join(f"{line}\r\n" for line in lines).encode())
    assert (project / "f").stat().st_size > 5_000_000
    outcome = edit("f", project, ("0000003 a", "three"), ("0129999 a line", "last\nline"))
    assert not outcome.is_error
    lines[3] = "three line of a large file, with CRLF"
    lines[129_999] = "last\r\nline of a large file, with CRLF"
    assert (project / "f").read_bytes() == "".join(f"{line}\r\n" for line in lines).encode()
    assert outcome.details is not None
    assert outcome.details["firstChangedLine"] == 4
    assert len(outcome.details["patch"]) < 2000


def test_a_change_of_thousands_of_lines_is_shown_as_one(project: Path) -> None:
    """Two texts with little in common are not compared for ever."""
    old = [f"old {number}" for number in range(4000)]
    new = [f"new {number}" for number in range(4000)]
    (project / "f").write_text("\n".join(["head", *old, "tail", ""]))
    outcome = edit("f", project, ("\n".join(old), "\n".join(new)))
    assert outcome.details is not None
    shown = outcome.details["diff"].split("\n")
    assert shown[0] == "    1 head"
    assert [line[0] for line in shown[1:-1]] == ["-"] * 4000 + ["+"] * 4000
    assert shown[-1] == " 4002 tail"


# -- what always holds --------------------------------------------------------------------------

LINES = strategies.lists(
    strategies.sampled_from(["", "a", "b", "a b", "\tc", "é€", "x" * 30]), max_size=30
)
ENDS = strategies.sampled_from(["\n", "\r\n", "\r"])


@strategies.composite
def texts_with_edits(draw: Any) -> tuple[str, list[Edit]]:
    """A text with line ends of every kind, and edits of pieces of it."""
    lines = draw(LINES)
    content = "".join(line + draw(ENDS) for line in lines) + draw(strategies.just("the end"))
    plain = plain_line_ends(content)
    edits: list[Edit] = []
    for _ in range(draw(strategies.integers(1, 4))):
        start = draw(strategies.integers(0, len(plain) - 1))
        end = draw(strategies.integers(start + 1, min(len(plain), start + 40)))
        new = draw(strategies.sampled_from(["", "new", "\n", "a\nb\n", "\r\nz"]))
        edits.append(Edit(plain[start:end], new))
    return content, edits


@given(texts_with_edits())
def test_an_edit_is_made_as_it_is_shown(case: tuple[str, list[Edit]]) -> None:
    """The new file is the old one with the texts replaced, and the stored patch makes it so."""
    content, edits = case
    try:
        edited = apply_edits(content, edits, "f")
    except ToolFailed:
        return
    expected = edited.before
    for one in sorted(edits, key=lambda one: -edited.before.index(plain_line_ends(one.old_text))):
        old, new = plain_line_ends(one.old_text), plain_line_ends(one.new_text)
        assert edited.before.count(old) == 1
        at = edited.before.index(old)
        expected = expected[:at] + new + expected[at + len(old) :]
    assert edited.after == expected
    assert plain_line_ends(edited.final) == expected
    details = edit_details("f", edited)
    assert patched(edited.before, details["patch"]) == expected


@given(LINES, LINES)
def test_a_diff_is_a_way_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    """What stayed and went is the old text, what stayed and came the new one."""
    before, after = "\n".join(old), "\n".join(new)
    parts = diff_lines(before, after)
    assert "".join("".join(part.lines) for part in parts if part.kind != "added") == before
    assert "".join("".join(part.lines) for part in parts if part.kind != "removed") == after
    assert all(one.kind != other.kind for one, other in pairwise(parts))


def test_a_diff_is_as_short_as_can_be() -> None:
    """Of the ways between two texts a shortest one is taken."""
    chance = random.Random(7)
    for _ in range(200):
        old = [chance.choice("abc") for _ in range(chance.randrange(12))]
        new = [chance.choice("abc") for _ in range(chance.randrange(12))]
        parts = diff_lines("".join(f"{one}\n" for one in old), "".join(f"{one}\n" for one in new))
        same = sum(len(part.lines) for part in parts if part.kind == "same")
        assert same == longest_common(old, new)


def longest_common(old: list[str], new: list[str]) -> int:
    """The length of the longest common subsequence, by the textbook."""
    row = [0] * (len(new) + 1)
    for one in old:
        before = row
        row = [0]
        for at, other in enumerate(new):
            row.append(before[at] + 1 if one == other else max(before[at + 1], row[at]))
    return row[-1]
