"""Frames: what each changes on a page, and where."""

from __future__ import annotations

import typing
from collections.abc import Iterable

from enso import transcript, wire
from enso.server.messages import transcript_to_messages
from enso.server.render import Streams
from tests.look.scenes import (
    SPENT,
    WORK,
    agent,
    rail,
    user,
)
from tests.server.drawn import (
    RENDER,
    Page,
    draw,
    drawn,
    pieces,
    snapshot,
    words,
)

STATUS = wire.StatusFrame(live=True, busy=True, generation=2, word="busy")


def streaming(*parts: wire.MessagePart, message_id: str = "s") -> wire.Message:
    """A message that streams."""
    return wire.Message(id=message_id, role="assistant", parts=list(parts), streaming=True)


def test_a_snapshot_says_everything_that_can_change() -> None:
    """Messages, the torn tail, dialogs, status, spend, context, queue, mode: each has its place."""
    frame = draw(snapshot(transcript_to_messages(WORK), interrupted="unanswered-prompt"))
    assert [(target, swap) for target, swap, _ in pieces(frame)] == [
        ("tail-k", "innerMorph"),
        ("interrupted-k", "innerMorph"),
        ("dialogs-k", "innerMorph"),
        ("status-k", "innerMorph"),
        ("usage-k", "innerMorph"),
        ("context-k", "innerMorph"),
        ("queue-k", "innerMorph"),
        ("surface-k", "innerMorph"),
        ("mode-k", "innerHTML"),
        ("modes-k", "innerMorph"),
        ("welcome-mode-k", "innerHTML"),
    ]
    assert pieces(frame)[0][2] == drawn(*WORK)


def test_an_empty_snapshot_empties() -> None:
    """A thread that is not stored has no messages and no torn tail."""
    assert [html.strip() for _, _, html in pieces(draw(snapshot([])))[:2]] == ["", ""]


def test_a_new_message_is_appended_and_a_changed_one_is_morphed() -> None:
    """A new one also takes back what was said of a torn tail, and of what was answered."""
    (message,) = transcript_to_messages([user("u1", "hello")])
    html = drawn(user("u1", "hello")).strip()
    (added, settled, answered) = pieces(draw(wire.MessageFrame(message=message), new=True))
    assert (added[0], added[1], added[2].strip()) == ("tail-k", "beforeend", html)
    assert settled == ("interrupted-k", "innerHTML", "")
    assert answered == ("dialogs-k > :has(> .outcome)", "delete", "")
    ((target, swap, again),) = pieces(draw(wire.MessageFrame(message=message), new=False))
    assert (target, swap, again.strip()) == ("m-k-u1", "outerMorph", html)


def test_a_status_line_is_replaced_as_a_whole() -> None:
    """A line that is read aloud changes as one; it draws the sign and says the word."""
    ((target, swap, html),) = pieces(draw(STATUS))
    assert (target, swap) == ("status-k", "innerHTML")
    assert '<use href="#s-busy"/>' in html
    assert words(html) == "Working · run 2"


def test_the_smaller_frames_reach_their_elements() -> None:
    """Spend, a notice, a dropped message, the rail's news."""
    context = wire.Context(tokens=34_000, window=128_000)
    usage = pieces(draw(wire.UsageFrame(usage=SPENT, context=context)))
    assert usage[0] == ("usage-k", "innerHTML", "943 k tokens · $0.31")
    assert (usage[1][0], words(usage[1][2])) == ("context-k", "27 %")
    assert pieces(draw(wire.NoticeFrame(message="a < b"))) == [
        (
            "told-k",
            "innerHTML",
            '<p>a &lt; b</p><button type="button" class="quiet" data-dismiss>Dismiss</button>',
        )
    ]
    assert pieces(draw(wire.MessageDroppedFrame(message_id="s"))) == [("m-k-s", "delete", "")]


