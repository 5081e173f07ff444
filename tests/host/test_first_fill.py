"""The first fill: in the background, the newest first, and whoever asks is told what is known."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from enso.host.file_stamp import FileStamp, stamp_of
from enso.host.precedence import Precedence
from enso.host.row_worker import read_ahead
from enso.host.session_cache import RowCache
from enso.host.session_fill import FIRST_FILES, Fill, LookAt, ToLook
from enso.host.session_listing import SessionListing
from enso.host.session_look import RowFile, look_at
from enso.projects import Projects
from tests.host.session_lines import BEGINNING_MS, CWD, header, message, write

MANY = FIRST_FILES + 40


def store(sessions: Path, count: int = MANY) -> list[str]:
    """So many threads; their ids, the newest first."""
    for number in range(count):
        time_ms = BEGINNING_MS + number * 1000
        lines = header(f"t{number}"), message("a", None, text=f"No {number}", timestamp=time_ms)
        path = write(sessions / "--d--" / f"2026_t{number}.jsonl", *lines)
        os.utime(path, (time_ms / 1000,) * 2)
    return [f"t{number}" for number in reversed(range(count))]


def to_look(path: Path) -> ToLook:
    """A file to be looked at for the first time."""
    stamp = stamp_of(path)
    assert stamp is not None
    return ToLook(str(path), None, stamp.size, stamp)


def listing_of(sessions: Path, cache: Path | None = None, look: LookAt = look_at) -> SessionListing:
    """A listing, with its cache in this directory."""
    rows = RowCache(cache / "listing.msgpack", sessions) if cache else None
    return SessionListing(sessions, Projects([Path(CWD)]), rows, partial(Fill, look=look))


class Gate:
    """Looks at the first files, and at the others once it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.looked: list[str] = []
        self.waits = threading.Event()

    def look(self, path: str, earlier: RowFile | None) -> RowFile | None:
        """Look at a file when it may be."""
        if len(self.looked) >= FIRST_FILES:
            self.waits.set()
            assert self._open.wait(30)
        self.looked.append(path)
        return look_at(path, earlier)

    def open(self) -> None:
        """Let the others be looked at."""
        self._open.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate that is open in the end."""
    made = Gate()
    yield made
    made.open()


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """An empty sessions directory."""
    return tmp_path / "sessions"


def test_what_is_known_is_listed_before_every_file_was_looked_at(
    sessions: Path, gate: Gate
) -> None:
    """The newest first; how many wait is said, and all are there in the end."""
    newest_first = store(sessions)
    listing = listing_of(sessions, look=gate.look)
    listing.start()
    assert gate.waits.wait(30)
    listed = listing.listed()
    assert [row.id for row in listed.threads] == newest_first[:FIRST_FILES]
    assert (listed.looked_at, listed.waiting) == (FIRST_FILES, MANY - FIRST_FILES)
    gate.open()
    listing.wait_until_filled()
    listed = listing.listed()
    assert [row.id for row in listed.threads] == newest_first
    assert (listed.looked_at, listed.waiting) == (MANY, 0)


def test_the_first_look_waits_for_quiet_or_for_who_asks(sessions: Path) -> None:
    """Who asks for rows has them however busy it is; before, no file is looked at."""
    store(sessions)
    busy = Precedence(longest_seconds=3600, quiet_seconds=3600)
    for ask in (SessionListing.listed, SessionListing.rows, SessionListing.wait_until_filled):
        listing = SessionListing(sessions, Projects([Path(CWD)]), precedence=busy)
        listing.start()
        assert listing.counters.files_read == 0
        ask(listing)
        listing.wait_until_filled()
        assert listing.counters.files_read == MANY
        listing.close()


def test_a_thread_that_was_not_looked_at_is_found_at_once(sessions: Path, gate: Gate) -> None:
    """By its file's name, and, where that says nothing, by its header; no other file is read."""
    store(sessions)
    old = write(sessions / "--d--" / "renamed.jsonl", header("by-header"), message("a", None))
    os.utime(old, (1, 1))
    listing = listing_of(sessions, look=gate.look)
    listing.start()
    assert gate.waits.wait(30)
    before = listing.counters.files_read
    assert listing.row("nowhere") is None
    for thread_id in ("t0", "by-header"):
        row = listing.row(thread_id)
        assert row is not None
        assert row.id == thread_id
        assert row in listing.listed().threads
    assert listing.counters.files_read == before + 2


def test_whoever_wants_all_waits_for_all(sessions: Path, gate: Gate) -> None:
    """The whole listing is whole, also while it is filled."""
    newest_first = store(sessions)
    listing = listing_of(sessions, look=gate.look)
    listing.start()
    assert gate.waits.wait(30)
    gate.open()
    assert [row.id for row in listing.rows()] == newest_first
    assert len(gate.looked) == MANY


