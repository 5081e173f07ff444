"""The listing: which files are threads, one row an id, and a cost that follows what changed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from enso.host.contract import StoredThread
from enso.host.session_facts import title_of
from enso.host.session_listing import SessionListing
from enso.host.session_log import read_session
from enso.host.session_scan import ScannedFile, scan_file
from enso.projects import Projects
from tests.host.session_lines import (
    BEGINNING_MS,
    CWD,
    LINES,
    STEPS,
    VERSIONS,
    at,
    header,
    message,
    write,
)


def listing_of(sessions: Path, *served: str) -> SessionListing:
    """A listing that serves these directories."""
    return SessionListing(sessions, Projects([Path(cwd) for cwd in served or (CWD,)]))


def only_row(tmp_path: Path, *lines: Any) -> StoredThread:
    """The row of a store with one file of these lines."""
    write(tmp_path / "s" / "--d--" / "a.jsonl", *lines)
    (row,) = listing_of(tmp_path / "s").rows()
    return row


# -- which files ----------------------------------------------------------------------------------


def test_only_files_in_direct_subdirectories_are_looked_at(tmp_path: Path) -> None:
    """Not beside them, not below them, and nothing that is named otherwise."""
    write(tmp_path / "--d--" / "a.jsonl", header("listed"))
    write(tmp_path / "a.jsonl", header("beside"))
    write(tmp_path / "--d--" / "deeper" / "a.jsonl", header("below"))
    write(tmp_path / "--d--" / "a.jsonl.bak", header("named-otherwise"))
    assert [row.id for row in listing_of(tmp_path).rows()] == ["listed"]


def test_a_symlinked_directory_is_listed_and_each_file_once(tmp_path: Path) -> None:
    """The same real file by two paths, or by two names, is one row."""
    path = write(tmp_path / "elsewhere" / "a.jsonl", header("t1"))
    sessions = tmp_path / "s"
    sessions.mkdir()
    (sessions / "--link--").symlink_to(path.parent)
    (sessions / "--other-link--").symlink_to(path.parent)
    (sessions / "--dir--").mkdir()
    (sessions / "--dir--" / "hard.jsonl").hardlink_to(path)
    (row,) = listing_of(sessions).rows()
    assert row.path == sessions / "--dir--" / "hard.jsonl"


def test_what_is_no_regular_file_is_passed_over(tmp_path: Path) -> None:
    """A pipe does not block the listing; a directory and a dangling link are no threads."""
    write(tmp_path / "--d--" / "a.jsonl", header("t1"))
    os.mkfifo(tmp_path / "--d--" / "pipe.jsonl")
    (tmp_path / "--d--" / "directory.jsonl").mkdir()
    (tmp_path / "--d--" / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert [row.id for row in listing_of(tmp_path).rows()] == ["t1"]


def test_the_id_of_the_header_counts_and_not_the_file_name(tmp_path: Path) -> None:
    """A renamed file is the same thread."""
    write(tmp_path / "--d--" / "2026_other-id.jsonl", header("t1"))
    listing = listing_of(tmp_path)
    assert [row.id for row in listing.rows()] == ["t1"]
    assert listing.find("other-id") is None


@pytest.mark.parametrize("bad", ["../../etc/passwd", "", "a/b", "..", "-x", 7, None, "x" * 200])
def test_what_is_no_id_is_no_row(bad: Any, tmp_path: Path) -> None:
    """Whatever stands in the header."""
    write(tmp_path / "--d--" / "a.jsonl", {**header(), "id": bad})
    assert listing_of(tmp_path).rows() == []


@pytest.mark.parametrize("cwd", [None, "", "relative", ".", 7, "/projects/other", "/p\x00q"])
def test_a_thread_of_no_served_directory_is_no_row(cwd: Any, tmp_path: Path) -> None:
    """Other directories, and what is no whole path."""
    write(tmp_path / "--d--" / "a.jsonl", header("t1", cwd=cwd))
    listing = listing_of(tmp_path)
    assert listing.rows() == []
    assert listing.row("t1") is None
    assert listing.find("t1") is not None


def test_real_paths_are_compared(tmp_path: Path) -> None:
    """A project that is reached through a link is the same project."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "s" / "--d--" / "a.jsonl", header("t1", cwd=str(tmp_path / "link")))
    write(tmp_path / "s" / "--d--" / "b.jsonl", header("t2", cwd=str(tmp_path / "real")))
    for served in ("link", "real"):
        assert len(listing_of(tmp_path / "s", str(tmp_path / served)).rows()) == 2


