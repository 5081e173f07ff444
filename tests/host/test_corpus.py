"""Every recorded session is listed and read as pi itself lists and reads it."""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from enso.host.contract import StoredThread, StoredThreadRead
from enso.host.decode import decode_branch
from enso.host.session_file import SessionFile
from enso.host.session_log import SessionLog, read_session
from enso.host.usage import total_usage
from enso.transcript import TranscriptMessage
from tests.host.corpus import AFTER_RECORDING, ALL, CORPUS, Recorded, host_over, named, place

LISTED = [recorded for recorded in ALL if recorded.listed]
UNLISTED = [recorded for recorded in ALL if not recorded.listed]
OPENED = [recorded for recorded in ALL if recorded.opened and recorded.says["size"]]
ENDED = [recorded for recorded in ALL if recorded.says.get("endState") and recorded.says["size"]]

AT_FAULT = {
    "title-line-separators": "its listing also ends lines at raw U+2028 and U+2029",
    "lone-surrogate": "its listing gives out half a surrogate pair, which no encoder takes",
}
"""Where pi's listing is at fault, and why: here Enso is right instead of equal."""

LISTED_BY_ENSO_ALONE = {
    "user-content-null": "its listing drops a file whose first prompt has no content",
    "user-content-number": "its listing drops a file whose first prompt's content is a number",
}


def _fault(recorded: Recorded) -> str | None:
    return recorded.says.get("scenario") or Path(recorded.name).stem


def _row(recorded: Recorded, agent_dir: Path) -> StoredThread:
    place(recorded, agent_dir)
    host = host_over(agent_dir)
    (row,) = host.list_sessions()
    host.close()
    return row


def _log(recorded: Recorded) -> SessionLog:
    log = read_session(recorded.path)
    assert log is not None
    return log


# -- listing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [r for r in LISTED if _fault(r) not in AT_FAULT], ids=str)
def test_a_session_is_listed_as_pi_lists_it(recorded: Recorded, tmp_path: Path) -> None:
    """Id, directory, name, count, title and time are pi's."""
    row, says = _row(recorded, tmp_path), recorded.listed
    assert {
        "id": row.id,
        "cwd": str(row.cwd),
        "name": row.name,
        "messageCount": row.message_count,
        "firstMessage": row.first_message or "(no messages)",
        "modified": row.modified,
    } == {
        "id": says["id"],
        "cwd": says["cwd"],
        "name": says["name"],
        "messageCount": says["messageCount"],
        "firstMessage": says["firstMessage"],
        "modified": datetime.fromisoformat(says["modified"]),
    }


def test_line_separators_in_a_text_end_no_line(tmp_path: Path) -> None:
    """A title with raw U+2028, U+2029 and U+0085 is one title, and its message counts."""
    (recorded,) = [r for r in LISTED if _fault(r) == "title-line-separators"]
    row = _row(recorded, tmp_path)
    assert row.message_count == 3
    assert row.first_message == (
        "first part\u2028second part after U+2028\u2029third after U+2029\x85and NEL"
    )


def test_half_a_surrogate_pair_leaves_as_a_replacement_character(tmp_path: Path) -> None:
    """A title that was cut inside an emoji can be encoded."""
    row = _row(named("lone-surrogate"), tmp_path)
    assert row.first_message.startswith("Cut emoji \ufffd here")
    assert row.first_message.encode()


@pytest.mark.parametrize("name", LISTED_BY_ENSO_ALONE)
def test_a_prompt_without_readable_content_does_not_hide_its_thread(
    name: str, tmp_path: Path
) -> None:
    """The next prompt is the title, and every message counts."""
    row = _row(named(name), tmp_path)
    assert (row.first_message, row.message_count) == ("Is there a bug in the totals?", 5)


@pytest.mark.parametrize(
    "recorded", [r for r in UNLISTED if _fault(r) not in LISTED_BY_ENSO_ALONE], ids=str
)
def test_what_pi_takes_for_no_session_is_not_listed(recorded: Recorded, tmp_path: Path) -> None:
    """An empty file, a byte order mark, and lines of something else are no threads."""
    place(recorded, tmp_path)
    host = host_over(tmp_path)
    assert host.list_sessions() == []


@pytest.mark.parametrize("recorded", ENDED, ids=str)
def test_a_row_says_how_the_branch_ends(recorded: Recorded, tmp_path: Path) -> None:
    """Interrupted, refused, aborted, cut by length, empty or complete, as the branch shows."""
    assert _row(recorded, tmp_path).end == recorded.says["endState"]


def test_the_whole_store_is_listed_newest_first(tmp_path: Path) -> None:
    """All recorded sessions in one store: pi's order, and each id once."""
    names = ("sessions", "sessions-v0.73.1")
    for folder in names:
        shutil.copytree(CORPUS / folder, tmp_path / "sessions", dirs_exist_ok=True)
    rows = host_over(tmp_path).list_sessions()
    says = {r.listed["id"]: r.listed for r in ALL if r.name.split("/")[0] in names}
    assert len(rows) == len(says)
    times = [row.modified for row in rows]
    assert times == sorted(times, reverse=True)


