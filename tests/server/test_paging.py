"""Pages of a thread: the last first, earlier ones behind it, none twice."""

from __future__ import annotations

from enso import wire
from enso.server.paging import last_page, page_before, page_from


def messages(count: int) -> list[wire.Message]:
    """Messages m0, m1, …"""
    return [wire.Message(id=f"m{n}", role="user", parts=[]) for n in range(count)]


def test_walking_up_from_the_last_page_meets_every_message_once() -> None:
    """Pages put end to end are the thread, in order."""
    all_of_them = messages(205)
    window = last_page(all_of_them, 50)
    seen = list(window.messages)
    while window.before:
        earlier = page_before(all_of_them, window.first, 50)
        assert earlier is not None
        window = earlier
        seen = [*window.messages, *seen]
    assert seen == all_of_them


def test_a_page_keeps_its_beginning_while_the_thread_grows() -> None:
    """From a page's first message on, everything is there, however much came since."""
    grown = messages(90)
    window = page_from(grown, "m40")
    assert window is not None
    assert (window.first, window.before, len(window.messages)) == ("m40", 40, 50)


def test_a_message_that_is_not_on_the_branch_has_no_page() -> None:
    """After a change of branch, a page's old beginning is told apart from an empty page."""
    assert page_from(messages(3), "gone") is None
    assert page_before(messages(3), "") is None
    assert last_page([]).first == ""
