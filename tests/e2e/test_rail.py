"""The rail in a browser: what is stored and what runs, finding, paging, and the phone's sheet."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Locator, Page, WebSocketRoute, expect

from tests.e2e.conftest import Shop, Start, Watched
from tests.e2e.pages import EnsoPage, Held, until
from tests.e2e.places import Place, assistant
from tests.model_server import Gate, ModelServer, Reply
from tests.server_process import ServerProcess

MANY = 120
PAGE = 50


def many(place: Place) -> list[str]:
    """A hundred and twenty threads; their ids, the oldest first."""
    return [
        place.thread(f"many-{number}", f"Errand number {number}.", "Run.").thread_id
        for number in range(1, MANY + 1)
    ]


def test_a_thread_that_another_process_stores_appears_on_top(
    page: Page, place: Place, start: Start
) -> None:
    """The first thread of an empty server, the next, their titles and counts, without a reload."""
    enso = EnsoPage(page, start().url)
    enso.open_fresh()
    expect(page.locator("#rail-list")).to_contain_text("No threads yet.")
    place.thread("t-1", "Stored by a terminal", "Yes.")
    expect(enso.rows).to_have_count(1)
    second = place.thread("t-2", "Stored\n  after   it", "Yes.")
    expect(enso.rows).to_have_count(2)
    assert enso.titles() == ["Stored after it", "Stored by a terminal"]
    expect(enso.row("t-2")).to_have_accessible_name(re.compile(", stored, 2 messages "))
    second.say("And on", "Yes.", "And on and on", "Yes.")
    expect(enso.row("t-2")).to_have_accessible_name(re.compile(", stored, 6 messages "))
    place.file_of("t-1").say("Back to the first", "Yes.")
    expect(page.locator("#rail-list .title").first).to_have_text("Stored by a terminal")


def test_the_rail_fills_itself_in_while_the_stored_threads_are_looked_at(
    page: Page, place: Place, tmp_path: Path
) -> None:
    """The newest threads and "n of m" at once; an older thread opens before its turn; then the
    rest comes in below, and what was shown stays where it was."""
    names = many(place)
    for name in names[:50]:
        os.utime(place.file_of(name).path, (1, 1))
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    filling = (sys.executable, "-m", "tests.e2e.filling_server", str(gate))
    with ServerProcess(
        agent_dir=place.agent_dir, projects=[place.project], command=filling
    ) as server:
        enso = EnsoPage(page, server.url)
        enso.open_fresh()
        expect(page.locator(".filling")).to_contain_text(f"70 of {MANY} threads looked at so far")
        expect(enso.rows).to_have_count(PAGE)
        enso.open(names[0])
        enso.expect_thread(names[0], "Errand number 1.")
        expect(page.locator(".filling")).to_contain_text(f"71 of {MANY}")
        top = enso.rows.first.element_handle()
        with gate.open("w") as opened:
            opened.write("open")
        expect(page.locator(".filling")).to_have_count(0)
        expect(page.locator("#rail-list .more")).to_contain_text(f"{MANY} threads")
        assert top.evaluate("row => row.isConnected")


def test_news_between_a_page_and_its_socket_are_not_missed(
    context: BrowserContext, shop: Shop, watched: Watched
) -> None:
    """What was told after the rail was drawn, before its follow was there, is asked for."""
    place = shop.place
    open_thread = place.thread(place.new_id(), "Slow to connect", "Yes.")
    held: list[WebSocketRoute] = []
    slow = EnsoPage(watched.watch(context.new_page()), shop.url)

    def hold(route: WebSocketRoute) -> None:
        held.append(route)

    slow.page.route_web_socket(re.compile("/follow"), hold)
    slow.go(f"/threads/{open_thread.thread_id}")
    until(slow.page, lambda: held, "the page asks for its socket")
    other = EnsoPage(watched.watch(context.new_page()), shop.url)
    other.open(open_thread.thread_id)
    between = place.thread(place.new_id(), "Stored in between", "Yes.")
    expect(other.row(between.thread_id)).to_be_visible()
    expect(slow.row(between.thread_id)).to_have_count(0)
    held[0].connect_to_server()
    expect(slow.row(between.thread_id)).to_be_visible()


def test_a_renamed_thread_changes_its_title_everywhere(enso: EnsoPage, shop: Shop) -> None:
    """A name that another process sets is on the row, over the open thread and on the window."""
    thread = shop.place.thread(shop.place.new_id(), "A long first message", "Yes.")
    enso.open(thread.thread_id)
    enso.expect_thread(thread.thread_id, "A long first message")
    thread.append("session_info", name="Short name")
    expect(enso.row(thread.thread_id)).to_contain_text("Short name")
    enso.expect_thread(thread.thread_id, "Short name")


def test_a_page_of_the_newest_thread_shows_the_rail_from_its_top(
    enso: EnsoPage, shop: Shop
) -> None:
    """The open row is brought into sight without what stands above it going out of it."""
    enso.page.set_viewport_size({"width": 1280, "height": 300})
    for number in range(8):
        newest = shop.place.thread(shop.place.new_id(), f"Pile {number}", "Yes.")
    enso.go(f"/threads/{newest.thread_id}")
    row = enso.row(newest.thread_id)
    expect(row).to_have_attribute("aria-current", "page")
    expect(row).to_be_in_viewport()
    box, rail = enso.page.locator("#rail"), enso.page.locator(".rail-top")
    assert box.evaluate("box => box.scrollHeight > box.clientHeight")
    heading = enso.page.locator(".group h2").first.bounding_box()
    top = rail.bounding_box()
    assert heading
    assert top
    assert heading["y"] >= top["y"] + top["height"]


def test_a_running_thread_has_the_busy_mark_and_loses_it(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """Busy is shown in a tab that looks at another thread, and does not lock the row."""
    other = shop.place.thread(shop.place.new_id(), "Look at me meanwhile", "Yes.")
    gate = Gate()
    model_server.script([Reply(text=["Working on it"], gate=gate)])
    enso.open_fresh()
    enso.prompt("Take your time")
    running = enso.thread_id
    enso.row(other.thread_id).click()
    enso.expect_thread(other.thread_id, "Look at me meanwhile")
    enso.expect_sign(running, "busy")
    enso.row(running).click()
    enso.expect_thread(running, "Take your time")
    expect(enso.replies).to_contain_text(["Working on it"])
    expect(enso.status).to_contain_text("Working")
    enso.row(other.thread_id).click()
    gate.open()
    enso.expect_sign(running, "held")


def test_refused_and_interrupted_threads_are_marked(enso: EnsoPage, shop: Shop) -> None:
    """The signs say how a thread ended, as drawings and as words; a reply takes them away."""
    place = shop.place
    refused = place.thread(
        place.new_id(),
        "Was refused",
        assistant(at=1, stopReason="error", errorMessage="401: bad key"),
    )
    interrupted = place.thread(place.new_id(), "Was never answered")
    complete = place.thread(place.new_id(), "Went well", "Yes.")
    enso.open(complete.thread_id)
    for thread, sign, word in (
        (refused, "refused", "refused"),
        (interrupted, "cut", "interrupted"),
        (complete, "cold", "stored"),
    ):
        enso.expect_sign(thread.thread_id, sign)
        expect(enso.row(thread.thread_id)).to_have_accessible_name(re.compile(f", {word}, "))
    enso.row(interrupted.thread_id).click()
    expect(enso.log).to_contain_text("This prompt was never answered.")
    interrupted.append(message=assistant("Now it is.", at=2))
    enso.expect_sign(interrupted.thread_id, "cold")
    expect(enso.replies.last).to_contain_text("Now it is.")
    expect(enso.log).not_to_contain_text("This prompt was never answered.")


def test_keys_step_through_the_rail_before_the_thread(enso: EnsoPage, shop: Shop) -> None:
    """As it is seen, though it comes behind the thread in the page."""
    thread = shop.place.thread(shop.place.new_id(), "Steps", "Yes.").thread_id
    enso.open(thread)
    enso.page.evaluate("document.activeElement.blur()")
    stepped = list[str]()
    for _ in range(5):
        enso.page.keyboard.press("Tab")
        stepped.append(enso.page.evaluate(
            "(one => one.className || one.id || one.closest('li').id)(document.activeElement)"
        ))  # fmt: skip
    assert stepped[:2] == ["skip", "brand"]
    assert stepped[3] == "find-q"
    assert stepped[4].startswith("row-")


def test_the_open_row_is_marked_and_in_view_though_it_is_old(
    page: Page, place: Place, start: Start
) -> None:
    """The row of a thread older than all that are listed is there, marked and in view."""
    ids = many(place)
    enso = EnsoPage(page, start().url)
    enso.open(ids[0])
    expect(enso.rows).to_have_count(PAGE + 1)
    enso.expect_thread(ids[0], "Errand number 1.")
    expect(enso.row(ids[0])).to_be_in_viewport()
    # News redraws the rows: the open one is still there, and the rail has not moved.
    place.thread("news", "News", "Yes.")
    expect(enso.row("news")).to_be_attached()
    expect(enso.row(ids[0])).to_be_in_viewport()
    # So it is when another thread is opened from there, and by Back.
    middle = ids[-PAGE + 2]
    enso.row(middle).click()
    enso.expect_thread(middle, f"Errand number {MANY - PAGE + 3}.")
    expect(enso.row(middle)).to_be_in_viewport()
    page.go_back()
    enso.expect_thread(ids[0], "Errand number 1.")
    expect(enso.row(ids[0])).to_be_in_viewport()


def test_finding_filters_the_rows_and_news_keep_the_filter(
    page: Page, place: Place, start: Start
) -> None:
    """Words find titles; nothing found says so; what is stored meanwhile is filtered too."""
    ids = many(place)
    enso = EnsoPage(page, start().url)
    enso.open(ids[-1])
    enso.find.press_sequentially("errand 77")
    expect(enso.rows).to_have_count(1)
    expect(enso.row("many-77")).to_be_visible()
    place.thread("errand-77-again", "ERRAND 77 again", "Yes.")
    place.thread("unrelated", "Something else", "Yes.")
    expect(enso.rows).to_have_count(2)
    assert enso.titles() == ["ERRAND 77 again", "Errand number 77."]
    enso.row("many-77").click()
    enso.expect_thread("many-77", "Errand number 77.")
    expect(enso.find).to_have_value("errand 77")
    expect(enso.rows).to_have_count(2)
    enso.find.fill("no such thing at all")
    expect(page.locator("#rail-list")).to_contain_text("No title fits “no such thing at all”.")
    enso.find.fill("")
    expect(enso.row("unrelated")).to_be_visible()
    enso.expect_thread("many-77", "Errand number 77.")


def test_a_search_wins_over_news_that_are_still_on_their_way(
    page: Page, place: Place, start: Start
) -> None:
    """Rows that were asked for before a search do not replace what it found."""
    ids = many(place)
    enso = EnsoPage(page, start().url)
    enso.open(ids[-1])
    slow = Held(page, re.compile("/rail"))
    place.thread("news", "News", "Yes.")
    slow.wait()
    enso.find.fill("errand number 77.")
    slow.wait(2)
    slow.let_go(newest_first=True)
    expect(enso.rows).to_have_count(1)
    place.thread("more-news", "More of errand number 77.", "Yes.")
    expect(enso.rows).to_have_count(2)


def test_news_that_come_while_more_rows_are_asked_for_keep_them(
    page: Page, place: Place, start: Start
) -> None:
    """The rows that news ask for are those that the rail shows by then."""
    ids = many(place)
    enso = EnsoPage(page, start().url)
    enso.open(ids[-1])
    slow = Held(page, re.compile("/rail"))
    page.get_by_role("link", name=re.compile("Show more")).click()
    slow.wait()
    place.thread("news", "News", "Yes.")
    expect(page.locator("#rail-news > div")).to_be_attached()
    slow.let_go()
    expect(enso.rows).to_have_count(MANY + 1)
    expect(enso.row("news")).to_be_visible()


def test_more_rows_come_and_stay(page: Page, place: Place, start: Start) -> None:
    """The rail shows a page of rows, more on a click, and keeps them when news come."""
    ids = many(place)
    enso = EnsoPage(page, start().url)
    enso.open(ids[-1])
    expect(enso.rows).to_have_count(PAGE)
    page.get_by_role("link", name=re.compile("Show more")).click()
    expect(enso.rows).to_have_count(MANY)
    expect(page.get_by_role("link", name=re.compile("Show more"))).to_have_count(0)
    place.thread("news", "News", "Yes.")
    expect(enso.rows).to_have_count(MANY + 1)
    enso.row(ids[0]).click()
    enso.expect_thread(ids[0], "Errand number 1.")
    expect(enso.rows).to_have_count(MANY + 1)


def more_link(page: Page) -> Locator:
    """What leads to more rows."""
    return page.get_by_role("link", name=re.compile("Show more"))


def ids_are_unique(page: Page) -> bool:
    """Whether no two elements of the page have one id."""
    return page.evaluate(
        "(all => new Set(all.map(one => one.id)).size === all.length)"
        "([...document.querySelectorAll('[id]')])"
    )


def test_more_rows_are_added_behind_those_that_stay(page: Page, place: Place, start: Start) -> None:
    """By the keyboard: the rows before are the same elements, the further ones stand behind them
    and before the open one, which is older; the next key goes on from the first of them."""
    ids = [
        place.thread(f"many-{number}", f"Errand number {number}.", "Run.").thread_id
        for number in range(1, 201)
    ]
    enso = EnsoPage(page, start().url)
    enso.open(ids[0])
    expect(enso.rows).to_have_count(PAGE + 1)
    top = enso.rows.first.element_handle()
    more_link(page).focus()
    with page.expect_response(re.compile("/rail")) as answered:
        page.keyboard.press("Enter")
    assert answered.value.text().count("<li ") == 100
    expect(enso.rows).to_have_count(PAGE + 101)
    assert top.evaluate("row => row.isConnected")
    numbers = [*range(200, 50, -1), 1]
    assert enso.titles() == [f"Errand number {number}." for number in numbers]
    assert ids_are_unique(page)
    assert page.evaluate("document.activeElement.dataset.thread") == "many-150"
    more_link(page).click()
    expect(enso.rows).to_have_count(200)
    assert enso.titles() == [f"Errand number {number}." for number in range(200, 0, -1)]
    expect(enso.row(ids[0])).to_have_attribute("aria-current", "page")
    assert ids_are_unique(page)
    page.reload()
    expect(enso.rows).to_have_count(PAGE + 1)


def test_threads_that_move_while_more_rows_come_are_there_once(
    page: Page, place: Place, start: Start
) -> None:
    """One of those shown, one of those to come and a new one are at the top; none is missing."""
    ids = many(place)
    enso = EnsoPage(page, start().url)
    enso.open(ids[-1])
    slow = Held(page, re.compile("/rail"))
    more_link(page).click()
    slow.wait()
    place.thread("news", "News", "Yes.")
    place.file_of(ids[5]).say("Once more", "Yes.")
    place.file_of(ids[-9]).say("Once more", "Yes.")
    expect(page.locator("#rail-news > div")).to_be_attached()
    slow.let_go()
    expect(enso.rows).to_have_count(MANY + 1)
    moved = [f"Errand number {MANY - 8}.", "Errand number 6.", "News"]
    rest = [f"Errand number {n}." for n in range(MANY, 0, -1)]
    expect(page.locator("#rail-list .title").nth(2)).to_have_text(moved[2])
    assert enso.titles() == [*moved, *(one for one in rest if one not in moved)]
    assert ids_are_unique(page)


def test_more_rows_go_under_their_projects_and_keep_the_query(
    page: Page, place: Place, tmp_path: Path
) -> None:
    """Rows of a project that is shown join it; another one is added behind, each once."""
    other = tmp_path / "other"
    other.mkdir()
    files = [place.thread(f"many-{n}", f"Errand number {n}.", "Run.").path for n in range(1, 91)]
    for n in (3, 4, *range(50, 60)):
        path = files[n - 1]
        path.write_text(path.read_text().replace(str(place.project), str(other)))
    with ServerProcess(agent_dir=place.agent_dir, projects=[place.project, other]) as server:
        enso = EnsoPage(page, server.url)
        enso.open("many-90")
        enso.find.fill("errand")
        expect(more_link(page)).to_have_attribute("href", re.compile("q=errand"))
        expect(page.locator("#rail-list .group")).to_have_count(2)
        more_link(page).click()
        expect(enso.rows).to_have_count(90)
        expect(page.locator("#rail-list .group")).to_have_count(2)
        expect(page.locator("#rail-list .group").nth(1).locator("li")).to_have_count(12)
        assert ids_are_unique(page)


def test_on_a_phone_the_rail_is_a_sheet_that_closes_on_a_choice(
    browser: Browser, shop: Shop, watched: Watched
) -> None:
    """At 390 pixels the rail opens as a sheet, stays current, and gives way to the choice."""
    place = shop.place
    first = place.thread(place.new_id(), "Read on the train", "Yes.")
    second = place.thread(place.new_id(), "Read on the bus", "Yes.")
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    enso = EnsoPage(watched.watch(context.new_page()), shop.url)
    enso.open(first.thread_id)
    expect(enso.row(second.thread_id)).not_to_be_visible()
    enso.page.get_by_role("button", name="Threads").tap()
    expect(enso.row(second.thread_id)).to_be_visible()
    expect(enso.row(first.thread_id)).to_be_in_viewport()
    third = place.thread(place.new_id(), "Read on the ship", "Yes.")
    expect(enso.row(third.thread_id)).to_be_visible()
    enso.row(second.thread_id).tap()
    expect(enso.row(second.thread_id)).not_to_be_visible()
    enso.expect_thread(second.thread_id, "Read on the bus")
    assert enso.page.evaluate("document.documentElement.scrollWidth === innerWidth")
    enso.page.get_by_role("button", name="Threads").tap()
    enso.page.touchscreen.tap(380, 400)
    expect(enso.row(first.thread_id)).not_to_be_visible()
    context.close()