# -- one row an id --------------------------------------------------------------------------------


def test_the_newest_of_two_files_is_the_thread(tmp_path: Path) -> None:
    """Whichever directory it lies in, and reading finds that very file."""
    old = message("a", None, timestamp=BEGINNING_MS)
    new = message("a", None, text="Newer", timestamp=BEGINNING_MS + 1)
    write(tmp_path / "--a--" / "a.jsonl", header(), new)
    write(tmp_path / "--b--" / "b.jsonl", header(), old)
    listing = listing_of(tmp_path)
    (row,) = listing.rows()
    assert row.path == tmp_path / "--a--" / "a.jsonl"
    assert listing.find("t1") == listing.row("t1") == row
    write(tmp_path / "--b--" / "b.jsonl", header(), replace_time(old, BEGINNING_MS + 2))
    (row,) = listing.rows()
    assert row.path == tmp_path / "--b--" / "b.jsonl"
    assert listing.find("t1") == row


def replace_time(entry: dict[str, Any], timestamp: int) -> dict[str, Any]:
    """The message at another time."""
    return {**entry, "message": {**entry["message"], "timestamp": timestamp}}


def test_equally_new_files_are_told_apart_by_path(tmp_path: Path) -> None:
    """Deterministic: the last path, also for a listing made anew."""
    for name in ("--a--", "--b--"):
        write(tmp_path / name / "x.jsonl", header(), message("a", None))
    rows = listing_of(tmp_path).rows()
    assert [row.path.parent.name for row in rows] == ["--b--"]
    assert listing_of(tmp_path).rows() == rows


def test_a_served_copy_is_the_thread_before_a_newer_one_elsewhere(tmp_path: Path) -> None:
    """A copy under another directory does not take the thread away."""
    write(tmp_path / "--a--" / "x.jsonl", header(), message("a", None))
    newer = message("a", None, timestamp=BEGINNING_MS + 1)
    write(tmp_path / "--b--" / "x.jsonl", header(cwd="/projects/other"), newer)
    listing = listing_of(tmp_path)
    (row,) = listing.rows()
    assert row.cwd == Path(CWD)
    assert listing.find("t1") == row


# -- facts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, title",
    [
        ("Hi", "Hi"),
        ("  \t", "  \t"),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a b"),
        ([{"type": "text"}, {"type": "text", "text": "b"}], " b"),
        ([{"type": "image", "data": ""}], ""),
        ([1, None, "x", {"type": ["text"]}], ""),
        (None, ""),
        (7, ""),
        ({"type": "text", "text": "a"}, ""),
    ],
)
def test_the_title_is_the_text_of_a_message(content: Any, title: str) -> None:
    """Its text blocks, a blank between; a text verbatim."""
    assert title_of(content) == title


def test_the_first_message_with_text_is_the_title(tmp_path: Path) -> None:
    """An image alone is passed over, an answer is none, and blanks stay as they are."""
    row = only_row(
        tmp_path,
        header(),
        message("a", None, content=[{"type": "image", "data": "", "mimeType": "image/png"}]),
        message("b", "a", "assistant", "Answer"),
        message("c", "b", text="  \n"),
        message("d", "c", text="Later"),
    )
    assert row.first_message == "  \n"


