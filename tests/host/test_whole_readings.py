"""What is read of a whole file is what the decoded file says, at the cost of what is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from enso.host.context import request_detail
from enso.host.contract import RequestNumber
from enso.host.entry_text import entry_text
from enso.host.session_log import read_session
from tests.host.corpus import ALL, Recorded, host_over, place
from tests.host.session_lines import CWD, header, message, write

LISTED = [recorded for recorded in ALL if recorded.listed]


@pytest.mark.parametrize("recorded", LISTED, ids=str)
def test_a_stretch_of_a_recorded_branch_is_that_of_the_whole(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Every version, with damage and ids that come twice; beyond both ends there is nothing."""
    place(recorded, tmp_path)
    host = host_over(tmp_path)
    thread_id = recorded.listed["id"]
    whole = host.read_stored_thread(thread_id)
    assert whole is not None
    for behind, size in ((0, 3), (2, 4), (0, 10_000), (10_000, 3)):
        read = host.read_stored_entries(thread_id, size=size, behind=behind)
        assert read is not None
        end = max(0, len(whole.entries) - behind)
        assert read.entries == whole.entries[max(0, end - size) : end]
        assert (read.start, read.total) == (max(0, end - size), len(whole.entries))
        assert (read.cwd, read.skipped_lines) == (whole.cwd, whole.skipped_lines)


@pytest.mark.parametrize("recorded", LISTED, ids=str)
def test_a_recorded_entry_is_shown_as_it_is_stored(recorded: Recorded, tmp_path: Path) -> None:
    """By its id, which may be one that was given on reading; the last one of several."""
    placed = place(recorded, tmp_path)
    host = host_over(tmp_path)
    log = read_session(placed)
    assert log is not None
    for entry_id in {entry["id"] for entry in log.entries}:
        told = host.read_stored_entry(recorded.listed["id"], entry_id)
        assert told == entry_text(log.entries, entry_id)


@pytest.mark.parametrize("recorded", LISTED, ids=str)
def test_a_recorded_request_is_what_the_whole_branch_makes_it(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Every one, and the one to come; of those that there are not there is nothing."""
    placed = place(recorded, tmp_path)
    host, thread_id = host_over(tmp_path), recorded.listed["id"]
    log = read_session(placed)
    assert log is not None
    branch = log.branch()
    asked: list[RequestNumber] = ["next", *range(len(branch) + 2)]
    for request in asked:
        told = host.read_stored_request_detail(thread_id, request)
        assert told == request_detail(branch, request)


def test_a_request_behind_a_summary_costs_what_the_summary_kept(tmp_path: Path) -> None:
    """Not what was summed up; and once the thread was measured, nothing else."""
    lines = [header("t1"), *(message(f"m{n}", f"m{n - 1}" if n else None) for n in range(100))]
    summary = {"type": "compaction", "id": "c", "parentId": "m99", "summary": "So far"}
    lines += [{**summary, "firstKeptEntryId": "m97"}, message("m100", "c", "user")]
    write(tmp_path / "sessions" / "--d--" / "x_t1.jsonl", *lines)
    host = host_over(tmp_path, Path(CWD))
    assert host.read_stored_thread_context("t1") is not None
    assert host.read_stored_entries("t1", size=1) is not None
    read = host.counters.lines_parsed
    told = host.read_stored_request_detail("t1", "next")
    assert told is not None
    assert [one.entry_id for one in told.elements] == ["c", "m97", "m98", "m99", "m100"]
    assert host.counters.lines_parsed == read + 5


def test_an_entry_and_a_page_of_entries_cost_what_they_hold(tmp_path: Path) -> None:
    """Once the places of the entries are known."""
    recorded = max(LISTED, key=lambda one: one.listed["messageCount"])
    placed = place(recorded, tmp_path)
    host, thread_id = host_over(tmp_path), recorded.listed["id"]
    first = host.read_stored_entries(thread_id, size=3)
    assert first is not None
    read = host.counters.lines_parsed
    assert read == len(placed.read_bytes().splitlines()) + 3
    assert host.read_stored_entries(thread_id, size=3, behind=3) is not None
    assert host.read_stored_entry(thread_id, first.entries[0].id) is not None
    assert host.counters.lines_parsed == read + 4


def test_what_was_replaced_since_it_was_listed_is_not_shown(tmp_path: Path) -> None:
    """The file now holds another thread."""
    placed = place(LISTED[0], tmp_path)
    host, thread_id = host_over(tmp_path), LISTED[0].listed["id"]
    assert host.read_stored_entries(thread_id, size=1) is not None
    placed.write_bytes(LISTED[1].path.read_bytes())
    assert host.read_stored_entries(thread_id, size=1) is None
    placed.unlink()
    assert host.read_stored_entry(thread_id, "a") is None
