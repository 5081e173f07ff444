"""Deleted threads lie in the agent directory's trash, whole, until they are restored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from enso.host.contract import SessionNotWritten
from enso.host.session_host import SessionHost
from enso.projects import Projects
from tests.contract.stores import FileStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FileStore]:
    """Real files."""
    made = FileStore(tmp_path)
    yield made
    made.host.close()


def files(store: FileStore, directory: str) -> dict[str, bytes]:
    """The files below a directory of the agent directory."""
    below = store.agent_dir / directory
    return {str(p.relative_to(below)): p.read_bytes() for p in below.rglob("*.jsonl")}


def test_a_deleted_file_keeps_its_name_and_its_bytes(store: FileStore) -> None:
    """So that a person finds it, and it comes back as it was."""
    store.put("t1", ("user", "One"))
    before = files(store, "sessions")
    store.host.delete("t1")
    assert files(store, "sessions") == {}
    assert files(store, "trash") == before
    assert store.host.restore("t1")
    assert files(store, "sessions") == before
    assert files(store, "trash") == {}


def test_another_server_restores_what_one_deleted(store: FileStore, tmp_path: Path) -> None:
    """Nothing is remembered but the file."""
    store.put("t1", ("user", "One"))
    store.host.delete("t1")
    other = SessionHost(
        agent_dir=store.agent_dir, projects=Projects([store.project]), runtimes=store.runtimes
    )
    deleted = other.deleted_thread("t1")
    assert deleted is not None
    assert deleted.first_message == "One"
    assert other.restore("t1")
    assert other.stored_thread("t1") is not None
    other.close()


def test_deleting_the_same_name_twice_keeps_both(store: FileStore) -> None:
    """A thread that was made again under its id does not take the place of the first."""
    for text in ("First", "Second"):
        store.put("t1", ("user", text))
        store.host.delete("t1")
    assert len(files(store, "trash")) == 2
    assert any(b"First" in content for content in files(store, "trash").values())


def test_a_thread_of_another_directory_is_not_deleted(store: FileStore, tmp_path: Path) -> None:
    """It is not listed here, so it is none of ours to throw away."""
    store.put("t1", ("user", "One"), directory=tmp_path / "elsewhere")
    with pytest.raises(Exception, match="No thread is stored"):
        store.host.delete("t1")
    assert len(files(store, "sessions")) == 1


def test_a_trash_that_cannot_be_written_leaves_the_thread(store: FileStore) -> None:
    """The refusal says why."""
    store.put("t1", ("user", "One"))
    (store.agent_dir / "trash").write_text("a file is here")
    with pytest.raises(SessionNotWritten, match="could not be moved"):
        store.host.delete("t1")
    assert store.host.stored_thread("t1") is not None
