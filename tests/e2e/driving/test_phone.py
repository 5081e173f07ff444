"""The pane on a phone: one compact row to write in, targets for fingers, nothing over the edge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.e2e.conftest import Watched
from tests.e2e.driving.driven import BUSY, TALK, Answer, Driven, quiet_rail, status_frame
from tests.e2e.places import png
from tests.look.scenes import FRESH, QUEUE, agent_pane, busy_with, composer
from tests.look.scenes import page as page_of

FINGER = 44
TARGETS = ".pane-head :is(a, button), .dock :is(button, .attach, select), .welcome select"
OVER_THE_EDGE = "() => document.documentElement.scrollWidth - innerWidth"
SMALL = """(all, finger) => all
  .filter((one) => one.checkVisibility() && !one.closest(".menu, .previews"))
  .map((one) => [one.outerHTML.slice(0, 90), one.getBoundingClientRect()])
  .filter(([, box]) => box.width < finger - 0.5 || box.height < finger - 0.5)
  .map(([html, box]) => `${html}: ${box.width} x ${box.height}`)
"""


@pytest.fixture(params=[320, 390])
def phone(request: pytest.FixtureRequest, browser: Browser, watched: Watched) -> Iterator[Driven]:
    """A tab on a phone without a page yet, in two widths."""
    size = {"width": request.param, "height": 700}
    made = browser.new_context(viewport=size, has_touch=True, is_mobile=True)
    yield Driven(watched.watch(made.new_page()))
    made.close()


def expect_fits(phone: Driven) -> None:
    """Nothing is wider than the page, and a finger meets every target."""
    assert phone.page.evaluate(OVER_THE_EDGE) <= 0
    assert phone.page.locator(TARGETS).evaluate_all(SMALL, FINGER) == []


def line_of(*places: Locator) -> set[int]:
    """Where elements end, from the top, in whole pixels."""
    ends: set[int] = set()
    for place in places:
        box = place.bounding_box()
        assert box is not None
        ends.add(round(box["y"] + box["height"]))
    return ends


def test_attach_text_and_send_stand_in_one_row(phone: Driven) -> None:
    """The settings are one line under it; all of it takes less than three targets' height."""
    phone.show(page_of(agent_pane(TALK), quiet_rail()))
    send = phone.page.get_by_role("button", name="Send", exact=True)
    assert len(line_of(phone.page.locator(".attach"), phone.text, send)) == 1
    assert len(line_of(*phone.page.locator(".chips .chip").all())) == 1
    box = phone.page.locator(".composer").bounding_box()
    assert box is not None
    assert box["height"] < 3 * FINGER
    expect_fits(phone)


def test_while_it_runs_the_row_stops_or_steers(phone: Driven) -> None:
    """With nothing typed its button stops the run; with something it steers, and Queue waits."""
    phone.show(page_of(agent_pane(TALK, status=BUSY, word="busy", queue=QUEUE), quiet_rail()))
    stop = phone.page.get_by_role("button", name="Stop")
    expect(stop).to_have_count(1)
    expect_fits(phone)
    phone.text.fill("Only the tests")
    expect(phone.page.locator(".sends").get_by_role("button")).to_have_text(["Queue", "Steer"])
    expect(stop).to_have_count(1)
    expect_fits(phone)
    phone.text.fill("")
    phone.page.locator(".sends").get_by_role("button", name="Stop").tap()
    phone.expect_posted("/abort")
    phone.frame(status_frame(busy_with("stopping")))
    expect(stop).to_have_count(0)


def test_pictures_lie_in_one_row_that_scrolls(phone: Driven) -> None:
    """Many of them leave the thread and the text in sight, and can each be taken away."""
    phone.show(page_of(agent_pane(TALK), quiet_rail()))
    pictures = [{"name": f"{n}.png", "mimeType": "image/png", "buffer": png(n)} for n in range(10)]
    phone.page.locator("input[data-files]").set_input_files(pictures)
    expect(phone.page.locator(".previews img")).to_have_count(10)
    assert len(line_of(*phone.page.locator(".previews figure").all())) == 1
    expect_fits(phone)
    phone.page.get_by_role("button", name="Remove 9.png").tap()
    expect(phone.page.locator(".previews img")).to_have_count(9)


def test_a_new_thread_is_one_tap_away(phone: Driven) -> None:
    """Also with the rail closed; the empty page then says where and with what it would run."""
    phone.answers["/"] = Answer(200, "<p id='reached'>New</p>")
    phone.show(page_of(agent_pane(TALK), quiet_rail()))
    phone.page.get_by_role("link", name="New thread").tap()
    expect(phone.page.locator("#reached")).to_be_visible()


def test_the_empty_page_fits(phone: Driven) -> None:
    """Project, model and mode are said, and the project is chosen there."""
    many = composer(projects=(("/a", "api"), ("/b", "web " * 30)), project_id="/b")
    phone.show(page_of(agent_pane(**FRESH, composer=many), quiet_rail()))
    welcome = phone.page.locator(".welcome")
    expect(welcome).to_contain_text("Lab Coder 30B")
    expect(welcome).to_contain_text("Asks before it runs a command or changes a file.")
    expect_fits(phone)
    welcome.get_by_label("Project").select_option("/a")
    phone.text.fill("Go")
    phone.page.get_by_role("button", name="Send", exact=True).tap()
    phone.expect_posted("/prompt", message="Go", projectId="/a")
