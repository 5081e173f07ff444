"""What a thread used, in a browser: in the pane, on its page, and at its limit of spend."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Shop, Start
from tests.e2e.pages import WAIT, EnsoPage
from tests.e2e.places import Place, assistant, tool_call, tool_result
from tests.model_server import ModelServer, Reply

DOLLAR = {"input": 0, "output": 454_546}
"""At 2.2 dollars a million, this is a dollar and a bit."""


def worked(shop: Shop) -> str:
    """A stored thread of two turns, the first of two requests; returns its id."""
    place = shop.place
    thread = place.thread(
        place.new_id(),
        "Use it",
        assistant(tool_call("c1", "bash", command="make"), at=1_790_000_000_000),
        tool_result("c1", "bash", "made", at=1_790_000_002_000, durationMs=1500),
        assistant("Built.", at=1_790_000_003_000),
        "Thanks",
        "Welcome.",
    )
    return thread.thread_id


def test_the_usage_of_a_thread_opens_in_the_pane_and_goes_back(enso: EnsoPage, shop: Shop) -> None:
    """From the menu to tables and charts, and back to the thread; the URL goes along."""
    thread_id = worked(shop)
    enso.open(thread_id)
    expect(enso.page.locator(".turn")).to_have_text(re.compile(r"^turn: 2 requests · 200 tokens"))
    enso.page.locator(".manage").click()
    enso.page.get_by_role("link", name="Usage", exact=True).click()
    expect(enso.page).to_have_url(re.compile(rf"/threads/{thread_id}/stats$"))
    expect(enso.page).to_have_title("Usage · Use it · Enso")
    expect(enso.page.get_by_role("img", name="Cost of each turn")).to_be_visible()
    expect(enso.page.get_by_role("img", name="Time of each tool")).to_be_visible()
    tools = enso.page.get_by_role("region", name="Tools")
    expect(tools.get_by_role("rowheader")).to_have_text(["bash"])
    turns = enso.page.get_by_role("region", name="Turns")
    expect(turns.get_by_role("rowheader")).to_have_text(["2", "1"])
    expect(enso.row(thread_id)).to_have_attribute("aria-current", "page")
    enso.page.go_back()
    enso.expect_thread(thread_id, "Use it")
    enso.page.go_forward()
    expect(turns.get_by_role("rowheader")).to_have_text(["2", "1"])
    enso.page.get_by_role("link", name="Back to the thread").click()
    enso.expect_thread(thread_id, "Use it")


def test_the_usage_goes_along_with_its_thread(enso: EnsoPage, shop: Shop) -> None:
    """What another program stores is counted on the open page, which stays where it is read."""
    thread_id = worked(shop)
    enso.page.set_viewport_size({"width": 1000, "height": 400})
    enso.page.goto(f"{shop.url}/threads/{thread_id}/stats")
    turns = enso.page.get_by_role("region", name="Turns")
    expect(turns.get_by_role("rowheader")).to_have_text(["2", "1"])
    expect(enso.row(thread_id)).to_have_attribute("aria-current", "page")
    page = enso.page.locator("section.stats")
    table = enso.page.get_by_role("region", name="Turns, the newest first")
    table.focus()
    page.evaluate("section => { section.scrollTop = 150; }")
    shop.place.file_of(thread_id).say("And more", "Here it is.")
    expect(turns.get_by_role("rowheader")).to_have_text(["3", "2", "1"])
    expect(table).to_be_focused()
    assert page.evaluate("section => section.scrollTop") == 150


def test_the_usage_reads_without_a_script(browser: Browser, shop: Shop) -> None:
    """Its page is whole by itself, its charts drawn."""
    thread_id = worked(shop)
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(1000 * WAIT)
    page = context.new_page()
    page.goto(f"{shop.url}/threads/{thread_id}/stats")
    expect(page.get_by_role("img", name="Cost of each turn")).to_be_visible()
    columns = page.locator(".chart.columns .column > rect:not(.aim)")
    boxes = [columns.nth(index).bounding_box() for index in range(2)]
    heights = [box["height"] for box in boxes if box is not None]
    assert heights[0] == pytest.approx(2 * heights[1], abs=1)
    page.get_by_role("link", name="Back to the thread").click()
    expect(page).to_have_url(re.compile(rf"/threads/{thread_id}$"))
    context.close()


def test_a_price_that_is_not_known_is_said_as_unknown(enso: EnsoPage, shop: Shop) -> None:
    """Under the reply, in the head of the pane, and on the page; never as nothing."""
    place = shop.place
    counts = {"input": 90, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 100}
    unknown = {"usage": {**counts, "cost": {"total": 0, "priceUnknown": True}}}
    reply = assistant("Hello.", at=1_790_000_000_000, **unknown)
    again = assistant("Again.", at=1_790_000_009_000, **unknown)
    thread = place.thread(place.new_id(), "Unpriced", reply, "More", again)
    enso.open(thread.thread_id)
    expect(enso.page.locator(".assistant > footer").first).to_contain_text("price unknown")
    head = enso.page.locator(".pane-head .spent")
    expect(head).to_have_text("200 tokens · 2 requests of unknown price")
    head.get_by_role("link").click()
    facts = enso.page.locator(".facts-list")
    expect(facts).to_contain_text("price unknown")
    expect(facts).to_contain_text("2 requests")
    expect(enso.page.locator(".stats")).not_to_contain_text("$0")


def test_a_limit_of_spend_asks_before_the_next_request(
    limited: EnsoPage, model_server: ModelServer
) -> None:
    """What it cost so far, in plain words; a yes goes on, a no stops and says why."""
    model_server.script([Reply(text=("First.",), usage=DOLLAR)])
    limited.open_fresh()
    limited.ask("Spend a dollar")
    asked = len(model_server.requests())
    limited.prompt("Spend another")
    card = limited.page.get_by_role("group", name="Go on above the spend limit of $0.50?")
    expect(card).to_contain_text("This thread has cost $1.00 so far.")
    assert len(model_server.requests()) == asked
    model_server.script([Reply(text=("Second.",), usage=DOLLAR)])
    card.get_by_role("button", name="Go on").click()
    expect(limited.replies).to_contain_text(["First.", "Second."])
    limited.expect_settled()
    limited.prompt("And another")
    card = limited.page.get_by_role("group", name="Go on above the spend limit of $0.50?")
    card.get_by_role("button", name="Stop here").click()
    limited.expect_settled()
    expect(limited.page.locator("#pane")).to_contain_text(
        "Stopped at the thread's spend limit of $0.50"
    )


@pytest.fixture
def limited(page: Page, place: Place, start: Start, model_server: ModelServer) -> EnsoPage:
    """A tab on a server of the test's own, with a limit of half a dollar for each thread."""
    place.use_models(model_server)
    server = start(ENSO_SPEND_LIMIT="0.5")
    return EnsoPage(page, server.url)