def test_what_changes_while_it_is_filled_is_news_and_the_rest_is_not(
    sessions: Path, gate: Gate
) -> None:
    """A file that grows before its turn, one that is made, and one that goes."""
    store(sessions)
    listing = listing_of(sessions, look=gate.look)
    listing.start()
    assert gate.waits.wait(30)
    grown, gone = sessions / "--d--" / "2026_t1.jsonl", sessions / "--d--" / "2026_t2.jsonl"
    with grown.open("a") as stream:
        stream.write(json.dumps(message("b", "a", "assistant")) + "\n")
    gone.unlink()
    made = write(sessions / "--d--" / "2026_new.jsonl", header("new"), message("a", None))
    listing.look_at_paths([str(made)])
    gate.open()
    listing.wait_until_filled()
    assert listing.take_changes() == {"new", "t1"}
    row = listing.row("t1")
    assert row is not None
    assert row.message_count == 2
    assert listing.row("t2") is None


def test_closing_ends_the_fill(sessions: Path, gate: Gate) -> None:
    """Without looking at what is left."""
    store(sessions)
    listing = listing_of(sessions, look=gate.look)
    listing.start()
    assert gate.waits.wait(30)
    closing = threading.Thread(target=listing.close)
    closing.start()
    gate.open()
    closing.join(30)
    assert not closing.is_alive()
    assert len(gate.looked) < MANY


# -- other processes ------------------------------------------------------------------------------


class Taken:
    """What a fill gave."""

    def __init__(self) -> None:
        self.files: dict[str, RowFile | None] = {}

    def take(self, asked: Sequence[ToLook], looked: Sequence[RowFile | None]) -> None:
        """Keep what was found of each."""
        self.files |= {one.path: file for one, file in zip(asked, looked, strict=True)}


def test_other_processes_find_what_this_one_finds(sessions: Path) -> None:
    """Odd files too, and a file that is gone."""
    store(sessions)
    odd = write(sessions / "--d--" / "old.jsonl", header("old", version=1), message("a", None))
    paths = sorted((sessions / "--d--").glob("*.jsonl"))
    gone = ToLook(str(odd.with_name("gone.jsonl")), None, 9, FileStamp(1, 9, 1))
    taken = Taken()
    Fill(taken.take, pays_bytes=0, helpers=2).run([*map(to_look, paths), gone])
    assert taken.files == {str(path): look_at(str(path)) for path in paths} | {gone.path: None}


def test_files_are_read_ahead_only_where_they_are_not_in_memory(sessions: Path) -> None:
    """What was just written is there; a file that is gone cannot be read."""
    store(sessions, 3)
    paths = [str(path) for path in sorted((sessions / "--d--").glob("*.jsonl"))]
    assert not read_ahead(paths)
    assert not read_ahead([str(sessions / "gone.jsonl"), *paths])
    assert not read_ahead([])


def test_a_fill_without_other_processes_looks_at_everything(sessions: Path) -> None:
    """As on a machine with one processor."""
    store(sessions)
    files = [to_look(path) for path in sorted((sessions / "--d--").glob("*.jsonl"))]
    taken = Taken()
    Fill(taken.take, pays_bytes=0, helpers=0).run(files)
    assert set(taken.files) == {file.path for file in files}


# -- the cache ------------------------------------------------------------------------------------


def kept(cache: Path) -> Path:
    """The cache file."""
    return cache / "listing.msgpack"


def filled(sessions: Path, cache: Path) -> SessionListing:
    """A listing that has looked at everything, and kept it."""
    listing = listing_of(sessions, cache)
    listing.rows()
    listing.close()
    return listing


def test_a_start_reads_only_what_changed_since_the_last_one(sessions: Path, tmp_path: Path) -> None:
    """Nothing where nothing changed; of a file that grew what was appended; a new one whole."""
    newest_first = store(sessions)
    rows = filled(sessions, tmp_path).rows()
    again = filled(sessions, tmp_path)
    assert [row.id for row in again.rows()] == newest_first
    assert again.rows() == rows
    assert again.counters.files_read == 0
    line = json.dumps(message("b", "a", "assistant")) + "\n"
    with (sessions / "--d--" / "2026_t3.jsonl").open("a") as stream:
        stream.write(line)
    third = filled(sessions, tmp_path)
    assert (third.counters.files_read, third.counters.bytes_read) == (1, len(line))
    row = third.row("t3")
    assert row is not None
    assert row.message_count == 2


def test_a_start_at_which_nothing_changed_writes_nothing(sessions: Path, tmp_path: Path) -> None:
    """What was kept stays as it is; after a file went, it is kept anew."""
    store(sessions, 3)
    filled(sessions, tmp_path)
    before = kept(tmp_path).stat()
    filled(sessions, tmp_path)
    assert kept(tmp_path).stat().st_ino == before.st_ino
    (sessions / "--d--" / "2026_t1.jsonl").unlink()
    filled(sessions, tmp_path)
    assert kept(tmp_path).stat().st_size < before.st_size


