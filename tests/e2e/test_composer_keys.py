"""The composer in a browser: keys, drafts, images, and a text that is never lost."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.conftest import Shop, Watched
from tests.e2e.pages import EnsoPage
from tests.e2e.places import png
from tests.model_replies import Gate, Reply
from tests.model_server import ModelServer

PASTE_DOT = """async (text) => {
  const canvas = document.createElement("canvas");
  const bytes = await new Promise((done) => canvas.toBlob(done));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([bytes], "dot.png", { type: "image/png" }));
  clipboardData.items.add(new File(["x"], "notes.txt", { type: "text/plain" }));
  const made = { clipboardData, bubbles: true, cancelable: true };
  text.dispatchEvent(new ClipboardEvent("paste", made));
}"""


@pytest.fixture
def enso(page: Page, shop: Shop) -> EnsoPage:
    """A page on a new thread of the shared server."""
    opened = EnsoPage(page, shop.url)
    opened.open_fresh()
    return opened


def test_a_new_thread_waits_for_its_prompt(enso: EnsoPage) -> None:
    """On a new thread the caret is where the prompt goes, after loading and after New."""
    expect(enso.text).to_be_focused()
    enso.new_thread()
    expect(enso.text).to_be_focused()


def test_a_page_says_once_that_somebody_types(enso: EnsoPage) -> None:
    """What the first prompt needs is loaded from the first letter on."""
    told: list[str] = []
    enso.page.on("request", lambda request: told.append(request.url.partition("/prepare")[1]))
    with enso.page.expect_response("**/prepare") as answer:
        enso.text.press_sequentially("Is it")
    assert answer.value.status == 204
    enso.text.press_sequentially(" ready?")
    enso.text.press("Enter")
    expect(enso.prompts).to_have_count(1)
    assert told.count("/prepare") == 1


def test_enter_sends_and_shift_enter_breaks_the_line(enso: EnsoPage) -> None:
    """A prompt of two lines is one prompt; the form is empty after it, the caret still there."""
    enso.text.press_sequentially("first")
    enso.text.press("Shift+Enter")
    enso.text.press_sequentially("second")
    enso.text.press("Enter")
    expect(enso.prompts).to_have_count(1)
    expect(enso.prompts.locator(".written")).to_have_text(re.compile("^first\\nsecond$"))
    expect(enso.text).to_have_value("")
    expect(enso.text).to_be_focused()
    enso.expect_settled()


def test_a_key_of_an_input_method_does_not_send(enso: EnsoPage) -> None:
    """The Enter that accepts a suggestion while composing stays with the input method."""
    enso.text.fill("かな")
    enso.text.evaluate(
        """(text) => {
          const key = { key: "Enter", bubbles: true };
          for (const made of [{ isComposing: true }, { keyCode: 229 }])
            text.dispatchEvent(new KeyboardEvent("keydown", { ...key, ...made }));
        }"""
    )
    enso.text.press("Enter")
    expect(enso.prompts).to_have_count(1)
    enso.expect_settled()


def test_enter_on_an_empty_composer_sends_nothing(enso: EnsoPage) -> None:
    """Blank text is no prompt."""
    posts: list[str] = []
    enso.page.on("request", lambda one: posts.append(f"{one.method} {one.url}"))
    enso.text.fill("  ")
    enso.text.press("Enter")
    enso.text.press("Enter")
    enso.ask("something")
    assert len([one for one in posts if one.startswith("POST") and one.endswith("/prompt")]) == 1


def test_a_prompt_that_is_refused_stays_in_the_composer(enso: EnsoPage, watched: Watched) -> None:
    """What could not be taken is said in words, and the text is kept until it is mended."""
    watched.allow("400")
    enso.prompt("/model nonsense")
    expect(enso.refusal).to_have_text(re.compile(r"provider/model"))
    expect(enso.text).to_have_value("/model nonsense")
    enso.text.fill("Say hello.")
    enso.text.press("Enter")
    expect(enso.prompts).to_have_count(1)
    expect(enso.refusal).to_be_empty()
    enso.expect_settled()


def test_a_run_is_stopped_with_escape(enso: EnsoPage, model_server: ModelServer) -> None:
    """Stop is offered while a run is in flight, as a button and as a key."""
    gate = Gate()
    model_server.script([Reply(text=["Never to be ", "finished"], gate=gate)])
    stop = enso.page.locator(".stop button")
    expect(stop).to_be_hidden()
    enso.prompt("go")
    expect(stop).to_be_visible()
    expect(enso.replies.last).to_contain_text("finished")
    enso.text.press("Escape")
    expect(enso.replies.last).to_contain_text("Stopped.")
    expect(stop).to_be_hidden()
    gate.open()


def test_a_server_that_cannot_be_reached_costs_no_text(
    enso: EnsoPage, context: BrowserContext, watched: Watched
) -> None:
    """Offline the prompt stays, with what to do; sent again it is one prompt."""
    for fault in ("ERR_INTERNET_DISCONNECTED", "Failed to fetch", "ws:error", "WebSocket"):
        watched.allow(fault)
    enso.page.route("**/prompt", lambda route: route.abort("internetdisconnected"))
    enso.prompt("do not lose me")
    expect(enso.refusal).to_contain_text("Enso could not be reached.")
    expect(enso.text).to_have_value("do not lose me")
    enso.page.unroute("**/prompt")
    enso.text.press("Enter")
    expect(enso.prompts).to_have_count(1)
    expect(enso.refusal).to_be_empty()
    enso.expect_settled()


def test_the_draft_of_a_new_thread_waits_for_it(enso: EnsoPage, shop: Shop) -> None:
    """A reload, another thread, Back and New lose nothing of it; sent, it is no draft any more."""
    other = shop.place.thread(shop.place.new_id(), "Look something up", "Here.")
    enso.open_fresh()
    enso.text.fill("a long first prompt")
    enso.page.reload()
    expect(enso.text).to_have_value("a long first prompt")
    enso.row(other.thread_id).click()
    enso.expect_thread(other.thread_id, "Look something up")
    expect(enso.text).to_have_value("")
    enso.page.go_back()
    expect(enso.text).to_have_value("a long first prompt")
    enso.row(other.thread_id).click()
    enso.expect_thread(other.thread_id, "Look something up")
    enso.new_thread()
    expect(enso.text).to_have_value("a long first prompt")
    enso.text.press("Enter")
    expect(enso.replies).to_have_count(1)
    enso.new_thread()
    expect(enso.text).to_have_value("")


def test_a_draft_waits_in_its_thread(enso: EnsoPage) -> None:
    """What was typed and not sent is there again when its thread is, and nowhere else."""
    enso.ask("a thread with a draft")
    enso.text.fill("half a thought")
    enso.new_thread()
    expect(enso.text).to_have_value("")
    enso.page.go_back()
    expect(enso.text).to_have_value("half a thought")
    image = {"name": "a.png", "mimeType": "image/png", "buffer": png(9)}
    enso.page.locator("input[data-files]").set_input_files(image)
    expect(enso.page.locator("[data-previews] img")).to_have_count(1)
    enso.new_thread()
    expect(enso.page.locator("[data-previews] img")).to_have_count(0)
    enso.page.go_back()
    expect(enso.page.locator("[data-previews] img")).to_have_attribute("alt", "a.png")
    enso.page.reload()
    expect(enso.text).to_have_value("half a thought")
    enso.text.press("Enter")
    expect(enso.prompts).to_have_count(2)
    enso.expect_settled()
    enso.page.reload()
    expect(enso.text).to_have_value("")


def test_pasted_images_are_seen_before_they_are_sent(enso: EnsoPage) -> None:
    """An image can be taken back; what is no image is named; a sent one is in its message."""
    previews = enso.page.locator("[data-previews] img")
    enso.text.evaluate(PASTE_DOT)
    enso.text.evaluate(PASTE_DOT)
    expect(previews).to_have_count(2)
    expect(enso.page.locator("[data-left-out] span").first).to_contain_text("“notes.txt” is no")
    enso.page.get_by_role("button", name="Remove dot.png").first.click()
    expect(previews).to_have_count(1)
    enso.prompt("what is this?")
    expect(enso.prompts.locator("img")).to_have_count(1)
    assert (enso.prompts.locator("img").get_attribute("src") or "").startswith("data:image/png")
    expect(previews).to_have_count(0)
    enso.expect_settled()


def test_keys_reach_the_rail_but_never_while_typing(enso: EnsoPage) -> None:
    """Slash finds a thread, n begins one; in the composer both are letters."""
    enso.ask("keys of the rail")
    enso.text.press_sequentially("n/")
    expect(enso.text).to_have_value("n/")
    enso.heading.focus()
    enso.page.keyboard.press("/")
    expect(enso.find).to_be_focused()
    expect(enso.find).to_have_value("")
    enso.page.keyboard.press("Escape")
    enso.page.keyboard.press("n")
    enso.expect_fresh()


def test_the_first_prompt_settles_which_project_a_thread_is_in(enso: EnsoPage) -> None:
    """The heading, the window and the row name the thread as soon as it is stored."""
    enso.ask("name me by this")
    expect(enso.heading).to_have_text("name me by this")
    expect(enso.page).to_have_title("name me by this · Enso")
    expect(enso.marked.locator(".title")).to_have_text("name me by this")


def test_on_a_phone_the_rail_is_a_sheet(page: Page, shop: Shop) -> None:
    """The brand opens it; choosing a thread closes it; nothing scrolls sideways."""
    page.set_viewport_size({"width": 390, "height": 844})
    shop.place.thread("phone-thread", "A thread for a phone", "Yes.")
    enso = EnsoPage(page, shop.url)
    enso.open_fresh()
    row = enso.row("phone-thread")
    expect(row).to_be_hidden()
    page.get_by_role("button", name="Threads").click()
    expect(row).to_be_visible()
    row.click()
    enso.expect_thread("phone-thread", "A thread for a phone")
    expect(row).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
