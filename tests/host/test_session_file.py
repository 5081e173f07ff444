"""A live thread's file: how it begins, what an append adds, and what others do to it meanwhile."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import HostError, SessionNotWritten, SessionUnreadable
from enso.host.session_file import SessionFile
from enso.host.session_log import read_session
from enso.host.session_names import directory_name
from tests.host.corpus import ALL, Recorded, named, place

CWD = Path("/projects/shop")
OPENABLE = [r for r in ALL if r.opened and r.says["size"]]
USER: dict[str, Any] = {"message": {"role": "user", "content": "Hi", "timestamp": 1}}


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a whole file, each a JSON object."""
    content = path.read_bytes()
    assert content.endswith(b"\n")
    return [json.loads(line) for line in content.splitlines()]


@pytest.fixture
def begun(tmp_path: Path) -> SessionFile:
    """A file with a header and one prompt."""
    session = SessionFile.create(tmp_path / "sessions", "t1", CWD)
    session.append("message", USER)
    session.begin()
    return session


# -- beginning ------------------------------------------------------------------------------------


def test_nothing_is_on_disk_before_it_begins(tmp_path: Path) -> None:
    """Neither file nor directory, whatever was appended."""
    session = SessionFile.create(tmp_path / "sessions", "t1", CWD)
    session.append("model_change", {"provider": "p", "modelId": "m"})
    session.append("message", USER)
    assert not session.exists()
    assert list(tmp_path.iterdir()) == []
    assert [entry["type"] for entry in session.branch()] == ["model_change", "message"]
    assert not session.changed_elsewhere()


def test_a_file_begins_with_its_header_and_everything_so_far(tmp_path: Path) -> None:
    """One write: a whole header in pi's key order, then the entries, each linked to the last."""
    session = SessionFile.create(tmp_path / "sessions", "t1", CWD, parent="/old.jsonl")
    first = session.append("model_change", {"provider": "p", "modelId": "m"})
    second = session.append("message", USER)
    session.begin()
    header, *entries = lines_of(session.path)
    assert list(header) == ["type", "version", "id", "timestamp", "cwd", "parentSession"]
    assert (header["version"], header["id"], header["cwd"]) == (3, "t1", "/projects/shop")
    assert entries == [first, second]
    assert (first["parentId"], second["parentId"]) == (None, first["id"])


def test_file_and_directory_are_named_as_pi_names_them(begun: SessionFile) -> None:
    """So that pi finds what Enso stores."""
    assert begun.directory.name == "--projects-shop--"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_t1\.jsonl", begun.path.name)


@pytest.mark.parametrize(
    "cwd, name",
    [
        ("/", "----"),
        ("/home/dev/shop-api", "--home-dev-shop-api--"),
        ("/a/b:c\\d", "--a-b-c-d--"),
        ("/with space/\u00fc", "--with space-\u00fc--"),
    ],
)
def test_directory_names(cwd: str, name: str) -> None:
    """The path without its first slash, slashes and colons as dashes."""
    assert directory_name(Path(cwd)) == name


def test_a_long_path_still_has_a_directory(tmp_path: Path) -> None:
    """A name that no file system takes is cut, and told apart from its neighbours."""
    long = Path("/" + "/".join(["directory"] * 60))
    session = SessionFile.create(tmp_path, "t1", long)
    session.append("message", USER)
    session.begin()
    assert session.path.exists()
    assert directory_name(long) != directory_name(long / "x")


def test_beginning_again_does_nothing(begun: SessionFile) -> None:
    """The file begins once."""
    before = begun.path.stat().st_mtime_ns, begun.path.read_bytes()
    begun.begin()
    assert (begun.path.stat().st_mtime_ns, begun.path.read_bytes()) == before


def test_a_file_that_is_there_already_is_not_overwritten(tmp_path: Path) -> None:
    """Another program was first: refused, and its file is left alone."""
    session = SessionFile.create(tmp_path, "t1", CWD)
    session.directory.mkdir()
    session.path.write_text("theirs")
    with pytest.raises(SessionNotWritten):
        session.begin()
    assert session.path.read_text() == "theirs"
    assert not session.exists()


# -- appending ------------------------------------------------------------------------------------


