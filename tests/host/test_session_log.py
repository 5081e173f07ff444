"""A session file is read as a tree: header, entries, and the branch from root to leaf."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso.host.session_log import SessionLog, read_lines, read_session_lines

HEADER: dict[str, Any] = {"type": "session", "version": 3, "id": "t1", "cwd": "/projects/shop"}


def read(*values: Any, torn: bool = False) -> SessionLog | None:
    """Read these values as the lines of a file; bytes stand as they are."""
    lines = [v if isinstance(v, bytes) else json.dumps(v).encode() + b"\n" for v in values]
    if torn:
        lines[-1] = lines[-1].rstrip(b"\n")
    return read_session_lines(read_lines(b"".join(lines).splitlines(keepends=True)))


def session(*entries: Any, header: dict[str, Any] = HEADER) -> SessionLog:
    """Read these entries behind a header."""
    log = read(header, *entries)
    assert log is not None
    return log


def entry(entry_id: Any, parent_id: Any = None, **fields: Any) -> dict[str, Any]:
    """An entry that only has its place."""
    return {"type": "label", "id": entry_id, "parentId": parent_id, **fields}


def ids(log: SessionLog) -> list[str]:
    """The ids of the branch."""
    return [found["id"] for found in log.branch()]


# -- the header -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [
        {"type": "message"},
        {"type": "session"},
        {"type": "session", "id": 7},
        {"type": "session", "id": ["t1"]},
        [1],
        [],
        {},
        7,
        "session",
        True,
    ],
)
def test_a_file_whose_first_value_is_no_header_is_no_session(first: Any) -> None:
    """Also when a header follows."""
    assert read(first, HEADER) is None


@pytest.mark.parametrize("first", [b"\n", b"{torn\n", b"\x00\x00\n", b"null\n", b"0\n", b'""\n'])
def test_what_pi_skips_may_stand_before_the_header(first: bytes) -> None:
    """Blank lines, damage, and values that count as nothing."""
    log = read(first, HEADER, entry("a"))
    assert log is not None
    assert ids(log) == ["a"]


@pytest.mark.parametrize("bad", ["", "../../x", "a/b", "-a", "a-", "a b", "\x00", "x" * 129])
def test_a_header_whose_id_cannot_name_a_thread_is_no_session(bad: str) -> None:
    """Its id would be a link that leads nowhere, or worse."""
    assert read({**HEADER, "id": bad}) is None


@pytest.mark.parametrize("cwd", [None, 7, [], {}])
def test_a_header_without_a_directory_has_none(cwd: Any) -> None:
    """Anything but text is no directory."""
    assert session(header={**HEADER, "cwd": cwd}).header.cwd == ""


@pytest.mark.parametrize(
    "version, writable",
    [
        (None, True),
        (1, True),
        (2, True),
        (3, True),
        (3.0, True),
        (4, False),
        (99, False),
        (3.5, False),
        ("3", False),
        (True, False),
        ([3], False),
    ],
)
def test_only_known_versions_are_written(version: Any, writable: bool) -> None:
    """A version above 3, or one that is no number, is read and never written."""
    log = session(entry("a"), header={**HEADER, "version": version})
    assert log.header.writable is writable
    assert len(log.entries) == 1


def test_a_second_header_is_no_entry() -> None:
    """The first one counts, and the branch goes around it."""
    log = session(entry("a"), {**HEADER, "id": "t2"}, entry("b", "a"))
    assert (log.header.id, ids(log)) == ("t1", ["a", "b"])


# -- the branch -----------------------------------------------------------------------------------


def test_the_branch_leads_from_the_root_to_the_last_entry() -> None:
    """Entries of other branches are not on it."""
    log = session(entry("a"), entry("b", "a"), entry("c", "b"), entry("d", "a"))
    assert ids(log) == ["a", "d"]


def test_the_later_of_two_entries_with_one_id_counts() -> None:
    """As pi reads them: the later one replaces the earlier one in the tree."""
    log = session(entry("a"), entry("b", "a"), entry("a", None, again=True), entry("c", "a"))
    assert ids(log) == ["a", "c"]
    assert log.branch()[0]["again"] is True


@pytest.mark.parametrize(
    "entries, branch",
    [
        ([entry("a", "a")], ["a"]),
        ([entry("a", "b"), entry("b", "a")], ["a", "b"]),
        (
            [entry("a", "c"), entry("b", "a"), entry("c", "b"), entry("d", "b")],
            ["c", "a", "b", "d"],
        ),
        ([entry("a"), entry("b", "gone")], ["b"]),
        ([], []),
    ],
)
def test_a_walk_ends_at_a_missing_parent_and_at_a_cycle(
    entries: list[Any], branch: list[str]
) -> None:
    """Never a loop, never an entry twice."""
    assert ids(session(*entries)) == branch


@pytest.mark.parametrize("no_id", [None, "", [], {}, True, 1.5])
def test_an_entry_without_an_id_is_read_where_it_stands(no_id: Any) -> None:
    """It follows the entry before it unless it names a parent, and can be a parent itself."""
    log = session(entry("a"), {"type": "label", "id": no_id}, {"type": "label"})
    assert len(log.branch()) == 3
    given = [found["id"] for found in log.entries]
    assert len(set(given)) == 3
    assert all(isinstance(entry_id, str) and entry_id for entry_id in given)


def test_ids_that_are_numbers_link_like_text() -> None:
    """Another program may have written them so."""
    assert ids(session(entry(1), entry(2, 1), entry("c", 2))) == ["1", "2", "c"]


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Entries with few ids, so that parents are missing, repeated, their own, and in cycles."""
    names = st.sampled_from("abcdefgh")
    return [
        entry(draw(names), draw(st.none() | names), at=index)
        for index in range(draw(st.integers(0, 12)))
    ]


