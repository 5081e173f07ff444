"""Pages: what is emitted and where it goes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso.server.looks import dom_token
from enso.server.messages import transcript_to_messages
from enso.server.render import Renderer
from enso.server.views import ErrorView, HistoryView
from tests.look.scenes import (
    EMPTY_RAIL,
    FRESH,
    WORK,
    agent_pane,
    composer,
    group,
    page,
    pane,
    rail,
    row,
    scenes,
    user,
)
from tests.server.drawn import (
    RENDER,
    Page,
    assert_safe,
    words,
)


@pytest.mark.parametrize("name", scenes())
def test_every_page_is_whole_and_safe(name: str) -> None:
    """Each scene nests, has no id twice, and nothing that the content policy would refuse."""
    read = assert_safe(RENDER.page(scenes()[name]))
    assert {"rail", "pane", "rail-list", "rail-error", "rail-news"} <= set(read.ids())


def test_a_page_loads_its_scripts_as_one_and_tells_htmx_how_to_behave() -> None:
    """One deferred file: of several, htmx may begin before the next has told it of sockets."""
    read = Page(RENDER.page(page(pane())))
    [script] = read.all("script")
    assert script["src"] == "/static/scripts.js"
    assert set(script) == {"src", "defer"}
    assert {"name": "htmx-config", "content": "{}"} in read.all("meta")
    assert read.all("body") == [{"hx-sync:inherited": "this:replace"}]
    assert "hx-history-elt" in read.one("pane")


def test_static_files_are_named_by_the_one_who_serves_them() -> None:
    """The URL of every static file is asked for, so that it can carry a version."""
    renderer = Renderer(static_url=lambda name: f"/s/{name}?v=1")
    html = renderer.page(page(pane()))
    assert "/static/" not in html
    assert html.count("?v=1") == 3


def test_a_pane_begins_with_its_title_and_follows_its_thread() -> None:
    """A fragment brings the page's title, and one socket that swaps nothing by itself."""
    html = RENDER.pane(pane())
    assert html.lstrip().startswith("<title>Totals are off by one cent · Enso</title>")
    read = assert_safe(html)
    assert read.one("follow-t1") == {
        "id": "follow-t1",
        "hx-ws:connect": "/threads/t1/follow",
        "hx-swap": "none",
        "hidden": "",
    }
    assert {"log-t1", "tail-t1", "earlier-t1", "status-t1", "usage-t1", "notice-t1"} <= set(
        read.ids()
    )
    assert read.one("title-t1")["tabindex"] == "-1"


def test_the_composer_stands_outside_everything_that_frames_replace() -> None:
    """No frame's target holds the form, so a draft survives whatever is pushed."""
    html = RENDER.pane(pane())
    inside = html[html.index('id="log-t1"') : html.index("</section>")]
    assert "<form" not in inside
    status = html[html.index('id="status-t1"') : html.index("</p>", html.index('id="status-t1"'))]
    assert "<form" not in status
    form = Page(html).one("composer-t1")
    assert {name: form[name] for name in form if name.startswith("hx-")} == {
        "hx-post": "/threads/t1/prompt",
        "hx-target": "this",
        "hx-swap": "none",
        "hx-sync": "this:drop",
        "hx-disable": "findAll .sends button",
        "hx-status:4xx": "target:#composer-error-t1 swap:innerHTML",
        "hx-status:5xx": "target:#composer-error-t1 swap:innerHTML",
    }
    assert (form["method"], form["action"]) == ("post", "/threads/t1/prompt")
    assert form["enctype"] == "multipart/form-data"


def test_a_draft_comes_back_as_it_was_typed() -> None:
    """A refused plain form keeps its text, first blank line and all, with the reason."""
    html = RENDER.pane(pane(composer=composer(draft="\nTwo\nlines", error="Busy.")))
    assert "\n\nTwo\nlines</textarea>" in html  # HTML drops the newline behind the tag
    assert '<div class="refused-prompt" id="composer-error-t1" role="alert">Busy.</div>' in html


def test_without_a_model_the_composer_says_what_to_do() -> None:
    """No dead form: the reason stands where it would be."""
    html = RENDER.pane(pane(composer=composer(blocked="Put a provider into models.json.")))
    assert "Put a provider into models.json." in html
    assert "<textarea" not in html


def test_a_choice_of_projects_is_offered_where_there_is_one() -> None:
    """A fresh thread chooses its project; with one project there is nothing to choose."""
    many = composer(projects=(("/a", "api"), ("/b", "web")), project_id="/b")
    html = RENDER.pane(pane(**FRESH, composer=many))
    assert '<option value="/b" title="/b" selected>web</option>' in html
    assert 'name="projectId" form="composer-t1"' in html
    one = composer(projects=(("/a", "api"),), project_id="/a")
    html = RENDER.pane(pane(**FRESH, composer=one))
    assert "<option" not in html
    assert '<input type="hidden" name="projectId" value="/a">' in html


def test_an_empty_page_says_once_that_it_is_new_and_with_what_it_would_run() -> None:
    """The heading names it; under it stand project, model, mode and its meaning, what to type."""
    one = composer(projects=(("/home/dev/api", "api"),), project_id="/home/dev/api")
    html = RENDER.pane(agent_pane(**FRESH, composer=one))
    said = words(html[html.index("<header") :])
    assert said.count("New thread") == 1
    assert "Projectapi ModelLab Coder 30BModeaskAsks before it runs a command" in said
    assert "/ commands@ files of the project" in said
    assert "welcome" not in RENDER.pane(agent_pane(WORK))


