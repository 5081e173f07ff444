"""From transcript entries to messages: pairing, states, what is left out, how a branch ends."""

from __future__ import annotations

import gc
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso import transcript, wire
from enso.host.decode import decode_branch
from enso.host.session_file import SessionFile
from enso.server.messages import (
    MessageAssembler,
    interrupted_tail,
    settled,
    transcript_to_messages,
)
from enso.server.shapes import streaming_part

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
EXPECTED = json.loads((CORPUS / "expected.json").read_text())["files"]


def user(text: str, *more: transcript.Part, **fields: Any) -> transcript.TranscriptMessage:
    """A prompt."""
    return transcript.TranscriptMessage(
        id="u", role="user", parts=(transcript.TextPart(text), *more), **fields
    )


def agent(
    *parts: transcript.Part,
    entry_id: str = "a",
    **fields: Any,
) -> transcript.TranscriptMessage:
    """A reply."""
    return transcript.TranscriptMessage(id=entry_id, role="assistant", parts=parts, **fields)


def call(call_id: str, name: str = "read", arguments: Any = None) -> transcript.ToolCallPart:
    """A tool call."""
    return transcript.ToolCallPart(call_id, name, arguments or {})


def result(
    call_id: str,
    text: str = "",
    *,
    entry_id: str = "r",
    **fields: Any,
) -> transcript.TranscriptToolResult:
    """A tool's answer."""
    parts = (transcript.TextPart(text),)
    return transcript.TranscriptToolResult(
        id=entry_id, tool_call_id=call_id, tool_name="read", parts=parts, **fields
    )


def calls_of(message: wire.Message) -> list[wire.ToolCallPart]:
    """The tool calls of a message."""
    return [part for part in message.parts if isinstance(part, wire.ToolCallPart)]


def text_of(answer: wire.ToolResult) -> str:
    """A result's text."""
    return "".join(part.content for part in answer.content if isinstance(part, wire.TextPart))


def answers(messages: Sequence[wire.Message]) -> list[tuple[str, str, str | None]]:
    """Every call as (id, state, the text of its result)."""
    told: list[tuple[str, str, str | None]] = []
    for message in messages:
        for one in calls_of(message):
            text = text_of(one.result) if one.result else None
            told.append((one.id, one.state, text))
    return told


# -- pairing ------------------------------------------------------------------------------------


def test_a_tool_result_is_read_inside_the_message_that_called() -> None:
    """A call and its answer are one part of one message; the result is no message of its own."""
    messages = transcript_to_messages(
        [
            user("look"),
            agent(call("c1"), stop_reason="tool-use"),
            result("c1", "found", details={"diff": "+a"}, duration_ms=40),
        ]
    )
    assert [message.role for message in messages] == ["user", "assistant"]
    (part,) = calls_of(messages[1])
    assert part.result == wire.ToolResult(
        content=[wire.TextPart(content="found")], is_error=False, details={"diff": "+a"}
    )
    assert (part.state, part.duration_ms) == ("done", 40)


def test_results_of_parallel_calls_are_paired_in_any_order() -> None:
    """Each answer reaches its own call, whichever came first."""
    entries = [agent(*(call(f"c{n}") for n in range(3)))]
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        arrived = [result(f"c{n}", f"answer {n}") for n in order]
        assert answers(transcript_to_messages([*entries, *arrived])) == [
            (f"c{n}", "done", f"answer {n}") for n in range(3)
        ]


def test_a_result_whose_call_is_not_on_the_branch_is_dropped() -> None:
    """An answer to a call of another branch is shown nowhere."""
    messages = transcript_to_messages([user("x"), result("elsewhere", "lost"), agent()])
    assert len(messages) == 2
    assert "lost" not in messages[0].model_dump_json() + messages[1].model_dump_json()


def test_an_id_that_every_turn_repeats_answers_the_newest_call() -> None:
    """Models that number their calls anew in each turn do not get answers mixed up."""
    entries = [
        agent(call("call_0"), entry_id="a1"),
        result("call_0", "first"),
        agent(call("call_0"), entry_id="a2"),
        agent(call("call_0"), entry_id="a3"),
        result("call_0", "third"),
        result("call_0", "nobody's"),
    ]
    assert answers(transcript_to_messages(entries)) == [
        ("call_0", "done", "first"),
        ("call_0", "interrupted", None),
        ("call_0", "done", "third"),
    ]


def test_two_calls_of_one_id_in_one_message_are_answered_in_order() -> None:
    """A hostile pair of calls under one id takes one answer each; a third answer is dropped."""
    entries = [agent(call("same"), call("same")), *(result("same", str(n)) for n in range(3))]
    assert answers(transcript_to_messages(entries)) == [
        ("same", "done", "0"),
        ("same", "done", "1"),
    ]


# -- states -------------------------------------------------------------------------------------