@pytest.mark.parametrize(
    "names, name", [(["A"], "A"), (["A", " B "], "B"), (["A", ""], None), (["A", 7], None)]
)
def test_the_last_name_counts(names: list[Any], name: str | None, tmp_path: Path) -> None:
    """Trimmed; an empty one clears; one that is no text is none."""
    infos = [{"type": "session_info", "id": f"n{i}", "name": n} for i, n in enumerate(names)]
    assert only_row(tmp_path, header(), *infos).name == name


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "message"},
        {"type": "message", "message": None},
        {"type": "message", "message": 7},
        {"type": "message", "message": {"role": 7, "content": {}, "timestamp": "x"}},
        {"type": "message", "message": {"role": "user", "timestamp": 1e400}},
        {"type": "message", "message": {"role": "narrator", "content": "x"}},
        {"type": "message", "id": ["x"], "parentId": {}, "message": {}},
    ],
)
def test_every_message_entry_counts_whatever_it_holds(odd: Any, tmp_path: Path) -> None:
    """As pi counts them, without dropping the file."""
    assert only_row(tmp_path, header(), odd, message("b", None)).message_count == 2


@pytest.mark.parametrize(
    "lines, modified",
    [
        ([message("a", None), message("b", "a", "assistant", timestamp=BEGINNING_MS + 5)], 5),
        ([message("a", None, timestamp=BEGINNING_MS + 9), message("b", "a")], 9),
        ([{**message("a", None, timestamp="x"), "timestamp": "2026-01-01T00:00:01.000Z"}], 1000),
        ([{**message("a", None, "toolResult", timestamp=BEGINNING_MS + 7)}], 2000),
        ([{"type": "label", "id": "a"}], 2000),
        ([message("a", None, timestamp=BEGINNING_MS + 62_000)], 62_000),
        ([message("a", None, timestamp=BEGINNING_MS + 62_001)], 60_000),
        ([message("a", None, timestamp=BEGINNING_MS * 2)], 60_000),
        ([message("a", None, timestamp=BEGINNING_MS * 1000)], 2000),
        ([message("a", None, timestamp=-5)], 2000),
    ],
)
def test_a_row_has_the_time_of_its_newest_message(
    lines: list[Any], modified: int, tmp_path: Path
) -> None:
    """A user's or assistant's, by its own time or its entry's; else the header's; never later
    than the file itself, but for what its time may lose in an archive."""
    path = tmp_path / "--d--" / "a.jsonl"
    write(path, header(timestamp="2026-01-01T00:00:02.000Z"), *lines)
    os.utime(path, (at(BEGINNING_MS + 60_000),) * 2)
    (row,) = listing_of(tmp_path).rows()
    assert row.modified.timestamp() == at(BEGINNING_MS + modified)


def test_a_touched_file_keeps_its_place(tmp_path: Path) -> None:
    """The file's own time counts only where nothing in it has one."""
    path = write(tmp_path / "--d--" / "a.jsonl", header(), message("a", None))
    listing = listing_of(tmp_path)
    before = listing.rows()
    os.utime(path)
    assert listing.rows() == before


@pytest.mark.parametrize(
    "lines, end",
    [
        ([], "empty"),
        ([message("a", None)], "interrupted"),
        ([message("a", None), message("b", "a", "assistant", stopReason="stop")], "complete"),
        ([message("b", None, "assistant", stopReason="error")], "refused"),
        (
            [
                message("b", None, "assistant", stopReason="error"),
                {"type": "context_edit", "id": "c", "parentId": "b"},
            ],
            "refused",
        ),
        ([message("b", None, "assistant", stopReason="aborted")], "aborted"),
        ([message("b", None, "assistant", stopReason="length")], "cut-by-length"),
        ([message("b", None, "assistant", content=[{"type": "toolCall"}])], "interrupted"),
        ([message("b", None, "assistant", text='"type":"toolCall"')], "complete"),
        ([message("a", None, "toolResult")], "interrupted"),
        ([message("a", None), message("b", "a", "system")], "interrupted"),
        ([message("a", None), message("b", "a", "narrator")], "interrupted"),
        ([message("a", None), {"type": "label", "id": "b", "parentId": "a"}], "interrupted"),
        ([message("a", None), {"type": "label", "id": "b", "parentId": None}], "empty"),
        ([message("a", None), {"type": "label", "id": "b", "parentId": "gone"}], "empty"),
        (
            [
                message("a", None),
                message("b", "a", "assistant"),
                {"type": "label", "id": "c", "parentId": "a"},
            ],
            "interrupted",
        ),
        ([message("a", "a"), {"type": "label", "id": "b", "parentId": "b"}], "empty"),
    ],
)
def test_a_row_says_how_its_branch_ends(lines: list[Any], end: str, tmp_path: Path) -> None:
    """By the last message from the leaf back that tells it."""
    assert only_row(tmp_path, header(), *lines).end == end


