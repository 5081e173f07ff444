"""Finding threads by what was said in them: in the rail's box, with the way to the place."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Start
from tests.e2e.pages import EnsoPage
from tests.e2e.places import Place, line


@pytest.fixture
def enso(page: Page, place: Place, start: Start) -> EnsoPage:
    """A tab on a server with three threads, one of which is long."""
    long = [text for n in range(120) for text in (f"Question {n}", f"Answer {n}")]
    long[20] = "Where is the <b>quagga</b> total?"
    place.thread("long", *long)
    place.thread("short", "Say quagga", "Quagga it is.")
    place.thread("other", "Nothing of it", "No.")
    opened = EnsoPage(page, start().url)
    opened.go("/")
    return opened


def test_what_was_said_is_found_and_opened_at_its_place(enso: EnsoPage) -> None:
    """The box finds passages under the titles; one leads to its message, also far up."""
    enso.find.fill("quagga")
    found = enso.page.locator("#rail-list .passages")
    expect(found.locator("h3")).to_have_count(2)
    expect(found.locator("mark")).to_have_text(["Quagga", "quagga", "quagga"])
    expect(enso.rows.filter(has_text="Say quagga").first).to_be_visible()
    passage = found.locator(".passage").filter(has_text="Where is the")
    expect(passage).to_contain_text("Where is the <b>quagga</b> total?")
    passage.click()
    place = enso.prompts.filter(has_text="quagga")
    expect(place).to_have_count(1)
    expect(place).to_be_in_viewport()
    expect(enso.page).to_have_url(re.compile(r"/threads/long"))


def test_news_of_the_rail_keep_what_was_found(enso: EnsoPage, place: Place) -> None:
    """Another thread's change redraws the rows, and not the passages."""
    enso.find.fill("quagga")
    found = enso.page.locator("#rail-list .passages mark")
    expect(found).to_have_count(3)
    place.thread("newer", "Say quagga again", "Yes.")
    expect(enso.rows.filter(has_text="Say quagga again")).to_have_count(1)
    expect(found).to_have_count(3)
    enso.find.fill("quagga again")
    expect(enso.page.locator("#rail-list .passages h3")).to_have_text(["Say quagga again"])


def test_finding_works_without_scripts(browser: Browser, enso: EnsoPage) -> None:
    """The rail's form leads to a page of passages, and each to its thread."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{enso.url}/rail?q=quagga")
    page.get_by_role("link", name="Find it in the text of all threads").click()
    passage = page.locator("main .passage").filter(has_text="Where is the")
    expect(passage.locator("mark")).to_have_text("quagga")
    passage.click()
    expect(page.locator("article.message.user").filter(has_text="quagga")).to_have_count(1)
    context.close()


def test_a_passage_that_is_not_shown_says_where_it_is(enso: EnsoPage, place: Place) -> None:
    """A place on a branch that was left opens the thread, with a sentence about it."""
    file = place.file_of("short")
    left = file.append(message={"role": "user", "content": "A wombat on the way", "timestamp": 1})
    entries = file.entries()
    again = {**entries[-2], "id": "bbbbbbbb", "parentId": entries[0]["id"]}
    with file.path.open("a") as opened:
        opened.write(line(again))
    enso.find.fill("wombat")
    enso.page.locator("#rail-list .passage").click()
    expect(enso.log.locator(".notice")).to_contain_text("It is under Entries")
    expect(enso.page).to_have_url(re.compile(rf"/threads/short\?at={left}"))
