"""The tree of a thread in a browser: looking at it, going to another place, labels, drafts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.e2e.conftest import Shop, Watched
from tests.e2e.pages import WAIT, EnsoPage, until
from tests.e2e.places import SessionText
from tests.model_server import Gate, ModelServer, Reply


def twig(enso: EnsoPage, text: str) -> Locator:
    """The entry of the tree that says this."""
    return enso.page.locator("li.twig", has_text=text)


def open_tree(enso: EnsoPage) -> None:
    """From the menu of the pane."""
    enso.page.locator("#pane .manage").click()
    enso.page.get_by_role("link", name="Tree", exact=True).click()
    expect(enso.page.locator("#tree-list")).to_be_visible()


def parents_of(session: SessionText) -> dict[str, str | None]:
    """For the text of each prompt and reply, the prompt or reply that it follows in the file."""
    by_id = {entry["id"]: entry for entry in session.entries()}
    texts = {entry_id: text for text, entry_id in ids_of(session).items()}
    above: dict[str, str | None] = {}
    for text, entry_id in ids_of(session).items():
        at = by_id[entry_id]["parentId"]
        while at is not None and at not in texts:
            at = by_id[at]["parentId"]
        above[text] = texts[at] if at is not None else None
    return above


def ids_of(session: SessionText) -> dict[str, str]:
    """The id of each stored message by its text."""
    return {
        entry["message"]["content"][0]["text"]: entry["id"]
        for entry in session.entries()
        if entry["type"] == "message" and entry["message"]["role"] in ("user", "assistant")
    }


def say(model_server: ModelServer, *texts: str) -> None:
    """Script replies."""
    model_server.script([Reply(text=[text]) for text in texts])


def test_another_branch_is_gone_to_and_goes_on(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """The file's parents are those that pi's tree writes: a prompt's sibling, a reply's child."""
    say(model_server, "Answer one.", "Answer two.", "Answer other.", "Answer three.")
    enso.open_fresh()
    enso.ask("Prompt one")
    enso.ask("Prompt two", replies=2)
    thread_id = enso.thread_id
    session = shop.place.file_of(thread_id)
    before = session.path.read_bytes()

    open_tree(enso)
    expect(enso.page).to_have_url(re.compile(rf"/threads/{thread_id}/tree$"))
    expect(enso.page).to_have_title("Tree of Prompt one · Enso")
    expect(enso.marked).to_have_attribute("data-thread", thread_id)
    expect(enso.page.locator("li.twig")).to_have_count(4)
    expect(enso.page.locator("[aria-current=location]")).to_contain_text("Answer two.")
    prompt_two = twig(enso, "Prompt two")
    prompt_two.hover()
    prompt_two.get_by_role("button", name="Go here").click()

    enso.expect_thread(thread_id, "Prompt one")
    expect(enso.replies).to_have_count(1)
    expect(enso.text).to_have_value("Prompt two")
    assert session.path.read_bytes() == before
    enso.ask("Prompt other", replies=2)
    assert session.path.read_bytes().startswith(before)
    above = parents_of(session)
    assert (above["Prompt two"], above["Prompt other"]) == ("Answer one.", "Answer one.")
    assert above["Answer other."] == "Prompt other"

    open_tree(enso)
    expect(twig(enso, "Prompt two")).to_have_class(re.compile(r"\bd1\b"))
    expect(twig(enso, "Prompt other")).to_have_class(re.compile(r"\bd0 on\b"))
    left = twig(enso, "Answer two.")
    left.hover()
    left.get_by_role("button", name="Go here").click()
    expect(enso.replies).to_have_count(2)
    expect(enso.replies.last).to_contain_text("Answer two.")
    expect(enso.text).to_have_value("")
    enso.ask("Prompt three", replies=3)
    assert parents_of(session)["Prompt three"] == "Answer two."


def test_a_label_is_shown_in_two_tabs_as_it_is_set(
    enso: EnsoPage, shop: Shop, watched: Watched
) -> None:
    """Set in the tree of one tab, in the log of the other, where it is taken away again."""
    thread = shop.place.thread(shop.place.new_id(), "Mark this", "And this.")
    other = EnsoPage(watched.watch(enso.page.context.new_page()), enso.url)
    other.open(thread.thread_id)
    enso.go(f"/threads/{thread.thread_id}/tree")
    mark = twig(enso, "And this.")
    mark.hover()
    mark.locator(".relabel summary").click()
    mark.get_by_label("Label").fill("the good one")
    mark.get_by_label("Label").press("Enter")
    expect(mark.locator(".about .label")).to_contain_text("the good one")
    expect(other.replies.locator(".label")).to_contain_text("the good one")
    expect(enso.page).to_have_url(re.compile(r"/tree$"))
    enso.page.get_by_role("link", name="Labelled", exact=True).click()
    expect(enso.page.locator("li.twig")).to_have_count(1)
    expect(enso.page.locator("[aria-current=true]", has_text="Labelled")).to_be_visible()

    prompt = other.prompts.first
    prompt.hover()
    prompt.locator(".acts summary").click()
    prompt.get_by_role("textbox", name="Label").fill("the start")
    prompt.get_by_role("button", name="Label", exact=True).click()
    expect(prompt.locator(".label")).to_contain_text("the start")
    enso.page.get_by_role("link", name="Back to the thread").click()
    enso.expect_thread(thread.thread_id, "Mark this")
    expect(enso.messages.locator(".label")).to_contain_text(["the start", "the good one"])
    enso.sockets.wait_for_snapshot()
    prompt.hover()
    prompt.locator(".acts summary").click()
    prompt.get_by_role("textbox", name="Label").fill("")
    prompt.get_by_role("button", name="Label", exact=True).click()
    expect(prompt.locator(".label")).to_have_count(0)
    expect(enso.messages.locator(".label")).to_contain_text(["the good one"])


def test_the_tree_is_opened_by_its_command_and_left_by_going_back(
    enso: EnsoPage, shop: Shop
) -> None:
    """``/tree`` leads to it; Back is the thread; a narrow window does not scroll sideways."""
    thread = shop.place.thread(shop.place.new_id(), "Look at " + "w" * 300, "I see.")
    enso.open(thread.thread_id)
    enso.prompt("/tree")
    expect(enso.page.locator("#tree-list")).to_be_visible()
    enso.page.set_viewport_size({"width": 390, "height": 844})
    assert enso.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    go = twig(enso, "Look at").get_by_role("button", name="Go here")
    box = go.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 390
    enso.page.go_back()
    expect(enso.log).to_have_attribute("data-thread", thread.thread_id)


def test_a_long_thread_opens_at_the_place_where_it_is(enso: EnsoPage, shop: Shop) -> None:
    """A page of it, the place in sight; the rest is a link away."""
    turns = [text for n in range(400) for text in (f"Question {n}.", f"Answer {n}.")]
    thread = shop.place.thread(shop.place.new_id(), *turns)
    enso.go(f"/threads/{thread.thread_id}/tree")
    expect(enso.page.locator("li.twig")).to_have_count(200)
    expect(twig(enso, "Answer 399.")).to_be_in_viewport()
    enso.page.get_by_role("link", name="Show what stands above (600)").click()
    expect(twig(enso, "Question 200.")).to_have_count(1)
    expect(enso.page).to_have_url(re.compile(r"/tree\?start=400$"))


def test_while_a_run_is_in_flight_the_place_stays(
    enso: EnsoPage, model_server: ModelServer, watched: Watched
) -> None:
    """Going is refused where it was asked for; the reason stays when the tree is renewed."""
    watched.allow("409")
    gate = Gate()
    model_server.script([Reply(text=["First."]), Reply(text=["Slow"], gate=gate)])
    enso.open_fresh()
    enso.ask("Begin")
    enso.prompt("Go on")
    expect(enso.status).to_contain_text("Working")
    open_tree(enso)
    begin = twig(enso, "Begin")
    begin.hover()
    begin.get_by_role("button", name="Go here").click()
    said = enso.page.locator("#tree-said")
    expect(said).to_contain_text("in flight")
    with enso.page.expect_response(lambda answer: answer.request.method == "GET"):
        enso.page.evaluate("htmx.trigger('#tree-list', 'renew')")
    expect(said).to_contain_text("in flight")
    expect(enso.page).to_have_url(re.compile(r"/tree$"))
    gate.open()


# -- without scripts ------------------------------------------------------------------------------


@pytest.fixture
def plain(browser: Browser, shop: Shop) -> Iterator[EnsoPage]:
    """A tab that runs no script."""
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": 1280, "height": 800}
    )
    context.set_default_timeout(1000 * WAIT)
    yield EnsoPage(context.new_page(), shop.url)
    context.close()


def test_without_scripts_the_tree_is_walked_labelled_and_left_with_a_draft(
    plain: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """Every step is a page; the prompt's words are in the composer of the last one."""
    say(model_server, "Differently answered.")
    thread = shop.place.thread(shop.place.new_id(), "One", "1.", "Two\nin lines", "2.")
    plain.go(f"/threads/{thread.thread_id}/tree")
    mark = twig(plain, "Two")
    mark.locator(".relabel summary").click()
    mark.get_by_label("Label").fill("again")
    mark.get_by_role("button", name="Save").click()
    expect(plain.page).to_have_url(re.compile(r"/tree\?filter=default|/tree\?start=0|/tree$"))
    expect(twig(plain, "Two").locator(".about .label")).to_contain_text("again")
    twig(plain, "Two").get_by_role("button", name="Go here").click(force=True)
    expect(plain.text).to_have_value("Two\nin lines")
    expect(plain.replies).to_have_count(1)
    plain.text.fill("Two, differently")
    plain.send_button.click()
    until(plain.page, lambda: len(thread.messages("assistant")) == 3, "an answer in the file")
    above = parents_of(thread)
    assert (above["Two, differently"], above["Two\nin lines"]) == ("1.", "1.")


def test_without_scripts_a_prompt_is_edited_and_a_queued_one_taken_back(
    plain: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """Both come back as the draft of the page that answers."""
    thread = shop.place.thread(shop.place.new_id(), "Say it", "Said.")
    plain.go(f"/threads/{thread.thread_id}")
    prompt = plain.prompts.first
    prompt.locator(".acts summary").click(force=True)
    prompt.get_by_role("button", name="Edit and resend").click()
    expect(plain.text).to_have_value("Say it")
    expect(plain.messages).to_have_count(0)
    gate = Gate()
    model_server.script([Reply(text=["Slow"], gate=gate)])
    plain.send_button.click()
    expect(plain.status).to_contain_text("Working")
    plain.text.fill("And then this")
    plain.page.get_by_role("button", name="Queue").click()
    expect(plain.page.locator(".queue li")).to_have_count(1)
    plain.page.get_by_role("button", name="Take back").click()
    expect(plain.text).to_have_value("And then this")
    expect(plain.page.locator(".queue li")).to_have_count(0)
    gate.open()