def test_a_tool_call_spelled_with_escapes_is_one(tmp_path: Path) -> None:
    """JSON may write any letter as an escape."""
    path = tmp_path / "--d--" / "a.jsonl"
    line = json.dumps(message("a", None, "assistant", content=[{"type": "toolCall"}]))
    write(path, header())
    with path.open("a") as stream:
        stream.write(line.replace("toolCall", "tool\\u0043all") + "\n")
    (row,) = listing_of(tmp_path).rows()
    assert row.end == "interrupted"


# -- only what has changed ------------------------------------------------------------------------


def facts(scanned: ScannedFile | None) -> Any:
    """The row of a scan, without the file's own state."""
    assert scanned is not None
    return scanned.thread


@settings(max_examples=300)
@given(VERSIONS, STEPS)
def test_reading_on_gives_what_reading_anew_gives(
    version: int | None, steps: list[tuple[str, list[bytes]]]
) -> None:
    """After any appends, truncations and rewrites, with any damage."""
    with tempfile.TemporaryDirectory() as directory:
        _check_reading_on(Path(directory) / "a.jsonl", version, steps)


def _check_reading_on(
    path: Path, version: int | None, steps: list[tuple[str, list[bytes]]]
) -> None:
    begin = json.dumps(header(version=version)).encode() + b"\n"
    path.write_bytes(begin)
    os.utime(path, (at(BEGINNING_MS),) * 2)
    known = scan_file(path)
    for number, (step, lines) in enumerate(steps):
        content = path.read_bytes()
        if step == "append":
            with path.open("ab") as stream:
                stream.write(b"".join(lines))
        elif step == "cut":
            os.truncate(path, len(content) // 2)
        else:
            path.write_bytes(begin + b"".join(lines))
        os.utime(path, (at(BEGINNING_MS + number * 10),) * 2)
        known = scan_file(path, known)
        assert facts(known) == facts(scan_file(path))


@settings(max_examples=300)
@given(VERSIONS, st.lists(LINES, max_size=8))
def test_a_scan_agrees_with_a_reading(version: int | None, lines: list[bytes]) -> None:
    """The same count, name and end as the whole file read entry by entry, with any damage."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.jsonl"
        path.write_bytes(json.dumps(header(version=version)).encode() + b"\n" + b"".join(lines))
        log, row = read_session(path), facts(scan_file(path))
    assert log is not None
    assert row.message_count == sum(entry.get("type") == "message" for entry in log.entries)
    assert row.name == log.name
    assert row.end == end_by_hand(log.branch())


def end_by_hand(branch: list[dict[str, Any]]) -> str:
    """How a branch ends, by its last user's, assistant's or tool's message."""
    for entry in reversed(branch):
        stored = entry.get("message") if entry.get("type") == "message" else None
        if not isinstance(stored, dict):
            continue
        if stored.get("role") in ("user", "toolResult"):
            return "interrupted"
        if stored.get("role") == "assistant":
            ends = {"error": "refused", "aborted": "aborted", "length": "cut-by-length"}
            called = stored.get("content") == [{"type": "toolCall"}]
            return ends.get(stored["stopReason"], "interrupted" if called else "complete")
    return "empty"


def test_a_grown_file_is_read_from_where_it_ended(tmp_path: Path) -> None:
    """Bytes before the old end are not looked at again, but for a few that prove it is the file."""
    path = write(tmp_path / "a.jsonl", header(), *(message(f"m{n}", None) for n in range(50)))
    known = scan_file(path)
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + b"X" * 100 + content[middle + 100 :])
    with path.open("ab") as stream:
        stream.write(json.dumps(message("new", None)).encode() + b"\n")
    assert facts(scan_file(path, known)).message_count == 51
    assert facts(scan_file(path)).message_count < 51