def test_a_file_that_was_replaced_is_not_believed(sessions: Path, tmp_path: Path) -> None:
    """As long, as old, and another file; or gone."""
    store(sessions, 3)
    filled(sessions, tmp_path)
    path = sessions / "--d--" / "2026_t1.jsonl"
    status, text = path.stat(), path.read_text()
    path.with_name("aside").write_text(text.replace("No 1", "No X"))
    path.with_name("aside").replace(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    (sessions / "--d--" / "2026_t2.jsonl").unlink()
    listing = filled(sessions, tmp_path)
    assert [row.first_message for row in listing.rows()] == ["No X", "No 0"]


@pytest.mark.parametrize(
    "content", [b"", b"Enso", b"\x00" * 100, b"\xdd\xff\xff\xff\xff", b"\x91" * 5000]
)
def test_a_broken_cache_is_as_none(content: bytes, sessions: Path, tmp_path: Path) -> None:
    """Empty, cut, or other bytes, with and without its beginning; it is made anew."""
    newest_first = store(sessions, 3)
    filled(sessions, tmp_path)
    whole = kept(tmp_path).read_bytes()
    beginning = whole[: whole.index(b"\0") + 1]
    for broken in (content, beginning + content, whole[:-3], whole + b"x"):
        kept(tmp_path).write_bytes(broken)
        listing = filled(sessions, tmp_path)
        assert [row.id for row in listing.rows()] == newest_first
        assert listing.counters.files_read == 3
        assert kept(tmp_path).read_bytes() == whole


def test_the_cache_of_another_directory_or_version_is_as_none(
    sessions: Path, tmp_path: Path
) -> None:
    """What was kept of one agent directory says nothing of another."""
    store(sessions, 3)
    filled(sessions, tmp_path)
    whole = kept(tmp_path).read_bytes()
    for other in (whole.replace(b"listing 2 ", b"listing 1 ", 1), whole.replace(b"/", b"_", 1)):
        kept(tmp_path).write_bytes(other)
        assert filled(sessions, tmp_path).counters.files_read == 3


def test_the_cache_is_for_its_owner_alone(sessions: Path, tmp_path: Path) -> None:
    """And nothing is left beside it."""
    store(sessions, 3)
    filled(sessions, tmp_path / "cache")
    assert kept(tmp_path / "cache").stat().st_mode & 0o777 == 0o600
    assert list((tmp_path / "cache").iterdir()) == [kept(tmp_path / "cache")]


def test_a_listing_whose_cache_cannot_be_written_is_whole(
    sessions: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """That the next start will be slower is logged."""
    newest_first = store(sessions, 3)
    (tmp_path / "file").write_text("in the directory's place")
    listing = filled(sessions, tmp_path / "file")
    assert [row.id for row in listing.rows()] == newest_first
    assert "could not be kept for the next start" in caplog.text


# -- what a request costs -------------------------------------------------------------------------


def test_a_request_asks_for_no_files_state_while_a_watch_tells(sessions: Path) -> None:
    """But for its directories'; after a file came, for those of its directory."""
    store(sessions)
    write(sessions / "--other--" / "2026_o.jsonl", header("o"), message("a", None))
    for directory in (sessions, *sessions.iterdir()):
        os.utime(directory, (1, 1))
    listing = listing_of(sessions)
    listing.rows()
    listing.is_told = True
    looks = listing.look_counters
    files, directories = looks.files, looks.directories
    for _ in range(10):
        assert len(listing.listed().threads) == len(listing.rows()) == MANY + 1
    assert (looks.files, looks.directories) == (files, directories + 20 * 3)
    write(sessions / "--other--" / "2026_n.jsonl", header("n"), message("a", None))
    assert len(listing.listed().threads) == MANY + 2
    assert looks.files == files + 2


def test_a_file_has_one_row(sessions: Path) -> None:
    """Made when it is asked for, and the same one the next time."""
    store(sessions)
    listing = listing_of(sessions)
    first = listing.listed().threads[:50]
    again = listing.listed().threads[:50]
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_a_list_that_was_given_is_never_another(sessions: Path) -> None:
    """By number from either end, in part and whole, also after a thread came and one went."""
    newest_first = store(sessions)
    listing = listing_of(sessions)
    listing.rows()
    threads = listing.listed().threads
    write(sessions / "--d--" / "2026_n.jsonl", header("n"), message("a", None))
    (sessions / "--d--" / "2026_t3.jsonl").unlink()
    assert len(listing.listed().threads) == MANY
    assert [thread.id for thread in threads] == newest_first
    assert [thread.id for thread in threads[-5:]] == newest_first[-5:]
    assert [threads[0].id, threads[-1].id] == ["t99", "t0"]
    assert threads[MANY:] == []
    with pytest.raises(IndexError):
        threads[MANY]
