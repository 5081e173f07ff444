"""Dialogs in a browser: asked, counted, answered, refused, told to who is away; all that wait."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from enso import transcript, wire
from enso.server.messages import transcript_to_messages
from enso.server.render import Renderer
from enso.server.views import RailAsk
from tests.e2e.conftest import Watched
from tests.e2e.driving.driven import (
    BUSY,
    HOME,
    HOSTILE,
    NEEDS,
    TALK,
    Answer,
    Driven,
    quiet_rail,
    status_frame,
)
from tests.e2e.pages import until
from tests.look.scenes import (
    ASK_EDIT,
    ASK_RUN,
    KINDS,
    QUEUE,
    agent,
    agent_pane,
    asks,
    busy_with,
    rail,
    user,
    waiting,
)
from tests.look.scenes import (
    page as page_of,
)

# -- dialogs --------------------------------------------------------------------------------------


def test_a_dialog_is_asked_counted_answered_and_said(busy: Driven) -> None:
    """A card with the whole command; one press answers; its outcome stays for a while."""
    busy.expect_title("Totals are off by one cent · Enso")
    busy.frame(wire.DialogFrame(dialog=ASK_RUN))
    busy.frame(status_frame(NEEDS))
    card = busy.page.get_by_role("group", name="May it run this command?")
    expect(card.locator("pre")).to_have_text("rm -rf build/ && make dist")
    busy.expect_title("(1) Totals are off by one cent · Enso")
    expect(busy.status).to_have_text(re.compile("Needs you · run 3"))
    card.get_by_role("button", name="Once").click()
    busy.expect_posted("/dialogs/d1", value="once")
    for button in card.get_by_role("button", name=re.compile("Once|For this thread|Deny")).all():
        expect(button).to_be_disabled()
    busy.frame(wire.DialogFrame(closed="d1", outcome="once"))
    expect(card.get_by_role("button")).to_have_count(0)
    expect(card).to_have_text("May it run this command? Allowed once.", use_inner_text=True)
    expect(card.locator("pre")).to_be_hidden()
    busy.expect_title("Totals are off by one cent · Enso")
    (message,) = transcript_to_messages([agent("a9", transcript.TextPart("Built."))])
    busy.frame(wire.MessageFrame(message=message), new=True)
    expect(card).to_have_count(0)


def test_a_denial_takes_a_reason_and_enter_denies(busy: Driven) -> None:
    """Enter in the reason's box never allows."""
    busy.frame(wire.DialogFrame(dialog=ASK_EDIT))
    reason = busy.page.get_by_label("Why not: the agent is told")
    reason.fill("Not that file")
    reason.press("Enter")
    busy.expect_posted("/dialogs/d3", value="deny", reason="Not that file")


def test_an_answer_that_came_too_late_is_said_in_the_card(busy: Driven, watched: Watched) -> None:
    """The first answer wins; the second hears so where it was given, and can look again."""
    watched.allow("409")
    busy.answers["/threads/t1/dialogs/d1"] = Answer(409, "<p>It was answered already.</p>")
    busy.frame(wire.DialogFrame(dialog=ASK_RUN))
    card = busy.page.locator(".dialog")
    card.get_by_role("button", name="Once").click()
    expect(card.get_by_role("alert")).to_have_text("It was answered already.")
    expect(card.get_by_role("button", name="Once")).to_be_enabled()
    busy.frame(wire.DialogFrame(closed="d1", outcome="deny"))
    expect(card).to_have_text(re.compile("Denied."))


def test_a_stopped_dialog_goes_away(busy: Driven) -> None:
    """A question that nobody waits for is not left standing."""
    busy.frame(wire.DialogFrame(dialog=ASK_RUN))
    busy.frame(wire.DialogFrame(closed="d1", outcome="stopped"))
    expect(busy.page.locator(".dialog")).to_have_count(0)


def test_every_kind_of_dialog_can_be_answered_or_put_away(busy: Driven) -> None:
    """A choice, a yes, a line, a text: each posts its value; each can be cancelled."""
    for dialog in KINDS:
        busy.frame(wire.DialogFrame(dialog=dialog))
    at = busy.page.get_by_role
    at("button", name="feature/cart-3").click()
    busy.expect_posted("/dialogs/k1", value="b3")
    at("button", name="Yes").click()
    busy.expect_posted("/dialogs/k2", value="yes")
    line = at("textbox", name="What is it to be called?")
    line.fill("Enso")
    line.press("Enter")
    busy.expect_posted("/dialogs/k3", value="Enso")
    at("textbox", name="Write the commit message").fill("One\n\nTwo")
    at("group", name="Write the commit message").get_by_role("button", name="Cancel").click()
    busy.expect_posted("/dialogs/k4", cancelled="true")


