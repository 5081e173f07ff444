"""Stored entries become the transcript: every shape, and never an exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import to_builtins

from enso.host.decode import decode_branch, decode_entry
from enso.transcript import (
    ImagePart,
    OtherPart,
    Refusal,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    TranscriptCustom,
    TranscriptEntry,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptModelChange,
    TranscriptOther,
    TranscriptThinkingLevel,
    TranscriptToolResult,
    Usage,
)

NAMES = {"openai": "OpenAI"}
PLACE = {"id": "e1", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z"}
AT = 1_767_225_600_000


def decoded(entry: dict[str, Any]) -> TranscriptEntry:
    """The entry in our types, with the names of this test's providers."""
    return decode_entry(PLACE | entry, providers=lambda provider: NAMES.get(provider, provider))


def message(**stored: Any) -> TranscriptEntry:
    """A decoded message."""
    return decoded({"type": "message", "message": stored})


def test_a_prompt() -> None:
    """Its text and its images, at its own time."""
    image = {"type": "image", "mimeType": "image/png", "data": "aGk="}
    assert message(
        role="user", content=[{"type": "text", "text": "Hi"}, image], timestamp=AT + 5
    ) == TranscriptMessage(
        id="e1",
        created_at=AT + 5,
        role="user",
        parts=(TextPart("Hi"), ImagePart("image/png", "aGk=")),
    )


def test_an_answer() -> None:
    """Thinking, text and tool calls, who answered, what it cost, how it ended, how long it took."""
    assert message(
        role="assistant",
        content=[
            {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "x"},
            {"type": "text", "text": "I look."},
            {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {"path": "."}},
        ],
        provider="openai",
        model="gpt-x",
        usage={"input": 10, "output": 5, "cacheRead": 2, "cacheWrite": 1, "cost": {"total": 0.5}},
        stopReason="toolUse",
        durationMs=32,
    ) == TranscriptMessage(
        id="e1",
        created_at=AT,
        role="assistant",
        parts=(ThinkingPart("Hm."), TextPart("I look."), ToolCallPart("c1", "ls", {"path": "."})),
        provider="openai",
        model="gpt-x",
        usage=Usage(input=10, output=5, cache_read=2, cache_write=1, cost=0.5),
        stop_reason="tool-use",
        duration_ms=32,
    )


def test_a_refused_attempt() -> None:
    """The error text becomes a refusal, with the provider's display name."""
    refused = message(
        role="assistant",
        content=[],
        provider="openai",
        model="gpt-x",
        stopReason="error",
        errorMessage="429 Too many requests",
    )
    assert isinstance(refused, TranscriptMessage)
    assert refused.refusal == Refusal(
        provider="OpenAI",
        model="gpt-x",
        refusal_class="rate limit",
        status=429,
        reason="Too many requests",
    )


def test_only_refused_attempts_have_a_refusal() -> None:
    """An aborted answer has an error text too."""
    aborted = message(role="assistant", stopReason="aborted", errorMessage="Request was aborted")
    assert isinstance(aborted, TranscriptMessage)
    assert (aborted.stop_reason, aborted.refusal) == ("aborted", None)


@pytest.mark.parametrize(
    "stored, stop_reason",
    [
        ("stop", "stop"),
        ("length", "length"),
        ("toolUse", "tool-use"),
        ("error", "error"),
        ("aborted", "aborted"),
        ("something-new", "other"),
        (7, "other"),
        (None, None),
    ],
)
def test_stop_reasons(stored: Any, stop_reason: str | None) -> None:
    """Known ones by our words, others as such, none as none."""
    answer = message(role="assistant", stopReason=stored)
    assert isinstance(answer, TranscriptMessage)
    assert answer.stop_reason == stop_reason


def test_a_tool_result() -> None:
    """Which call it answers, what it said, and the tool's own details."""
    assert message(
        role="toolResult",
        toolCallId="c1",
        toolName="edit",
        content=[{"type": "text", "text": "done"}],
        details={"diff": "+1"},
        isError=True,
        durationMs=7,
    ) == TranscriptToolResult(
        id="e1",
        created_at=AT,
        tool_call_id="c1",
        tool_name="edit",
        parts=(TextPart("done"),),
        is_error=True,
        details={"diff": "+1"},
        duration_ms=7,
    )


