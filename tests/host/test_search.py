"""The search index: a cache that may be lost, damaged or shared, over files of any kind."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso.host.contract import Found, StoredThread
from enso.host.file_stamp import stamp_of
from enso.host.search import Finder
from enso.host.search.index import IndexUnusable, SearchIndex
from enso.host.search.lines import new_lines
from enso.host.search.words import extract, match_expression, query_terms, searched_text
from tests.host.corpus import ALL, Recorded, host_over, place


def write(directory: Path, name: str, *texts: str, at: int = 1) -> StoredThread:
    """A session file with these prompts, and its row."""
    path = directory / f"{name}.jsonl"
    stamp = datetime.fromtimestamp(at, UTC).isoformat()
    lines = [{"type": "session", "version": 3, "id": name, "cwd": "/", "timestamp": stamp}]
    lines += [
        {
            "type": "message",
            "id": f"{name}-{number}",
            "timestamp": stamp,
            "message": {"role": "user", "content": text},
        }
        for number, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return StoredThread(
        id=name,
        path=path,
        cwd=Path("/"),
        modified=datetime.fromtimestamp(at, UTC),
        message_count=len(texts),
        first_message=texts[0] if texts else "",
        name=None,
        end="complete",
    )


Make = Callable[..., Finder]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes finders over one index file; closed with the test."""
    made: list[Finder] = []

    def make_one(*rows: StoredThread, at: Path = tmp_path / "cache" / "search.sqlite") -> Finder:
        made.append(Finder(at, lambda: rows))
        return made[-1]

    yield make_one
    for one in made:
        one.close()


def words(found: Found) -> list[str]:
    """What the passages are about: thread and entry."""
    return [one.entry_id for one in found.passages]


def test_the_index_may_be_deleted_at_any_time(make: Make, tmp_path: Path) -> None:
    """Without its file, or the directory of it, the next question fills it again."""
    row = write(tmp_path, "a", "apple")
    finder = make(row)
    assert words(finder.find("apple", 5)) == ["a-0"]
    for file in (tmp_path / "cache").iterdir():
        file.unlink()
    again = make(row)
    assert words(again.find("apple", 5)) == ["a-0"]