def test_a_failed_tool_is_failed_and_one_without_an_answer_is_interrupted() -> None:
    """What went wrong is never told as done."""
    entries = [agent(call("bad"), call("cut")), result("bad", "no", is_error=True)]
    assert [state for _, state, _ in answers(transcript_to_messages(entries))] == [
        "failed",
        "interrupted",
    ]


def test_a_call_runs_while_its_run_does_and_is_interrupted_when_that_ends_without_it() -> None:
    """The assembler tells which messages a run's end changed."""
    assembler = MessageAssembler(running=True)
    assert assembler.feed(user("go")) == [0]
    assert assembler.feed(agent(call("c1"), call("c2"))) == [1]
    assert [state for _, state, _ in answers(assembler.messages)] == ["running", "running"]
    assert assembler.feed(result("c2", "two")) == [1]
    assert [state for _, state, _ in answers(assembler.messages)] == ["running", "done"]
    assert assembler.set_running(False) == [1]
    assert [state for _, state, _ in answers(assembler.messages)] == ["interrupted", "done"]


def test_a_call_that_died_in_an_earlier_run_does_not_come_back_to_life() -> None:
    """A new run leaves the interrupted calls before it as they are."""
    assembler = MessageAssembler()
    assembler.feed(agent(call("dead"), entry_id="a1"))
    assert assembler.set_running(True) == []
    assembler.feed(user("again"))
    assembler.feed(agent(call("alive"), entry_id="a2"))
    assert [state for _, state, _ in answers(assembler.messages)] == ["interrupted", "running"]


def test_a_message_that_follows_ends_the_calls_before_it() -> None:
    """Feeding a message tells that the one before it changed, when a call of that was cut off."""
    assembler = MessageAssembler(running=True)
    assembler.feed(agent(call("c1"), entry_id="a1"))
    assert assembler.feed(agent(entry_id="a2")) == [0, 1]
    assert answers(assembler.messages) == [("c1", "interrupted", None)]


@pytest.mark.parametrize("ending", ["error", "aborted"])
def test_the_calls_of_a_refused_or_stopped_attempt_do_not_run(ending: Any) -> None:
    """An attempt that ended has no running tools, also while its run goes on."""
    assembler = MessageAssembler(running=True)
    assembler.feed(agent(call("c1"), stop_reason=ending))
    assert answers(assembler.messages) == [("c1", "interrupted", None)]


def test_settling_messages_changes_only_what_had_not_ended() -> None:
    """Messages of a run that ended keep everything but the state of unfinished calls."""
    running = wire.ToolCallPart(id="1", name="x", arguments={}, state="running")
    done = wire.ToolCallPart(id="2", name="x", arguments={}, state="done")
    message = wire.Message(id="m", role="assistant", parts=[running, done])
    (after,) = settled([message])
    assert [part.state for part in calls_of(after)] == ["interrupted", "done"]
    assert settled([after]) == [after]


# -- what is told and what is left out ------------------------------------------------------------


def test_an_image_beside_its_text_comes_back_as_both() -> None:
    """A prompt's picture is part of its message, the bytes inline as a data URL."""
    (message,) = transcript_to_messages(
        [user("What is this?", transcript.ImagePart("image/png", "iVBORw0KGgo="))]
    )
    assert message.parts == [
        wire.TextPart(content="What is this?"),
        wire.ImagePart(
            mime_type="image/png",
            url="data:image/png;base64,iVBORw0KGgo=",
            place=wire.ImagePlace(entry_id="u", number=1, length=12, size=None),
        ),
    ]


@pytest.mark.parametrize(
    "mime_type, data",
    [
        ("image/svg+xml", "AAAA"),
        ("text/html", "AAAA"),
        ("image/png", '"><script>alert(1)</script>'),
        ("image/png", ""),
        ("image/png,<b>", "AAAA"),
        ("image/png", "AA AA"),
    ],
)
def test_an_image_that_could_hold_more_than_a_picture_has_no_url(mime_type: str, data: str) -> None:
    """Only the four plain kinds in clean base64 get a URL; of others the kind alone is told."""
    (message,) = transcript_to_messages([user("x", transcript.ImagePart(mime_type, data))])
    assert message.parts[1] == wire.ImagePart(mime_type=mime_type, url="")


def test_a_refused_attempt_is_a_message_that_carries_its_refusal() -> None:
    """Every attempt stays its own message, with the bubble's whole sentence."""
    refusal = transcript.Refusal(
        provider="OpenAI",
        model="gpt-5.2",
        refusal_class="rate limit",
        status=429,
        reason="Slow down.",
    )
    entries = [
        user("x"),
        *(agent(entry_id=f"a{n}", stop_reason="error", refusal=refusal) for n in range(2)),
        agent(transcript.TextPart("At last."), entry_id="a2", stop_reason="stop"),
    ]
    messages = transcript_to_messages(entries)
    assert [message.refusal is not None for message in messages] == [False, True, True, False]
    assert messages[1].refusal is not None
    assert messages[1].refusal.sentence == (
        "OpenAI · gpt-5.2 refused: rate limit (429) — Slow down."
    )