def test_an_append_is_one_line_at_the_end(begun: SessionFile) -> None:
    """Everything before it stays, and it is the child of the leaf."""
    before, leaf = begun.path.read_bytes(), begun.leaf_id
    entry = begun.append("message", USER)
    after = begun.path.read_bytes()
    assert after.startswith(before)
    assert json.loads(after[len(before) :]) == entry
    assert after.count(b"\n") == before.count(b"\n") + 1
    assert entry["parentId"] == leaf
    assert begun.leaf_id == entry["id"]


@pytest.mark.parametrize(
    "kind, fields, keys",
    [
        ("message", {"message": {}}, ["type", "id", "parentId", "timestamp", "message"]),
        (
            "model_change",
            {"provider": "p", "modelId": "m"},
            ["type", "id", "parentId", "timestamp", "provider", "modelId"],
        ),
        (
            "custom",
            {"customType": "modes", "data": {}},
            ["type", "customType", "data", "id", "parentId", "timestamp"],
        ),
        (
            "custom_message",
            {"customType": "x", "content": "", "display": True},
            ["type", "customType", "content", "display", "id", "parentId", "timestamp"],
        ),
    ],
)
def test_keys_stand_in_pis_order(
    begun: SessionFile, kind: str, fields: dict[str, Any], keys: list[str]
) -> None:
    """Programs that read line prefixes find what they look for."""
    begun.append(kind, fields)
    assert list(lines_of(begun.path)[-1]) == keys


def test_lines_have_no_blanks_and_raw_text(begun: SessionFile) -> None:
    """As ``JSON.stringify`` writes them."""
    begun.append("message", {"message": {"role": "user", "content": "\u00fc\u2028\ud83d", "n": 1}})
    line = begun.path.read_bytes().rsplit(b"\n", 2)[-2]
    assert line.endswith('"message":{"role":"user","content":"ü\u2028\\ud83d","n":1}}'.encode())


def test_an_entry_id_can_be_had_before_its_entry(begun: SessionFile) -> None:
    """A message streams under the id that it is stored with later."""
    ahead = begun.new_entry_id()
    assert re.fullmatch("[0-9a-f]{8}", ahead)
    assert ahead != begun.new_entry_id()
    begun.append("message", USER)
    assert begun.append("message", USER, entry_id=ahead)["id"] == ahead


