"""One thread, many eyes: two tabs, and another process that writes to the thread's file."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import BrowserContext, WebSocketRoute, expect

from tests.e2e.conftest import Shop, Watched
from tests.e2e.pages import EnsoPage
from tests.model_server import Gate, ModelServer, Reply

Tabs = tuple[EnsoPage, EnsoPage]
A_SECOND = 1.0
TURNS = 3
# Notes when a text first stands in the log, in seconds since the epoch.
STAMP = """(text) => {
  const log = document.querySelector("[data-log]");
  window.seen = new Promise((done) => {
    new MutationObserver((_, observer) => {
      if (!log.textContent.includes(text)) return;
      observer.disconnect();
      done(Date.now() / 1000);
    }).observe(log, { childList: true, subtree: true, characterData: true });
  });
}"""


@pytest.fixture
def tabs(context: BrowserContext, shop: Shop, watched: Watched) -> Tabs:
    """Two tabs on one stored thread."""
    thread = shop.place.thread(shop.place.new_id(), "For two", "Both of you.")
    first = EnsoPage(watched.watch(context.new_page()), shop.url)
    second = EnsoPage(watched.watch(context.new_page()), shop.url)
    for tab in (first, second):
        tab.open(thread.thread_id)
    return first, second


def test_a_prompt_in_one_tab_streams_in_both(tabs: Tabs, model_server: ModelServer) -> None:
    """Both see the prompt, the words as they come, and the same thread at the end."""
    gate = Gate()
    model_server.script([Reply(text=["Half of ", "the answer"], gate=gate)])
    tabs[0].prompt("What is new?")
    for tab in tabs:
        expect(tab.prompts.last).to_contain_text("What is new?")
        expect(tab.replies.last).to_contain_text("Half of the answer")
        expect(tab.status).to_contain_text("Working")
    gate.open()
    for tab in tabs:
        tab.expect_settled()
        expect(tab.status).to_have_text(re.compile("Ready"))
    assert tabs[0].log.inner_text() == tabs[1].log.inner_text()
    assert tabs[0].texts() == ["For two", "Both of you.", "What is new?", "Half of the answer"]


def test_what_is_typed_while_busy_is_said_after_and_seen_by_both(
    tabs: Tabs, shop: Shop, model_server: ModelServer
) -> None:
    """What a tab that knows of the run sends waits in sight of both, and is then said."""
    gate = Gate()
    model_server.script([Reply(text=["First."], gate=gate), Reply(text=["Second."])])
    tabs[0].prompt("Mine first")
    expect(tabs[1].status).to_contain_text("Working")
    tabs[1].prompt("Mine too")
    expect(tabs[1].text).to_have_value("")
    for tab in tabs:
        expect(tab.page.locator("#pane")).to_contain_text("Mine too")
        expect(tab.prompts).to_have_count(2)
    gate.open()
    for tab in tabs:
        expect(tab.prompts.last).to_contain_text("Mine too")
        expect(tab.replies.last).to_contain_text("Second.")
        tab.expect_settled()
    prompts = shop.place.file_of(tabs[0].thread_id).messages("user")
    assert [one["content"][0]["text"] for one in prompts] == ["For two", "Mine first", "Mine too"]


def only_the_first_frame(route: WebSocketRoute) -> None:
    """Let a tab hear how the thread is, and nothing after it."""
    heard: list[bool] = []

    def hear(message: str | bytes) -> None:
        if not heard:
            heard.append(True)
            route.send(message)

    route.connect_to_server().on_message(hear)


def test_a_second_prompt_while_busy_is_refused_in_words(
    context: BrowserContext, tabs: Tabs, model_server: ModelServer, watched: Watched
) -> None:
    """A tab that has not heard of the run is refused with the reason and keeps its text."""
    watched.allow("409")
    unknowing = EnsoPage(watched.watch(context.new_page()), tabs[0].url)
    unknowing.page.route_web_socket(re.compile("/follow"), only_the_first_frame)
    unknowing.go(f"/threads/{tabs[0].thread_id}")
    expect(unknowing.status).to_have_text(re.compile("Not running"))
    gate = Gate()
    model_server.script([Reply(text=["Wait."], gate=gate)])
    tabs[0].prompt("Mine first")
    expect(tabs[1].status).to_contain_text("Working")
    unknowing.prompt("Mine too")
    expect(unknowing.refusal).to_contain_text("still working")
    expect(unknowing.text).to_have_value("Mine too")
    expect(tabs[0].refusal).to_be_empty()
    gate.open()
    tabs[0].expect_settled()
    unknowing.text.press("Enter")
    expect(unknowing.text).to_have_value("")
    expect(unknowing.refusal).to_be_empty()
    for tab in tabs:
        expect(tab.prompts.last).to_contain_text("Mine too")
        expect(tab.replies).to_have_count(3)
        tab.expect_settled()


@pytest.mark.parametrize("state", ["cold", "held"])
def test_what_another_process_writes_shows_in_both_within_a_second(
    tabs: Tabs, shop: Shop, state: str
) -> None:
    """What pi appends to the file is in both tabs a second later, also when it is held."""
    file = shop.place.file_of(tabs[0].thread_id)
    if state == "held":
        tabs[0].ask("Hold this thread", replies=2)
        expect(tabs[1].status).to_have_text(re.compile("Ready"))
    before = tabs[0].replies.count()
    delays: list[float] = []
    for turn in range(TURNS):
        for tab in tabs:
            tab.page.evaluate(STAMP, f"Answered there, {turn}")
        file.say(f"From a terminal, {turn}", f"Answered there, {turn}")
        written = time.time()
        delays.append(max(tab.page.evaluate("() => window.seen") for tab in tabs) - written)
    # One turn in three may meet a busy machine.
    assert sorted(delays)[TURNS // 2] < A_SECOND
    for tab in tabs:
        expect(tab.replies).to_have_count(before + TURNS)
        expect(tab.status).to_have_text(re.compile("Not running" if state == "cold" else "Ready"))


@pytest.mark.parametrize("state", ["cold", "held"])
def test_the_next_prompt_continues_from_the_new_leaf(tabs: Tabs, shop: Shop, state: str) -> None:
    """After another process wrote, the prompt goes on from that process's last line."""
    file = shop.place.file_of(tabs[0].thread_id)
    replies = 1
    if state == "held":
        tabs[0].ask("Hold this thread", replies=2)
        replies = 2
    leaf = file.say("From a terminal", "Answered there")
    expect(tabs[0].replies.last).to_contain_text("Answered there")
    tabs[0].ask("And from the browser", replies=replies + 2)
    entries = file.entries()
    (after,) = [one for one in entries if one["parentId"] == leaf]
    own = entries[entries.index(after) :]
    asked = next(one for one in own if one.get("message", {}).get("role") == "user")
    assert asked["message"]["content"][0]["text"] == "And from the browser"
    parents = {one["id"]: one["parentId"] for one in entries}
    step: str | None = own[-1]["id"]
    while step not in {leaf, None}:
        step = parents[step]
    assert step == leaf
    expect(tabs[1].replies).to_have_count(replies + 2)
    assert tabs[1].texts() == tabs[0].texts()


