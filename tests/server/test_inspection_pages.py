"""The pages behind a thread: its entries as they are stored, and what the model was shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from enso.server.application import EnsoServer
from enso.server.inspection_pages import PAGE_ROWS
from enso.transcript import TranscriptCustom, TranscriptMarker, TranscriptOther
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.server.conftest import prompt, settled

DRAWER = {"HX-Request": "true", "HX-Request-Type": "partial"}
PAGES = ("entries", "entries/u1", "context", "context/1", "context/next")


def get(client: FlaskClient, path: str, **headers: Any) -> TestResponse:
    """A page of the thread ``t1``, or with headers its fragment."""
    return client.get(f"/threads/t1/{path}", headers=headers.get("headers") or {})


def rows(html: str) -> list[int]:
    """The numbers of a list's rows, from the top."""
    return [int(number) for number in re.findall(r'<li value="(\d+)">', html)]


@pytest.mark.parametrize("path", PAGES)
def test_each_is_a_page_of_its_own_and_a_fragment(
    host: FakeHost, client: FlaskClient, path: str
) -> None:
    """Whole with the rail without htmx; for the drawer no more than what stands in it."""
    host.store("t1", user("Hello", id="u1"), assistant("Hi."))
    page, fragment = get(client, path), get(client, path, headers=DRAWER)
    assert page.status_code == fragment.status_code == 200
    assert page.text.startswith("<!doctype html>")
    assert 'id="rail"' in page.text
    assert "<html" not in fragment.text
    assert 'id="rail"' not in fragment.text
    assert "HX-Request-Type" in page.headers["Vary"]
    assert host.built == []


def test_entries_are_listed_by_kind_the_newest_first(host: FakeHost, client: FlaskClient) -> None:
    """Every entry of the branch with its place, also what is not shown and what is not known."""
    host.store(
        "t1",
        user("A question"),
        TranscriptCustom(id="c1", custom_type="modes", data={"mode": "ask"}),
        TranscriptOther(id="o1", kind="a_new_kind"),
        TranscriptMarker(id="k1", kind="compaction", title="Summed up", text="All of it."),
        assistant("An answer."),
    )
    html = get(client, "entries").text
    kinds = re.findall(r"<b>([^<]+)</b>", html)
    assert rows(html) == [5, 4, 3, 2, 1]
    assert kinds == [
        "message:assistant",
        "marker:compaction",
        "a_new_kind",
        "custom:modes",
        "message:user",
    ]


def test_a_long_thread_is_paged(host: FakeHost, client: FlaskClient) -> None:
    """No page holds more than its rows, and together they hold every entry once."""
    entries = [user(f"prompt {n}") if n % 2 else assistant(f"reply {n}") for n in range(250)]
    host.store("t1", *entries)
    path, seen = "entries", []
    while path:
        html = get(client, path).text
        assert len(rows(html)) <= PAGE_ROWS
        seen += rows(html)
        older = re.search(r'href="/threads/t1/(entries\?from=\d+)">Older', html)
        path = older[1] if older else ""
    assert seen == list(range(250, 0, -1))


@pytest.mark.parametrize("start", ["-5", "x", "99999999999999999999", "37"])
def test_any_place_to_begin_at_gives_a_page(
    host: FakeHost, client: FlaskClient, start: str
) -> None:
    """What is no place, or beyond the end, is a page that there is."""
    host.store("t1", *(assistant("x") for _ in range(150)))
    for path in ("entries", "context", "context/next"):
        answer = get(client, f"{path}?from={start}")
        assert answer.status_code == 200


def test_a_stored_entry_is_shown_as_text_and_cut(host: FakeHost, client: FlaskClient) -> None:
    """Hostile words are shown, not obeyed; of a long one the beginning, and that it goes on."""
    host.store("t1", user("<script>alert(1)</script>", id="u1"), assistant("x" * 90_000, id="a1"))
    html = get(client, "entries/u1", headers=DRAWER).text
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    long = get(client, "entries/a1", headers=DRAWER).text
    assert len(long) < 70_000
    assert re.search(r"The first 64,000 of 90,\d{3} characters\.", long)


