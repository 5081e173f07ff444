"""What a thread used is told as pi counts it, and as a plain walk over its tree finds it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso.host.contract import BranchStats, joint_spend
from enso.host.session_log import read_session
from enso.host.stats import branch_stats
from enso.transcript import Usage
from tests.host.corpus import ALL, Recorded, host_over, place

Entry = dict[str, Any]
OPENED = [recorded for recorded in ALL if recorded.opened and recorded.says["size"]]
LISTED = [recorded for recorded in OPENED if recorded.listed]


def stats_of(entries: list[Entry]) -> BranchStats:
    """The stats of the entries of a file."""
    return branch_stats(entries, entries[-1]["id"] if entries else None)


def usage(cost: float = 0.5, **more: Any) -> Entry:
    """A stored usage."""
    counts = {"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 1}
    return {**counts, "cost": {"total": cost, **more}}


def message(entry_id: str, parent: str | None, role: str, **fields: Any) -> Entry:
    """A stored message."""
    return {"type": "message", "id": entry_id, "parentId": parent,
            "message": {"role": role, **fields}}  # fmt: skip


def call(call_id: str, name: str) -> Entry:
    """A tool call of an answer."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": {}}


# -- the recorded sessions ------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", OPENED, ids=str)
def test_a_recorded_session_counts_as_pi_counts_it(recorded: Recorded) -> None:
    """Tokens, dollars, answers and tool calls of the whole file; its parts add up to them."""
    log = read_session(recorded.path)
    assert log is not None
    stats, says = stats_of(log.entries), recorded.says["stats"]
    totals = stats.totals
    assert {
        "input": totals.input,
        "output": totals.output,
        "cacheRead": totals.cache_read,
        "cacheWrite": totals.cache_write,
        "total": totals.total_tokens,
    } == says["tokens"]
    assert totals.cost == pytest.approx(says["cost"], abs=1e-12)
    answers = [request for request in stats.requests if request.kind == "answer"]
    assert len(answers) == says["assistantMessages"]
    assert sum(tool.calls for tool in stats.tools) == says["toolCalls"]
    for parts in (stats.requests, stats.turns):
        added = sum((part.usage for part in parts if part.usage is not None), Usage())
        assert added.total_tokens == totals.total_tokens
        assert added.cost == pytest.approx(totals.cost, abs=1e-12)


@pytest.mark.parametrize("recorded", LISTED, ids=str)
def test_a_stored_thread_tells_the_stats_of_its_file(recorded: Recorded, tmp_path: Path) -> None:
    """Read through the host, with the totals that its cold read has."""
    place(recorded, tmp_path)
    host = host_over(tmp_path)
    stats = host.read_stored_thread_stats(recorded.listed["id"])
    read = host.read_stored_thread(recorded.listed["id"])
    assert stats is not None
    assert read is not None
    assert stats.stats.totals == read.usage
    host.close()


def test_what_recorded_forks_share_counts_once() -> None:
    """The sessions of one original, forked and cloned: each answer that was given, once."""
    logs = [read_session(r.path) for r in OPENED if r.says.get("scenario") == "fork-and-clone"]
    threads = [stats_of(log.entries) for log in logs if log is not None]
    ids = {request.entry_id for stats in threads for request in stats.requests}
    together = joint_spend(threads)
    assert together.requests == len(ids)
    assert sum(len(stats.requests) for stats in threads) > len(ids)


# -- durations ------------------------------------------------------------------------------------


def test_a_stored_duration_is_told() -> None:
    """``durationMs`` of an answer and of a result, as they stand there."""
    stats = stats_of(
        [
            message("u", None, "user", content="Go"),
            message("a", "u", "assistant", content=[call("c", "ls")], durationMs=40),
            message("r", "a", "toolResult", toolCallId="c", toolName="ls", durationMs=7),
        ]
    )
    assert stats.requests[0].duration_ms == 40
    assert [(tool.duration_ms, tool.timed) for tool in stats.tools] == [(7, 1)]


