"""Dialogs as they are drawn: what is asked, how it is answered, what became of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso import wire
from enso.server.dialogs import dialog_look, outcome_words, under
from enso.server.render import Renderer
from tests.look.scenes import (
    ASK_EDIT,
    ASK_RUN,
    KINDS,
    WORK,
    agent_pane,
    asks,
    dialog,
    page,
    rail,
    waiting,
)
from tests.server.drawn import HOSTILE, Page, assert_safe, pieces, snapshot, words

RENDER = Renderer()
BASE = "/threads/k"

CARD = """<section class="dialog" id="d-k-d1" role="group" tabindex="-1" \
aria-labelledby="dt-k-d1">
<h2 id="dt-k-d1" dir="auto">May it run this command?</h2>
<p class="tool"><b>bash</b></p>
<pre class="code" tabindex="0" dir="ltr"><code>rm -rf build/ &amp;&amp; make dist</code></pre>
<div class="answers" id="da-k-d1">
<form class="choices" FORM>
<button name="value" value="once" class="primary" aria-keyshortcuts="a">Once \
<kbd aria-hidden="true">a</kbd></button>
<button name="value" value="thread" aria-keyshortcuts="t">For this thread \
<kbd aria-hidden="true">t</kbd></button>
</form>
<form class="deny" FORM>
<label class="visually-hidden" for="dr-k-d1">Why not: the agent is told</label>
<input id="dr-k-d1" name="reason" maxlength="10000" autocomplete="off" dir="auto" \
placeholder="Why not (optional)" aria-keyshortcuts="d">
<button name="value" value="deny">Deny <kbd aria-hidden="true">d</kbd></button>
</form>

<p class="says" id="ds-k-d1" role="alert"></p>
</div>
</section>
""".replace(
    "FORM",
    'method="post" action="/threads/k/dialogs/d1" hx-post="/threads/k/dialogs/d1" hx-target="this" '
    'hx-swap="none" hx-sync="#d-k-d1:drop" hx-disable="#da-k-d1 button, #da-k-d1 input, '
    '#da-k-d1 textarea" hx-status:4xx="target:#ds-k-d1 swap:innerHTML" '
    'hx-status:5xx="target:#ds-k-d1 swap:innerHTML" data-answer',
)


def draw(frame: wire.Frame, **options: Any) -> str:
    """A frame of the thread ``k``."""
    return RENDER.frame(frame, key="k", base=BASE, **options)


def card(asked: wire.Dialog) -> Page:
    """A dialog's card."""
    ((_, _, html),) = pieces(draw(wire.DialogFrame(dialog=asked)))
    return assert_safe(html)


def test_a_permission_is_a_card_with_all_it_needs() -> None:
    """The whole of it, as a frame brings it: two forms, so that Enter in the reason denies."""
    asked = ASK_RUN.model_copy(update={"created_at": None})
    assert pieces(draw(wire.DialogFrame(dialog=asked))) == [("dialogs-k", "beforeend", CARD)]


def test_a_page_a_frame_and_a_snapshot_draw_the_same_card() -> None:
    """A reload, a second tab and a reconnect show what was there."""
    pane = RENDER.pane(
        agent_pane(WORK, key="k", dialogs=(ASK_EDIT,), hrefs={"dialogs": f"{BASE}/dialogs"})
    )
    ((_, _, framed),) = pieces(draw(wire.DialogFrame(dialog=ASK_EDIT)))
    whole = {
        target: html for target, _, html in pieces(draw(snapshot([], open_dialogs=[ASK_EDIT])))
    }
    assert whole["dialogs-k"] == framed
    assert framed in pane


def test_a_snapshot_takes_away_what_was_answered_meanwhile() -> None:
    """The dialogs of a snapshot are all there are."""
    assert ("dialogs-k", "innerMorph", "") in pieces(draw(snapshot([])))