def test_news_of_the_rail_make_the_page_ask_for_its_own_rows() -> None:
    """The rows are asked for with the page's filter, apart from any navigation."""
    frame = draw(wire.RailFrame(threads=[], gone=[]), rail_href="/rail?x=1&y=2")
    ((target, swap, html),) = pieces(frame)
    assert (target, swap) == ("rail-news", "innerHTML")
    (asks,) = Page(html).all("div")
    assert asks == {
        "hx-get": "/rail?x=1&y=2",
        "hx-trigger": "load",
        "hx-target": "#rail-list",
        "hx-swap": "innerMorph",
        "hx-sync": "#rail-news:queue last",
        "hx-include": "#find, #rail-shown",
    }
    shown = set(Page(RENDER.rail(rail())).ids())
    assert {"rail-news", "rail-list", "find", "rail-shown"} <= shown


def test_a_heartbeat_says_nothing_on_a_page() -> None:
    """It is empty, so that nothing is sent."""
    assert draw(wire.HeartbeatFrame(at="2026-01-01T00:00:00Z")) == ""


def test_every_kind_of_frame_is_drawn() -> None:
    """A frame that is added to the wire shapes must be drawn, or said to draw nothing."""
    drawn_here = {
        "snapshot", "status", "message", "message-dropped", "part-delta", "part", "usage", "mode",
        "model", "dialog", "queue", "tool-progress", "rail", "notice", "heartbeat",
        "surface", "draft",
    }  # fmt: skip
    union = typing.get_args(typing.get_args(wire.Frame)[0])
    assert {shape.model_fields["type"].default for shape in union} == drawn_here


def grown(frames: Iterable[wire.Frame], streams: Streams) -> dict[str, str]:
    """What a browser holds of a streaming text after frames: each target's last HTML."""
    held: dict[str, str] = {}
    for frame in frames:
        for target, swap, html in pieces(draw(frame, streams=streams, new=True)):
            held[f"{target} {swap}"] = html
    return held


def test_deltas_are_drawn_as_growing_markdown() -> None:
    """A streaming part is its finished blocks, then one open element that is redrawn."""
    streams = Streams()
    held = grown(
        [
            wire.MessageFrame(message=streaming()),
            wire.PartFrame(message_id="s", index=0, part=wire.TextPart(content="")),
            wire.PartDeltaFrame(message_id="s", index=0, delta="One *two*\n\n"),
            wire.PartDeltaFrame(message_id="s", index=0, delta="Three **fo"),
            wire.PartDeltaFrame(message_id="s", index=0, delta="ur**\n\nFive\n"),
        ],
        streams,
    )
    assert held["mp-k-s beforeend"].strip() == (
        '<div class="text" id="p-k-s-0"><div class="open" id="o-k-s-0"></div></div>'
    )
    assert held["o-k-s-0 beforebegin"] == (
        '<p dir="auto">One <em>two</em></p>\n<p dir="auto">Three <strong>four</strong></p>\n'
    )
    assert held["o-k-s-0 innerMorph"].strip() == '<p dir="auto">Five</p>'


def test_who_joins_while_a_message_streams_sees_what_who_watched_sees() -> None:
    """A snapshot holds the stream so far under the ids that the next deltas aim at."""
    streams = Streams()
    draw(wire.MessageFrame(message=streaming(wire.TextPart(content=""))), streams=streams)
    text = "# A\n\n```py\nx = 1\n"
    draw(wire.PartDeltaFrame(message_id="s", index=0, delta=text), streams=streams)
    frame = draw(snapshot([streaming(wire.TextPart(content=text))]), streams=streams)
    tail = pieces(frame)[0][2]
    assert '<h1 dir="auto">A</h1>' in tail
    assert '<code id="c-k-s-0">x = 1\n</code>' in tail
    delta = wire.PartDeltaFrame(message_id="s", index=0, delta="y = 2\n")
    assert pieces(draw(delta, streams=streams)) == [("c-k-s-0", "beforeend", "y = 2\n")]