def test_times_tell_what_no_duration_does() -> None:
    """An answer took from its message's time to its entry's, a tool from there to its result's."""
    at = "2026-01-01T00:00:0{}.000Z"
    zero = 1_767_225_600_000
    entries = [
        message("u", None, "user", content="Go", timestamp=zero),
        message("a", "u", "assistant", content=[call("c", "ls")], timestamp=zero + 500),
        message("r", "a", "toolResult", toolCallId="c", toolName="ls", timestamp=zero + 2750),
        message("b", "r", "assistant", content="Done.", timestamp=zero + 3000),
    ]
    for number, entry in enumerate(entries):
        entry["timestamp"] = at.format(number + 1)
    stats = stats_of(entries)
    assert [request.duration_ms for request in stats.requests] == [1500, 1000]
    assert [(tool.duration_ms, tool.timed) for tool in stats.tools] == [(750, 1)]
    assert [turn.duration_ms for turn in stats.turns] == [4000]


def test_clocks_that_disagree_tell_nothing() -> None:
    """An answer that was stored before it began has no duration, and neither has its turn."""
    entries = [
        message("u", None, "user", content="Go", timestamp=9_000),
        message("a", "u", "assistant", content="x", timestamp=9_000),
    ]
    entries[1]["timestamp"] = "1970-01-01T00:00:01.000Z"
    stats = stats_of(entries)
    assert stats.requests[0].duration_ms is None
    assert stats.turns[0].duration_ms is None


# -- the tree -------------------------------------------------------------------------------------


def test_a_prompt_after_which_the_thread_went_two_ways_is_two_turns() -> None:
    """One on the branch and one beside it; both cost."""
    stats = stats_of(
        [
            message("u", None, "user", content="Go"),
            message("a", "u", "assistant", content="One.", usage=usage(0.25)),
            message("b", "u", "assistant", content="Two.", usage=usage(0.5)),
        ]
    )
    assert [(turn.prompt, turn.on_branch, turn.usage.cost) for turn in stats.turns] == [
        ("Go", True, 0.5),
        ("Go", False, 0.25),
    ]
    assert [request.on_branch for request in stats.requests] == [False, True]
    assert stats.totals.cost == 0.75


def test_an_entry_id_counts_once() -> None:
    """Of two entries with one id the later one, as on the branch."""
    stats = stats_of(
        [
            message("u", None, "user", content="Go"),
            message("a", "u", "assistant", content="One.", usage=usage(0.25)),
            message("a", "u", "assistant", content="Two.", usage=usage(0.5)),
        ]
    )
    assert [request.usage for request in stats.requests] == [stats.totals]
    assert stats.totals.cost == 0.5


def test_every_kind_of_request_counts() -> None:
    """Summaries, tools that asked a model, and entries made for it; before the first prompt too."""
    spent = {"usage": usage(0.125)}
    entries: list[Entry] = [
        {"type": "usage", "id": "w", "parentId": None, "model": "m", "provider": "p", **spent},
        message("u", "w", "user", content="Go"),
        message("a", "u", "assistant", content=[call("c", "ask")], **spent),
        message("r", "a", "toolResult", toolCallId="c", toolName="ask", isError=True, **spent),
        {"type": "compaction", "id": "k", "parentId": "r", "summary": "s", **spent},
        {"type": "compaction", "id": "n", "parentId": "k", "summary": "made by no model"},
        {"type": "branch_summary", "id": "s", "parentId": "n", "summary": "s", **spent},
    ]
    stats = stats_of(entries)
    assert [(r.kind, r.turn) for r in stats.requests] == [
        ("other", 0), ("answer", 1), ("tool", 1), ("compaction", 1), ("branch-summary", 1),
    ]  # fmt: skip
    assert (stats.requests[0].provider, stats.requests[0].model) == ("p", "m")
    assert [(t.prompt_id, t.requests, t.tool_errors) for t in stats.turns] == [
        (None, 1, 0),
        ("u", 4, 1),
    ]
    (tool,) = stats.tools
    assert (tool.calls, tool.errors, tool.usage) == (1, 1, stats.requests[2].usage)