@pytest.mark.parametrize(
    "stored, text",
    [
        ({"output": "out\n", "exitCode": 0}, "out\n"),
        ({"output": "out", "exitCode": 3}, "out\n\nexit code 3"),
        ({"output": "", "exitCode": 3}, "exit code 3"),
        ({"output": "out", "cancelled": True}, "out\n\ncancelled"),
        ({"output": None, "exitCode": None}, ""),
        ({}, ""),
    ],
)
def test_a_command_that_a_person_ran(stored: dict[str, Any], text: str) -> None:
    """A marker: the command, what it put out, and how it ended when it did not end well."""
    assert message(role="bashExecution", command="make", **stored) == TranscriptMarker(
        id="e1", created_at=AT, kind="shell", title="make", text=text
    )


@pytest.mark.parametrize("content", ["Look", [{"type": "text", "text": "Look"}]])
def test_an_extensions_message_for_display(content: Any) -> None:
    """A marker named by its type; as an entry, and as older versions stored it."""
    fields = {"customType": "note", "content": content, "display": True}
    marker = TranscriptMarker(id="e1", created_at=AT, kind="custom", title="note", text="Look")
    assert decoded({"type": "custom_message", **fields}) == marker
    assert message(role="custom", **fields) == marker


@pytest.mark.parametrize("display", [False, None, "yes"])
def test_an_extensions_message_that_is_not_for_display(display: Any) -> None:
    """Not shown, and in its place."""
    entry = decoded({"type": "custom_message", "content": "x", "display": display})
    assert entry == TranscriptOther(id="e1", created_at=AT, kind="custom_message")


@pytest.mark.parametrize(
    "entry, expected",
    [
        (
            {"type": "custom", "customType": "modes", "data": {"mode": "plan"}},
            TranscriptCustom(id="e1", created_at=AT, custom_type="modes", data={"mode": "plan"}),
        ),
        (
            {"type": "model_change", "provider": "p", "modelId": "m"},
            TranscriptModelChange(id="e1", created_at=AT, provider="p", model="m"),
        ),
        (
            {"type": "thinking_level_change", "thinkingLevel": "high"},
            TranscriptThinkingLevel(id="e1", created_at=AT, level="high"),
        ),
        (
            {"type": "session_info", "name": "x"},
            TranscriptOther(id="e1", created_at=AT, kind="session_info"),
        ),
        (
            {"type": "context_edit", "targetId": "x", "replacement": None},
            TranscriptOther(id="e1", created_at=AT, kind="context_edit"),
        ),
        (
            {"type": "message", "message": {"role": "system", "content": "x"}},
            TranscriptOther(id="e1", created_at=AT, kind="message:system"),
        ),
        (
            {"type": "message", "message": {"role": "narrator"}},
            TranscriptOther(id="e1", created_at=AT, kind="message:narrator"),
        ),
        ({"type": "message"}, TranscriptOther(id="e1", created_at=AT, kind="message:unknown")),
        ({"type": "new"}, TranscriptOther(id="e1", created_at=AT, kind="new")),
        ({"type": 7}, TranscriptOther(id="e1", created_at=AT, kind="unknown")),
        ({}, TranscriptOther(id="e1", created_at=AT, kind="unknown")),
    ],
)
def test_entries_that_are_no_messages(entry: dict[str, Any], expected: TranscriptEntry) -> None:
    """Each known kind in its own type; any other one by its name."""
    assert decoded(entry) == expected


def test_summaries_are_markers_that_open_to_their_text() -> None:
    """A compaction says how much it stands for."""
    compaction = decoded({"type": "compaction", "summary": "So far …", "tokensBefore": 32725})
    assert isinstance(compaction, TranscriptMarker)
    assert (compaction.kind, compaction.text) == ("compaction", "So far …")
    assert "32,725 tokens" in compaction.title
    branch = decoded({"type": "branch_summary", "summary": "Elsewhere …"})
    assert isinstance(branch, TranscriptMarker)
    assert (branch.kind, branch.text) == ("branch-summary", "Elsewhere …")