def test_state_kept_in_the_log_and_unknown_entries_are_not_messages() -> None:
    """Custom entries, model changes and kinds that are not modelled are passed over."""
    messages = transcript_to_messages(
        [
            transcript.TranscriptCustom(id="1", custom_type="modes", data={"mode": "plan"}),
            transcript.TranscriptOther(id="2", kind="message:system"),
            transcript.TranscriptModelChange(id="3", provider="p", model="m"),
            transcript.TranscriptThinkingLevel(id="4", level="low"),
        ]
    )
    assert messages == []


def test_a_marker_is_one_line_with_its_text_under_it() -> None:
    """What happened to the thread has a title, and opens when there is more to say."""
    (full, bare) = transcript_to_messages(
        [
            transcript.TranscriptMarker(
                id="1", kind="compaction", title="Compacted", text="Was: x"
            ),
            transcript.TranscriptMarker(id="2", kind="shell", title="Ran: ls", text="  "),
        ]
    )
    assert (full.role, full.marker, full.title) == ("marker", "compaction", "Compacted")
    assert full.parts == [wire.TextPart(content="Was: x")]
    assert bare.parts == []


def test_blank_text_and_unknown_blocks_are_left_out() -> None:
    """A message keeps the parts that say something; withheld thinking is one of them."""
    (message,) = transcript_to_messages(
        [
            agent(
                transcript.TextPart(" \n"),
                transcript.OtherPart("hologram"),
                transcript.ThinkingPart(""),
                transcript.TextPart("Hello"),
            )
        ]
    )
    assert message.parts == [wire.ThinkingPart(content=""), wire.TextPart(content="Hello")]


def test_parts_that_stream_keep_their_places() -> None:
    """While a message streams no part is left out, because deltas name parts by their index."""
    blocks = (transcript.TextPart(""), transcript.OtherPart("hologram"), call("c"))
    assert [streaming_part(block).type for block in blocks] == ["text", "text", "tool-call"]
    assert streaming_part(call("c")).model_dump()["state"] == "streaming"


def test_model_provider_usage_and_time_are_carried_over() -> None:
    """What a reply cost, who gave it and when, as the JSON interface says it."""
    usage = transcript.Usage(input=5, output=2, cache_read=3, cost=0.5, cost_known=False)
    (message,) = transcript_to_messages(
        [
            agent(
                provider="labserver",
                model="lab-coder",
                usage=usage,
                stop_reason="length",
                created_at=1_764_509_340_123,
                duration_ms=900,
            )
        ]
    )
    assert message.model_dump(mode="json") == {
        "id": "a",
        "role": "assistant",
        "createdAt": "2025-11-30T13:29:00.123Z",
        "parts": [],
        "model": "lab-coder",
        "provider": "labserver",
        "usage": {
            "input": 5,
            "output": 2,
            "cacheRead": 3,
            "cacheWrite": 0,
            "totalTokens": 10,
            "cost": 0.5,
            "costKnown": False,
            "unpricedRequests": 1,
        },
        "turn": {"requests": 1, "usage": message.model_dump(mode="json")["usage"]},
        "stopReason": "length",
        "durationMs": 900,
    }


@pytest.mark.parametrize("number", [10**30, -(10**30), 253_402_300_800_000, -62_135_596_800_001])
def test_a_time_that_no_calendar_holds_is_no_time(number: int) -> None:
    """A broken timestamp costs its message the time and nothing else."""
    (message,) = transcript_to_messages([user("x", created_at=number)])
    assert message.created_at is None


# -- nothing that could not be sent ---------------------------------------------------------------

ANY_TEXT = st.text(st.characters(), max_size=40)  # lone surrogates among them
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
ANY_PART = st.one_of(
    st.builds(transcript.TextPart, ANY_TEXT),
    st.builds(transcript.ThinkingPart, ANY_TEXT),
    st.builds(transcript.ImagePart, ANY_TEXT, ANY_TEXT),
    st.builds(transcript.ToolCallPart, ANY_TEXT, ANY_TEXT, ANY_JSON),
    st.builds(transcript.OtherPart, ANY_TEXT),
)
ANY_ENTRY = st.one_of(
    st.builds(
        transcript.TranscriptMessage,
        id=ANY_TEXT,
        role=st.sampled_from(["user", "assistant"]),
        parts=st.lists(ANY_PART, max_size=4).map(tuple),
        created_at=st.none() | st.integers(),
        model=ANY_TEXT,
        provider=ANY_TEXT,
        usage=st.none() | st.builds(transcript.Usage, cost=st.floats()),
    ),
    st.builds(
        transcript.TranscriptToolResult,
        id=ANY_TEXT,
        tool_call_id=ANY_TEXT,
        tool_name=ANY_TEXT,
        parts=st.lists(ANY_PART, max_size=3).map(tuple),
        details=ANY_JSON,
        is_error=st.booleans(),
    ),
    st.builds(
        transcript.TranscriptMarker,
        id=ANY_TEXT,
        kind=st.just("custom"),
        title=ANY_TEXT,
        text=ANY_TEXT,
    ),
)