def test_an_edit_is_asked_with_its_diff() -> None:
    """The path, how much comes and goes, and every line."""
    read = card(ASK_EDIT)
    text = " ".join(read.text.split())
    assert "edit shop/orders.py +3 −4" in text
    assert "+ return (net * (1 + self.rate)).quantize(CENT, ROUND_HALF_EVEN)" in text
    assert [one.get("class") for one in read.all("span")].count("add") == 3


@pytest.mark.parametrize("asked", KINDS, ids=lambda one: one.kind)
def test_every_kind_is_answered_by_a_form_and_can_be_put_away(asked: wire.Dialog) -> None:
    """Cancel is a button of the same form, and never the one that Enter presses."""
    read = card(asked)
    (form,) = read.all("form")
    assert form["action"] == form["hx-post"] == f"{BASE}/dialogs/{asked.id}"
    buttons = [one for one in read.all("button") if "data-notify" not in one]
    assert buttons[-1]["name"] == "cancelled"
    assert all(one.get("name") != "cancelled" for one in buttons[:-1])
    values = [one["value"] for one in buttons[:-1] if one.get("name") == "value"]
    usual = {"confirm": ["yes", "no"]}.get(asked.kind, [])
    assert values == ([option.value for option in asked.options] or usual)


def test_the_answers_that_are_offered_are_the_dialogs_own() -> None:
    """Labels and values come with it; a denial stands apart wherever it is in the list."""
    options = [
        wire.DialogOption(value="deny", label="Never"),
        wire.DialogOption(value="once", label="Just now"),
    ]
    look = dialog_look(ASK_RUN.model_copy(update={"options": options}), "/d")
    assert [(one.value, one.label) for one in look.choices] == [("once", "Just now")]
    assert look.deny == options[0]
    look = dialog_look(dialog("k", "select", "Which?", options=options), "/d")
    assert [one.value for one in look.choices] == ["deny", "once"]
    assert look.deny is None


def test_a_message_that_says_the_call_once_more_is_left_out() -> None:
    """A command or a path stands once in its card; any other message beside it."""
    for message, told in ((" rm -rf build/ && make dist", ""), ("In /tmp", "In /tmp")):
        look = dialog_look(ASK_RUN.model_copy(update={"message": message}), "/d")
        assert look.message == told
    assert dialog_look(ASK_EDIT.model_copy(update={"message": "shop/orders.py"}), "").message == ""
    lines = asks("d", "Run this?", "bash", command="cd src &&\npytest -q")
    folded = lines.model_copy(update={"message": "cd src && ⏎ pytest -q\n\nIt is outside."})
    assert dialog_look(folded, "").message == "It is outside."
    assert dialog_look(dialog("k", "input", "Name?", message="x"), "").message == "x"


@pytest.mark.parametrize(
    "outcome, said",
    [
        ("once", "Allowed once."),
        ("thread", "Allowed for this thread."),
        ("deny", "Denied."),
        ("cancelled", "Put away without an answer."),
        ("b3", "Answered: b3."),
        ("two\nlines", "Answered: two lines."),
        ("", "Answered."),
        ("<b>\u202e", "Answered: <b>⟨U+202E⟩."),
    ],
)
def test_what_became_of_it_is_one_line(outcome: str, said: str) -> None:
    """The answers give way to the outcome, wherever it was given."""
    ((target, swap, html),) = pieces(draw(wire.DialogFrame(closed="d1", outcome=outcome)))
    assert (target, swap, words(html)) == ("da-k-d1", "outerHTML", said)
    assert_safe(html)


def test_a_question_that_was_stopped_is_taken_away() -> None:
    """Its run says itself that it was stopped."""
    frame = wire.DialogFrame(closed="d1", outcome="stopped")
    assert pieces(draw(frame)) == [("d-k-d1", "delete", "")]


def test_a_long_outcome_is_cut() -> None:
    """A line stays a line."""
    assert len(outcome_words("word " * 1000)) < 140


def test_links_below_another_keep_its_query() -> None:
    """A page's other query parameters stay behind; ids are quoted."""
    assert under("/t/dialogs?desk=left", "a/b?c", "take-back") == (
        "/t/dialogs/a%2Fb%3Fc/take-back?desk=left"
    )
    assert under("/x", "\ud83d") == "/x/%3F"