@pytest.mark.parametrize(
    "content, parts",
    [
        ("text", (TextPart("text"),)),
        ("", ()),
        (None, ()),
        (7, ()),
        ({"type": "text", "text": "x"}, ()),
        ([{"type": "text"}], (OtherPart("text"),)),
        ([{"type": "text", "text": 7}], (OtherPart("text"),)),
        ([{"type": "image", "mimeType": 7}], (OtherPart("image"),)),
        ([{"type": "thinking", "redacted": True}], (ThinkingPart(""),)),
        ([{"type": "toolCall"}], (ToolCallPart("", "", None),)),
        ([{"type": "video"}, 7, None, "x", []], (OtherPart("video"), *[OtherPart("unknown")] * 4)),
        ([{"type": "text", "text": "cut \ud83d"}], (TextPart("cut \ufffd"),)),
    ],
)
def test_content_of_any_shape(content: Any, parts: tuple[Any, ...]) -> None:
    """A text, blocks, or nothing that can be read; a block as good as it can be understood."""
    prompt = message(role="user", content=content)
    assert isinstance(prompt, TranscriptMessage)
    assert prompt.parts == parts


@pytest.mark.parametrize(
    "own, entrys, created_at",
    [
        (AT + 1, "2026-01-01T00:00:00Z", AT + 1),
        (float(AT + 1), None, AT + 1),
        (None, "2026-01-01T00:00:00.123Z", AT + 123),
        ("2026-01-01", "2026-01-01T01:00:00+01:00", AT),
        (True, AT, AT),
        (-1, "2026-01-01", AT),
        (1e300, "yesterday", None),
        (float("inf"), [], None),
        (None, "9999-99-99", None),
        (None, None, None),
    ],
)
def test_times(own: Any, entrys: Any, created_at: int | None) -> None:
    """The message's own time, else the entry's, else none."""
    entry = decoded(
        {"type": "message", "timestamp": entrys, "message": {"role": "user", "timestamp": own}}
    )
    assert entry.created_at == created_at


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
TYPES = st.sampled_from(
    ["message", "custom", "custom_message", "compaction", "branch_summary", "model_change"]
)
ROLES = st.sampled_from(["user", "assistant", "toolResult", "bashExecution", "custom", "system"])
BLOCKS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "thinking", "image", "toolCall", "x"]) | ANYTHING},
        optional=dict.fromkeys(
            ("text", "thinking", "data", "mimeType", "arguments", "id"), ANYTHING
        ),
    ),
    max_size=3,
)
MESSAGES = st.fixed_dictionaries(
    {"role": ROLES | ANYTHING, "content": BLOCKS | ANYTHING},
    optional={
        "usage": ANYTHING,
        "stopReason": st.sampled_from(["error", "stop"]) | ANYTHING,
        "errorMessage": ANYTHING,
        "timestamp": ANYTHING,
        "details": ANYTHING,
        "durationMs": ANYTHING,
        "exitCode": ANYTHING,
        "display": st.just(True) | ANYTHING,
    },
)
ENTRIES = st.fixed_dictionaries(
    {"type": TYPES | ANYTHING, "id": st.text(), "message": MESSAGES | ANYTHING},
    optional={
        "timestamp": ANYTHING,
        "data": ANYTHING,
        "display": st.just(True),
        "content": BLOCKS | ANYTHING,
        "summary": ANYTHING,
        "tokensBefore": ANYTHING,
    },
)


@given(st.lists(ENTRIES, max_size=4))
@example([{"type": "message", "id": "a", "message": {"role": "assistant", "usage": {}}}])
def test_any_entries_decode_to_as_many_that_can_be_encoded(entries: list[Any]) -> None:
    """Never an exception; same length, same order, and nothing that no encoder takes."""
    transcript = decode_branch(entries, providers=str)
    assert [entry.id for entry in transcript] == [
        entry["id"].encode("utf-8", "replace").decode() if not _clean(entry["id"]) else entry["id"]
        for entry in entries
    ]
    assert json.dumps(to_builtins(transcript), allow_nan=False, ensure_ascii=False).encode()


def _clean(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
