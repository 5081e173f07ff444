"""Summing up: what is cut where, what is stored, and when it happens by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import (
    EntryStored,
    PromptRefused,
    RunNotice,
    RunSettled,
)
from enso.host.runtimes.builtin.compaction import plan_compaction
from enso.host.session_log import branch_of, read_session
from enso.transcript import TranscriptMarker
from tests.host.corpus import CORPUS
from tests.model_server import Gate, ModelServer, Reply, refused
from tests.runtimes.agent_files import change_model, write_json
from tests.runtimes.live_thread import LiveThread, assistant, user

WORDS = "word " * 2000  # 2,500 tokens


def keep(thread: LiveThread, tokens: int, **more: Any) -> None:
    """Set how much of a conversation is kept, and nothing else."""
    settings = {"compaction": {"keepRecentTokens": tokens, **more}, "retry": {"baseDelayMs": 1}}
    write_json(thread.runtimes.agent_dir / "settings.json", settings)


def fill(thread: LiveThread, server: ModelServer, used: int = 30_000) -> None:
    """Make a conversation of two turns, of which the second is kept.

    Its provider counts ``used`` tokens and 100, of a window of 32,768.
    """
    usage = {"input": used, "output": 100}
    server.script([Reply(text=("Yes. ",)), Reply(text=("Yes.",), usage=usage)])
    keep(thread, 2000, enabled=False)
    for turn in range(2):
        thread.run(f"{turn}: {WORDS}")
    keep(thread, 2000)


def stored(thread: LiveThread) -> list[dict[str, Any]]:
    """The stored compactions."""
    return [line for line in thread.lines() if line["type"] == "compaction"]


def sent_text(server: ModelServer, index: int = -1) -> str:
    """All of a request, as text."""
    return json.dumps(server.requests()[index].body["messages"])


# -- the cut, against real pi ---------------------------------------------------------------------


def recorded() -> list[tuple[str, list[dict[str, Any]], dict[str, Any]]]:
    """The branch before each compaction that pi recorded, and what it stored."""
    found: list[tuple[str, list[dict[str, Any]], dict[str, Any]]] = []
    for path in sorted((CORPUS / "sessions").rglob("*.jsonl")):
        log = read_session(path)
        entries = log.entries if log is not None else []
        for index, entry in enumerate(entries):
            if entry["type"] == "compaction":
                name = f"{path.stem[-12:]}-{index}"
                found.append((name, branch_of(entries, entry["parentId"]), entry))
    return found


RECORDED = recorded()


@pytest.mark.parametrize("name, branch, entry", RECORDED, ids=[name for name, _, _ in RECORDED])
def test_a_recorded_conversation_is_cut_where_pi_cut_it(
    name: str, branch: list[dict[str, Any]], entry: dict[str, Any]
) -> None:
    """By some number of tokens to keep, with pi's lists of files."""
    plans = [plan_compaction(branch, keep=keep) for keep in range(1, 20_000, 7)]
    same = [plan for plan in plans if plan and plan.first_kept == entry["firstKeptEntryId"]]
    assert same
    assert same[0].details == entry["details"]
    assert ("Turn Context (split turn)" in entry["summary"]) == bool(same[0].turn)


def test_nothing_is_cut_from_a_short_or_a_just_compacted_branch() -> None:
    """There is nothing to sum up."""
    _, branch, entry = RECORDED[0]
    assert plan_compaction(branch, keep=1_000_000) is None
    assert plan_compaction([*branch, entry], keep=1) is None
    assert plan_compaction([], keep=1) is None


# -- by hand --------------------------------------------------------------------------------------


