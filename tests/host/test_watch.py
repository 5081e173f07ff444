"""The watch tells which threads changed, wherever their files come from."""

from __future__ import annotations

import json
import os
import queue
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from enso.host.session_listing import SessionListing
from enso.host.session_watch import SessionWatch
from enso.projects import Projects

Told = queue.Queue[frozenset[str]]
HEADER = {"type": "session", "version": 3, "cwd": "/projects/shop"}
LATENCY_SECONDS = 0.3


class Watched:
    """A sessions directory under watch, and what its listener was told."""

    def __init__(self, sessions: Path) -> None:
        self.sessions = sessions
        self.told: Told = queue.Queue()
        self._before = set(threading.enumerate())
        listing = SessionListing(sessions, Projects([Path("/projects/shop")]))
        self.watch = SessionWatch(sessions, listing)
        self.end = self.watch.listen(self.told.put)

    def workers(self) -> list[threading.Thread]:
        """The workers of this watch that run."""
        return [
            one
            for one in threading.enumerate()
            if one.name == "session-watch" and one not in self._before
        ]

    def path(self, thread_id: str, folder: str = "--shop--") -> Path:
        """Where this store keeps a thread."""
        return self.sessions / folder / f"{thread_id}.jsonl"

    def write(self, thread_id: str, folder: str = "--shop--") -> Path:
        """Another program makes a session file."""
        path = self.path(thread_id, folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**HEADER, "id": thread_id}) + "\n")
        return path

    def wait_for(self, *thread_ids: str) -> None:
        """Return once all of these were told of."""
        missing = set(thread_ids)
        while missing:
            missing -= self.told.get(timeout=30)

    def forget(self) -> None:
        """Forget what was told so far."""
        while not self.told.empty():
            self.told.get()


def append(path: Path) -> None:
    """Another program appends an entry."""
    with path.open("a") as stream:
        stream.write('{"type":"label","id":"x","parentId":null}\n')


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """An existing sessions directory, watched."""
    (tmp_path / "sessions").mkdir()
    made = Watched(tmp_path / "sessions")
    yield made
    made.watch.close()


def test_what_happens_to_a_file_is_told(watched: Watched) -> None:
    """Made, grown, cut, replaced by a rename, removed: each tells the thread's id."""
    path = watched.write("t1")
    watched.wait_for("t1")
    append(path)
    watched.wait_for("t1")
    os.truncate(path, path.stat().st_size - 5)
    watched.wait_for("t1")
    shutil.copyfile(path, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)
    watched.wait_for("t1")
    path.unlink()
    watched.wait_for("t1")


def test_growth_is_told_at_once(watched: Watched) -> None:
    """Within a third of a second, at the best of five: a busy machine is slower."""
    path = watched.write("t1")
    watched.wait_for("t1")
    took: list[float] = []
    for _ in range(5):
        watched.forget()
        begun = time.monotonic()
        append(path)
        watched.wait_for("t1")
        took.append(time.monotonic() - begun)
    assert min(took) < LATENCY_SECONDS


def test_only_threads_that_changed_are_told(watched: Watched) -> None:
    """The neighbours of a file that grew are not."""
    paths = [watched.write(thread_id) for thread_id in ("t1", "t2", "t3")]
    watched.wait_for("t1", "t2", "t3")
    watched.forget()
    append(paths[1])
    assert watched.told.get(timeout=30) == {"t2"}


def test_directories_that_come_and_go_are_followed(watched: Watched) -> None:
    """A directory made, filled, renamed and removed later tells of the threads in it."""
    watched.write("t1", "--new--")
    watched.wait_for("t1")
    (watched.sessions / "--new--").rename(watched.sessions / "--renamed--")
    watched.wait_for("t1")
    append(watched.path("t1", "--renamed--"))
    watched.wait_for("t1")
    shutil.rmtree(watched.sessions / "--renamed--")
    watched.wait_for("t1")


def test_a_store_that_does_not_exist_yet_is_watched(tmp_path: Path) -> None:
    """Its directory is made later, with everything above it."""
    watched = Watched(tmp_path / "home" / "agent" / "sessions")
    path = watched.write("t1")
    watched.wait_for("t1")
    append(path)
    watched.wait_for("t1")
    watched.watch.close()


def test_a_store_that_is_removed_and_made_again_is_watched(watched: Watched) -> None:
    """Threads that went with it are told, and those of the new one."""
    watched.write("t1")
    watched.wait_for("t1")
    shutil.rmtree(watched.sessions)
    watched.wait_for("t1")
    watched.write("t2")
    watched.wait_for("t2")


def test_a_file_in_a_linked_directory_is_told(watched: Watched, tmp_path: Path) -> None:
    """A directory that is only linked into the store is watched like one of its own."""
    (tmp_path / "elsewhere").mkdir()
    (watched.sessions / "--link--").symlink_to(tmp_path / "elsewhere")
    path = watched.write("t1", "--link--")
    watched.wait_for("t1")
    for _ in range(3):
        watched.forget()
        append(path)
        watched.wait_for("t1")


def test_threads_that_were_there_before_are_not_told(tmp_path: Path) -> None:
    """Only what changes after the beginning; the first that is heard is the new one."""
    (tmp_path / "--shop--").mkdir()
    for number in range(20):
        path = tmp_path / "--shop--" / f"old{number}.jsonl"
        path.write_text(json.dumps({**HEADER, "id": f"old{number}"}) + "\n")
    watched = Watched(tmp_path)
    watched.write("new")
    assert watched.told.get(timeout=30) == {"new"}
    watched.watch.close()


def test_a_file_that_is_no_thread_is_not_told(watched: Watched) -> None:
    """Junk in the store wakes nobody."""
    watched.path("junk").parent.mkdir()
    watched.path("junk").write_text("no session\n")
    watched.sessions.joinpath("notes.txt").write_text("no session\n")
    watched.write("t1")
    assert watched.told.get(timeout=30) == {"t1"}


def test_one_failing_listener_does_not_silence_the_others(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    """Its fault is logged; the watch goes on."""

    def fail(ids: frozenset[str]) -> None:
        raise RuntimeError(f"not interested in {sorted(ids)}")

    watched.watch.listen(fail)
    path = watched.write("t1")
    watched.wait_for("t1")
    append(path)
    watched.wait_for("t1")
    assert "a listener of changed threads failed" in caplog.text


def test_the_watch_ends_with_its_last_listener(watched: Watched) -> None:
    """And begins again with the next."""
    assert len(watched.workers()) == 1
    watched.end()
    assert watched.workers() == []
    again: Told = queue.Queue()
    watched.watch.listen(again.put)
    watched.write("t1")
    assert again.get(timeout=30) == {"t1"}
    assert watched.told.empty()


def test_closing_ends_the_worker(watched: Watched) -> None:
    """Cleanly, and at once; closing twice is no fault."""
    begun = time.monotonic()
    watched.watch.close()
    watched.watch.close()
    assert time.monotonic() - begun < 5
    assert watched.workers() == []
