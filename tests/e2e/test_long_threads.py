"""A long thread in a browser: read up to its beginning and down again, bounded all the way."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from enso.host.contract import WINDOW_MESSAGES
from enso.server.paging import PAGE_MESSAGES
from tests.e2e.conftest import Shop
from tests.e2e.pages import EnsoPage, until

PAGES = 24
MANY = 240
MESSAGES = WINDOW_MESSAGES + (PAGES - 1) * PAGE_MESSAGES
TO_END = "(box) => box.scrollHeight - box.scrollTop - box.clientHeight"

# Everything happens between two frames of the browser, so it is watched there. ``moved`` is how far
# the message at the window's upper edge went without a scroll, ``nodes`` the most there were.
WATCH = """(box) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const edge = () => box.getBoundingClientRect();
  const ids = () => [...box.querySelectorAll("article")].map((one) => one.id);
  const seen = { nodes: 0, moved: 0, twice: 0, ids: new Set(), holes: 0 };
  const note = () => {
    const now = ids();
    seen.nodes = Math.max(seen.nodes, document.getElementsByTagName("*").length);
    seen.twice += now.length - new Set(now).size;
    for (const id of now) seen.ids.add(id);
  };
  const top = () => [...box.querySelectorAll("article")].find(
    (one) => one.getBoundingClientRect().bottom > edge().top);
  const hole = () => [...box.querySelectorAll(".away")].some((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return bottom > edge().top && top < edge().bottom;
  });
  window.scrolled = async (top, ready) => {
    box.scrollTop = top;
    await frame();
    await frame();
    const first = window.topMessage();
    const place = first?.getBoundingClientRect().top;
    for (;;) {
      note();
      if (first?.isConnected)
        seen.moved = Math.max(seen.moved, Math.abs(first.getBoundingClientRect().top - place));
      if (ready() && !hole()) return;
      await frame();
    }
  };
  window.topMessage = top;
  window.pages = () => box.querySelectorAll("[data-page]").length;
  window.seen = () => ({ ...seen, ids: seen.ids.size });
}"""
ONE_UP = """async (box) => {
  const before = window.pages();
  await window.scrolled(0, () => window.pages() > before);
}"""
UP = """async (box) => {
  while (box.querySelector("[data-earlier]")) {
    const before = window.pages();
    await window.scrolled(0, () => window.pages() > before);
  }
  return window.seen();
}"""
DOWN = """async (box) => {
  const toGo = () => box.scrollHeight - box.scrollTop - box.clientHeight;
  while (toGo() > 1) await window.scrolled(box.scrollTop + box.clientHeight * 5, () => true);
  return { ...window.seen(), height: box.scrollHeight };
}"""


@pytest.fixture(scope="module")
def long_thread(shop: Shop) -> str:
    """A stored thread of many pages."""
    texts = [text for n in range(MESSAGES // 2) for text in (f"Question {n}?", f"Answer {n}.")]
    shop.place.thread("many-pages", *texts)
    return "many-pages"


@pytest.fixture
def enso(page: Page, shop: Shop, long_thread: str) -> EnsoPage:
    """The thread's page."""
    opened = EnsoPage(page, shop.url)
    opened.open(long_thread)
    opened.log.evaluate(WATCH)
    return opened


def test_up_to_the_beginning_and_down_again(enso: EnsoPage) -> None:
    """A page far from the window is taken out, and is there when the reader comes: nothing moves,
    nothing is missing, nothing is there twice, and there never is more than a few pages of it."""
    shown = enso.log.evaluate("(box) => box.querySelectorAll('*').length")
    page_nodes = shown * PAGE_MESSAGES / WINDOW_MESSAGES
    up: dict[str, Any] = enso.log.evaluate(UP)
    assert up["ids"] == MESSAGES
    assert enso.page.locator("[data-page]").count() == PAGES - 1
    height = enso.log.evaluate("(box) => box.scrollHeight")
    down: dict[str, Any] = enso.log.evaluate(DOWN)
    for seen in (up, down):
        assert seen["moved"] <= 1
        assert seen["twice"] == 0
        assert seen["nodes"] < 6 * page_nodes
    assert down["height"] == height
    expect(enso.messages.last).to_be_in_viewport()
    expect(enso.replies.last).to_contain_text(f"Answer {MESSAGES // 2 - 1}.")


def test_the_end_is_one_press_away(enso: EnsoPage, shop: Shop, long_thread: str) -> None:
    """Far up a button leads back, and from there on the thread is followed again."""
    button = enso.page.get_by_role("button", name="To the end")
    expect(button).to_be_hidden()
    enso.log.evaluate(ONE_UP)
    button.click()
    expect(enso.messages.last).to_be_in_viewport()
    expect(button).to_be_hidden()
    assert enso.log.evaluate(TO_END) <= 1
    shop.place.file_of(long_thread).say("One more?\n\n" * 40, "Yes.")
    expect(enso.replies.last).to_contain_text("Yes.")
    until(enso.page, lambda: enso.log.evaluate(TO_END) <= 1, "the end is in view")


def test_what_a_reader_marked_is_not_taken_out(enso: EnsoPage) -> None:
    """A page with a selection in it stays, however far one scrolls; others around it go."""
    enso.log.evaluate(ONE_UP)
    page = enso.page.locator("[data-page]").first.element_handle()
    marked = page.query_selector("article.user")
    assert marked is not None
    marked.evaluate("(one) => getSelection().selectAllChildren(one)")
    told = enso.page.evaluate("getSelection().toString()")
    for _ in range(6):
        enso.log.evaluate(ONE_UP)
    assert enso.page.locator(".page.away").count() >= 2
    assert marked.evaluate("(one) => one.isConnected")
    assert not page.evaluate("(one) => one.classList.contains('away')")
    assert enso.page.evaluate("getSelection().toString()") == told


def test_a_thread_that_is_followed_stays_bounded(enso: EnsoPage, shop: Shop) -> None:
    """Of many messages the oldest become earlier ones while the end is read; none is lost."""
    thread = shop.place.thread("grows", "Question 0?", "Answer 0.")
    enso.open("grows")
    enso.log.evaluate(WATCH)
    for turn in range(1, 200):
        thread.say(f"Question {turn}?", f"Answer {turn}.")
    expect(enso.replies.last).to_contain_text("Answer 199.")
    until(enso.page, lambda: enso.messages.count() <= MANY, "the oldest went")
    assert enso.log.evaluate(TO_END) <= 1
    # A snapshot holds them all again.
    thread.say("One more?", "The last one.")
    expect(enso.replies.last).to_contain_text("The last one.")
    until(enso.page, lambda: enso.messages.count() <= MANY, "they went again")
    up: dict[str, Any] = enso.log.evaluate(UP)
    assert up["ids"] == 402
    assert up["twice"] == 0
    assert up["moved"] <= 1
    expect(enso.messages.first).to_contain_text("Question 0?")