def test_a_conversation_is_summed_up_by_hand(thread: LiveThread, server: ModelServer) -> None:
    """Stored with pi's fields in pi's order; the next prompt goes out behind the summary."""
    fill(thread, server)
    server.script([Reply(text=("## Goal\n", "Say yes."), usage={"input": 900, "output": 30})])
    runs = len(thread.told(RunSettled))
    thread.runtime.compact("the numbers")
    assert thread.wait_settled(runs + 1) == RunSettled("complete")
    (entry,) = stored(thread)
    assert list(entry) == [
        *("type", "id", "parentId", "timestamp", "summary", "firstKeptEntryId"),
        *("tokensBefore", "details", "usage", "fromHook", "systemMessage"),
    ]
    users = [line["id"] for line in thread.lines() if line.get("message", {}).get("role") == "user"]
    assert entry["firstKeptEntryId"] == users[-1]
    assert entry["summary"] == "## Goal\nSay yes."
    assert (entry["tokensBefore"], entry["usage"]["totalTokens"]) == (30_100, 930)
    assert entry["systemMessage"]["sections"] == thread.messages()[0]["sections"]
    assert entry["systemMessage"]["toolsAdded"] == thread.messages()[0]["toolsAdded"]
    assert "the numbers" in sent_text(server)
    assert "tools" not in server.requests()[-1].body
    marker = thread.told(EntryStored)[-1].entry
    assert isinstance(marker, TranscriptMarker)
    assert thread.activities[-1] == "compacting"
    thread.run("And now?")
    sent = sent_text(server)
    assert "Say yes." in sent
    assert "0: word" not in sent
    assert "1: word" in sent
    assert tuple(thread.stored_live()) == thread.read_cold()


def test_a_turn_that_is_parted_is_summed_up_by_itself(
    thread: LiveThread, server: ModelServer
) -> None:
    """Two requests, one summary: pi's line is between the parts."""
    fill(thread, server)
    write_json(thread.runtimes.agent_dir / "settings.json", {"compaction": {"keepRecentTokens": 1}})
    usage = {"input": 500, "output": 10}
    server.script([Reply(text=("History.",), usage=usage), Reply(text=("Turn.",), usage=usage)])
    runs = len(thread.told(RunSettled))
    thread.runtime.compact()
    assert thread.wait_settled(runs + 1) == RunSettled("complete")
    (entry,) = stored(thread)
    assert entry["summary"] == "History.\n\n---\n\n**Turn Context (split turn):**\n\nTurn."
    assert entry["usage"]["totalTokens"] == 1020


def test_a_second_summary_brings_the_first_up_to_date(
    thread: LiveThread, server: ModelServer
) -> None:
    """It is asked for with the summary before it, and with what came since."""
    fill(thread, server)
    server.script([Reply(text=("First summary.",)), Reply(text=("Ok.",)), Reply(text=("Second.",))])
    thread.runtime.compact()
    thread.wait_settled(3)
    thread.run(f"2: {WORDS}")
    thread.runtime.compact()
    thread.wait_settled(5)
    assert "First summary." in sent_text(server)
    assert "1: word" in sent_text(server)
    assert [entry["summary"] for entry in stored(thread)] == ["First summary.", "Second."]


def test_what_cannot_be_summed_up_is_refused(thread: LiveThread) -> None:
    """An empty thread, and one that is short: no run begins, and no file."""
    for _ in range(2):
        with pytest.raises(PromptRefused) as refusal:
            thread.runtime.compact()
        assert refusal.value.code == "nothing-to-compact"
    assert thread.events == []
    assert thread.lines() == []


@pytest.mark.parametrize(
    "reply, why",
    [
        (refused("401"), "authentication (401)"),
        (Reply(text=("Half",), finish="length"), "was cut before its end"),
        (Reply(text=()), "wrote nothing"),
    ],
    ids=["refused", "cut", "empty"],
)
def test_a_summary_that_fails_is_said_and_changes_nothing(
    reply: Reply, why: str, thread: LiveThread, server: ModelServer
) -> None:
    """The file is as it was; the person reads why."""
    fill(thread, server)
    before = thread.session.path.read_bytes()
    server.script([reply])
    runs = len(thread.told(RunSettled))
    thread.runtime.compact()
    assert thread.wait_settled(runs + 1) == RunSettled("failed")
    assert thread.session.path.read_bytes() == before
    assert why in thread.told(RunNotice)[-1].sentence


