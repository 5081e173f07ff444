"""The address bar: which thread a URL opens, what it keeps, and what Back and Forward walk."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Shop, Start, Watched
from tests.e2e.pages import EnsoPage
from tests.e2e.places import Place

TITLES = ("Water the plants", "Feed the cat", "Wind the clock")


def stored(shop: Shop) -> list[str]:
    """Three threads; their ids."""
    return [shop.place.thread(shop.place.new_id(), title, "Done.").thread_id for title in TITLES]


def test_back_and_forward_walk_the_threads(enso: EnsoPage, shop: Shop) -> None:
    """Every step of the history shows its thread, with its title, mark and messages."""
    ids = stored(shop)
    enso.open_fresh()
    for thread_id, title in zip(ids, TITLES, strict=True):
        enso.row(thread_id).click()
        enso.expect_thread(thread_id, title)
    for number in (1, 0):
        enso.page.go_back()
        enso.expect_thread(ids[number], TITLES[number])
        expect(enso.prompts).to_have_text([re.compile(TITLES[number])])
    enso.page.go_back()
    enso.expect_fresh()
    enso.page.go_forward()
    enso.expect_thread(ids[0], TITLES[0])
    enso.page.reload()
    enso.expect_thread(ids[0], TITLES[0])
    enso.page.go_forward()
    enso.expect_thread(ids[1], TITLES[1])


def test_a_pasted_link_opens_cold_and_writes_nothing(
    page: Page, place: Place, start: Start
) -> None:
    """Looking at threads, stored well or badly, leaves every byte and every time as it was."""
    place.thread("t-1", "Look, do not touch", "I only look.")
    place.recorded("d111160fffc6", thread_id="t-2")
    torn = place.thread("t-3", "Torn at the end", "Yes.").path
    torn.write_bytes(torn.read_bytes() + b'{"type":"message","id":"x')
    enso = EnsoPage(page, start().url)
    before = place.everything()
    for thread_id in ("t-1", "t-2", "t-3"):
        enso.open(thread_id)
        expect(enso.messages.first).to_be_visible()
        expect(enso.status).not_to_contain_text("Ready")
    assert place.everything() == before
    assert page.request.get(f"{enso.url}/api/threads").json() == {"threads": []}


def test_a_malformed_id_is_a_fresh_page_and_said(enso: EnsoPage, shop: Shop) -> None:
    """What cannot be an id opens a new thread that says so, and works."""
    enso.go("/threads/..%2F..%2Fetc")
    enso.sockets.wait_for_snapshot()
    expect(enso.log.locator(".notice")).to_contain_text("“../../etc” cannot be a thread id")
    enso.expect_fresh()
    enso.ask("Hello?")
    assert shop.place.file_of(enso.thread_id).messages("user")
    expect(enso.page).to_have_url(f"{enso.url}/threads/{enso.thread_id}")


def test_an_unknown_id_starts_fresh_under_that_id(enso: EnsoPage, shop: Shop) -> None:
    """A thread that was never stored is nothing to speak of; its first prompt stores it."""
    thread_id = shop.place.new_id()
    enso.open(thread_id)
    enso.expect_fresh()
    expect(enso.log.locator(".notice")).to_be_empty()
    expect(enso.rail_error).to_be_empty()
    enso.ask("Begin here")
    enso.expect_thread(thread_id, "Begin here")
    assert len(shop.place.file_of(thread_id).messages("user")) == 1
    enso.page.reload()
    enso.expect_thread(thread_id, "Begin here")
    expect(enso.replies).to_have_count(1)


def test_other_query_parameters_stay(enso: EnsoPage, shop: Shop) -> None:
    """What a person put into the URL is carried over clicks, Back, New and a prompt."""
    ids = stored(shop)
    kept = "?desk=left%20one&debug="
    here = re.compile(r"\?desk=left(\+|%20)one&debug=$")
    enso.open(f"{ids[0]}{kept}")
    enso.row(ids[1]).click()
    enso.expect_thread(ids[1], TITLES[1])
    expect(enso.page).to_have_url(here)
    enso.page.go_back()
    enso.expect_thread(ids[0], TITLES[0])
    expect(enso.page).to_have_url(here)
    enso.new_thread()
    enso.expect_fresh()
    expect(enso.page).to_have_url(here)
    enso.ask("Keep my desk")
    enso.expect_thread(enso.thread_id, "Keep my desk")
    expect(enso.page).to_have_url(here)
    # The rail was drawn anew by the news of the prompt: its links still carry them.
    enso.row(ids[2]).click()
    enso.expect_thread(ids[2], TITLES[2])
    expect(enso.page).to_have_url(here)


def test_back_from_a_first_prompt_leads_to_a_new_thread(enso: EnsoPage) -> None:
    """The first prompt of a fresh page gives it a URL of its own; Back and Forward know both."""
    enso.open_fresh()
    enso.ask("Name this page")
    thread_id = enso.thread_id
    enso.expect_thread(thread_id, "Name this page")
    enso.page.go_back()
    enso.expect_fresh()
    enso.page.go_forward()
    enso.expect_thread(thread_id, "Name this page")
    expect(enso.replies).to_have_count(1)


def test_a_thread_of_a_directory_that_is_not_served_is_refused_by_name(
    page: Page, place: Place, start: Start, watched: Watched
) -> None:
    """Its URL says which directory that is; the rail does not list it."""
    watched.allow("403")
    elsewhere = place.project.parent / "elsewhere"
    elsewhere.mkdir()
    place.thread("t-1", "Not yours", "No.", cwd=elsewhere)
    place.thread("t-2", "Yours", "Yes.")
    enso = EnsoPage(page, start().url)
    enso.go("/threads/t-1")
    expect(page.locator("#pane")).to_contain_text(str(elsewhere))
    expect(enso.row("t-1")).to_have_count(0)
    enso.row("t-2").click()
    enso.expect_thread("t-2", "Yours")
