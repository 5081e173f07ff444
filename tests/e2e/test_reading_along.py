"""Reading in a browser: the log stays where its reader is, and open things stay open."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from enso.host.contract import WINDOW_MESSAGES
from tests.e2e.conftest import Shop
from tests.e2e.pages import EnsoPage, until
from tests.model_replies import Gate, Reply, chop
from tests.model_server import ModelServer

TO_END = "(box) => box.scrollHeight - box.scrollTop - box.clientHeight"
HTML = "text/html; charset=utf-8"
FIRST_SHOWN = """(function look() {
  const tail = document.querySelector(".tail");
  const shown = tail && getComputedStyle(tail).display !== "none";
  if (!shown) return requestAnimationFrame(look);
  const messages = tail.querySelectorAll("article").length;
  window.firstShown = {messages, scripts: "htmx" in window};
})();"""
PARAGRAPHS = "".join(f"Paragraph {n} of a long reply.\n\n" for n in range(80))


@pytest.fixture
def enso(page: Page, shop: Shop) -> EnsoPage:
    """A page on the shared server."""
    return EnsoPage(page, shop.url)


def long_thread(shop: Shop, thread_id: str) -> None:
    """Store a thread of many pages."""
    texts = [text for n in range(100) for text in (f"Question {n}?", f"Answer {n}.\n\n" * 3)]
    shop.place.thread(thread_id, *texts)


def test_a_thread_opens_at_its_end(enso: EnsoPage, shop: Shop) -> None:
    """What fills a window is there, the newest message in view, nothing earlier asked for yet."""
    long_thread(shop, "opens-at-end")
    enso.open("opens-at-end")
    expect(enso.messages.last).to_be_in_viewport()
    assert enso.log.evaluate(TO_END) <= 1
    expect(enso.messages).to_have_count(WINDOW_MESSAGES)


def test_a_thread_is_at_its_end_before_a_script_runs(browser: Browser, shop: Shop) -> None:
    """By its style: what is painted first, and all that is there without scripts, is the end."""
    long_thread(shop, "at-its-end")
    context = browser.new_context(java_script_enabled=False)
    plain = EnsoPage(context.new_page(), shop.url)
    plain.go("/threads/at-its-end")
    expect(plain.messages.last).to_be_in_viewport()
    expect(plain.messages.first).not_to_be_in_viewport()
    context.close()


def test_a_page_is_laid_out_a_few_times_and_not_once_for_each_message(
    enso: EnsoPage, shop: Shop
) -> None:
    """A browser looks into every form for what it could fill in, and lays it out for that: what a
    message offers is none before it is opened."""
    long_thread(shop, "laid-out")
    wire = enso.page.context.new_cdp_session(enso.page)
    wire.send("Performance.enable")
    enso.page.goto(f"{shop.url}/threads/laid-out", wait_until="load")
    told = wire.send("Performance.getMetrics")["metrics"]
    (layouts,) = [one["value"] for one in told if one["name"] == "LayoutCount"]
    assert enso.page.locator(".acts").count() == WINDOW_MESSAGES // 2
    assert enso.page.locator(".acts > form").count() == 0
    assert layouts < 8


def test_a_part_of_the_messages_is_not_laid_out(browser: Browser, shop: Shop) -> None:
    """While a page comes, its messages wait for the last of them, also without scripts."""
    long_thread(shop, "comes-in-pieces")
    context = browser.new_context(java_script_enabled=False)
    plain = EnsoPage(context.new_page(), shop.url)
    whole = context.request.get(f"{shop.url}/threads/comes-in-pieces").text()
    part = whole[: whole.index('<div class="dialogs"')]
    plain.page.route("**/threads/*", lambda route: route.fulfill(body=part, content_type=HTML))
    plain.go("/threads/comes-in-pieces")
    expect(plain.messages).to_have_count(WINDOW_MESSAGES)
    expect(plain.page.locator(".pane-head h1")).to_be_visible()
    expect(plain.messages.last).to_be_hidden()
    context.close()


def test_a_thread_is_shown_before_the_rail(browser: Browser, shop: Shop) -> None:
    """While a page comes, its messages are at their place before a row of the rail is there."""
    long_thread(shop, "before-the-rail")
    context = browser.new_context(java_script_enabled=False)
    plain, beside = EnsoPage(context.new_page(), shop.url), EnsoPage(context.new_page(), shop.url)
    whole = context.request.get(f"{shop.url}/threads/before-the-rail").text()
    part = whole[: whole.index('<nav id="rail"')]
    plain.page.route("**/threads/*", lambda route: route.fulfill(body=part, content_type=HTML))
    for one in (plain, beside):
        one.go("/threads/before-the-rail")
        expect(one.messages.last).to_be_in_viewport()
    expect(plain.rows).to_have_count(0)
    assert plain.messages.last.bounding_box() == beside.messages.last.bounding_box()
    context.close()


def test_messages_are_shown_before_a_script_runs(enso: EnsoPage, shop: Shop) -> None:
    """The scripts wait until the page is painted."""
    long_thread(shop, "shown-first")
    enso.page.add_init_script(FIRST_SHOWN)
    enso.page.goto(f"{shop.url}/threads/shown-first")
    enso.page.wait_for_function("window.firstShown && window.htmx")
    assert enso.page.evaluate("window.firstShown") == {
        "messages": WINDOW_MESSAGES,
        "scripts": False,
    }


def test_a_first_visit_asks_for_five_things(browser: Browser, shop: Shop) -> None:
    """The page, its style, its scripts, its sign and its follow; nothing earlier, which is far."""
    long_thread(shop, "first-visit")
    context = browser.new_context()
    enso, asked = EnsoPage(context.new_page(), shop.url), list[str]()
    enso.page.on("request", lambda one: asked.append(one.url))
    enso.open("first-visit")
    enso.page.wait_for_load_state("networkidle")
    names = [re.sub(r".*/|\?.*", "", url) for url in asked]
    told = {"rail"}  # that the thread was stored a moment ago
    assert sorted(set(names) - told - {"enso.svg"}) == ["enso.css", "first-visit", "scripts.js"]
    assert len(names) == len(set(names))
    assert len(enso.sockets.opened) == 1
    context.close()


def test_scrolling_up_brings_earlier_messages_and_moves_nothing(enso: EnsoPage, shop: Shop) -> None:
    """Up to the first message, each once; the message a reader looks at stays in its place."""
    long_thread(shop, "scrolls-up")
    enso.open("scrolls-up")
    first = enso.messages.first.element_handle()
    enso.log.evaluate("(box) => { box.scrollTop = 400; }")
    before = first.evaluate("(one) => one.getBoundingClientRect().top")
    until(enso.page, lambda: enso.messages.count() > WINDOW_MESSAGES, "earlier messages came")
    after = first.evaluate("(one) => one.getBoundingClientRect().top")
    assert abs(after - before) <= 1
    seen: dict[str, None] = {}

    def all_there() -> bool:
        enso.log.evaluate("(box) => { box.scrollTop = 0; }")
        seen.update(dict.fromkeys(enso.prompts.locator(".written").all_inner_texts()))
        return len(seen) == 100

    until(enso.page, all_there, "every message came")
    assert sorted(seen) == sorted(f"Question {n}?" for n in range(100))
    assert enso.prompts.first.locator(".written").inner_text() == "Question 0?"


def test_who_reads_along_is_kept_at_the_end(enso: EnsoPage, model_server: ModelServer) -> None:
    """A reply that grows beyond the window is followed to its end."""
    model_server.script([Reply(text=chop(PARAGRAPHS, 200))])
    enso.open_fresh()
    enso.ask("a long reply, please")
    expect(enso.replies.last).to_contain_text("Paragraph 79")
    assert enso.scroll_top() > 1000
    until(enso.page, lambda: enso.log.evaluate(TO_END) <= 1, "the end is in view")


def test_who_scrolled_away_is_left_alone(enso: EnsoPage, model_server: ModelServer) -> None:
    """While the reply goes on, the reader's place does not move."""
    gate = Gate()
    model_server.script([Reply(text=chop(PARAGRAPHS, 200), gate=gate)])
    enso.open_fresh()
    enso.prompt("a long reply, please")
    expect(enso.replies.last).to_contain_text("Paragraph 78")
    enso.log.hover()
    enso.page.mouse.wheel(0, -700)
    until(enso.page, lambda: enso.log.evaluate(TO_END) > 300, "the reader scrolled up")
    until(enso.page, lambda: enso.log.evaluate(SETTLED), "the wheel came to rest")
    place = enso.scroll_top()
    gate.open()
    enso.expect_settled()
    assert abs(enso.scroll_top() - place) <= 2


# Two looks at the log, two frames apart, see it in the same place.
SETTLED = """(box) => {
  const seen = box.scrollTop;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  return frame().then(frame).then(() => box.scrollTop === seen);
}"""


def test_what_a_reader_opened_stays_open_while_the_message_grows(
    enso: EnsoPage, model_server: ModelServer
) -> None:
    """Thoughts that were opened while they streamed are open when the message has ended."""
    gate = Gate()
    model_server.script([Reply(thinking=["Hmm, let me ", "see."], text=["So."], gate=gate)])
    enso.open_fresh()
    enso.prompt("think")
    thought = enso.replies.last.locator("details.thinking")
    expect(enso.replies.last).to_contain_text("So.")
    thought.locator("summary").click()
    expect(thought).to_have_attribute("open", "")
    gate.open()
    enso.expect_settled()
    expect(thought.locator("summary")).to_have_text("Thought")
    expect(thought).to_have_attribute("open", "")
    expect(thought).to_contain_text("let me see")