def test_a_summary_is_tried_again_like_an_answer(thread: LiveThread, server: ModelServer) -> None:
    """A passing refusal stores nothing: only the summary that came."""
    fill(thread, server)
    server.script([refused("503"), Reply(text=("Summary.",))])
    runs = len(thread.told(RunSettled))
    thread.runtime.compact()
    assert thread.wait_settled(runs + 1) == RunSettled("complete")
    assert thread.activities[-3:] == ["compacting", "retry-wait", "compacting"]
    assert thread.kinds()[-2:] == ["message:assistant", "compaction"]


def test_what_is_said_while_it_is_summed_up_is_answered_behind_it(
    thread: LiveThread, server: ModelServer
) -> None:
    """In the same run: nothing that was queued is lost."""
    fill(thread, server)
    gate = Gate()
    server.script([Reply(text=("Summary.",), first_gate=gate), *[Reply(text=("Yes.",))] * 2])
    thread.runtime.compact()
    gate.reached.wait(20)
    thread.runtime.queue("One", when="after")
    thread.runtime.queue("Two", when="steer")
    gate.open()
    assert thread.wait_settled(3) == RunSettled("complete")
    kinds = ["compaction", *["message:user", "message:assistant"] * 2]
    assert thread.kinds()[-5:] == kinds
    prompts = [m["content"][0]["text"] for m in thread.messages() if m["role"] == "user"]
    assert prompts[-2:] == ["Two", "One"]


# -- by itself ------------------------------------------------------------------------------------


def test_a_context_that_is_nearly_full_is_summed_up_before_the_next_prompt(
    thread: LiveThread, server: ModelServer
) -> None:
    """First the summary, then the prompt, in one run; the answer sees the summary."""
    fill(thread, server)
    server.script([Reply(text=("Summary.",)), Reply(text=("Answer.",))])
    assert thread.run("Next") == RunSettled("complete")
    assert thread.kinds()[-3:] == ["compaction", "message:user", "message:assistant"]
    assert "Summary." in sent_text(server)
    assert "compacting" in thread.activities


def test_a_context_that_an_answer_fills_is_summed_up_after_it(
    thread: LiveThread, server: ModelServer
) -> None:
    """While the run is still in flight: the next prompt finds room."""
    fill(thread, server, used=100)
    full = {"input": 31_000, "output": 9}
    server.script([Reply(text=("Answer.",), usage=full), Reply(text=("Summary.",))])
    assert thread.run("Next") == RunSettled("complete")
    assert thread.kinds()[-2:] == ["message:assistant", "compaction"]