def test_the_title_counts_what_waits() -> None:
    """What waits anywhere, or here, stands before the thread's name; nothing when nothing does."""
    here = agent_pane(WORK, dialogs=(ASK_RUN, ASK_EDIT))
    name = "Totals are off by one cent · Enso"
    for pane, needed, title in (
        (here, 1, f"(2) {name}"),
        (agent_pane(WORK), 3, f"(3) {name}"),
        (agent_pane(WORK), 0, name),
    ):
        assert f"<title>{title}</title>" in RENDER.page(page(pane, rail(waiting=needed)))
    assert f"<title>(2) {name}</title>" in RENDER.pane(here)


def test_the_rail_leads_to_what_waits() -> None:
    """How many threads need a person, as a link to the page of their questions."""
    html = RENDER.rail_rows(rail(waiting=2))
    assert "2 threads need you" in html
    (link,) = [one for one in Page(html).all("a") if one["href"] == "/waiting"]
    assert (link["hx-get"], link["hx-target"]) == ("/waiting", "#pane")
    assert 'data-needed="2"' in html
    assert "need you" not in RENDER.rail_rows(rail(waiting=0))


def test_the_waiting_page_names_each_thread_and_asks_its_question() -> None:
    """Every card is answered in its own thread; the list can be asked for again by itself."""
    view = waiting(ASK_RUN, KINDS[1], follow_href="/threads/new/follow")
    read = assert_safe(RENDER.waiting(view, page=True))
    assert {"rail", "pane", "waiting-list", "d-t0-d1", "d-t1-k2"} <= set(read.ids())
    actions = [one["action"] for one in read.all("form") if "data-answer" in one]
    assert actions == ["/threads/t0/dialogs/d1"] * 2 + ["/threads/t1/dialogs/k2"]
    asks_again = read.one("waiting-list")
    assert (asks_again["hx-get"], asks_again["hx-select"]) == ("/waiting", "#waiting-list")
    fragment = RENDER.waiting(view, page=False)
    assert fragment.lstrip().startswith("<title>(2) Waiting for you · Enso</title>")
    assert "<nav" not in fragment
    assert_safe(fragment)


def test_a_waiting_page_without_a_question_says_so() -> None:
    """Nothing is left blank."""
    html = RENDER.waiting(waiting(), page=True)
    assert "<title>Nothing waits for you · Enso</title>" in html
    assert "Nothing waits for you." in html


def everywhere(text: str) -> list[wire.Dialog]:
    """Dialogs with ``text`` in every field."""
    options = [wire.DialogOption(value=text, label=text)]
    kinds: list[Any] = ["permission", "select", "confirm", "input", "editor"]
    return [
        *(
            dialog(f"{text}{kind}", kind, text, message=text, options=options, expires_at=None)
            for kind in kinds
        ),
        *(
            asks(f"{text}{name}", text, name, path=text, command=text, content=text, more=text)
            for name in ("bash", "write", "read", text)
        ),
        asks(
            f"{text}edit", text, "edit", path=text, edits=[{"oldText": text, "newText": f"{text}."}]
        ),
    ]


@given(st.text(st.sampled_from("<>\"'&/={}% \n\0ax\ud83d\u202e]`-"), max_size=40))
def test_no_text_breaks_out_of_a_dialog(text: str) -> None:
    """Whatever an agent asks with is text: on a page, in a frame, on the waiting page."""
    for asked in everywhere(text):
        card(asked)
    assert_safe(RENDER.waiting(waiting(*everywhere(text)), page=True))


def test_hostile_questions_are_text_on_a_page() -> None:
    """No script, no element and no form of an agent's making."""
    html = RENDER.page(page(agent_pane(WORK, dialogs=everywhere(HOSTILE))))
    assert_safe(html)
    assert "<script>alert" not in html
    assert not re.search(r"<hx-partial", html)