def test_workers_append_whole_lines_in_one_chain(begun: SessionFile) -> None:
    """Many workers at once: as many lines, each the child of the one before."""
    workers = [
        threading.Thread(target=lambda: [begun.append("message", USER) for _ in range(20)])
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    entries = lines_of(begun.path)[1:]
    assert len(entries) == 161
    assert [e["parentId"] for e in entries] == [None, *(e["id"] for e in entries[:-1])]
    assert SessionFile.open(begun.path).branch() == begun.branch() == entries
    assert not begun.changed_elsewhere()


# -- round trips and damage -----------------------------------------------------------------------


@pytest.mark.parametrize("recorded", OPENABLE, ids=str)
def test_an_append_to_any_recorded_file_keeps_what_was_there(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Each kind of damage: every earlier byte stays, the entry is on a line of its own, and the
    branch is the old one and the entry."""
    path = place(recorded, tmp_path)
    before = path.read_bytes()
    session = SessionFile.open(path)
    branch = session.branch()
    entry = session.append("message", USER)
    log = read_session(path)
    assert log is not None
    assert [e["id"] for e in log.branch()] == [e["id"] for e in branch] + [entry["id"]]
    if "v1-linear" not in recorded.name:
        assert path.read_bytes().startswith(before)
    assert json.loads(path.read_bytes().splitlines()[-1]) == entry


@pytest.mark.parametrize("recorded", OPENABLE, ids=str)
def test_what_is_written_opens_again_the_same(recorded: Recorded, tmp_path: Path) -> None:
    """Memory and file agree after an append, entry by entry."""
    session = SessionFile.open(place(recorded, tmp_path))
    session.append("custom", {"customType": "modes", "data": {"mode": "plan"}})
    session.append("message", USER)
    again = SessionFile.open(session.path)
    assert _ids(again.entries()) == _ids(session.entries())
    assert _ids(again.branch()) == _ids(session.branch())
    assert not session.changed_elsewhere()


def _ids(entries: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(e["id"], e["parentId"], e.get("type")) for e in entries]


def test_opening_writes_nothing(tmp_path: Path) -> None:
    """A torn end and an old version stay as they are until the first append."""
    for name in ("torn-tail", "v1-linear"):
        path = place(named(name), tmp_path)
        before = path.read_bytes(), path.stat().st_mtime_ns
        SessionFile.open(path).branch()
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_torn_end_gets_its_newline_before_an_append(begun: SessionFile) -> None:
    """The torn line stays for whoever wants to look at it; the entry is not fused with it."""
    with begun.path.open("ab") as stream:
        stream.write(b'{"type":"message","id":"to')
    session = SessionFile.open(begun.path)
    entry = session.append("message", USER)
    assert begun.path.read_bytes().splitlines()[-2] == b'{"type":"message","id":"to'
    assert SessionFile.open(begun.path).branch()[-1] == entry


def test_a_line_that_another_program_tears_while_we_write_is_not_fused(begun: SessionFile) -> None:
    """The end of the file is looked at before each append, not only the first."""
    begun.append("message", USER)
    with begun.path.open("ab") as stream:
        stream.write(b'{"torn')
    entry = begun.append("message", USER)
    assert json.loads(begun.path.read_bytes().splitlines()[-1]) == entry


# -- old and new versions -------------------------------------------------------------------------


def test_a_file_of_version_1_is_brought_to_version_3_at_its_first_append(tmp_path: Path) -> None:
    """Every entry keeps the id that was read, its order and its content; the mode is kept."""
    path = place(named("v1-linear"), tmp_path)
    path.chmod(0o640)
    raw = path.read_bytes().splitlines()
    session = SessionFile.open(path)
    shown = [entry["id"] for entry in session.branch()]
    entry = session.append("message", USER)
    assert lines_of(path)[0]["version"] == 3
    migrated = path.read_bytes().splitlines()
    assert len(migrated) == len(raw) + 1
    log = read_session(path)
    assert log is not None
    assert [e["id"] for e in log.branch()] == [*shown, entry["id"]]
    for old, new in zip(raw[1:], migrated[1:], strict=False):
        assert {**json.loads(new), **json.loads(old)} == json.loads(new)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_migration_carries_over_what_it_does_not_understand(tmp_path: Path) -> None:
    """Damage, invalid UTF-8, deep nesting, unbounded numbers: byte for byte."""
    odd = [
        b'{"type":"message","message":{"role":"user","content":"\xff\\ud83d"}}',
        b'{"type":"custom","data":' + b"[" * 2_000 + b"]" * 2_000 + b"}",
        b'{"type":"custom","data":{"n":1e400,"i":' + b"7" * 5_000 + b"}}  \r",
        b"{torn",
        b"[1,2]",
        b"",
        b"{}",
    ]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join([b'{"type":"session","id":"t1","cwd":"/p"}', *odd]))
    session = SessionFile.open(path)
    entry = session.append("message", USER)
    migrated = path.read_bytes().split(b"\n")[1:]
    for old, new in zip(odd, migrated, strict=False):
        assert new.startswith(old.rstrip().removesuffix(b"}"))
    log = read_session(path)
    assert log is not None
    assert log.skipped == 2
    assert [e["id"] for e in log.branch()] == [e["id"] for e in session.branch()]
    assert log.branch()[-1] == entry


def test_a_file_of_version_2_keeps_its_ids(tmp_path: Path) -> None:
    """Only the role of extension messages changes, and the version."""
    lines = [
        {"type": "session", "version": 2, "id": "t1", "timestamp": "x", "cwd": "/p", "more": [1]},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": 1}},
        {"type": "message", "id": "b", "parentId": "a", "message": {"role": "hookMessage", "n": 0}},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = path.read_bytes().splitlines()
    SessionFile.open(path).append("message", USER)
    after = lines_of(path)
    assert after[0] == {**lines[0], "version": 3}
    assert list(after[0]) == list(lines[0])
    assert path.read_bytes().splitlines()[1] == before[1]
    assert after[2] == {**lines[2], "message": {"role": "custom", "n": 0}}


@pytest.mark.parametrize("version", [4, 99, "3", True])
def test_a_version_that_enso_does_not_know_is_not_opened(version: Any, tmp_path: Path) -> None:
    """Refused in words that name the version, and the file is left as it is."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"type": "session", "version": version, "id": "t1", "cwd": "/p"}))
    before = path.read_bytes()
    with pytest.raises(SessionUnreadable, match=f"version {version}") as refused:
        SessionFile.open(path)
    assert refused.value.thread_id == "t1"
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b"\xef\xbb\xbf{}\n", b"\x00" * 100])
def test_what_is_no_session_is_not_opened(content: bytes, tmp_path: Path) -> None:
    """An expected refusal, not a crash."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(SessionUnreadable):
        SessionFile.open(path)


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    """A missing file, a directory, and a pipe that would never answer."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "directory.jsonl").mkdir()
    for name in ("pipe.jsonl", "directory.jsonl", "missing.jsonl"):
        with pytest.raises(SessionUnreadable, match="cannot be read"):
            SessionFile.open(tmp_path / name)


