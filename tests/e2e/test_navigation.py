"""Fast and slow navigation: the latest one wins, and URL and pane never disagree."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Shop, Watched
from tests.e2e.pages import EnsoPage, Held
from tests.e2e.places import Place, SessionText

TITLES = ("First things", "Second thoughts", "Third time")


@dataclass
class Walk:
    """A page on the first of three stored threads."""

    enso: EnsoPage
    place: Place
    threads: tuple[SessionText, ...]

    def id(self, number: int) -> str:
        """The id of one of the three."""
        return self.threads[number].thread_id

    def click(self, number: int) -> None:
        """Click a thread's row."""
        self.enso.row(self.id(number)).click()

    def click_at_once(self, *numbers: int) -> None:
        """Click rows one after another in one turn of the page, faster than any answer comes."""
        self.enso.page.evaluate(
            "(ids) => ids.forEach((id) => document.querySelector(`[data-thread=${id}]`).click())",
            [self.id(number) for number in numbers],
        )

    def hold(self, number: int) -> Held:
        """Keep back what asks for a thread's pane."""
        return Held(self.enso.page, re.compile(f"/threads/{self.id(number)}$"))

    def expect_at(self, number: int) -> None:
        """Everything that names a thread names this one."""
        self.enso.expect_thread(self.id(number), TITLES[number])

    def expect_one_socket(self, number: int) -> None:
        """One socket is open, it is the thread's, and it has its snapshot."""
        self.enso.sockets.wait_for_snapshot()
        self.enso.sockets.wait_for_one_open()
        (socket,) = self.enso.sockets.open_now()
        assert f"/threads/{self.id(number)}/follow" in socket.url


@pytest.fixture
def walk(enso: EnsoPage, shop: Shop) -> Walk:
    """Three threads, the first open."""
    threads = [shop.place.thread(shop.place.new_id(), title, "Yes.") for title in TITLES]
    made = Walk(enso, shop.place, tuple(threads))
    enso.open(made.id(0))
    expect(enso.row(made.id(2))).to_be_visible()
    return made


def test_of_two_fast_clicks_the_later_wins(walk: Walk) -> None:
    """After two clicks in one instant, URL, heading, title, mark and socket are the later one's."""
    walk.click_at_once(1, 2)
    walk.expect_at(2)
    walk.expect_one_socket(2)
    walk.enso.page.go_back()
    walk.expect_at(0)


def test_a_late_answer_of_an_earlier_click_is_dropped(walk: Walk) -> None:
    """Of two clicks the later wins though the first is answered last."""
    slow = walk.hold(1)
    walk.click(1)
    slow.wait()
    walk.click(2)
    walk.expect_at(2)
    slow.let_go()
    walk.expect_one_socket(2)
    walk.expect_at(2)


def test_back_during_a_slow_click_wins(walk: Walk) -> None:
    """Back, pressed while a click is loading, is what happens; the click's answer is dropped."""
    walk.click(1)
    walk.expect_at(1)
    slow = walk.hold(2)
    walk.click(2)
    slow.wait()
    walk.enso.page.go_back()
    walk.expect_at(0)
    slow.let_go()
    walk.expect_one_socket(0)
    walk.expect_at(0)
    walk.enso.page.go_forward()
    walk.expect_at(1)


def test_a_click_during_a_slow_back_wins(walk: Walk) -> None:
    """A click, made while Back is still loading, is what happens; Back's answer is dropped."""
    walk.click(1)
    walk.expect_at(1)
    slow = walk.hold(0)
    walk.enso.page.evaluate("() => history.back()")
    slow.wait()
    walk.click(2)
    walk.expect_at(2)
    slow.let_go()
    walk.expect_one_socket(2)
    walk.expect_at(2)


def test_a_new_thread_during_a_slow_load_wins(walk: Walk) -> None:
    """New, pressed while a thread is loading, wins outright; the slow answer is dropped."""
    slow = walk.hold(1)
    walk.click(1)
    slow.wait()
    walk.enso.new_thread()
    walk.enso.expect_fresh()
    slow.let_go()
    walk.enso.sockets.wait_for_snapshot()
    walk.enso.sockets.wait_for_one_open()
    walk.enso.expect_fresh()
    expect(walk.enso.page).to_have_url(f"{walk.enso.url}/")


def test_a_refused_click_whose_row_is_gone_by_then_is_said(walk: Walk, watched: Watched) -> None:
    """The thread's file is deleted while its click is slow: said above the rows, the pane stays."""
    watched.allow("404")
    slow = walk.hold(1)
    walk.click(1)
    slow.wait()
    walk.threads[1].path.unlink()
    expect(walk.enso.row(walk.id(1))).to_have_count(0)
    slow.let_go()
    expect(walk.enso.rail_error).to_contain_text("This thread's file is gone.")
    walk.expect_at(0)
    walk.expect_one_socket(0)
    walk.click(2)
    walk.expect_at(2)
    expect(walk.enso.rail_error).to_be_empty()


def test_a_refused_click_whose_row_was_renewed_is_said(walk: Walk, watched: Watched) -> None:
    """The row got a new title while its click was slow: what became of the click is still said."""
    watched.allow("404")
    slow = walk.hold(1)
    walk.click(1)
    slow.wait()
    walk.threads[1].append("session_info", name="Renamed meanwhile")
    expect(walk.enso.row(walk.id(1))).to_contain_text("Renamed meanwhile")
    walk.threads[1].path.unlink()
    slow.let_go()
    expect(walk.enso.rail_error).to_contain_text("This thread's file is gone.")
    walk.expect_at(0)