def test_a_prompt_goes_on_from_what_was_written_a_moment_ago(tabs: Tabs, shop: Shop) -> None:
    """A prompt sent in the same breath as another process's line does not fork the branch."""
    file = shop.place.file_of(tabs[0].thread_id)
    tabs[0].ask("Hold this thread", replies=2)
    tabs[0].text.fill("At once")
    leaf = file.say("From a terminal", "Answered there")
    tabs[0].text.press("Enter")
    expect(tabs[0].replies).to_have_count(4)
    tabs[0].expect_settled()
    assert len([one for one in file.entries() if one["parentId"] == leaf]) == 1
    assert tabs[0].texts()[-4:-1] == ["From a terminal", "Answered there", "At once"]
    expect(tabs[1].replies).to_have_count(4)
    assert tabs[1].texts() == tabs[0].texts()


def test_a_thread_that_comes_back_comes_back_in_every_tab(tabs: Tabs, shop: Shop) -> None:
    """What was said of its file is unsaid, and its messages are there again."""
    path = shop.place.file_of(tabs[0].thread_id).path
    texts = tabs[0].texts()
    aside = path.with_suffix(".aside")
    path.rename(aside)
    gone = [tab.page.locator(".told", has_text="file is gone") for tab in tabs]
    for said in gone:
        expect(said).to_be_visible()
    aside.rename(path)
    for tab, said in zip(tabs, gone, strict=True):
        expect(said).to_have_count(0)
        expect(tab.replies).to_have_count(sum(1 for _ in texts) // 2)
        assert tab.texts() == texts


def test_a_thread_deleted_elsewhere_is_no_row_any_more(tabs: Tabs, shop: Shop) -> None:
    """When its file is removed the row goes; the tabs that show it go on, and say no falsehood."""
    thread_id = tabs[0].thread_id
    shop.place.file_of(thread_id).path.unlink()
    for tab in tabs:
        expect(tab.row(thread_id)).to_have_count(0)
        expect(tab.text).to_be_editable()