def test_the_status_line_leads_to_the_question(busy: Driven) -> None:
    """Pressing “Needs you” brings the card into view and its first answer under the keys."""
    busy.frame(wire.DialogFrame(dialog=ASK_RUN))
    busy.frame(status_frame(NEEDS))
    busy.page.evaluate("document.querySelector('[data-log]').scrollTop = 0")
    busy.page.get_by_role("link", name="Needs you").click()
    expect(busy.page.get_by_role("button", name="Once")).to_be_focused()
    expect(busy.page).to_have_url(f"{HOME}/threads/t1")


def test_who_is_not_at_the_page_is_notified_if_they_allowed_it(tab: Driven) -> None:
    """One notification a question, none for what was there before, and none while at the page."""
    tab.page.add_init_script(
        """window.notes = [];
        window.Notification = class {
          static permission = "default";
          static async requestPermission() { return (this.permission = "granted"); }
          constructor(title, options) { window.notes.push([title, options.body, options.tag]); }
        };
        window.here = true;
        document.hasFocus = () => window.here;"""
    )
    tab.show(page_of(agent_pane(TALK, status=NEEDS, dialogs=(ASK_RUN,)), quiet_rail()))
    allow = tab.page.get_by_role("button", name="Notify me when it asks")
    allow.click()
    expect(allow).to_be_hidden()
    tab.page.evaluate("window.here = false")
    tab.frame(status_frame(NEEDS))
    tab.frame(wire.DialogFrame(dialog=ASK_EDIT))
    tab.frame(status_frame(NEEDS))
    told = [["Totals are off by one cent needs you", "May it change this file?", "enso-d-t1-d3"]]
    assert tab.page.evaluate("window.notes") == told
    tab.page.evaluate("window.here = true")
    tab.frame(wire.DialogFrame(dialog=KINDS[0]))
    assert tab.page.evaluate("window.notes") == told


def test_who_is_away_is_told_of_each_question_of_every_thread_once(tab: Driven) -> None:
    """Two of another thread are two, though its sign stays; what is told is not told again."""
    tab.page.add_init_script(
        """window.notes = [];
        window.Notification = class {
          static permission = "granted";
          constructor(title, options) { window.notes.push([title, options.body]); }
        };
        document.hasFocus = () => false;"""
    )
    tab.show(page_of(agent_pane(TALK, status=BUSY, word="busy"), quiet_rail()))
    asked = [
        RailAsk(dom_id=f"d-t2-d{n}", href="/threads/t2", thread="The other", title=f"Question {n}?")
        for n in (1, 2)
    ]
    for asks_now in (asked[:1], asked[:1], asked[1:], (), asked[1:]):
        rows = Renderer().rail_rows(rail(waiting=len(asks_now), asks=asks_now))
        tab.answers["/rail"] = Answer(200, rows)
        with tab.page.expect_response("**/rail*"):
            tab.frame(wire.RailFrame(threads=[], gone=[]))
        count = len(asks_now)
        expect(tab.page.locator("#rail-list [data-asks]")).to_have_count(count)
    told = [["The other needs you", f"Question {n}?"] for n in (1, 2)]
    until(tab.page, lambda: tab.page.evaluate("window.notes") == told, f"{told}")


def test_a_question_is_answered_by_keys_from_within_its_card(busy: Driven) -> None:
    """↑ in an empty box goes to it; its letters answer there, and are letters everywhere else."""
    busy.text.focus()
    busy.frame(wire.DialogFrame(dialog=ASK_RUN))
    busy.frame(status_frame(NEEDS))
    expect(busy.text).to_have_attribute("placeholder", "Steer it, or queue; ↑ to answer")
    card = busy.page.get_by_role("group", name="May it run this command?")
    busy.text.press("a")
    expect(busy.text).to_have_value("a")
    busy.text.press("ArrowUp")
    expect(busy.text).to_be_focused()
    busy.text.fill("")
    busy.text.press("ArrowUp")
    expect(card).to_be_focused()
    card.press("Escape")
    expect(busy.text).to_be_focused()
    busy.expect_no_post()
    busy.text.press("ArrowUp")
    card.press("d")
    expect(card.get_by_role("textbox")).to_be_focused()
    busy.page.keyboard.type("at once?")
    busy.page.keyboard.press("Enter")
    busy.expect_posted("/dialogs/d1", value="deny", reason="at once?")
    expect(busy.text).to_be_focused()
    busy.frame(wire.DialogFrame(dialog=ASK_EDIT))
    busy.page.get_by_role("group", name="May it change this file?").press("t")
    busy.expect_posted("/dialogs/d3", value="thread")


def test_arrows_bring_back_what_was_said_before(tab: Driven) -> None:
    """Up in an empty box is the last prompt, again the one before; down goes back to nothing."""
    talk = (*TALK, user("u2", "And\nthe tests"), agent("a2", transcript.TextPart("Yes.")))
    tab.show(page_of(agent_pane(talk), quiet_rail()))
    for key, value in (
        ("ArrowUp", "And\nthe tests"),
        ("ArrowUp", "Make it build."),
        ("ArrowDown", "And\nthe tests"),
        ("ArrowDown", ""),
        ("ArrowUp", "And\nthe tests"),
    ):
        tab.text.press(key)
        expect(tab.text).to_have_value(value)
    tab.text.press_sequentially("!")
    tab.text.press("ArrowUp")
    expect(tab.text).to_have_value("And\nthe tests!")