# -- other programs -------------------------------------------------------------------------------


def foreign(path: Path, **fields: Any) -> None:
    """Another program appends an entry."""
    entry = {"type": "label", "id": "foreign1", "parentId": None, **fields}
    with path.open("a") as stream:
        stream.write(json.dumps(entry) + "\n")


def test_only_writes_of_others_are_changes(begun: SessionFile) -> None:
    """Own appends are none; growth, a touch, a new file in its place and its removal are."""
    begun.append("message", USER)
    assert not begun.changed_elsewhere()
    foreign(begun.path)
    assert begun.changed_elsewhere()
    begun.reload()
    assert not begun.changed_elsewhere()
    assert begun.leaf_id == "foreign1"
    copy = begun.path.with_suffix(".copy")
    shutil.copy2(begun.path, copy)
    copy.replace(begun.path)
    assert begun.changed_elsewhere()
    begun.reload()
    begun.path.unlink()
    assert begun.changed_elsewhere()


def test_a_change_is_not_forgotten_by_an_own_append(begun: SessionFile) -> None:
    """Another program wrote, then we: it still is a change until the file is read again."""
    foreign(begun.path)
    entry = begun.append("message", USER)
    assert begun.changed_elsewhere()
    begun.reload()
    assert not begun.changed_elsewhere()
    assert begun.leaf_id == entry["id"]


# -- resting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", OPENABLE, ids=str)
def test_what_rested_is_read_again_as_it_was(recorded: Recorded, tmp_path: Path) -> None:
    """Each kind of damage and every version: entries and branch are those of before, and an append
    continues them."""
    session = SessionFile.open(place(recorded, tmp_path))
    entries, branch = session.entries(), session.branch()
    assert session.weight
    assert session.rest()
    assert not session.weight
    foreign(session.path)
    assert (session.entries(), session.branch()) == (entries, branch)
    assert session.rest()
    entry = session.append("message", USER)
    assert entry["parentId"] == (branch[-1]["id"] if branch else None)
    assert session.entries()[-1] == entry
    assert [e["id"] for e in session.branch()] == [e["id"] for e in (*branch, entry)]


def test_what_another_program_wrote_between_our_entries_does_not_rest(begun: SessionFile) -> None:
    """The file up to its end is not what is in memory: it would be read as more than that."""
    foreign(begun.path)
    begun.append("message", USER)
    entries = begun.entries()
    assert not begun.rest()
    assert begun.entries() == entries


def test_a_file_that_is_replaced_while_it_rests_is_a_change(begun: SessionFile) -> None:
    """What is there now is shown, and the next prompt is told to open it anew."""
    assert begun.rest()
    header = begun.path.read_bytes().splitlines()[0]
    copy = begun.path.with_suffix(".copy")
    copy.write_bytes(header + b"\n")
    foreign(copy)
    copy.replace(begun.path)
    assert [entry["id"] for entry in begun.branch()] == ["foreign1"]
    assert begun.changed_elsewhere()


def test_a_file_that_goes_while_it_rests_is_an_expected_refusal(begun: SessionFile) -> None:
    """Neither read nor written, each in its words."""
    assert begun.rest()
    begun.path.unlink()
    with pytest.raises(SessionUnreadable):
        begun.entries()
    with pytest.raises(SessionNotWritten, match="gone"):
        begun.append("message", USER)
    assert begun.changed_elsewhere()