@pytest.mark.parametrize("damage", [b"", b"no database at all", b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_index_is_made_anew(make: Make, tmp_path: Path, damage: bytes) -> None:
    """Whatever stands in the file, threads are found at the second question at the latest."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "search.sqlite").write_bytes(damage)
    finder = make(write(tmp_path, "a", "apple"))
    finder.find("apple", 5)
    assert words(finder.find("apple", 5)) == ["a-0"]


def test_what_was_indexed_is_not_read_again_after_a_restart(make: Make, tmp_path: Path) -> None:
    """A second finder over the same index finds what the first one read."""
    row = write(tmp_path, "a", "apple")
    make(row).find("apple", 5)
    index = SearchIndex(tmp_path / "cache" / "search.sqlite")
    known = index.file(str(row.path))
    index.close()
    assert known is not None
    assert known.stamp == stamp_of(row.path)
    assert known.upto == row.path.stat().st_size
    assert words(make(row).find("apple", 5)) == ["a-0"]


def test_only_what_a_file_grew_by_is_read(tmp_path: Path) -> None:
    """The lines before the known end are not looked at; a line that is not ended waits."""
    row = write(tmp_path, "a", "apple")
    stamp = stamp_of(row.path)
    assert stamp is not None
    first = new_lines(row.path, stamp, None)
    assert first is not None
    with row.path.open("a") as file:
        file.write(json.dumps({"type": "message", "message": {"role": "user", "content": "b"}}))
        file.write("\n" + json.dumps({"type": "session_info", "name": "torn"}))
    grown = stamp_of(row.path)
    assert grown is not None
    more = new_lines(row.path, grown, first.state)
    assert more is not None
    assert [line.text for line in more.lines] == ["b"]
    assert not more.anew
    assert more.state.upto == first.state.upto + more.lines[0].length


def test_a_file_that_was_written_anew_loses_its_old_words(make: Make, tmp_path: Path) -> None:
    """What a passage said before is not found, and nothing else in its place."""
    row = write(tmp_path, "a", "apple pie", "pear")
    finder = make(row)
    assert words(finder.find("apple", 5)) == ["a-0"]
    row.path.unlink()
    anew = make(write(tmp_path, "a", "cherry"))
    assert words(anew.find("apple", 5)) == []
    assert words(anew.find("cherry", 5)) == ["a-0"]


def test_two_servers_share_one_index(make: Make, tmp_path: Path) -> None:
    """Both fill it at once; each finds everything, once."""
    rows = [write(tmp_path, f"t{n}", f"apple {n}", at=n) for n in range(40)]
    finders = [make(*rows), make(*rows)]
    workers = [threading.Thread(target=one.find, args=("apple", 50)) for one in finders]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for finder in finders:
        assert sorted(words(finder.find("apple", 50))) == sorted(f"t{n}-0" for n in range(40))


def test_the_background_fill_reads_everything(make: Make, tmp_path: Path) -> None:
    """Started once, it goes through all threads by itself, and says how far it is."""
    rows = [write(tmp_path, f"t{n}", "apple", at=n) for n in range(20)]
    finder = make(*rows)
    assert finder.find("", 5).searched == 0
    finder.start()
    waited = threading.Event()
    while finder.find("", 5).searched < 20:
        assert not waited.wait(0.01)
    finder.start()
    index = SearchIndex(tmp_path / "cache" / "search.sqlite")
    assert len(index.paths()) == 20
    index.close()


def test_an_index_that_cannot_be_written_costs_only_the_finding(make: Make, tmp_path: Path) -> None:
    """A file where its directory should be: nothing is found, nothing fails."""
    (tmp_path / "cache").write_text("in the way")
    finder = make(write(tmp_path, "a", "apple"))
    assert words(finder.find("apple", 5)) == []


def test_a_closed_index_is_unusable_and_says_so(tmp_path: Path) -> None:
    """Its users hear it as the one thing they handle."""
    index = SearchIndex(tmp_path / "search.sqlite")
    index.close()
    with pytest.raises(IndexUnusable):
        index.paths()


@pytest.mark.parametrize("recorded", ALL, ids=str)
def test_every_recorded_and_damaged_file_can_be_indexed(recorded: Recorded) -> None:
    """Whatever a line holds, it is searched or left out."""
    stamp = stamp_of(recorded.path)
    assert stamp is not None
    addition = new_lines(recorded.path, stamp, None)
    assert addition is not None
    for line in addition.lines:
        line.text.encode()


def test_recorded_threads_are_found_by_what_was_said_in_them(tmp_path: Path) -> None:
    """A prompt of the corpus, a tool's output and a summary lead to their threads."""
    for recorded in ALL:
        place(recorded, tmp_path)
    host = host_over(tmp_path)
    for query in ("rephrased", '"Remove the build folder"', "Command aborted"):
        found = host.find_passages(query, 50)
        assert found.passages, query
        for passage in found.passages:
            assert host.read_stored_thread(passage.thread_id) is not None
    host.close()


@given(st.text(max_size=60))
def test_any_query_is_a_query(tmp_path_factory: pytest.TempPathFactory, query: str) -> None:
    """No text a person types is a syntax error of the index."""
    terms = query_terms(query)
    if not terms:
        return
    index = SearchIndex(tmp_path_factory.getbasetemp() / "any.sqlite")
    assert index.places(match_expression(terms), before=None, limit=1) == []
    index.close()


@given(st.text(max_size=200))
def test_a_passage_gives_back_its_line(text: str) -> None:
    """Before, match and after are the text around, with blanks joined; any word finds itself."""
    for words_of_term in query_terms(text)[:3]:
        found = extract(text, [words_of_term])
        if found is not None:
            whole = found.before.lstrip("…") + found.match + found.after.rstrip("…")
            assert " ".join(whole.split()) in " ".join(text.split()) + " "


def test_system_prompts_and_images_are_not_searched() -> None:
    """What is in every thread finds none; bytes are no words."""
    system = {"type": "message", "message": {"role": "system", "content": "You are an agent"}}
    image = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
    shown = {"type": "message", "message": {"role": "user", "content": [image]}}
    assert searched_text(system) == ""
    assert searched_text(shown) == ""


def test_what_a_tool_answered_leads_to_the_message_that_called_it(
    make: Make, tmp_path: Path
) -> None:
    """A result has no message of its own: the reply with the call is where a person reads it."""
    row = write(tmp_path, "a", "Look around")
    call = {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}
    messages = [
        {"role": "assistant", "content": [call, {**call, "id": "c2"}]},
        {"role": "toolResult", "toolCallId": "c1", "content": "first.py"},
        {"role": "toolResult", "toolCallId": "c2", "content": "quagga.py"},
    ]
    with row.path.open("a") as file:
        for number, message in enumerate(messages, 1):
            entry = {"type": "message", "id": f"a-{number}", "parentId": f"a-{number - 1}"}
            file.write(json.dumps({**entry, "message": message}) + "\n")
    assert words(make(row).find("quagga", 5)) == ["a-1"]
