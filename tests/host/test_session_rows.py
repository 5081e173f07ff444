"""Rows are what the stored entries say, whatever the lines of a file hold."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import msgpack

from enso.host.context import CONTEXT_SUM, branch_context
from enso.host.context_rows import CONTEXT
from enso.host.contract import BranchContext
from enso.host.lines_before import Counters
from enso.host.session_log import SessionLog, read_lines, read_session, read_session_lines
from enso.host.session_rows import FileRows, RowTree, Shape, read_rows
from enso.host.session_tree import tree_of_rows
from enso.host.stats import stats_of_rows
from enso.host.stats_lines import STATS
from enso.host.tree_rows import TREE
from tests.host.corpus import ALL, Recorded

Tell = Callable[[list[Any], str | None], object]
"""What a reading makes of the rows of a file, whose leaf has this id."""


def context_of_rows(rows: list[Any], leaf_id: str | None) -> BranchContext:
    """The context of the branch."""
    tree = RowTree(rows, leaf_id)
    told = branch_context(tree.rows[place].stored() for place in tree.branch)
    assert CONTEXT_SUM.of_rows(rows, leaf_id).answer().context == told
    return told


READINGS: list[tuple[Shape[Any, Any], Tell]] = [
    (STATS, stats_of_rows),
    (TREE, tree_of_rows),
    (CONTEXT, context_of_rows),
]
HEADER = b'{"type":"session","version":3,"id":"t1","cwd":"/shop"}\n'


def rows_in(content: bytes, shape: Shape[Any, Any]) -> FileRows[Any] | None:
    """The rows of a file of these bytes."""
    return read_rows(io.BytesIO(content), shape, Counters())


def says_the_same(content: bytes, log: SessionLog | None) -> None:
    """Every reading tells of the rows of a file what it tells of its entries, read whole."""
    for shape, tell in READINGS:
        found = rows_in(content, shape)
        if log is None:
            assert found is None
            continue
        assert found is not None
        assert found.header == log.header
        assert (found.torn, found.skipped) == (log.torn, log.skipped)
        leaf_id = log.entries[-1]["id"] if log.entries else None
        assert found.last_id == leaf_id
        assert [(row.id, row.parent) for row in found.rows] == [
            (entry["id"], entry["parentId"]) for entry in log.entries
        ]
        packed = msgpack.encode(found.rows)
        told = tell(found.rows, leaf_id)
        assert told == tell(shape.rows_of(log.entries), leaf_id)
        assert told == tell(shape.unpack(packed), leaf_id)


NO_PARENT = [
    b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}',
    b'{"type":"message","id":"b","message":{"role":"user","content":"y"}}',
]
"""The second has an id and names no parent: it begins another branch."""


@pytest.mark.parametrize("recorded", ALL, ids=str)
def test_a_recorded_file_reads_the_same_in_rows(recorded: Recorded) -> None:
    """Versions 1 to 3, damage, ids that are missing or come twice."""
    says_the_same(recorded.path.read_bytes(), read_session(recorded.path))


ODD = st.sampled_from(
    [None, True, 1, -1, 1.5, 10**30, "", "x", "user", "\ud800", "2026-01-01T00:00:00Z", [], {}]
)
USAGE = st.dictionaries(st.sampled_from(["input", "output", "cost"]), ODD | st.just({"total": 1}))
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "toolCall", "thinking", "image"]) | ODD},
    optional=dict.fromkeys(("id", "name", "text", "thinking", "arguments", "data"), ODD),
)
MESSAGE_FIELDS = (
    *("timestamp", "stopReason", "toolCallId", "toolName", "isError", "provider", "model"),
    *("durationMs", "errorMessage", "sections", "command", "output"),
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "toolResult", "system", "custom"]) | ODD},
    optional={
        "content": ODD | st.lists(BLOCK | ODD, max_size=3),
        "usage": USAGE | ODD,
        **dict.fromkeys(MESSAGE_FIELDS, ODD),
    },
)
KINDS = ["message", "compaction", "branch_summary", "usage", "label", "context_edit", "session"]
ENTRY = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | ODD},
    optional={
        "id": st.sampled_from("abc") | ODD,
        "parentId": st.sampled_from("abc") | ODD,
        "message": MESSAGE | ODD,
        "usage": USAGE | ODD,
        "timestamp": ODD,
        "targetId": st.sampled_from("abc") | ODD,
        "label": ODD,
        "summary": ODD,
        "content": ODD | st.lists(BLOCK | ODD, max_size=2),
    },
)
LINE = ENTRY.map(lambda entry: json.dumps(entry).encode()) | st.sampled_from(
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"type":"message","id":"a","parentId":null,"x":NaN}',
        b'\xff"\x00',
    ]
)


@given(st.lists(LINE, max_size=6), st.booleans())
@example(NO_PARENT, True)
def test_any_lines_read_the_same_in_rows(lines: list[bytes], whole: bool) -> None:
    """Values of any type, fields that are missing, lines that are no JSON, an end that is torn."""
    content = HEADER + b"\n".join(lines) + (b"\n" if whole else b"")
    says_the_same(content, read_session_lines(read_lines(io.BytesIO(content))))


def test_the_branch_of_rows_is_the_branch_of_the_entries() -> None:
    """Over all recorded files, those with cycles and missing parents among them."""
    for recorded in ALL:
        log = read_session(recorded.path)
        if log is None or not log.entries:
            continue
        rows = STATS.rows_of(log.entries)
        tree = RowTree(rows, rows[-1].id)
        branch = [tree.rows[place].id for place in tree.branch]
        assert branch == [entry["id"] for entry in log.branch()]