def test_an_append_during_a_run_stays_on_its_own_branch(begun: SessionFile) -> None:
    """What another program appends in between is no parent of an answer made for another."""
    leaf = begun.leaf_id
    foreign(begun.path)
    assert begun.append("message", USER)["parentId"] == leaf


def test_an_append_to_a_file_that_was_rewritten_follows_it(begun: SessionFile) -> None:
    """The entry it hangs on is gone: it continues from the leaf that is there now."""
    header = begun.path.read_bytes().splitlines()[0]
    begun.path.write_bytes(header + b"\n")
    foreign(begun.path)
    entry = begun.append("message", USER)
    assert entry["parentId"] == "foreign1"
    assert [e["id"] for e in SessionFile.open(begun.path).branch()] == ["foreign1", entry["id"]]


def test_an_append_to_a_file_that_was_rewritten_keeps_its_parent_if_it_can(
    begun: SessionFile,
) -> None:
    """A rewrite that kept the leaf, as a migration by another program does, loses nothing."""
    leaf = begun.leaf_id
    copy = begun.path.with_suffix(".copy")
    shutil.copy2(begun.path, copy)
    foreign(copy)
    copy.replace(begun.path)
    assert begun.append("message", USER)["parentId"] == leaf


def test_a_file_that_is_gone_is_not_made_anew(begun: SessionFile) -> None:
    """A deleted thread stays deleted: refused in words, and memory is as before."""
    before = begun.branch()
    begun.path.unlink()
    with pytest.raises(SessionNotWritten, match="gone"):
        begun.append("message", USER)
    assert not begun.path.exists()
    assert begun.branch() == before
    with pytest.raises(SessionUnreadable):
        begun.reload()


def test_a_file_that_became_another_thread_is_refused(begun: SessionFile) -> None:
    """Neither read as this thread nor written to."""
    begun.path.write_text('{"type":"session","version":3,"id":"t2","cwd":"/p"}\n')
    with pytest.raises(SessionUnreadable, match="another thread"):
        begun.reload()
    with pytest.raises(SessionNotWritten, match="another thread"):
        begun.append("message", USER)


# -- what the disk refuses ------------------------------------------------------------------------


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """No file grows beyond ``size`` bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_file_and_memory_as_they_were(begun: SessionFile) -> None:
    """A line that does not go in whole is taken out again, and the next one goes in."""
    before, branch = begun.path.read_bytes(), begun.branch()
    with files_end_at(len(before) + 40), pytest.raises(SessionNotWritten, match="could not be"):
        begun.append("message", USER)
    assert begun.path.read_bytes() == before
    assert begun.branch() == branch
    entry = begun.append("message", USER)
    assert SessionFile.open(begun.path).branch() == [*branch, entry]


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    """A file that cannot begin is not there, and can begin later."""
    session = SessionFile.create(tmp_path, "t1", CWD)
    session.append("message", USER)
    with files_end_at(100), pytest.raises(SessionNotWritten):
        session.begin()
    assert not session.exists()
    assert not session.path.exists()
    session.begin()
    assert len(lines_of(session.path)) == 2


def test_a_full_disk_during_migration_leaves_the_old_file(tmp_path: Path) -> None:
    """The new version is written aside: when it does not fit, nothing has changed."""
    path = place(named("v1-linear"), tmp_path)
    before = path.read_bytes()
    session = SessionFile.open(path)
    with files_end_at(4_000), pytest.raises(SessionNotWritten, match="version 3"):
        session.append("message", USER)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_an_expected_refusal(tmp_path: Path) -> None:
    """A file stands where the directory should be: a ``HostError`` with a sentence."""
    (tmp_path / "sessions").write_text("")
    session = SessionFile.create(tmp_path / "sessions", "t1", CWD)
    with pytest.raises(HostError) as refused:
        session.begin()
    assert refused.value.status == 409
    assert str(session.path) in str(refused.value)


def test_an_entry_that_is_no_json_is_refused(begun: SessionFile) -> None:
    """Nothing is written, and memory is as before."""
    before, branch = begun.path.read_bytes(), begun.branch()
    with pytest.raises(SessionNotWritten, match="cannot be stored"):
        begun.append("custom", {"data": object()})
    assert (begun.path.read_bytes(), begun.branch()) == (before, branch)
