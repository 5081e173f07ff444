"""What the host over session files does beyond the contract's suite."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from enso.host.contract import SessionDirectoryRefused, SessionUnreadable
from enso.host.session_host import SessionHost
from enso.projects import Projects
from enso.transcript import TranscriptMessage, Usage
from tests.contract.test_agent_host import Run, never, texts
from tests.fakes.file_runtimes import ScriptedRuntimes
from tests.host.corpus import ALL, named, place

CWD = "/projects/shop"
HEADER: dict[str, Any] = {"type": "session", "version": 3, "id": "t1", "cwd": CWD}


def host_of(agent_dir: Path, *served: Path) -> SessionHost:
    """A host over a store."""
    projects = Projects(served or (Path(CWD),))
    return SessionHost(agent_dir=agent_dir, projects=projects, runtimes=ScriptedRuntimes())


def session_path(agent_dir: Path, name: str = "a.jsonl") -> Path:
    """Where a test keeps its one session file."""
    path = agent_dir / "sessions" / "--d--" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def snapshot(directory: Path) -> dict[str, tuple[int, bytes | None]]:
    """Every file and directory with its time and bytes."""
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in [directory, *directory.rglob("*")]
    }


# -- anything as a session file -------------------------------------------------------------------

WHOLE_LINES = st.builds(
    lambda value: json.dumps(value).encode(),
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "id", "parentId", "message", "role", "content", "name"])
                | st.sampled_from(["usage", "timestamp", "stopReason", "cost", "data", "text"])
                | st.text(max_size=3),
                inner
                | st.sampled_from(["message", "session_info", "session", "user", "assistant"]),
                max_size=5,
            )
        ),
        max_leaves=12,
    ),
)
HEADERS = st.sampled_from(
    [
        json.dumps({**HEADER, "version": version}).encode()
        for version in (None, 1, 2, 3, 4, 1e400, "3", [])
    ]
)
FILES = st.binary(max_size=200) | st.builds(
    lambda head, lines, end: b"\n".join([head, *lines]) + end,
    HEADERS | st.binary(max_size=20),
    st.lists(WHOLE_LINES | st.binary(max_size=30), max_size=6),
    st.sampled_from([b"", b"\n", b"\r\n", b"{"]),
)


@settings(max_examples=250)
@given(FILES)
@example(b'{"type":"session","id":"t1","cwd":"/projects/shop"}\n' + b"[" * 100_000)
@example(b'{"type":"session","id":"t1","cwd":"/projects/shop"}\n' + b'{"a":' * 5_000)
@example(b'{"type":"session","id":"t1","cwd":"/projects/\\u0000shop"}')
@example(b'{"type":"session","id":"t1","cwd":"/projects/\\ud83d"}')
@example(b"\x00" * 4096)
def test_any_bytes_as_a_session_file_are_listed_and_read_without_a_fault(content: bytes) -> None:
    """Never an exception, never a write; what is listed can be read and told in UTF-8."""
    with tempfile.TemporaryDirectory() as directory:
        agent_dir = Path(directory)
        session_path(agent_dir).write_bytes(content)
        before = snapshot(agent_dir)
        host = host_of(agent_dir)
        for row in host.list_sessions():
            assert f"{row.first_message}{row.name}{row.cwd}".encode()
            read = host.read_stored_thread(row.id)
            assert read is not None
            assert host.stored_permission_mode(read.entries).mode
            assert host.stored_thread_directory(row.id) == row.cwd
        host.close()
        assert snapshot(agent_dir) == before


@settings(max_examples=150)
@given(FILES)
def test_any_bytes_as_a_session_file_are_continued_or_refused(content: bytes) -> None:
    """Opened and written to, every earlier line is still there; or refused, and untouched."""
    with tempfile.TemporaryDirectory() as directory:
        agent_dir = Path(directory) / "agent"
        project = Path(directory) / "shop"
        project.mkdir()
        path = session_path(agent_dir)
        path.write_bytes(content.replace(CWD.encode(), str(project).encode()))
        before = path.read_bytes()
        host = host_of(agent_dir, project)
        if host.stored_thread("t1") is None:
            return
        cold = host.read_stored_thread("t1")
        assert cold is not None
        try:
            run = Run(host.create_session("t1", never))
        except SessionUnreadable:
            assert path.read_bytes() == before
            return
        run.prompt("Go on")
        warm = host.read_stored_thread("t1")
        assert warm is not None
        assert [e.id for e in warm.entries[:-2]] == [e.id for e in cold.entries]
        assert warm.skipped_lines == cold.skipped_lines
        assert texts(warm.entries[-2:]) == ["Go on", "Hello, you."]


# -- coming live ----------------------------------------------------------------------------------


def test_a_version_that_enso_does_not_know_reads_cold_and_refuses_live(tmp_path: Path) -> None:
    """The person is told the version; the file is left as it is."""
    (tmp_path / "shop").mkdir()
    header = {**HEADER, "version": 4, "cwd": str(tmp_path / "shop")}
    message = {"type": "message", "id": "a", "message": {"role": "user", "content": "Hi"}}
    path = session_path(tmp_path)
    path.write_text(f"{json.dumps(header)}\n{json.dumps(message)}\n")
    host = host_of(tmp_path, tmp_path / "shop")
    before = snapshot(tmp_path)
    read = host.read_stored_thread("t1")
    assert read is not None
    assert texts(read.entries) == ["Hi"]
    with pytest.raises(SessionUnreadable, match="version 4") as refused:
        host.create_session("t1", never)
    assert (refused.value.thread_id, refused.value.status) == ("t1", 409)
    assert snapshot(tmp_path) == before


def test_a_thread_that_records_no_directory_is_refused(tmp_path: Path) -> None:
    """It is not continued wherever the server happens to run."""
    session_path(tmp_path).write_text(json.dumps({**HEADER, "cwd": ""}) + "\n")
    host = host_of(tmp_path, Path.cwd())
    assert host.list_sessions() == []
    with pytest.raises(SessionDirectoryRefused):
        host.create_session("t1", never)


def test_a_new_thread_in_a_directory_that_is_gone_is_refused(tmp_path: Path) -> None:
    """Served, and not there: refused before anything is built."""
    host = host_of(tmp_path, tmp_path / "shop")
    with pytest.raises(SessionDirectoryRefused, match="gone"):
        host.create_session("t1", lambda: tmp_path / "shop")
    assert list(tmp_path.iterdir()) == []


def test_a_thread_of_version_1_keeps_its_links_when_it_is_continued(tmp_path: Path) -> None:
    """The ids that a cold read gave are the ids after migration on disk."""
    recorded = named("v1-linear")
    path = place(recorded, tmp_path / "agent")
    project = tmp_path / "mono"
    project.mkdir()
    content = path.read_bytes().replace(recorded.listed["cwd"].encode(), bytes(project))
    path.write_bytes(content)
    host = host_of(tmp_path / "agent", project)
    (row,) = host.list_sessions()
    cold = host.read_stored_thread(row.id)
    assert cold is not None
    assert path.read_bytes() == content
    Run(host.create_session(row.id, never)).prompt("Go on")
    warm = host_of(tmp_path / "agent", project).read_stored_thread(row.id)
    assert warm is not None
    assert warm.entries[:-2] == cold.entries
    assert texts(warm.entries[-2:]) == ["Go on", "Hello, you."]


@pytest.mark.parametrize(
    "recorded", [r for r in ALL if r.listed and r.opened and r.listed["messageCount"]], ids=str
)
def test_every_recorded_thread_goes_on_and_reads_again_after_a_restart(
    recorded: Any, tmp_path: Path
) -> None:
    """A prompt and its answer on any recorded file; another host lists and reads all of it."""
    path = place(recorded, tmp_path / "agent")
    project = tmp_path / "p"
    project.mkdir()
    path.write_bytes(
        path.read_bytes().replace(
            json.dumps(recorded.listed["cwd"]).encode(), json.dumps(str(project)).encode(), 1
        )
    )
    host = host_of(tmp_path / "agent", project)
    before = host.stored_thread(recorded.listed["id"])
    assert before is not None
    live = host.create_session(before.id, never)
    branch = live.inspect().entries
    events = Run(live).prompt("And now?")
    assert live.inspect().entries[: len(branch)] == branch
    restarted = host_of(tmp_path / "agent", project)
    (row,) = restarted.list_sessions()
    assert (row.id, row.message_count, row.end) == (
        before.id,
        before.message_count + 2,
        "complete",
    )
    assert row.first_message == (before.first_message or "And now?")
    read = restarted.read_stored_thread(row.id)
    assert read is not None
    assert read.entries == live.inspect().entries
    assert read.usage == live.usage()
    assert len(events) > 4


# -- live views -----------------------------------------------------------------------------------


def test_a_live_view_follows_branch_and_spend(tmp_path: Path) -> None:
    """Each inspection has what was appended since, and what was there is the same values."""
    project = tmp_path / "shop"
    project.mkdir()
    host = host_of(tmp_path / "agent", project)
    run = Run(host.create_session("t1", lambda: project))
    assert run.thread.usage() == Usage()
    run.prompt("One")
    first = run.thread.inspect()
    assert run.thread.inspect().entries == first.entries
    run.prompt("Two")
    second = run.thread.inspect()
    assert second.entries[:2] == first.entries
    assert texts(second.entries) == ["One", "Hello, you.", "Two", "Hello, you."]
    assert run.thread.usage().input == 20
    assert second.session_file == second.session_dir / second.session_file.name


def test_a_reading_says_how_much_was_skipped(tmp_path: Path) -> None:
    """Damage is counted, and the rest is read."""
    message = {"type": "message", "id": "a", "message": {"role": "user", "content": "Hi"}}
    path = session_path(tmp_path)
    path.write_bytes(
        b"\n".join(
            [json.dumps(HEADER).encode(), b"{torn", b"", b"[1]", json.dumps(message).encode()]
        )
    )
    read = host_of(tmp_path).read_stored_thread("t1")
    assert read is not None
    assert (read.skipped_lines, texts(read.entries)) == (2, ["Hi"])


def test_a_message_of_a_hundred_megabytes_is_read(tmp_path: Path) -> None:
    """A line has no bound."""
    size = 100_000_000
    head, tail = b'{"type":"message","id":"a","message":{"role":"user","content":"', b'"}}\n'
    path = session_path(tmp_path)
    with path.open("wb") as stream:
        stream.write(json.dumps(HEADER).encode() + b"\n" + head)
        for _ in range(100):
            stream.write(b"x" * (size // 100))
        stream.write(tail)
    host = host_of(tmp_path)
    (row,) = host.list_sessions()
    assert len(row.first_message) == size
    read = host.read_stored_thread("t1")
    assert read is not None
    (prompt,) = read.entries
    assert isinstance(prompt, TranscriptMessage)
    assert len(texts([prompt])[0]) == size


def test_a_file_that_may_not_be_read_hides_nothing_else(tmp_path: Path) -> None:
    """An unreadable file is passed over, and found once it can be read."""
    path = session_path(tmp_path)
    other = session_path(tmp_path, "b.jsonl")
    other.write_text(json.dumps({**HEADER, "id": "t2"}) + "\n")
    path.symlink_to(tmp_path / "later.jsonl")
    host = host_of(tmp_path)
    assert [row.id for row in host.list_sessions()] == ["t2"]
    (tmp_path / "later.jsonl").write_text(json.dumps(HEADER) + "\n")
    assert {row.id for row in host.list_sessions()} == {"t1", "t2"}


def test_closing_the_host_closes_what_it_was_given(tmp_path: Path) -> None:
    """Its watch and its runtimes."""
    runtimes = ScriptedRuntimes()
    host = SessionHost(agent_dir=tmp_path, projects=Projects([Path(CWD)]), runtimes=runtimes)
    host.on_change(print)
    host.close()
    assert runtimes.closed
    assert os.listdir(tmp_path) == []  # noqa: PTH208