def test_a_long_prompt_is_cut_to_its_beginning() -> None:
    """One line, bounded, whatever the prompt holds."""
    content = [{"type": "text", "text": "word\n" * 10_000}, {"type": "image"}, None, 7]
    (turn,) = stats_of([message("u", None, "user", content=content)]).turns
    assert turn.prompt == ("word " * 40)


# -- any tree -------------------------------------------------------------------------------------


USAGES = st.none() | st.builds(
    lambda cost, known: usage(cost, **({} if known else {"priceUnknown": True})),
    st.sampled_from([0.0, 0.25, 0.5]),
    st.booleans(),
)
NAMES = st.sampled_from(["bash", "read", ""])


@st.composite
def trees(draw: st.DrawFn) -> list[Entry]:
    """A file's entries: prompts, answers with calls, results, summaries, on many branches."""
    entries: list[Entry] = []
    for number in range(draw(st.integers(0, 25))):
        parents = [entry["id"] for entry in entries]
        at = draw(st.sampled_from([*parents[-3:], *parents, None])) if parents else None
        entries.append(draw(any_entry(f"e{number}", at)))
    return entries


@st.composite
def any_entry(draw: st.DrawFn, entry_id: str, parent: str | None) -> Entry:
    """One entry; a result is perhaps of a call that was made before."""
    kind = draw(st.sampled_from(["user", "answer", "answer", "result", "result", "other"]))
    spent = {"usage": draw(USAGES)}
    if kind == "user":
        return message(entry_id, parent, "user", content="Go")
    if kind == "answer":
        names = draw(st.lists(NAMES, max_size=3))
        calls = [call(draw(st.sampled_from(["c1", "c2"])), name) for name in names]
        reason = draw(st.sampled_from(["stop", "error", "aborted", "length", None]))
        return message(entry_id, parent, "assistant", content=calls, stopReason=reason, **spent)
    if kind == "result":
        call_id = draw(st.sampled_from(["c1", "c2", "c3"]))
        failed = draw(st.booleans())
        return message(entry_id, parent, "toolResult", toolCallId=call_id, isError=failed,
                       durationMs=draw(st.none() | st.just(5)), **spent)  # fmt: skip
    named = draw(st.sampled_from(["compaction", "branch_summary", "usage", "custom"]))
    return {"type": named, "id": entry_id, "parentId": parent, **spent}