@given(st.lists(ANY_ENTRY, max_size=8))
def test_whatever_a_log_held_can_be_sent_as_json(entries: list[transcript.TranscriptEntry]) -> None:
    """Lone surrogates, NaN and endless numbers never reach a reader, in any field."""
    for message in transcript_to_messages(entries):
        sent = message.model_dump_json().encode()
        assert wire.Message.model_validate_json(sent) == message


@given(st.lists(ANY_ENTRY, max_size=12))
def test_entry_by_entry_is_the_same_as_all_at_once(
    entries: list[transcript.TranscriptEntry],
) -> None:
    """Reading messages between entries changes nothing about what is read in the end."""
    assembler = MessageAssembler()
    for entry in entries:
        before = [message.model_dump_json() for message in assembler.messages]
        changed = assembler.feed(entry)
        after = [message.model_dump_json() for message in assembler.messages]
        kept = [n for n in range(len(before)) if n not in changed]
        assert [after[n] for n in kept] == [before[n] for n in kept]
    assert list(assembler.messages) == transcript_to_messages(entries)


def test_arguments_nested_beyond_reason_are_cut_and_not_a_fault() -> None:
    """2,000 nested arrays read as a few, and the rest as a mark."""
    nested: Any = []
    for _ in range(2000):
        nested = [nested]
    (message,) = transcript_to_messages([agent(call("c", arguments=nested))])
    assert "…" in message.model_dump_json()


def test_assembly_takes_time_in_proportion_to_the_branch() -> None:
    """Ten times the entries take about ten times as long, also with one message of many calls."""

    def seconds(count: int) -> float:
        shuffled = list(range(count))
        random.Random(1).shuffle(shuffled)
        calls = [agent(*(call(f"c{n}") for n in range(count)))]
        entries = [*calls, *(result(f"c{n}", "x") for n in shuffled)]
        gc.collect()
        gc.disable()  # the collector's work grows with what other tests left behind
        try:
            begun = time.process_time()
            transcript_to_messages(entries)
            return time.process_time() - begun
        finally:
            gc.enable()

    small = min(seconds(2000) for _ in range(3))
    large = min(seconds(20_000) for _ in range(2))
    assert large < 40 * small  # ten times as much, with room for noise; a square would be 100


# -- how a branch ends ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entries, tail",
    [
        ([], None),
        ([user("x")], "unanswered-prompt"),
        ([user("x"), agent(stop_reason="stop")], None),
        ([user("x"), agent(call("1"))], "tool-call-without-result"),
        ([user("x"), agent(call("1"), call("2")), result("2")], "tool-call-without-result"),
        ([user("x"), agent(call("1"), call("1")), result("1")], "tool-call-without-result"),
        ([user("x"), agent(call("1")), result("1")], "tool-result-without-reply"),
        ([user("x"), agent(call("1")), result("1"), agent()], None),
        ([user("x"), agent(call("1"), stop_reason="aborted")], None),
        ([user("x"), agent(stop_reason="error")], None),
        ([user("x"), transcript.TranscriptOther(id="o", kind="label")], "unanswered-prompt"),
        ([user("x"), agent(), transcript.TranscriptCustom(id="c", custom_type="modes")], None),
    ],
)
def test_a_branch_that_ends_inside_a_turn_is_told_by_how_it_ends(
    entries: list[transcript.TranscriptEntry], tail: str | None
) -> None:
    """A prompt without a reply, a call without a result, a result without a reply; else nothing."""
    assert interrupted_tail(entries) == tail


RECORDED = {
    name: one["endState"]
    for name, one in EXPECTED.items()
    if one["open"]["ok"] and one["endState"] != "empty"
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_sessions_end_as_they_are_known_to_have_ended(name: str) -> None:
    """Over every recorded session: interrupted is told of those that were, and of no other."""
    branch = SessionFile.open(CORPUS / name).branch()
    entries = decode_branch(branch, providers=lambda provider: provider)
    assert (interrupted_tail(entries) is not None) == (RECORDED[name] == "interrupted")
    messages = transcript_to_messages(entries)
    refused = bool(messages) and messages[-1].refusal is not None
    assert refused == (RECORDED[name] == "refused")