@given(trees())
def test_any_tree_is_walked_as_a_plain_walk_does(entries: list[dict[str, Any]]) -> None:
    """Random trees: the branch is what following parents by hand gives."""
    walked: list[int] = []
    seen: set[str] = set()
    step = entries[-1] if entries else None
    while step is not None and step["id"] not in seen:
        seen.add(step["id"])
        walked.insert(0, step["at"])
        step = next((e for e in reversed(entries) if e["id"] == step["parentId"]), None)
    assert [found["at"] for found in session(*entries).branch()] == walked


# -- old versions ---------------------------------------------------------------------------------


V1 = {"type": "session", "id": "t1", "cwd": "/projects/shop"}


def test_version_1_is_one_line_of_entries() -> None:
    """Each entry is the child of the one before it, whatever it says itself."""
    log = session({"type": "x"}, {"type": "y", "id": "own"}, {"type": "z"}, header=V1)
    assert [found["type"] for found in log.branch()] == ["x", "y", "z"]


def test_given_ids_are_the_same_in_a_grown_file() -> None:
    """A link to a message holds: cut off or grown, damaged or not, each entry keeps its id."""
    entries = [{"type": "x", "n": n} for n in range(6)]
    whole = [found["id"] for found in session(*entries, header=V1).entries]
    assert len(set(whole)) == 6
    for length in range(7):
        assert [f["id"] for f in session(*entries[:length], header=V1).entries] == whole[:length]


def test_a_compaction_of_version_1_names_the_entry_it_kept() -> None:
    """An index into the file, counted with its header, becomes that entry's id."""
    log = session(
        {"type": "x"}, {"type": "y"}, {"type": "compaction", "firstKeptEntryIndex": 2}, header=V1
    )
    compaction = log.entries[2]
    assert compaction["firstKeptEntryId"] == log.entries[1]["id"]
    assert "firstKeptEntryIndex" not in compaction


@pytest.mark.parametrize("index", [0, -1, 99, 1.5, True, "1", None, 1e300])
def test_a_compaction_that_kept_nothing_nameable_names_nothing_wrong(index: Any) -> None:
    """The header, a place outside the file, and what is no index."""
    log = session({"type": "x"}, {"type": "compaction", "firstKeptEntryIndex": index}, header=V1)
    assert log.entries[1].get("firstKeptEntryId") in (None, log.entries[0]["id"])


@pytest.mark.parametrize("version, role", [(None, "custom"), (2, "custom"), (3, "hookMessage")])
def test_the_role_of_extension_messages_is_renamed(version: Any, role: str) -> None:
    """Versions 1 and 2 call it ``hookMessage``."""
    message = {"type": "message", "id": "a", "message": {"role": "hookMessage"}}
    log = session(message, header={**HEADER, "version": version})
    assert log.entries[0]["message"]["role"] == role


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [b"{torn\n", b"\x00\x00\x00\n", b"[1]\n", b"7\n", b"null\n", b'"text"\n', b'{"a":1}{"b":2}\n'],
)
def test_a_damaged_line_is_skipped_and_counted(damage: bytes) -> None:
    """What stands around it is read."""
    log = session(entry("a"), damage, entry("b", "a"))
    assert (log.skipped, ids(log)) == (1, ["a", "b"])


def test_a_torn_last_line_is_known() -> None:
    """Whole or not, a last line without its newline is torn."""
    assert read(HEADER, entry("a"), torn=True).torn  # type: ignore[union-attr]
    assert not session(entry("a")).torn


@pytest.mark.parametrize(
    "name, kept",
    [("Fix it", "Fix it"), ("  Fix\n", "Fix"), ("", None), ("  ", None), (7, None), (None, None)],
)
def test_the_last_name_counts_also_when_it_clears(name: Any, kept: str | None) -> None:
    """The last ``session_info`` of the file, on the branch or not."""
    log = session(
        {"type": "session_info", "id": "a", "name": "First"},
        {"type": "session_info", "id": "b", "name": name},
        entry("c"),
    )
    assert log.name == kept
