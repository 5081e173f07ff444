"""Pages of a thread: the last first, earlier ones behind it, none twice."""

from __future__ import annotations

from enso import wire
from enso.server.paging import first_page, last_page, page_before, page_from


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


def test_the_first_page_fills_a_window() -> None:
    """Messages that a tool answered are low: more of them, and no more than a page."""
    done = wire.ToolResult(content=[], is_error=False)
    used = wire.ToolCallPart(id="c", name="ls", arguments={}, state="done", result=done)
    talk = messages(90)
    work = [wire.Message(id=f"m{n}", role="assistant", parts=[used]) for n in range(90)]
    for all_of_them, first in ((talk, "m70"), (work, "m30"), ([*work, *talk[-5:]], "m35")):
        assert first_page(all_of_them).first == first
    assert first_page([*work, *talk[-6:]]).messages[0] is work[-14]
    assert first_page(talk[:7]).first == "m0"
    assert first_page([]).messages == []


def test_a_message_that_is_not_on_the_branch_has_no_page() -> None:
    """After a change of branch, a page's old beginning is told apart from an empty page."""
    assert page_from(messages(3), "gone") is None
    assert page_before(messages(3), "") is None
    assert last_page([]).first == ""