def test_everything_a_page_does_works_without_scripts() -> None:
    """Every swap stands on a link or a form that says the same to a plain browser."""
    read = Page(RENDER.page(page(pane(WORK, earlier_href="/threads/t1/history?before=u1"))))
    for tag, attributes in read.elements:
        if "hx-get" in attributes and "hidden" not in attributes:
            assert attributes["hx-get"] == attributes["action" if tag == "form" else "href"]
        if "hx-post" in attributes:
            assert (attributes["method"], attributes["action"]) == ("post", attributes["hx-post"])


def test_errors_of_the_rail_go_to_its_own_line() -> None:
    """A row whose file is gone leaves URL and pane alone."""
    read = Page(RENDER.page(page(pane())))
    for kind in ("4xx", "5xx"):
        assert read.one("rail")[f"hx-status:{kind}:inherited"] == "target:#rail-error push:false"
    assert read.one("rail-error") == {"id": "rail-error", "role": "alert"}


def test_a_row_says_its_title_count_age_and_state() -> None:
    """A sign is drawn, and said for those who do not see it; the open thread's row is marked."""
    html = RENDER.rail_rows(
        rail(groups=(group("g", "shop-api", [row(1, "Fix it", "4 min", "cut")]),))
    )
    read = Page(html)
    (link,) = [one for one in read.all("a") if "data-thread" in one]
    assert link["href"] == "/threads/t1"
    assert link["aria-current"] == "page"
    assert {"href": "#s-cut"} in read.all("use")
    said = [one["aria-label"] for _, one in read.elements if one.get("role") == "img"]
    assert said == [", interrupted, ", "7 messages"]
    assert words(html).count("7 · 4 min") == 1
    assert "<title>Interrupted: the last run ended before it was done</title>" in html


def test_most_rows_are_six_elements() -> None:
    """Fifty rows are shown with every page: what a row holds, a first visit waits for."""
    for sign in ("cold", "held"):
        html = RENDER.rail_rows(
            rail(groups=(group("g", "shop-api", [row(1, "Fix it", "4 min", sign)]),))
        )
        elements = Page(html[html.index("<li") : html.index("</ol>")]).elements
        assert [tag for tag, _ in elements] == ["li", "a", "span", "span", "span", "time"]


def test_the_thread_comes_before_the_rail() -> None:
    """A browser that shows a page piece by piece shows the thread first; so is every other page."""
    ids = Page(RENDER.page(page(pane(WORK)))).ids()
    assert ids.index("pane") < ids.index("dialogs-t1") < ids.index("rail") < ids.index("row-t1")


def test_an_untitled_thread_says_so_and_an_empty_rail_says_what_to_do() -> None:
    """Nothing is left blank."""
    assert "Untitled" in RENDER.rail_rows(rail(groups=(group("g", "x", [row(2, "", "now")]),)))
    assert "No threads yet." in RENDER.rail(rail(**EMPTY_RAIL))
    searched = {**EMPTY_RAIL, "serves_nothing_yet": False, "query": "<b>"}
    assert "No title fits “&lt;b&gt;”." in RENDER.rail_rows(rail(**searched))


def test_earlier_messages_come_behind_the_way_to_more() -> None:
    """A page of history replaces the link that asked for it, by the same id, messages after it."""
    messages = transcript_to_messages([user("u9", "long ago")])
    html = RENDER.history(
        HistoryView(key="t1", messages=messages, earlier_href="/more", earlier_count=7)
    )
    assert_safe(html)
    assert html.lstrip().startswith('<div class="earlier" id="earlier-t1"><a href="/more"')
    assert html.index("/more") < html.index("long ago")
    again = RENDER.history(
        HistoryView(
            key="t1", messages=messages, earlier_href="/more", earlier_count=7, href="/this"
        )
    )
    assert_safe(again)
    assert '<div class="page" id="page-t1-u9" data-page><button type="button"' in again
    assert 'hx-get="/this"' in again
    last = RENDER.history(HistoryView(key="t1", messages=[], earlier_href=None, earlier_count=0))
    assert last.strip() == '<div class="earlier" id="earlier-t1"></div>'


def test_earlier_messages_that_cannot_be_had_leave_the_way_to_them() -> None:
    """An error is said above the log; the link stays, to be tried again."""
    read = Page(RENDER.pane(pane(WORK, earlier_href="/more", earlier_count=3)))
    (link,) = [one for one in read.all("a") if one["href"] == "/more"]
    for kind in ("4xx", "5xx"):
        assert link[f"hx-status:{kind}"] == "target:#notice-t1 swap:innerHTML"
    assert "notice-t1" in read.ids()


def test_an_error_page_holds_the_pane_and_an_error_line_only_the_sentence() -> None:
    """Going back to an error works like going back to a page; a line fits where it is swapped."""
    view = ErrorView(status=500, heading="Something went wrong", sentence="Its <log>.", rail=rail())
    whole = assert_safe(RENDER.error(view, page=True))
    assert "hx-history-elt" in whole.one("pane")
    assert RENDER.error(view, page=False) == (
        "<p><strong>Something went wrong.</strong> Its &lt;log&gt;.</p>"
    )
    gone = ErrorView(status=404, heading="Not found", sentence="It is gone.", rail=None)
    assert words(RENDER.error(gone, page=False)) == "Could not open the thread. It is gone."
    assert_safe(RENDER.error(gone, page=True))


@given(st.text(st.characters(), max_size=60))
def test_any_id_makes_a_token_that_is_safe_in_a_selector(text: str) -> None:
    """A DOM id needs no escape, whatever stood in the file; a plain one stays itself."""
    assert re.fullmatch(r"[A-Za-z0-9-]{1,40}", dom_token(text))
    assert dom_token("0e8c4700") == "0e8c4700"
    assert dom_token("a.b") != dom_token("a_b")