def test_hostile_text_in_every_frame_is_text(busy: Driven) -> None:
    """Nothing of what an agent asks, says or queues runs or breaks out."""
    popups: list[str] = []
    busy.page.on("dialog", lambda popup: popups.append(popup.message) or popup.dismiss())
    dialog = asks("x", HOSTILE, HOSTILE, command=HOSTILE, **{HOSTILE: HOSTILE})
    busy.frame(wire.DialogFrame(dialog=dialog))
    busy.frame(wire.DialogFrame(dialog=asks("y", HOSTILE, "bash", command=HOSTILE)))
    busy.frame(
        wire.QueueFrame(queue=[wire.QueuedPrompt(id=HOSTILE, message=HOSTILE, when="steer")])
    )
    busy.frame(status_frame(busy_with("tools", detail=HOSTILE)))
    busy.frame(wire.DialogFrame(closed="y", outcome=HOSTILE))
    expect(busy.page.locator("#queue-t1 .words")).to_have_text(HOSTILE)
    expect(busy.page.locator(".dialog h2").first).to_have_text(HOSTILE)
    assert busy.page.locator("#pane :is(script, img)").count() == 0
    assert popups == []


# -- the waiting page -----------------------------------------------------------------------------


def test_the_waiting_page_lists_every_question_and_answers_there(tab: Driven) -> None:
    """An answered one goes; the list is asked for anew; the title counts."""
    renderer = Renderer()
    both = waiting(ASK_RUN, ASK_EDIT, follow_href="/threads/new/follow")
    tab.show_html(renderer.waiting(both, page=True), path="/waiting")
    tab.expect_title("(2) Waiting for you · Enso")
    count = tab.page.locator(".pane-head .meta")
    expect(count).to_have_text("2 questions")
    one = renderer.waiting(waiting(ASK_EDIT), page=True)
    tab.answers["/waiting"] = Answer(200, one)
    tab.page.get_by_role("group", name="May it run this command?").get_by_role(
        "button", name="Once"
    ).click()
    expect(tab.page.get_by_role("group")).to_have_count(1)
    tab.expect_posted("/threads/t0/dialogs/d1", value="once")
    tab.expect_title("(1) Waiting for you · Enso")
    expect(count).to_have_text("1 question")
    tab.answers["/waiting"] = Answer(200, renderer.waiting(waiting(), page=True))
    tab.page.get_by_role("button", name="Once").click()
    expect(tab.page.locator("#waiting-list")).to_have_text("Nothing waits for you.")
    expect(count).to_be_empty()


# -- without scripts ------------------------------------------------------------------------------


def test_everything_is_a_form_without_scripts(plain: Driven) -> None:
    """Answers, steering, the queue, the mode and the model are posted by plain forms."""
    view = agent_pane(TALK, status=NEEDS, dialogs=(ASK_RUN,), queue=QUEUE)
    at = plain.page.get_by_role

    def show() -> None:
        plain.show(page_of(view, quiet_rail()), scripts=False)

    show()
    at("button", name="For this thread").click()
    plain.expect_posted("/dialogs/d1", value="thread")
    plain.page.get_by_label("Why not: the agent is told").fill("No")
    at("button", name="Deny").click()
    plain.expect_posted("/dialogs/d1", value="deny", reason="No")
    plain.text.fill("Also this")
    at("button", name="Steer").click()
    plain.expect_posted("/queue", message="Also this", when="steer")
    at("button", name="Take back").last.click()
    plain.expect_posted("/queue/q2/take-back")
    at("button", name="Permission mode: ask").click()
    at("button", name="auto Asks nothing").click()
    plain.expect_posted("/mode", mode="auto")
    at("button", name="Model: Lab Coder 30B").click()
    at("button", name="Lab Mini").click()
    plain.expect_posted("/model", provider="labserver", model="lab-mini")
    plain.page.locator(".acts summary").first.focus()
    plain.page.locator(".acts summary").first.press("Enter")
    at("button", name="Edit and resend").first.click()
    plain.expect_posted("/tree", entryId="u1")


# -- on a phone -----------------------------------------------------------------------------------


def test_on_a_phone_everything_can_be_tapped(tab: Driven) -> None:
    """Nothing scrolls sideways; what is pressed is at least 36 pixels high, answers 44."""
    tab.page.set_viewport_size({"width": 390, "height": 844})
    view = agent_pane(TALK, status=NEEDS, dialogs=(ASK_EDIT, *KINDS), queue=QUEUE)
    tab.show(page_of(view, quiet_rail()))
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 390
    for button in tab.page.locator("#pane button:visible, #pane summary:visible").all():
        box = button.bounding_box()
        assert box is not None
        least = (
            44
            if "answers" in button.evaluate("(b) => b.closest('.answers')?.className ?? ''")
            else 30
        )
        assert box["height"] >= least, button.evaluate("(b) => b.outerHTML")
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