def test_a_stream_that_nobody_watched_starts_again_from_the_snapshot() -> None:
    """Deltas that were never drawn are in the snapshot's text, and later ones follow on it."""
    streams = Streams()
    draw(wire.MessageFrame(message=streaming(wire.TextPart(content="a"))), streams=streams)
    frame = draw(snapshot([streaming(wire.TextPart(content="abc"))]), streams=streams)
    assert '<p dir="auto">abc</p>' in pieces(frame)[0][2]
    delta = wire.PartDeltaFrame(message_id="s", index=0, delta="d")
    ((_, _, html),) = pieces(draw(delta, streams=streams))
    assert html.strip() == '<p dir="auto">abcd</p>'


def test_a_message_that_ended_is_drawn_whole_and_its_stream_is_forgotten() -> None:
    """The final message replaces what streamed; the same id later starts from nothing."""
    streams = Streams()
    draw(wire.MessageFrame(message=streaming(wire.TextPart(content="old"))), streams=streams)
    (ended,) = transcript_to_messages([agent("s", transcript.TextPart("```py\nx = 1"))])
    html = draw(wire.MessageFrame(message=ended), new=False, streams=streams)
    assert '<span class="z-mi">1</span>' in html
    assert 'class="open"' not in html
    delta = wire.PartDeltaFrame(message_id="s", index=0, delta="new")
    ((_, _, again),) = pieces(draw(delta, streams=streams))
    assert again.strip() == '<p dir="auto">new</p>'


def test_a_tool_call_that_streams_becomes_a_line_that_is_morphed() -> None:
    """Its line appears with its name, and changes in place when its arguments are whole."""
    part = wire.ToolCallPart(id="1", name="bash", arguments={}, state="streaming")
    frame = wire.PartFrame(message_id="s", index=1, part=part)
    ((target, swap, html),) = pieces(draw(frame, new=True))
    assert (target, swap, words(html)) == ("mp-k-s", "beforeend", "bash writing")
    whole = part.model_copy(update={"arguments": {"command": "ls"}, "state": "running"})
    frame = wire.PartFrame(message_id="s", index=1, part=whole)
    ((target, swap, html),) = pieces(draw(frame, new=False))
    assert (target, swap, words(html)) == ("p-k-s-1", "outerMorph", "bash ls running")


def test_a_message_takes_the_place_of_the_one_it_replaces() -> None:
    """Its element is aimed at by the id that it had; no other is added."""
    message = wire.Message(id="a1", role="assistant", parts=[wire.TextPart(content="Hello")])
    frame = wire.MessageFrame(message=message, replaces="live-1")
    drawn = draw(frame, new=False)
    aims = '<hx-partial hx-target="#m-k-a1" hx-swap="outerMorph"'
    assert drawn.startswith(f'{aims} data-was="k-live-1" data-now="k-a1">')
    assert 'id="m-k-a1"' in drawn


def test_what_extensions_show_is_drawn_as_text() -> None:
    """States, widgets and a title, escaped; nothing when nothing is shown."""
    surface = wire.Surface(
        statuses=["<b>1"], widgets=[wire.Widget(key="w", lines=["<i>", "two"])], title='"T"'
    )
    ((target, swap, html),) = pieces(draw(wire.SurfaceFrame(surface=surface)))
    assert (target, swap) == ("surface-k", "innerMorph")
    assert "&lt;b&gt;1" in html
    assert "&lt;i&gt;\ntwo" in html
    assert 'data-page-title="&#34;T&#34;"' in html
    assert pieces(draw(wire.SurfaceFrame(surface=wire.Surface())))[0][2].strip() == ""


def test_a_draft_is_text_for_the_composer() -> None:
    """Escaped, into its own place."""
    assert pieces(draw(wire.DraftFrame(text="<b>"))) == [("draft-k", "innerHTML", "&lt;b&gt;")]