def test_a_context_is_a_chart_and_a_table_of_the_same(host: FakeHost, client: FlaskClient) -> None:
    """A column, and a row with the JSON interface's numbers, for each request; a mark where the
    thread was summed up."""
    host.store(
        "t1",
        user("A question that is long enough to count"),
        assistant("One."),
        TranscriptMarker(id="k1", kind="compaction", title="Summed up", text="All of it."),
        user("More"),
        assistant("Two."),
    )
    html = get(client, "context").text
    requests = client.get("/api/threads/t1/context").json["requests"]
    assert html.count('<g class="column') == len(requests) == 2
    assert html.count('<g class="mark"') == html.count('<tr class="compacted"') == 1
    for request in requests:
        assert re.search(
            rf'context/{request["index"]}"[^>]*>{request["index"]}</a></th>'
            rf'<td class="n">{request["tokens"]}</td><td class="n"></td>'
            rf'<td class="n">{request["elements"]}</td><td class="n">{request["characters"]}</td>',
            html,
        )


def test_a_request_shows_its_elements_in_order(host: FakeHost, client: FlaskClient) -> None:
    """Role and words of each, the sums by role, and where each entry is."""
    host.store("t1", user("Hello", id="u1"), assistant("Hi.", id="a1"), user("More", id="u2"))
    html = get(client, "context/next").text
    assert rows(html) == [1, 2, 3]
    assert re.findall(r"<b>([^<]+)</b>", html) == ["user", "assistant", "user"]
    assert '<th scope="row">user</th><td class="n">2</td><td class="n">9</td>' in html
    assert 'href="/threads/t1/entries/u2"' in html


def test_links_in_the_drawer_change_the_drawer(host: FakeHost, client: FlaskClient) -> None:
    """Every link of a fragment is for htmx and aims at the drawer; a page's are plain links."""
    host.store("t1", user("Hello", id="u1"), assistant("Hi."))
    fragment, page = get(client, "context", headers=DRAWER).text, get(client, "context").text
    links = re.findall(r"<a [^>]*>", fragment)
    assert links
    assert all('hx-target="#drawer-t1"' in link for link in links)
    assert 'hx-target="#drawer-t1"' not in page


def test_a_live_thread_says_where_it_is_kept_and_what_it_told(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """The file, the commands, and the events of its last run."""
    host.script.add(Reply(deltas=("One ", "two.")))
    prompt(client, "t1", "Hello")
    settled(server, "t1")
    html = get(client, "entries").text
    assert '<dd dir="auto">live</dd>' in html
    assert "/nowhere/t1" in html
    assert "/compact" in html
    assert "<td>part-delta</td>" in html
    assert "<td>run-settled</td>" in html


def test_a_thread_without_a_request_says_so(host: FakeHost, client: FlaskClient) -> None:
    """No chart of nothing: a sentence, and what the next request would begin with."""
    host.store("t1", user("Hello"))
    html = get(client, "context").text
    assert "No request was made on this branch yet." in html
    assert '<svg class="chart' not in html
    assert "not made yet" in html


def test_the_pane_offers_both(host: FakeHost, client: FlaskClient) -> None:
    """The thread's menu links to context and entries, which are plain pages without scripts."""
    host.store("t1", user("Hello"), assistant("Hi."))
    html = client.get("/threads/t1?mine=1").text
    for path in ("context", "entries"):
        assert f'href="/threads/t1/{path}?mine=1" hx-get="/threads/t1/{path}?mine=1"' in html
    assert 'id="drawer-t1"' in html


@pytest.mark.parametrize("path", PAGES)
def test_what_cannot_be_read_is_said_as_a_page(
    host: FakeHost, client: FlaskClient, tmp_path: Path, path: str
) -> None:
    """A thread that is not there is 404, one of a directory that is not served 403."""
    assert get(client, path).status_code == 404
    host.store("t1", user("Hello", id="u1"), assistant("Hi."), directory=tmp_path / "elsewhere")
    refused = get(client, path)
    assert refused.status_code == 403
    assert "elsewhere" in refused.text