def test_it_is_summed_up_between_tools(
    thread: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """A long run of calls makes room for itself, and goes on with its results."""
    (tmp_path / "a.txt").write_text("content of a\n")
    tools = [{"name": "read", "args": {"path": "a.txt"}}]
    fill(thread, server, used=100)
    write_json(thread.runtimes.agent_dir / "settings.json", {"compaction": {"keepRecentTokens": 1}})
    server.script(
        [
            Reply(tools=tools, usage={"input": 31_000, "output": 9}),
            Reply(text=("Summary.",)),
            Reply(text=("Turn.",)),
            Reply(text=("Answer.",)),
        ]
    )
    assert thread.run("Look") == RunSettled("complete")
    assert thread.kinds()[-4:] == [
        "message:assistant",
        "message:toolResult",
        "compaction",
        "message:assistant",
    ]
    assert "content of a" in sent_text(server)


def test_a_summary_that_fails_by_itself_is_said_once_and_the_run_goes_on(
    thread: LiveThread, server: ModelServer
) -> None:
    """The prompt is answered all the same."""
    fill(thread, server)
    full = {"input": 31_000, "output": 9}
    server.script([refused("401"), Reply(text=("Answer.",), usage=full)])
    assert thread.run("Next") == RunSettled("complete")
    assert stored(thread) == []
    assert len(thread.told(RunNotice)) == 1
    assert "could not be summed up" in thread.told(RunNotice)[0].sentence


def test_switched_off_it_never_happens_by_itself(thread: LiveThread, server: ModelServer) -> None:
    """As the settings say."""
    fill(thread, server)
    keep(thread, 2000, enabled=False)
    thread.run("Next")
    assert stored(thread) == []


# -- a context that overflows ---------------------------------------------------------------------


def long_conversation(thread: LiveThread, server: ModelServer) -> None:
    """A conversation of which the provider counts little, so that only a refusal tells."""
    change_model(thread.runtimes.agent_dir, "labserver", {"contextWindow": 200_000})
    fill(thread, server)


def test_an_overflow_is_summed_up_and_tried_again_once(
    thread: LiveThread, server: ModelServer
) -> None:
    """The refused attempt stays on the branch, out of the context; then comes the answer."""
    long_conversation(thread, server)
    server.script([refused("context"), Reply(text=("Summary.",)), Reply(text=("Answer.",))])
    assert thread.run("Next") == RunSettled("complete")
    kinds = ["message:user", "message:assistant", "context_edit", "compaction", "message:assistant"]
    assert thread.kinds()[-5:] == kinds
    attempt = thread.lines()[-4]
    assert thread.lines()[-3]["targetId"] == attempt["id"]
    assert thread.lines()[-3]["replacement"] is None
    assert "Summary." in sent_text(server)
    assert "Next" in sent_text(server)
    assert tuple(thread.stored_live()) == thread.read_cold()


def test_an_overflow_that_stays_is_a_refusal(thread: LiveThread, server: ModelServer) -> None:
    """One recovery, not a loop: the second refusal is the answer, and it is said."""
    long_conversation(thread, server)
    server.script([refused("context"), Reply(text=("Summary.",)), refused("context")])
    settled = thread.run("Next")
    assert settled.outcome == "refused"
    assert settled.refusal is not None
    assert settled.refusal.refusal_class == "context length"
    assert "does not fit" in thread.told(RunNotice)[-1].sentence
    assert thread.kinds()[-1] == "message:assistant"


def test_an_overflow_that_cannot_be_summed_up_is_stored_as_pi_stores_it(
    thread: LiveThread, server: ModelServer
) -> None:
    """The attempt is left out of the context, the refusal is the settlement."""
    server.script([refused("context")])
    settled = thread.run("Short")
    assert settled.outcome == "refused"
    assert thread.kinds()[-2:] == ["message:assistant", "context_edit"]


def test_an_answer_that_was_cut_for_want_of_room_is_asked_for_again(
    thread: LiveThread, server: ModelServer
) -> None:
    """It ended below the model's own limit, and there is something to sum up."""
    long_conversation(thread, server)
    cut = Reply(text=("Half",), finish="length", usage={"input": 100, "output": 10})
    server.script([cut, Reply(text=("Summary.",)), Reply(text=("Whole.",))])
    assert thread.run("Next") == RunSettled("complete")
    assert thread.last_answer["content"][0]["text"] == "Whole."
    assert "Half" not in sent_text(server)


def test_an_answer_that_was_cut_stays_when_nothing_can_be_summed_up(
    thread: LiveThread, server: ModelServer
) -> None:
    """Then the model keeps what it wrote, and may go on from there."""
    server.script([Reply(text=("Half",), finish="length"), Reply(text=("Rest.",))])
    assert thread.run("Write") == RunSettled("complete")
    assert thread.kinds()[-1] == "message:assistant"
    thread.run("Go on")
    assert "Half" in sent_text(server)


def test_a_conversation_of_another_program_is_summed_up(
    make_runtimes: Any, tmp_path: Path, server: ModelServer
) -> None:
    """Entries of any kind on the branch do no harm."""
    from tests.runtimes.live_thread import stored_thread

    odd = {"type": "message", "message": {"role": "martian", "content": 7}}
    entries = [user(WORDS), assistant("A."), odd, {"type": "custom"}, user("B?"), assistant("B.")]
    write_json(tmp_path / "agent" / "settings.json", {"compaction": {"keepRecentTokens": 1}})
    thread = stored_thread(make_runtimes("labserver/lab-coder"), tmp_path, entries)
    server.script([Reply(text=("Summary.",)), Reply(text=("Turn.",))])
    thread.runtime.compact()
    assert thread.wait_settled() == RunSettled("complete")
    assert len(stored(thread)) == 1
