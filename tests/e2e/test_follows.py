"""A pane's socket through a day: reloads, restarts, hidden tabs; what a reader did stays."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Playwright, expect

from tests.e2e.conftest import CHROMIUM_OPTIONS, Shop, Start, Watched, chromium
from tests.e2e.pages import EnsoPage, until
from tests.e2e.places import Place, assistant, tool_call, tool_result
from tests.model_server import Gate, ModelServer, Reply

RELOADS = 20


def test_every_reload_has_one_socket_and_its_snapshot(enso: EnsoPage, shop: Shop) -> None:
    """Twenty reloads open twenty sockets, one each, and each gets the thread's state."""
    thread = shop.place.thread(shop.place.new_id(), "Load me often", "As you like.")
    enso.open(thread.thread_id)
    for reload in range(RELOADS):
        enso.page.reload()
        enso.sockets.wait_for_snapshot(opened=reload + 2)
        enso.sockets.wait_for_one_open()
        assert "As you like." in enso.sockets.frames()[0]
    enso.expect_thread(thread.thread_id, "Load me often")
    assert len(enso.sockets.opened) == RELOADS + 1


def test_what_a_reader_did_stays_when_a_snapshot_comes(enso: EnsoPage, shop: Shop) -> None:
    """Opened details, draft, caret, focus and scroll position outlive a snapshot."""
    place = shop.place
    thread = place.thread(
        place.new_id(),
        "A long story",
        "Once.\n\n" * 60,
        "Look at the file.",
        assistant(
            {"type": "thinking", "thinking": "I wonder what is in it."},
            "I look.",
            tool_call("call-1", "bash", command="cat notes.txt"),
            at=1,
            stopReason="toolUse",
        ),
        tool_result("call-1", "bash", "a line of notes\n" * 30, at=2),
        "Nothing new.",
    )
    enso.open(thread.thread_id)
    details = enso.log.locator("details.tool, details.thinking")
    expect(details).to_have_count(2)
    for one in details.all():
        one.locator("summary").first.click()
    enso.text.fill("half a thought")
    enso.text.evaluate("(box) => box.setSelectionRange(4, 9)")
    enso.log.evaluate("(box) => { box.scrollTop = 300; }")
    expect(enso.log).to_have_js_property("scrollTop", 300)
    thread.say("Is anybody there?", "Another process is.")
    expect(enso.replies.last).to_contain_text("Another process is.")
    for one in details.all():
        expect(one).to_have_attribute("open", "")
    expect(enso.text).to_be_focused()
    expect(enso.text).to_have_value("half a thought")
    caret = enso.text.evaluate("(box) => [box.selectionStart, box.selectionEnd]")
    assert caret == [4, 9]
    assert enso.scroll_top() == 300


def test_who_reads_at_the_end_stays_at_the_end(enso: EnsoPage, shop: Shop) -> None:
    """A reader at the end of the log sees what comes, without scrolling."""
    thread = shop.place.thread(shop.place.new_id(), "A long story", "Once.\n\n" * 60)
    enso.open(thread.thread_id)
    thread.say("And then?", "Then.\n\n" * 60 + "The end.")
    expect(enso.replies.last.get_by_text("The end.")).to_be_in_viewport()


def test_the_page_itself_never_scrolls(enso: EnsoPage, shop: Shop) -> None:
    """Rail and log scroll on their own; nothing in them makes the page longer than the window."""
    place = shop.place
    for _ in range(40):
        place.thread(place.new_id(), "One of many", "Yes.")
    thread = place.thread(place.new_id(), *["A long story", "Once.\n\n" * 60] * 5)
    enso.open(thread.thread_id)
    assert enso.page.evaluate("document.scrollingElement.scrollHeight === innerHeight")


@pytest.fixture
def lossy(page: Page, place: Place, watched: Watched, model_server: ModelServer) -> Place:
    """A place whose server will go away; a browser says so in its console, and may."""
    for words in ("WebSocket connection to", "htmx:ws:error", "Failed to"):
        watched.allow(words)
    place.use_models(model_server)
    return place


def test_a_restart_of_the_server_is_survived(page: Page, lossy: Place, start: Start) -> None:
    """The loss is said while it lasts; then the page comes back by itself, with what it missed."""
    thread = lossy.thread("t-1", "Hold the line", "I do.")
    server = start()
    enso = EnsoPage(page, server.url)
    enso.open("t-1")
    enso.text.fill("not sent yet")
    page.evaluate("() => { window.sameDocument = true; }")
    server.stop()
    expect(enso.status).to_contain_text("Connection lost")
    thread.say("Meanwhile?", "This was said while nobody listened.")
    lossy.thread("t-2", "Stored meanwhile", "Yes.")
    start(port=server.port)
    expect(enso.replies.last).to_contain_text("This was said while nobody listened.")
    expect(enso.status).to_have_text(re.compile("Not running"))
    expect(enso.text).to_have_value("not sent yet")
    expect(enso.row("t-2")).to_contain_text("Stored meanwhile")
    assert page.evaluate("() => window.sameDocument")
    enso.sockets.wait_for_one_open()


