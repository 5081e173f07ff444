"""The proof: what a first look only glanced at is looked at exactly, told, and kept only then."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from enso.host.contract import StoredThread
from enso.host.file_stamp import stamp_of
from enso.host.session_cache import RowCache
from enso.host.session_fill import FIRST_FILES, Fill, Take, ToLook
from enso.host.session_listing import SessionListing
from enso.host.session_look import RowFile, look_at
from enso.projects import Projects
from tests.host.session_lines import BEGINNING_MS, CWD, PI_TEXT, pi_message, pi_thread

MANY = FIRST_FILES + 12
DAMAGED = "t3"
"""A thread that is glanced at, as it is old, and counts a message less than a glance sees."""
SHOWN, COUNTED = 20, 19


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """So many threads, one of them with a line that is damaged in its middle."""
    sessions = tmp_path / "sessions"
    (sessions / "--d--").mkdir(parents=True)
    for number in range(MANY):
        lines = pi_thread(SHOWN, f"t{number}")
        if f"t{number}" == DAMAGED:
            lines[9] = lines[9].replace(PI_TEXT, b"\t")
        path = path_of(sessions, f"t{number}")
        path.write_bytes(b"".join(lines))
        os.utime(path, (BEGINNING_MS / 1000 + number,) * 2)
    return sessions


def path_of(sessions: Path, thread_id: str) -> Path:
    """Where a thread is."""
    return sessions / "--d--" / f"2026_{thread_id}.jsonl"


class HeldFill(Fill):
    """Has other processes glance at files, and proves nothing before it may."""

    def __init__(self, take: Take, may: threading.Event) -> None:
        super().__init__(take, pays_bytes=0, helpers=2)
        self._may = may

    def stop(self) -> None:
        """Come to an end, also while it is held."""
        super().stop()
        self._may.set()

    def prove(self, take: Take) -> None:
        """Prove once it may."""
        assert self._may.wait(30)
        super().prove(take)


def listing_of(
    sessions: Path, make_fill: Callable[[Take], Fill], cache: RowCache | None = None
) -> SessionListing:
    """A listing whose first look begins with a glance."""
    return SessionListing(sessions, Projects([Path(CWD)]), cache, make_fill)


def cache_of(sessions: Path) -> RowCache:
    """What is kept for the next start."""
    return RowCache(sessions.parent / "listing.msgpack", sessions)


def count_of(listing: SessionListing, thread_id: str) -> int:
    """How many messages a thread is said to have."""
    row = listing.row(thread_id)
    assert row is not None
    return row.message_count


def exact(sessions: Path) -> dict[str, RowFile | None]:
    """What an exact look tells of every file."""
    return {str(path): look_at(str(path)) for path in sessions.glob("*/*.jsonl")}


def test_other_processes_prove_what_they_glanced_at(sessions: Path) -> None:
    """All of it, and nothing else; the damage is seen then."""
    paths = sorted((sessions / "--d--").glob("*.jsonl"))
    stamps = [stamp_of(path) for path in paths]
    files = [ToLook(str(p), None, s.size, s) for p, s in zip(paths, stamps, strict=True) if s]
    files.sort(key=lambda one: -one.stamp.mtime_ns)
    seen: dict[str, RowFile | None] = {}

    def take(asked: Sequence[ToLook], looked: Sequence[RowFile | None]) -> None:
        seen.update(zip([one.path for one in asked], looked, strict=True))

    fill = Fill(take, pays_bytes=0, helpers=2)
    fill.run(files, glance=True)
    glanced = {path: row for path, row in seen.items() if row is not None and not row.proven}
    assert set(glanced) == {one.path for one in files[FIRST_FILES:]}
    assert not fill.is_proven
    facts = glanced[str(path_of(sessions, DAMAGED))].facts
    assert facts is not None
    assert facts.message_count == SHOWN
    seen.clear()
    fill.prove(take)
    assert fill.is_proven
    assert seen == {path: look_at(path) for path in glanced}


def test_whoever_listens_is_told_what_a_proof_changes(sessions: Path) -> None:
    """And of nothing else; what is kept was proven."""
    cache, may = cache_of(sessions), threading.Event()
    listing = listing_of(sessions, partial(HeldFill, may=may), cache)
    listing.start()
    listing.wait_until_filled()
    assert count_of(listing, DAMAGED) == SHOWN
    assert listing.take_changes() == frozenset()
    assert (len(listing.rows()), listing.listed().waiting) == (MANY, 0)
    before = listing.counters.files_read
    may.set()
    listing.wait_until_proven()
    assert listing.counters.files_read - before == MANY - FIRST_FILES
    assert count_of(listing, DAMAGED) == COUNTED
    assert listing.take_changes() == {DAMAGED}
    assert cache.load() == exact(sessions)
    listing.close()


def test_a_listing_that_was_glanced_at_is_the_exact_one_in_the_end(sessions: Path) -> None:
    """Row for row, whoever began it."""
    glanced = listing_of(sessions, partial(Fill, pays_bytes=0, helpers=2))
    glanced.rows()
    glanced.wait_until_proven()
    assert glanced.rows() == listing_of(sessions, partial(Fill, helpers=0)).rows()
    glanced.close()


def test_a_start_goes_on_with_what_was_not_proven(sessions: Path) -> None:
    """A listing that was closed before its proof keeps what was looked at exactly."""
    cache = cache_of(sessions)
    listing = listing_of(sessions, partial(HeldFill, may=threading.Event()), cache)
    listing.rows()
    listing.close()
    kept = cache.load()
    assert len(kept) == FIRST_FILES
    assert kept.items() <= exact(sessions).items()
    again = listing_of(sessions, partial(Fill, helpers=0), cache)
    assert (len(again.rows()), again.counters.files_read) == (MANY, MANY - FIRST_FILES)
    again.close()


def test_what_changes_before_the_proof_is_looked_at_exactly(sessions: Path) -> None:
    """A file that grew is read whole, one that went goes, one that was replaced is another."""
    may = threading.Event()
    listing = listing_of(sessions, partial(HeldFill, may=may))
    listing.rows()
    grown, gone, other = (path_of(sessions, one) for one in (DAMAGED, "t1", "t2"))
    line = pi_message(SHOWN, SHOWN - 1, b"user")
    with grown.open("ab") as stream:
        stream.write(line)
    before = listing.counters.bytes_read
    assert count_of(listing, DAMAGED) == COUNTED + 1
    assert listing.counters.bytes_read - before == grown.stat().st_size
    gone.unlink()
    other.write_bytes(b"".join(pi_thread(4, "other")))
    listing.take_changes()
    may.set()
    listing.wait_until_proven()
    assert listing.take_changes() == {"t1", "t2", "other"}
    rows: list[StoredThread] = listing.rows()
    assert {row.id for row in rows} >= {DAMAGED, "other"}
    assert not {row.id for row in rows} & {"t1", "t2"}
    assert count_of(listing, DAMAGED) == COUNTED + 1
    listing.close()
