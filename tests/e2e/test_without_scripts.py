"""Enso without JavaScript: every page, link and form works by plain requests."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import Shop
from tests.e2e.pages import WAIT, EnsoPage
from tests.e2e.places import png
from tests.model_server import Gate, ModelServer, Reply


@pytest.fixture
def plain(browser: Browser, shop: Shop) -> Iterator[EnsoPage]:
    """A tab that runs no script."""
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": 1280, "height": 800}
    )
    context.set_default_timeout(1000 * WAIT)
    yield EnsoPage(context.new_page(), shop.url)
    context.close()


def send(plain: EnsoPage) -> None:
    """Press the button: without a script Enter breaks the line."""
    plain.send_button.click()


def read_the_end(plain: EnsoPage) -> None:
    """Open the thread's page again and again, as a reader must, to the run's end."""
    deadline = time.monotonic() + WAIT
    plain.go(f"/threads/{plain.thread_id}")
    while "Working" in plain.status.inner_text():
        assert time.monotonic() < deadline, "the run did not end"
        plain.page.reload()


def test_rail_links_and_the_find_form_work(plain: EnsoPage, shop: Shop) -> None:
    """A row opens its thread; a search gives a page with the rows that fit and the thread open."""
    place = shop.place
    first = place.thread(place.new_id(), "Plainly first", "Yes.")
    second = place.thread(place.new_id(), "Plainly second", "Indeed.")
    plain.go(f"/threads/{first.thread_id}?desk=left")
    plain.expect_thread(first.thread_id, "Plainly first")
    plain.row(second.thread_id).click()
    plain.expect_thread(second.thread_id, "Plainly second")
    expect(plain.page).to_have_url(re.compile(r"\?desk=left$"))
    expect(plain.replies).to_contain_text(["Indeed."])
    plain.find.fill("plainly FIRST")
    plain.find.press("Enter")
    expect(plain.rows).to_have_count(1)
    expect(plain.find).to_have_value("plainly FIRST")
    plain.row(first.thread_id).click()
    plain.expect_thread(first.thread_id, "Plainly first")
    plain.page.locator("#new-thread").click()
    plain.expect_fresh()


def test_more_threads_are_a_page_with_a_way_back(plain: EnsoPage, shop: Shop) -> None:
    """The rail shows what follows beside the open thread, and leads back to its top."""
    for n in range(60):
        thread = shop.place.thread(shop.place.new_id(), f"Plain errand {n}", "Yes.")
    plain.go(f"/rail?q=plain+errand&current={thread.thread_id}")
    expect(plain.rows).to_have_count(50)
    newest = plain.titles()
    plain.page.get_by_role("link", name=re.compile("Show more")).click()
    expect(plain.rows).to_have_count(11)
    *further, current = plain.titles()
    assert sorted([*newest, *further]) == sorted(f"Plain errand {n}" for n in range(60))
    assert current == "Plain errand 59"
    expect(plain.row(thread.thread_id)).to_have_attribute("aria-current", "page")
    expect(plain.log).to_contain_text("Plain errand 59")
    plain.page.get_by_role("link", name="Back to the newest threads").click()
    expect(plain.rows).to_have_count(50)
    assert plain.titles() == newest


def test_earlier_messages_are_a_link_away(plain: EnsoPage, shop: Shop) -> None:
    """A long thread shows its last page, and every earlier one behind a link."""
    turns = [text for n in range(60) for text in (f"Question {n}.", f"Answer {n}.")]
    thread = shop.place.thread(shop.place.new_id(), *turns)
    plain.go(f"/threads/{thread.thread_id}")
    expect(plain.replies.last).to_contain_text("Answer 59.")
    expect(plain.log).not_to_contain_text("Question 0.")
    seen = 0
    while plain.page.get_by_role("link", name=re.compile("earlier messages")).count():
        seen += 1
        assert seen < 10
        plain.page.get_by_role("link", name=re.compile("earlier messages")).click()
    expect(plain.prompts.first).to_contain_text("Question 0.")
    expect(plain.heading).to_have_text("Question 0.")
    plain.marked.click()
    expect(plain.replies.last).to_contain_text("Answer 59.")
    plain.expect_thread(thread.thread_id, "Question 0.")


def test_a_prompt_is_sent_and_its_answer_read(plain: EnsoPage, shop: Shop) -> None:
    """The form answers 303 to the thread; a reload shows the reply; the next prompt goes on."""
    plain.go("/")
    plain.text.fill("Hello\nin two lines")
    with plain.page.expect_response(lambda one: one.request.method == "POST") as posted:
        send(plain)
    assert posted.value.status == 303
    thread_id = plain.thread_id
    expect(plain.page).to_have_url(f"{plain.url}/threads/{thread_id}")
    read_the_end(plain)
    expect(plain.replies).to_have_count(1)
    plain.expect_thread(thread_id, "Hello in two lines")
    plain.text.fill("And again")
    send(plain)
    read_the_end(plain)
    expect(plain.replies).to_have_count(2)
    texts = [one["content"][0]["text"] for one in shop.place.file_of(thread_id).messages("user")]
    assert texts == ["Hello\nin two lines", "And again"]


def test_an_image_is_sent_by_the_plain_form(plain: EnsoPage) -> None:
    """A chosen image goes out without a script too, and is shown in its prompt."""
    plain.go("/")
    plain.page.locator("input[data-files]").set_input_files(
        [{"name": "dot.png", "mimeType": "image/png", "buffer": png(200)}]
    )
    plain.text.fill("What is this?")
    send(plain)
    read_the_end(plain)
    shown = plain.prompts.locator("img")
    expect(shown).to_have_count(1)
    expect(shown).to_have_attribute("src", re.compile("^data:image/png;base64,"))


def test_a_refused_prompt_keeps_its_text_and_says_why(
    plain: EnsoPage, model_server: ModelServer
) -> None:
    """Busy, or nothing written: the page says so, and the draft is in the box."""
    gate = Gate()
    model_server.script([Reply(text=["Slow"], gate=gate)])
    plain.go("/")
    thread_id = plain.thread_id
    late = EnsoPage(plain.page.context.new_page(), plain.url)
    late.go(f"/threads/{thread_id}")
    plain.text.fill("First")
    send(plain)
    expect(plain.status).to_contain_text("Working")
    late.text.fill("  Second,\nwith its line  ")
    with late.page.expect_response(lambda one: one.request.method == "POST") as posted:
        send(late)
    assert posted.value.status == 409
    expect(late.refusal).to_contain_text("still working")
    expect(late.text).to_have_value("  Second,\nwith its line  ")
    gate.open()
    read_the_end(plain)
    plain.text.fill("   ")
    with plain.page.expect_response(lambda one: one.request.method == "POST") as posted:
        send(plain)
    assert posted.value.status == 400
    expect(plain.refusal).to_contain_text("Write something first")


def test_a_run_is_stopped_by_a_plain_form(plain: EnsoPage, model_server: ModelServer) -> None:
    """Stop is a form too."""
    gate = Gate()
    model_server.script([Reply(text=["Never to be finished"], gate=gate)])
    plain.go("/")
    plain.text.fill("Go")
    send(plain)
    expect(plain.status).to_contain_text("Working")
    plain.page.get_by_role("button", name="Stop").click()
    read_the_end(plain)
    expect(plain.replies.last).to_contain_text("Stopped.")
    gate.open()