def test_a_killed_server_is_survived(page: Page, lossy: Place, start: Start) -> None:
    """A server that ends without a word is noticed, said, and come back to; then it is unsaid."""
    lossy.thread("t-1", "Hold the line", "I do.")
    lossy.thread("t-2", "Another", "Yes.")
    server = start()
    enso = EnsoPage(page, server.url)
    enso.open("t-1")
    server.kill()
    expect(enso.status).to_contain_text("Connection lost")
    enso.row("t-2").click()
    expect(enso.rail_error).to_contain_text("could not be reached")
    page.locator("button.chip.mode").click()
    page.locator(".menu.mode").get_by_role("button", name="Plan").click()
    expect(page.locator("#pane .said")).to_have_text("Enso could not be reached.")
    expect(page.locator(".menu.mode")).to_be_hidden()
    start(port=server.port)
    expect(enso.status).to_have_text(re.compile("Not running"))
    expect(enso.rail_error).to_be_empty()
    expect(page.locator("#pane .said")).to_be_empty()


def test_a_prompt_that_did_not_arrive_is_kept_and_can_be_sent_again(
    page: Page, lossy: Place, start: Start
) -> None:
    """A prompt into the gap of a restart is said to have failed; sent again it arrives once."""
    server = start()
    enso = EnsoPage(page, server.url)
    enso.open_fresh()
    thread_id = enso.thread_id
    server.kill()
    enso.prompt("Are you there?")
    expect(enso.refusal).to_contain_text("could not be reached")
    expect(enso.text).to_have_value("Are you there?")
    start(port=server.port)
    expect(enso.status).not_to_contain_text("lost")
    enso.text.press("Enter")
    expect(enso.replies).to_have_count(1)
    expect(enso.text).to_have_value("")
    expect(enso.refusal).to_be_empty()
    assert len(lossy.file_of(thread_id).messages("user")) == 1


def test_a_run_that_a_killed_server_lost_is_said_and_continued(
    page: Page, lossy: Place, start: Start, model_server: ModelServer
) -> None:
    """A prompt whose answer was cut off by a crash is there, said to be unanswered, and goes on."""
    server = start()
    enso = EnsoPage(page, server.url)
    gate = Gate()
    model_server.script([Reply(text=["Half an answer"], gate=gate)])
    enso.open_fresh()
    enso.prompt("Will you finish?")
    expect(enso.replies).to_contain_text(["Half an answer"])
    thread_id = enso.thread_id
    server.kill()
    gate.open()
    start(port=server.port)
    expect(enso.log).to_contain_text("This prompt was never answered.")
    expect(enso.status).to_have_text(re.compile("Interrupted"))
    enso.expect_thread(thread_id, "Will you finish?")
    enso.expect_sign(thread_id, "cut")
    enso.ask("Once more, then", replies=1)
    expect(enso.log).not_to_contain_text("This prompt was never answered.")
    enso.expect_sign(thread_id, "held")
    assert enso.texts()[:2] == ["Will you finish?", "Once more, then"]


@pytest.fixture
def hideable(playwright: Playwright, tmp_path: Path, watched: Watched) -> Iterator[BrowserContext]:
    """A browser whose tabs really hide one another.

    Playwright keeps every page of a browser that it started visible (focus emulation); it leaves a
    browser alone that it only connects to, when told to set no defaults.
    """
    window = ["--headless", "--window-size=1280,900", "--remote-debugging-port=0"]
    options = [*CHROMIUM_OPTIONS, *window]
    command = [chromium(), *options, f"--user-data-dir={tmp_path / 'browser'}", "about:blank"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if "DevTools listening on " in line)
        connected = playwright.chromium.connect_over_cdp(
            said.split(" on ")[1].strip(), no_defaults=True
        )
        yield connected.contexts[0]
        connected.close()
        process.terminate()


def test_a_hidden_tab_lets_go_of_its_socket_and_catches_up_when_seen(
    hideable: BrowserContext, shop: Shop, watched: Watched
) -> None:
    """A tab in the background holds no socket; brought back it shows what it missed."""
    thread = shop.place.thread(shop.place.new_id(), "Behind the curtain", "Act one.")
    tab = EnsoPage(watched.watch(hideable.new_page()), shop.url)
    tab.open(thread.thread_id)
    tab.page.evaluate("() => { window.sameDocument = true; }")
    other = hideable.new_page()
    other.bring_to_front()
    assert tab.page.evaluate("() => document.hidden")
    until(tab.page, lambda: not tab.sockets.open_now(), "the hidden tab's socket is closed")
    thread.say("And then?", "Act two.")
    later = shop.place.thread(shop.place.new_id(), "Behind another curtain", "Act one.")
    expect(tab.replies).to_have_count(1)
    tab.page.bring_to_front()
    expect(tab.replies.last).to_contain_text("Act two.")
    expect(tab.status).to_have_text(re.compile("Not running"))
    expect(tab.row(later.thread_id)).to_be_visible()
    assert tab.page.evaluate("() => window.sameDocument")
    assert len(tab.sockets.opened) == 2
    assert len(tab.sockets.open_now()) == 1
