"""While a run is in flight: steering, the queue, the status line, output as it comes, refusals."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from enso import transcript, wire
from enso.server.messages import transcript_to_messages
from tests.e2e.conftest import Watched
from tests.e2e.driving.driven import (
    BUSY,
    TALK,
    Answer,
    Driven,
    quiet_rail,
    status_frame,
)
from tests.look.scenes import (
    ASK_RUN,
    QUEUE,
    RUNNING,
    agent,
    agent_pane,
    busy_with,
    refused,
    result,
    running,
)
from tests.look.scenes import (
    page as page_of,
)


def test_enter_steers_and_alt_enter_queues_while_a_run_is_in_flight(busy: Driven) -> None:
    """The main button says what it does; the text goes with it; then the box is empty."""
    expect(busy.page.get_by_role("button", name="Send")).to_be_hidden()
    expect(busy.text).to_have_attribute("placeholder", "Steer it, or queue")
    busy.text.fill("Look at the tax too")
    busy.text.press("Enter")
    busy.expect_posted("/queue", message="Look at the tax too", when="steer")
    expect(busy.text).to_have_value("")
    busy.text.fill("Then write it up")
    busy.text.press("Alt+Enter")
    busy.expect_posted("/queue", message="Then write it up", when="after")
    busy.text.fill("And push")
    busy.page.get_by_role("button", name="Queue").click()
    busy.expect_posted("/queue", message="And push", when="after")
    busy.page.get_by_role("button", name="Queue").focus()
    busy.frame(
        wire.StatusFrame(live=True, busy=False, generation=3, word="held"),
    )
    expect(busy.text).to_be_focused()  # what had the focus is gone
    expect(busy.page.get_by_role("button", name="Steer")).to_be_hidden()
    expect(busy.text).to_have_attribute("placeholder", "Continue this thread")
    busy.text.fill("Thanks")
    busy.text.press("Enter")
    busy.expect_posted("/prompt", message="Thanks")


def test_a_refused_steer_keeps_its_text(busy: Driven, watched: Watched) -> None:
    """The run was over a moment before: it is said, and the text is still there to be sent."""
    watched.allow("409")
    busy.answers["/threads/t1/queue"] = Answer(409, "<p>Nothing is running.</p>")
    busy.text.fill("Too late")
    busy.text.press("Enter")
    expect(busy.page.locator(".refused-prompt")).to_have_text("Nothing is running.")
    expect(busy.text).to_have_value("Too late")


def test_what_is_queued_is_shown_and_can_be_taken_back(busy: Driven) -> None:
    """Its text returns into the box, before what was typed meanwhile."""
    busy.frame(wire.QueueFrame(queue=list(QUEUE)))
    items = busy.page.locator("#queue-t1 li")
    expect(items).to_have_count(2)
    expect(items.first).to_contain_text("And look at the tax")
    busy.text.fill("Something else")
    items.first.get_by_role("button", name="Take back").click()
    busy.expect_posted("/queue/q1/take-back")
    expect(busy.text).to_have_value(f"{QUEUE[0].message}\nSomething else")
    busy.frame(wire.QueueFrame(queue=[]))
    expect(items).to_have_count(0)
    expect(busy.page.locator("#queue-t1")).to_be_hidden()


def test_what_was_queued_returns_to_who_stops_the_run(busy: Driven) -> None:
    """A stop ends what waits; its words are in the box, before what was typed meanwhile."""
    busy.frame(wire.QueueFrame(queue=list(QUEUE)))
    expect(busy.page.locator("#queue-t1 li")).to_have_count(2)
    busy.text.fill("Something else")
    busy.page.locator(".stop button").click()
    busy.expect_posted("/abort")
    said = "\n\n".join(one.message for one in QUEUE)
    expect(busy.text).to_have_value(f"{said}\nSomething else")


def test_an_item_that_was_delivered_is_not_given_back(busy: Driven, watched: Watched) -> None:
    """The sentence stands above the composer; the box stays as it was."""
    watched.allow("404")
    busy.answers["/threads/t1/queue/q1/take-back"] = Answer(404, "<p>It was said already.</p>")
    busy.frame(wire.QueueFrame(queue=list(QUEUE)))
    busy.page.get_by_role("button", name="Take back").first.click()
    expect(busy.page.locator("#said-t1")).to_have_text("It was said already.")
    expect(busy.text).to_have_value("")


def test_the_status_line_says_what_is_under_way(busy: Driven) -> None:
    """Each activity has its words; a wait is counted down; stopping is said until it is true."""
    busy.page.clock.install()
    for activity, words in (
        (busy_with("asking", detail="lab-coder"), "Working · run 3 · asking lab-coder"),
        (busy_with("answering"), "Working · run 3 · answering"),
        (busy_with("tools", detail="bash"), "Working · run 3 · running bash"),
        (busy_with("compacting"), "Working · run 3 · summing up"),
        (busy_with("stopping"), "Stopping · run 3"),
    ):
        busy.frame(status_frame(activity))
        expect(busy.status).to_have_text(re.compile(rf"^\s*{re.escape(words)}\s*$"))
    until = busy.page.evaluate("new Date(Date.now() + 39500).toISOString()")
    wait = busy_with("retry-wait", until=until, attempt=2, attempts=3)
    busy.frame(status_frame(wait))
    expect(busy.status).to_contain_text(re.compile(r"trying again in [34]\d s, attempt 2 of 3"))
    busy.page.clock.run_for(20_000)
    expect(busy.status).to_contain_text(re.compile(r"trying again in [12]\d s, attempt 2 of 3"))
    busy.page.get_by_role("button", name="Try now").click()
    busy.expect_posted("/retry")


def test_a_silent_provider_is_said(busy: Driven) -> None:
    """From ten seconds without an event they are counted; an event ends it, the rail's does not."""
    busy.page.clock.install()
    busy.frame(status_frame(busy_with("asking")))
    silence = busy.page.locator("[data-silence]")
    busy.page.clock.run_for(4000)
    expect(silence).to_be_empty()
    busy.page.clock.run_for(11_000)
    expect(silence).to_have_text(re.compile(r"No event for (1[5-9]|2\d) s"))
    busy.frame(wire.RailFrame(threads=[], gone=[]))
    expect(silence).to_have_text(re.compile(r"No event for (1[5-9]|2\d) s"))
    busy.frame(status_frame(busy_with("answering")))
    expect(silence).to_be_empty()
    busy.frame(status_frame(busy_with("tools")))
    busy.page.clock.run_for(30_000)
    expect(silence).to_be_empty()


