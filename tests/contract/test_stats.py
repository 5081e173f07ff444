"""What a thread used is told alike by every store: run over session files and over the fake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from enso.host.contract import BranchStats, joint_spend
from enso.transcript import Refusal, ToolCallPart, Usage
from tests.contract.stores import FakeStore, FileStore, Store
from tests.contract.test_agent_host import NOT_IDS, Run
from tests.fakes.scripted_runtime import Reply

CALL = ToolCallPart("call_1", "bash", {"command": "make"})
REFUSAL = Refusal(
    provider="Scripted", model="script-1", refusal_class="overloaded", status=503, reason="Busy."
)
KNOWN = Usage(input=100, output=20, cache_read=30, cache_write=4, cost=0.25)
UNKNOWN = Usage(input=7, output=1, cost_known=False)


@pytest.fixture(params=[FileStore, FakeStore], ids=["files", "fake"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with nothing in it."""
    made: Store = request.param(tmp_path)
    yield made
    made.host.close()


@pytest.fixture
def run(store: Store) -> Run:
    """A new thread, live."""
    return Run(store.host.create_session("t1", lambda: store.project))


def cold(store: Store, thread_id: str = "t1") -> BranchStats:
    """What a stored thread used, read cold."""
    read = store.host.read_stored_thread_stats(thread_id)
    assert read is not None
    assert (read.id, read.cwd) == (thread_id, store.project)
    return read.stats


def test_each_request_tells_its_own(store: Store, run: Run) -> None:
    """Tokens, cost, model, turn and calls of each answer, in their order."""
    store.script.add(
        Reply(deltas=("Look.",), tool_call=CALL, result="made", usage=KNOWN),
        Reply(usage=UNKNOWN),
    )
    run.prompt("Build it")
    run.prompt("Thanks")
    requests = cold(store).requests
    assert [(r.kind, r.turn, r.usage, r.tool_calls, r.outcome) for r in requests] == [
        ("answer", 0, KNOWN, 1, "done"),
        ("answer", 0, UNKNOWN, 0, "done"),
        ("answer", 1, Usage(input=10, output=5, cost=0.001), 0, "done"),
    ]
    assert {(r.provider, r.model, r.on_branch) for r in requests} == {
        ("scripted", "script-1", True)
    }


def test_a_turn_is_a_prompt_and_all_that_followed(store: Store, run: Run) -> None:
    """Its requests, its tokens and cost, its calls and errors, and how its prompt begins."""
    store.script.add(Reply(tool_call=CALL, result="made", usage=KNOWN), Reply(usage=KNOWN))
    run.prompt("Build it")
    run.prompt("Thanks")
    first, second = cold(store).turns
    assert (first.prompt, second.prompt) == ("Build it", "Thanks")
    assert (first.requests, first.tool_calls, first.tool_errors) == (2, 1, 0)
    assert (second.requests, second.tool_calls) == (1, 0)
    assert first.usage == KNOWN + KNOWN
    assert first.prompt_id != second.prompt_id
    assert first.duration_ms is not None


def test_a_tool_is_counted_with_its_failures(store: Store, run: Run) -> None:
    """Calls, errors, and the calls that never got a result."""
    other = ToolCallPart("call_2", "read", {"path": "a"})
    store.script.add(
        Reply(tool_call=CALL, result="made"),
        Reply(tool_call=ToolCallPart("call_3", "bash", {}), result="made"),
        Reply(tool_call=other),
    )
    run.prompt("Build it")
    tools = {tool.name: tool for tool in cold(store).tools}
    assert [(t.name, t.calls, t.errors, t.unanswered) for t in tools.values()] == [
        ("bash", 2, 0, 0),
        ("read", 1, 0, 1),
    ]


def test_an_unknown_price_stays_unknown(store: Store, run: Run) -> None:
    """Sums say that they are partial, and how many requests they do not know the price of."""
    store.script.add(Reply(usage=KNOWN), Reply(usage=UNKNOWN), Reply(usage=UNKNOWN))
    for _ in range(3):
        run.prompt("Hi")
    stats = cold(store)
    totals = stats.totals
    assert (totals.cost, totals.cost_known, totals.unpriced_requests) == (0.25, False, 2)
    assert [turn.usage.unpriced_requests for turn in stats.turns] == [0, 1, 1]


def test_a_refused_attempt_is_a_request_of_its_turn(store: Store, run: Run) -> None:
    """It is told as refused, and the next prompt begins another turn."""
    store.script.add(Reply(refusal=REFUSAL, deltas=(), usage=Usage()))
    run.prompt("Hi")
    run.prompt("Again")
    stats = cold(store)
    assert [request.outcome for request in stats.requests] == ["refused", "done"]
    assert [(turn.requests, turn.refused) for turn in stats.turns] == [(1, 1), (1, 0)]


def test_stats_are_the_same_live_and_cold(store: Store, run: Run) -> None:
    """And their totals are the thread's spend, to which requests and turns add up."""
    store.script.add(Reply(tool_call=CALL, result="made", usage=KNOWN), Reply(usage=UNKNOWN))
    run.prompt("Build it")
    run.prompt("Again")
    stats = run.thread.branch_stats()
    assert stats == cold(store)
    assert stats.totals == run.thread.usage()
    usages = [request.usage for request in stats.requests]
    assert sum(usages, Usage()) == stats.totals
    assert sum((turn.usage for turn in stats.turns), Usage()) == stats.totals


def test_a_thread_that_only_waits_has_a_turn_without_requests(store: Store) -> None:
    """An unanswered prompt cost nothing, and is there."""
    store.put("t1", ("user", "Hi"))
    stats = cold(store)
    assert [(turn.prompt, turn.requests, turn.usage) for turn in stats.turns] == [
        ("Hi", 0, Usage())
    ]
    assert (stats.requests, stats.tools, stats.totals) == ((), (), Usage())


def test_what_forks_share_counts_once(store: Store, run: Run) -> None:
    """Added up, a thread and its fork cost what both spent, not what they share twice."""
    store.script.add(Reply(usage=KNOWN), Reply(usage=UNKNOWN))
    run.prompt("First")
    run.prompt("Second")
    store.host.fork("t1", None, "t2")
    fork = Run(store.host.create_session("t2", lambda: store.project))
    store.script.add(Reply(usage=KNOWN))
    fork.prompt("Third")
    first, second = cold(store, "t1"), cold(store, "t2")
    assert (len(first.requests), len(second.requests)) == (2, 3)
    together = joint_spend([first, second])
    assert together.requests == 3
    assert together.usage == KNOWN + UNKNOWN + KNOWN
    assert together.usage.unpriced_requests == 1
    assert joint_spend([first]).usage == first.totals
    assert joint_spend([]).usage == Usage()


def test_what_cannot_be_read_has_no_stats(store: Store, tmp_path: Path) -> None:
    """An unknown id, what is no id, and a thread of a directory that is not served."""
    store.put("t1", ("user", "Hi"), directory=tmp_path / "elsewhere")
    for thread_id in ("t1", "unknown", *NOT_IDS):
        assert store.host.read_stored_thread_stats(thread_id) is None


def test_reading_stats_builds_and_writes_nothing(store: Store) -> None:
    """Looking leaves no trace."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    before = store.trace()
    cold(store)
    assert store.trace() == before
    assert store.built() == 0
