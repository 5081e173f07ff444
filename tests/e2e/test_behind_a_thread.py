"""What is behind a thread, in the browser: its contexts and its entries, in the pane's drawer."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, expect

from tests.e2e.conftest import Shop, Watched
from tests.e2e.pages import WAIT, EnsoPage
from tests.e2e.places import FIRST, assistant, tool_call, tool_result, user
from tests.model_server import ModelServer, Reply


def drawer(enso: EnsoPage) -> Locator:
    """The pane's drawer."""
    return enso.page.locator("#pane .drawer")


def look(enso: EnsoPage, name: str) -> None:
    """Choose a page behind the thread in its menu."""
    enso.page.locator("#pane .manage").click()
    enso.page.locator("#pane .menu.thread").get_by_role("link", name=name, exact=True).click()
    expect(drawer(enso).locator("h2")).to_have_text(name)


def long_thread(shop: Shop) -> str:
    """A thread of two requests, a compaction, and a third."""
    place = shop.place
    thread_id = place.new_id()
    call = tool_call("c1", "bash", command="make")
    thread = place.thread(
        thread_id,
        "Build it.",
        assistant("I build it.", call, at=FIRST, stopReason="toolUse"),
        tool_result("c1", "bash", "<b>built</b>", at=FIRST),
        assistant("It is built.", at=FIRST),
    )
    last = thread.entries()[-1]["id"]
    thread.append("compaction", summary="It was built.", firstKeptEntryId=last, tokensBefore=90)
    thread.append(message=user("And now?", at=FIRST))
    thread.append(message=assistant("Now we rest.", at=FIRST))
    return thread_id


def test_a_context_opens_beside_the_thread_down_to_one_entry(enso: EnsoPage, shop: Shop) -> None:
    """Chart and table, a request's elements, an element as it is stored; the pane stays there."""
    thread_id = long_thread(shop)
    enso.open(thread_id)
    look(enso, "Context")
    side = drawer(enso)
    expect(side).to_be_visible()
    expect(side.locator("h2")).to_be_focused()
    expect(side.locator("svg.chart .column")).to_have_count(3)
    expect(side.locator("svg.chart .mark")).to_have_count(1)
    expect(side.locator("tbody th a")).to_have_text(["next", "3", "2", "1"])
    side.get_by_role("link", name="3", exact=True).click()
    expect(side.locator("h2")).to_have_text("Request 3")
    expect(side.locator(".entries summary b")).to_have_text(
        ["compactionSummary", "assistant", "user"]
    )
    side.locator(".entries summary").first.click()
    side.get_by_role("link", name="As it is stored").first.click()
    expect(side.locator(".raw pre")).to_contain_text('"type": "compaction"')
    enso.expect_thread(thread_id, "Build it.")
    expect(enso.replies).to_have_count(3)
    enso.page.keyboard.press("Escape")
    expect(side).to_be_hidden()
    expect(enso.page.locator("#pane .manage")).to_be_focused()


def test_an_entry_is_fetched_when_it_is_opened_and_once(enso: EnsoPage, shop: Shop) -> None:
    """The list brings no entry's JSON; opening a row brings that one, as text."""
    thread_id = long_thread(shop)
    asked: list[str] = []
    enso.page.on("request", lambda request: asked.append(request.url))
    enso.open(thread_id)
    look(enso, "Entries")
    side = drawer(enso)
    expect(side.locator(".entries > li")).to_have_count(7)
    one_entry = re.compile(r"/entries/[^/]+$")
    assert not any(one_entry.search(url) for url in asked)
    row = side.locator(".entries > li", has_text="tool-result:bash")
    row.locator("summary").click()
    expect(row.locator("pre")).to_contain_text("<b>built</b>")
    row.locator("summary").click()
    row.locator("summary").click()
    expect(row.locator("pre")).to_be_visible()
    assert len([url for url in asked if one_entry.search(url)]) == 1


def test_a_live_thread_has_its_new_request_in_the_drawer(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """After a prompt the context has one request more, and the entries what the run told."""
    thread_id = long_thread(shop)
    model_server.script([Reply(text=["We rest still."])])
    enso.open(thread_id)
    enso.ask("And still?", replies=4)
    look(enso, "Context")
    side = drawer(enso)
    expect(side.locator("tbody th a")).to_have_text(["next", "4", "3", "2", "1"])
    side.locator(".tabs").get_by_role("link", name="Entries").click()
    expect(side.locator(".about-thread")).to_contain_text("live")
    expect(side.locator("table")).to_contain_text("run-settled")


def test_another_thread_has_no_drawer_open(enso: EnsoPage, shop: Shop) -> None:
    """Who goes on to another thread leaves what was behind the first one."""
    first, second = long_thread(shop), shop.place.thread(shop.place.new_id(), "Second", "Yes.")
    enso.open(first)
    look(enso, "Context")
    enso.page.keyboard.press("Escape")
    enso.row(second.thread_id).click()
    enso.expect_thread(second.thread_id, "Second")
    expect(drawer(enso)).to_be_hidden()
    look(enso, "Context")
    expect(drawer(enso).locator("tbody th a")).to_have_text(["next", "1"])


def test_what_is_gone_is_said_in_the_drawer(enso: EnsoPage, shop: Shop, watched: Watched) -> None:
    """A link in the drawer whose thread was deleted meanwhile leaves what is shown, and says so."""
    thread_id = long_thread(shop)
    enso.open(thread_id)
    look(enso, "Context")
    shop.place.file_of(thread_id).path.unlink()
    watched.allow("404")
    drawer(enso).get_by_role("link", name="3", exact=True).click()
    expect(drawer(enso).locator(".said")).to_contain_text("no stored thread")
    expect(drawer(enso).locator("h2")).to_have_text("Context")


def test_without_scripts_both_are_pages(browser: Browser, shop: Shop) -> None:
    """From the thread's page to its context, a request, an entry, and back, by plain links."""
    thread_id = long_thread(shop)
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(1000 * WAIT)
    plain = EnsoPage(context.new_page(), shop.url)
    plain.go(f"/threads/{thread_id}?desk=left")
    plain.page.locator("#pane .manage").click()
    plain.page.get_by_role("link", name="Context", exact=True).click()
    expect(plain.heading).to_have_text("Context")
    plain.page.locator("tbody").get_by_role("link", name="2", exact=True).click()
    expect(plain.heading).to_have_text("Request 2")
    plain.page.get_by_role("link", name="Entries", exact=True).click()
    plain.page.locator(".entries summary").first.click()
    plain.page.get_by_role("link", name="As it is stored").first.click()
    expect(plain.page.locator(".raw pre")).to_contain_text("Now we rest.")
    plain.page.locator(".meta").get_by_role("link", name="Build it.").click()
    plain.expect_thread(thread_id, "Build it.")
    expect(plain.page).to_have_url(re.compile(r"\?desk=left$"))
    context.close()