def test_a_tools_output_is_seen_as_it_comes_and_folds_when_it_is_done(tab: Driven) -> None:
    """The tail under the call, kept when the message changes; the reader's fold is kept too."""
    messages = running(RUNNING)
    tab.show(page_of(agent_pane(RUNNING, messages=messages, status=BUSY), quiet_rail()))
    live = tab.page.locator("#pr-t1-a8-r1")
    expect(live).to_be_hidden()
    says = tab.page.locator(".running-tool .under-way")
    expect(says).to_have_text(["running", "running"])
    expect(says.first).to_be_visible()
    tab.frame(wire.DialogFrame(dialog=ASK_RUN))
    expect(says.first).to_be_hidden()  # the question may be about it
    tab.frame(wire.DialogFrame(closed="d1", outcome="once"))
    expect(says.first).to_be_visible()
    tab.frame(wire.ToolProgressFrame(message_id="a8", call_id="r1", text="\n1 < 2\n  ok"))
    expect(live).to_be_visible()
    assert live.text_content() == "\n1 < 2\n  ok"
    other = tab.page.locator("#p-t1-a8-2 details")
    other.locator("summary").click()
    tab.frame(wire.MessageFrame(message=messages[-1]))
    assert live.text_content() == "\n1 < 2\n  ok"
    assert other.get_attribute("open") is None
    *_, done = transcript_to_messages([*RUNNING, result("r1", "214 passed"), result("r2", "x")])
    tab.frame(wire.MessageFrame(message=done))
    expect(live).to_have_count(0)
    assert tab.page.locator("#p-t1-a8-1").evaluate("(one) => [one.tagName, one.open]") == [
        "DETAILS",
        False,
    ]


def test_refused_attempts_join_into_one_bubble_as_they_come(tab: Driven) -> None:
    """The second refusal joins the first, the third both; an answer ends the row."""
    tab.show(page_of(agent_pane(TALK[:1], status=BUSY), quiet_rail()))
    attempts = tab.page.locator(".attempts")
    for n, entry_id in enumerate(("r1", "r2", "r3")):
        streaming = wire.Message(id=entry_id, role="assistant", parts=[], streaming=True)
        (ended,) = transcript_to_messages([refused(entry_id)])
        if n != 1:  # one that never streamed comes whole
            tab.frame(wire.MessageFrame(message=streaming), new=True)
        tab.frame(wire.MessageFrame(message=ended), new=n == 1)
        expect(attempts).to_have_count(1 if n else 0)
        expect(tab.page.locator(".refusal:visible")).to_have_count(1)
    expect(attempts).to_contain_text("3 attempts were refused")
    attempts.locator("summary").click()
    expect(tab.page.locator(".refusal:visible")).to_have_count(3)
    (answer,) = transcript_to_messages([agent("a1", transcript.TextPart("At last."))])
    tab.frame(wire.MessageFrame(message=answer), new=True)
    (again,) = transcript_to_messages([refused("r4")])
    tab.frame(wire.MessageFrame(message=again), new=True)
    expect(attempts).to_have_count(1)
    expect(tab.page.locator(".refusal:visible")).to_have_count(4)