# -- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", OPENED, ids=str)
def test_a_branch_is_read_as_pi_reads_it(recorded: Recorded) -> None:
    """As many entries, the same leaf, and the same roles in the same order."""
    log, says = _log(recorded), recorded.opened
    branch = log.branch()
    roles = [entry["message"].get("role") for entry in branch if entry["type"] == "message"]
    assert len(log.entries) == says["entryCount"]
    assert len(branch) == says["branchEntryCount"]
    assert roles == says["branchRoles"]
    assert log.name == says["sessionName"]
    assert (log.header.id, log.header.cwd) == (says["sessionId"], says["cwd"])


@pytest.mark.parametrize("recorded", [r for r in OPENED if "v1-linear" not in r.name], ids=str)
def test_the_leaf_is_the_one_that_pi_finds(recorded: Recorded) -> None:
    """The last entry of the file, by its stored id (version 1 stores none)."""
    log = _log(recorded)
    assert (log.entries[-1]["id"] if log.entries else None) == recorded.opened["leafId"]


@pytest.mark.parametrize("recorded", OPENED, ids=str)
def test_the_spend_is_what_pi_adds_up(recorded: Recorded) -> None:
    """Tokens and dollars over the whole file, every branch."""
    usage, says = total_usage(_log(recorded).entries), recorded.says["stats"]
    assert {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "total": usage.total_tokens,
    } == says["tokens"]
    assert usage.cost == pytest.approx(says["cost"], abs=1e-12)
    assert usage.cost_known


@pytest.mark.parametrize("recorded", OPENED, ids=str)
def test_a_transcript_has_an_entry_for_each_of_the_branch(recorded: Recorded) -> None:
    """Same length, same order, and the messages that pi counts."""
    branch = _log(recorded).branch()
    transcript = decode_branch(branch, providers=str)
    assert [entry.id for entry in transcript] == [entry["id"] for entry in branch]
    spoken = [role for role in recorded.opened["branchRoles"] if role in ("user", "assistant")]
    assert [e.role for e in transcript if isinstance(e, TranscriptMessage)] == spoken


def test_a_cycle_of_parents_reads_up_to_where_it_closes() -> None:
    """Where pi never returns, the branch is every entry once, from the leaf back."""
    log = _log(named("cyclic-parents"))
    branch = log.branch()
    ids = [entry["id"] for entry in branch]
    assert len(ids) == len(set(ids)) == 7
    assert branch[-1] is log.entries[-1]


@pytest.mark.parametrize(
    "name, lines",
    [
        ("torn-tail", 1),
        ("garbage-middle", 2),
        ("raw-cr-in-string", 1),
        ("blank-lines", 0),
        ("crlf", 0),
        ("deep-nesting", 0),
        ("big-number", 0),
        ("lone-surrogate", 0),
        ("invalid-utf8", 0),
        ("header-huge", 0),
    ],
)
def test_damaged_lines_are_counted_and_no_others(name: str, lines: int) -> None:
    """A line that is no JSON is damage; a blank line, CRLF and unusual JSON are none."""
    assert _log(named(name)).skipped == lines


# -- looking must not write -----------------------------------------------------------------------


@pytest.fixture
def whole_store(tmp_path: Path) -> Path:
    """Every file of the corpus in one store, odd ones too."""
    for recorded in ALL:
        folder = tmp_path / "sessions" / f"--{recorded.path.parent.name}--"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{len(list(folder.iterdir()))}_{recorded.path.name}"
        shutil.copyfile(recorded.path, path)
        os.utime(path, (AFTER_RECORDING, AFTER_RECORDING))
    return tmp_path


def _everything(directory: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Every file and directory: inode, mode, mtime, bytes."""
    found: dict[str, tuple[int, int, int, bytes]] = {}
    for path in sorted([directory, *directory.rglob("*")]):
        status = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = status.st_ino, status.st_mode, status.st_mtime_ns, content
    return found


def test_listing_and_reading_everything_leaves_every_byte(whole_store: Path) -> None:
    """After all threads were listed, read and opened: the same files, bytes, modes and times."""
    before = _everything(whole_store)
    host = host_over(whole_store)
    rows = host.list_sessions()
    reads = [host.read_stored_thread(row.id) for row in rows]
    assert all(isinstance(read, StoredThreadRead) for read in reads)
    for path in (whole_store / "sessions").rglob("*.jsonl"):
        if (log := read_session(path)) is not None and log.header.writable:
            opened = SessionFile.open(path)
            assert len(opened.branch()) == len(log.branch())
            assert not opened.changed_elsewhere()
    host.close()
    assert _everything(whole_store) == before


def test_files_that_share_an_id_are_one_row(whole_store: Path) -> None:
    """The odd variants of one session all have its id: one row, the same at every listing."""
    host = host_over(whole_store)
    rows = host.list_sessions()
    ids = [row.id for row in rows]
    assert len(ids) == len(set(ids))
    assert host_over(whole_store).list_sessions() == rows
    for row in rows:
        read = host.read_stored_thread(row.id)
        log = read_session(row.path)
        assert read is not None
        assert log is not None
        assert [entry.id for entry in read.entries] == [entry["id"] for entry in log.branch()]