class PlainWalk:
    """The same questions answered one by one, each with a walk of its own."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.by_id = {entry["id"]: entry for entry in entries}
        self.branch = {e["id"] for e in self.up(entries[-1])} if entries else set[str]()

    def up(self, entry: Entry) -> list[Entry]:
        """The entry and all above it."""
        parent = entry["parentId"]
        return [entry, *(self.up(self.by_id[parent]) if parent is not None else [])]

    @staticmethod
    def role(entry: Entry) -> str:
        """A message's role, another entry's type."""
        return entry["message"]["role"] if entry["type"] == "message" else entry["type"]

    def prompt(self, entry: Entry) -> str | None:
        """The nearest prompt above."""
        return next((one["id"] for one in self.up(entry) if self.role(one) == "user"), None)

    def answer(self, entry: Entry) -> Entry | None:
        """The nearest answer above, in the same turn."""
        roles = ((one, self.role(one)) for one in self.up(entry))
        found = next(((one, role) for one, role in roles if role in ("user", "assistant")), None)
        return found[0] if found and found[1] == "assistant" else None

    def asks(self, entry: Entry) -> bool:
        """Whether a model was asked for it."""
        told = entry.get("message", entry).get("usage") is not None
        spends = ("toolResult", "compaction", "branch_summary", "usage")
        return self.role(entry) == "assistant" or (told and self.role(entry) in spends)

    def cost(self, entries: list[Entry]) -> tuple[int, float, int]:
        """Input tokens, dollars, and requests of unknown price."""
        used = [entry.get("message", entry).get("usage") for entry in entries]
        there = [one for one in used if one is not None]
        unknown = sum("priceUnknown" in one["cost"] for one in there)
        return 10 * len(there), sum(one["cost"]["total"] for one in there), unknown

    def results(self) -> list[tuple[Entry, Entry, int]]:
        """Each result with the answer that called it, and which call of that id it is of."""
        found: list[tuple[Entry, Entry, int]] = []
        seen: Counter[tuple[str, str]] = Counter()
        for entry in self.entries:
            answer = self.answer(entry)
            if self.role(entry) != "toolResult" or answer is None:
                continue
            key = answer["id"], entry["message"]["toolCallId"]
            if any(one["id"] == key[1] for one in answer["message"]["content"]):
                found.append((entry, answer, seen[key]))
                seen[key] += 1
        return found

    def called(self, result: tuple[Entry, Entry, int]) -> Entry:
        """The call that a result is of: the last of its id when there are more results."""
        entry, answer, number = result
        named = entry["message"]["toolCallId"]
        calls = [one for one in answer["message"]["content"] if one["id"] == named]
        return calls[min(number, len(calls) - 1)]


@given(trees())
def test_any_tree_is_told_as_a_plain_walk_finds_it(entries: list[Entry]) -> None:
    """Requests, turns, tools and totals, on the branch and beside it."""
    stats, plain = stats_of(entries), PlainWalk(entries)
    asked = [entry for entry in entries if plain.asks(entry)]
    assert [(r.entry_id, r.on_branch) for r in stats.requests] == [
        (entry["id"], entry["id"] in plain.branch) for entry in asked
    ]
    totals = stats.totals
    assert (totals.input, totals.cost, totals.unpriced_requests) == plain.cost(asked)
    for request, entry in zip(stats.requests, asked, strict=True):
        turn = stats.turns[request.turn]
        assert (turn.prompt_id, turn.on_branch) == (plain.prompt(entry), request.on_branch)
    results = plain.results()
    for index, turn in enumerate(stats.turns):
        own = [e for e, r in zip(asked, stats.requests, strict=True) if r.turn == index]
        assert (turn.usage.input, turn.usage.cost, turn.usage.unpriced_requests) == plain.cost(own)
        failed = [
            result for result, _, _ in results
            if result["message"]["isError"]
            and (plain.prompt(result), result["id"] in plain.branch)
            == (turn.prompt_id, turn.on_branch)
        ]  # fmt: skip
        assert (turn.requests, turn.tool_errors) == (len(own), len(failed))
    calls = [c for e in entries if plain.role(e) == "assistant" for c in e["message"]["content"]]
    for tool in stats.tools:
        own = [result for result in results if plain.called(result)["name"] == tool.name]
        assert tool.calls == sum(one["name"] == tool.name for one in calls)
        assert tool.errors == sum(result["message"]["isError"] for result, _, _ in own)
        assert tool.timed == sum(r["message"]["durationMs"] is not None for r, _, _ in own)
        answered = {id(plain.called(result)) for result in own}
        assert tool.unanswered == tool.calls - len(answered)
    assert {tool.name for tool in stats.tools} == {one["name"] for one in calls}


HOSTILE = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "id": st.sampled_from("abcd"),
                "parentId": st.sampled_from(["a", "b", "c", "d", "gone", None]),
                "type": st.just("message") | HOSTILE,
            },
            optional={
                "timestamp": HOSTILE,
                "usage": HOSTILE,
                "message": HOSTILE
                | st.fixed_dictionaries(
                    {"role": st.sampled_from(["user", "assistant", "toolResult"]) | HOSTILE},
                    optional={
                        "content": HOSTILE | st.lists(HOSTILE | st.just({"type": "toolCall"})),
                        "timestamp": HOSTILE,
                        "durationMs": HOSTILE,
                        "stopReason": HOSTILE,
                        "toolCallId": HOSTILE,
                    },
                ),
            },
        ),
        max_size=8,
    )
)
def test_anything_that_can_stand_in_a_file_is_counted_without_an_error(entries: Any) -> None:
    """Cycles, parents that are gone, ids that come again, values of any type."""
    stats = stats_of(entries)
    assert {request.turn for request in stats.requests} <= set(range(len(stats.turns)))
    assert sum(turn.requests for turn in stats.turns) == len(stats.requests)
