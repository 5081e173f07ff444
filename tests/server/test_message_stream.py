"""A branch that is sent message by message says what the whole branch says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso import transcript
from enso.server.message_stream import HELD, message_stream, outlined
from enso.server.messages import transcript_to_messages
from enso.transcript import (
    ToolCallPart,
    TranscriptEntry,
    TranscriptMarker,
    TranscriptToolResult,
    Usage,
)
from tests.fakes.fake_entries import assistant, user
from tests.host.corpus import ALL, Recorded, host_over, place

LISTED = [recorded for recorded in ALL if recorded.listed]
CALLS = st.sampled_from(["a", "b", "c"])
ENTRIES = st.one_of(
    st.just(user("Hi")),
    CALLS.map(lambda call: TranscriptToolResult(id="r", tool_call_id=call, tool_name="t")),
    st.just(TranscriptMarker(id="m", kind="shell", title="ls", text="")),
    st.builds(
        lambda calls, stop: assistant(
            parts=tuple(ToolCallPart(call, "t", {}) for call in calls),
            stop_reason=stop,
            usage=Usage(input=1, cost=0.25),
        ),
        st.lists(CALLS, max_size=2),
        st.sampled_from(["tool-use", "stop", "error", "aborted"]),
    ),
)


@given(st.lists(ENTRIES, max_size=12), st.integers(1, 4))
def test_messages_stream_as_they_are_in_the_whole_branch(
    entries: list[TranscriptEntry], held: int
) -> None:
    """Late results, ids that come again, turns that go on behind a reply that seemed the last."""
    labels = {"m": "here"}
    streamed = message_stream(entries, outlined(entries), labels, held=held)
    assert list(streamed) == transcript_to_messages(entries, labels)


@pytest.mark.parametrize("recorded", LISTED, ids=str)
def test_a_recorded_branch_streams_as_it_is_read(recorded: Recorded, tmp_path: Path) -> None:
    """Entry by entry from the file, as often as it is walked; the outline says what is there."""
    place(recorded, tmp_path)
    host, thread_id = host_over(tmp_path), recorded.listed["id"]
    whole, branch = host.read_stored_thread(thread_id), host.open_stored_branch(thread_id)
    assert whole is not None
    assert branch is not None
    outline = outlined(branch.walk())
    messages = transcript_to_messages(whole.entries, whole.labels)
    assert list(message_stream(branch.walk(), outline, whole.labels, held=2)) == messages
    branch.close()
    spoken = [message for message in messages if message.role != "marker"]
    assert outline.messages == len(spoken)
    assert list(outline.models) == list(dict.fromkeys(one.model for one in spoken if one.model))


def test_a_long_turn_is_not_held() -> None:
    """The first message comes when a few dozen were walked, of a turn of a thousand calls."""
    walked = 0

    def entries() -> Iterator[transcript.TranscriptEntry]:
        nonlocal walked
        yield user("Go on")
        for number in range(1000):
            walked = number
            call = (ToolCallPart(f"c{number}", "t", {}),)
            yield assistant(parts=call, stop_reason="tool-use")
            yield TranscriptToolResult(id="", tool_call_id=f"c{number}", tool_name="t")

    outline = outlined(entries())
    stream = message_stream(entries(), outline, {})
    next(stream)
    assert walked <= HELD
    assert len(list(stream)) == 1000
