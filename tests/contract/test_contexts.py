"""What every store guarantees of a thread's context: each request, live and cold alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from enso.host.contract import BranchContext
from tests.contract.stores import FakeStore, FileStore, Store
from tests.contract.test_agent_host import Run, never
from tests.fakes.scripted_runtime import Reply


@pytest.fixture(params=[FileStore, FakeStore], ids=["files", "fake"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with nothing in it."""
    made: Store = request.param(tmp_path)
    yield made
    made.host.close()


def cold(store: Store, thread_id: str = "t1") -> BranchContext:
    """The context of a stored thread."""
    found = store.host.read_stored_thread_context(thread_id)
    assert found is not None
    assert found.id == thread_id
    return found.branch


TURNS = [("user", "One?"), ("assistant", "One."), ("user", "And two?"), ("assistant", "Two.")]


def test_a_request_is_what_stood_before_its_answer(store: Store) -> None:
    """One request an answer, counted from 1, each with the elements before it; then the next."""
    store.put("t1", *TURNS)
    context = cold(store)
    assert [(request.index, request.size.elements) for request in context.requests] == [
        (1, 1),
        (2, 3),
    ]
    assert context.next.elements == 4
    assert [(share.kind, share.elements) for share in context.next.shares] == [
        ("user", 2),
        ("assistant", 2),
    ]


@pytest.mark.parametrize(
    "request_number, texts",
    [
        (1, ["One?"]),
        (2, ["One?", "One.", "And two?"]),
        ("next", ["One?", "One.", "And two?", "Two."]),
    ],
)
def test_a_request_opens_to_its_elements(
    store: Store, request_number: int, texts: list[str]
) -> None:
    """Role, text and size of every message, in the order in which the model is told."""
    store.put("t1", *TURNS)
    detail = store.host.read_stored_request_detail("t1", request_number)
    assert detail is not None
    assert detail.request == request_number
    assert [element.text for element in detail.elements] == texts
    roles = ["user", "assistant"] * 2
    assert [element.role for element in detail.elements] == roles[: len(texts)]
    assert [element.characters for element in detail.elements] == [len(text) for text in texts]
    assert detail.left_out == ()


def test_the_sums_of_a_request_are_those_of_its_elements(store: Store) -> None:
    """Elements and characters of the list are the ones that the request opens to."""
    store.put("t1", *TURNS)
    for request in cold(store).requests:
        detail = store.host.read_stored_request_detail("t1", request.index)
        assert detail is not None
        assert request.size.elements == len(detail.elements)
        assert request.size.characters == sum(e.characters for e in detail.elements)
        assert request.size.tokens == detail.tokens


def test_what_is_not_there_has_no_context(store: Store, tmp_path: Path) -> None:
    """No thread, one of a directory that is not served, no such request, no such entry: none."""
    store.put("t1", *TURNS)
    store.put("t2", *TURNS, directory=tmp_path / "elsewhere")
    host = store.host
    for thread_id in ("t0", "t2", "../t1"):
        assert host.read_stored_thread_context(thread_id) is None
        assert host.read_stored_request_detail(thread_id, "next") is None
        assert host.read_stored_entry(thread_id, "00000001") is None
    for request in (0, -1, 3):
        assert host.read_stored_request_detail("t1", request) is None
    assert host.read_stored_entry("t1", "nothing") is None


def test_looking_at_a_context_builds_and_writes_nothing(store: Store) -> None:
    """After sizes, elements and an entry were read, everything is as it was."""
    store.put("t1", *TURNS)
    before = store.trace()
    read = store.host.read_stored_thread("t1")
    assert read is not None
    assert cold(store).requests
    assert store.host.read_stored_request_detail("t1", "next") is not None
    assert store.host.read_stored_entry("t1", read.entries[0].id) is not None
    assert store.trace() == before
    assert store.built() == 0


def test_an_entry_is_shown_as_json(store: Store) -> None:
    """Whatever a store keeps of an entry, it is JSON with the entry's words, live and cold."""
    store.put("t1", *TURNS)
    read = store.host.read_stored_thread("t1")
    assert read is not None
    last = read.entries[-1].id
    shown = store.host.read_stored_entry("t1", last)
    assert shown is not None
    assert json.loads(shown)["id"] == last
    assert "Two." in shown
    assert store.host.create_session("t1", never).stored_entry(last) == shown


def test_a_live_context_is_the_one_that_is_read_cold_after_it(store: Store) -> None:
    """After each run: the same requests, sizes and elements, live and from the log."""
    run = Run(store.host.create_session("t1", lambda: store.project))
    for number in (1, 2):
        store.script.add(Reply(deltas=(f"Answer {number}.",)))
        run.prompt(f"Question {number}?")
        live = run.thread.branch_context()
        assert len(live.requests) == number
        assert live == cold(store)
        for request in (*range(1, number + 1), "next"):
            stored = store.host.read_stored_request_detail("t1", request)
            assert run.thread.branch_request_detail(request) == stored


def test_a_compaction_starts_the_context_anew(store: Store) -> None:
    """The request after it begins with the summary, and is marked; those before do not change."""
    run = Run(store.host.create_session("t1", lambda: store.project))
    store.script.add(Reply(deltas=("Something long.",)), Reply(deltas=("Go on.",)))
    run.prompt("Begin.")
    before = run.thread.branch_context().requests
    run.thread.runtime.compact()
    run.until_settled()
    run.prompt("And now?")
    context = run.thread.branch_context()
    assert context.requests[:1] == before
    assert [request.compacted for request in context.requests] == [False, True]
    detail = run.thread.branch_request_detail(2)
    assert detail.elements[0].role == "compactionSummary"
    assert detail.elements[-1].text == "And now?"