def test_another_file_in_its_place_is_read_anew(tmp_path: Path) -> None:
    """Longer than before, and not the same bytes: nothing of the old file is kept."""
    path = write(tmp_path / "a.jsonl", header(), message("a", None, text="Old"))
    known = scan_file(path)
    write(path, header("t2"), *(message(f"m{n}", None, text="New") for n in range(9)))
    row = facts(scan_file(path, known))
    assert (row.id, row.first_message, row.message_count) == ("t2", "New", 9)


def test_a_torn_last_line_counts_once_it_is_whole(tmp_path: Path) -> None:
    """Half a line is nothing yet; then it is one message, not two and not none."""
    path = write(tmp_path / "--d--" / "a.jsonl", header(), message("a", None))
    listing = listing_of(tmp_path)
    line = json.dumps(message("b", "a", "assistant")).encode()
    for part, count in ((line[:40], 1), (line[40:], 2), (b"\n", 2)):
        with path.open("ab") as stream:
            stream.write(part)
        (row,) = listing.rows()
        assert row.message_count == count
    assert row.end == "complete"


def test_one_thread_is_looked_at_without_the_others(tmp_path: Path) -> None:
    """A known thread's row is current though no listing was asked for, and others are left."""
    path = write(tmp_path / "--d--" / "a.jsonl", header("t1"), message("a", None))
    write(tmp_path / "--d--" / "b.jsonl", header("t2"), message("a", None))
    listing = listing_of(tmp_path)
    listing.rows()
    with path.open("a") as stream:
        stream.write(json.dumps(message("b", "a", "assistant")) + "\n")
    row = listing.row("t1")
    assert row is not None
    assert (row.message_count, row.end) == (2, "complete")
    assert row in listing.rows()


def test_a_thread_that_moved_is_found(tmp_path: Path) -> None:
    """The file is gone from where it was; it is looked for once more."""
    path = write(tmp_path / "--d--" / "a.jsonl", header(), message("a", None))
    listing = listing_of(tmp_path)
    listing.rows()
    shutil.move(path, path.with_name("moved.jsonl"))
    found = listing.find("t1")
    assert found is not None
    assert found.path.name == "moved.jsonl"


def test_a_file_that_becomes_another_thread_is_found_under_its_new_id(tmp_path: Path) -> None:
    """And no more under the old one."""
    path = write(tmp_path / "--d--" / "a.jsonl", header("t1"))
    listing = listing_of(tmp_path)
    listing.rows()
    write(path, header("t2"), message("a", None))
    assert listing.find("t1") is None
    assert listing.find("t2") is not None


def test_many_workers_list_at_once(tmp_path: Path) -> None:
    """While a file grows, every listing is whole, and the last one is current."""
    path = write(tmp_path / "--d--" / "a.jsonl", header("t1"), message("m", None))
    for number in range(30):
        write(tmp_path / "--d--" / f"b{number}.jsonl", header(f"x{number}"), message("a", None))
    listing = listing_of(tmp_path)
    lengths: list[int] = []
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(20):
                lengths.append(len(listing.rows()))
                assert listing.find("t1") is not None
        except BaseException as error:  # noqa: BLE001 - told by the test below
            errors.append(error)

    workers = [threading.Thread(target=ask) for _ in range(8)]
    for worker in workers:
        worker.start()
    for number in range(50):
        with path.open("a") as stream:
            stream.write(json.dumps(message(f"m{number}", None)) + "\n")
    for worker in workers:
        worker.join()
    assert errors == []
    assert set(lengths) == {31}
    row = listing.row("t1")
    assert row is not None
    assert row.message_count == 51


def test_a_listing_is_the_callers_own(tmp_path: Path) -> None:
    """What a caller does to it is not seen by the next one."""
    write(tmp_path / "--d--" / "a.jsonl", header())
    listing = listing_of(tmp_path)
    listing.rows().clear()
    assert len(listing.rows()) == 1


def test_a_large_header_is_not_kept(tmp_path: Path) -> None:
    """A header of megabytes is read, and its row is as small as any."""
    row = only_row(tmp_path, header(note="x" * 3_000_000), message("a", None))
    assert row == replace(row, id="t1", message_count=1)
