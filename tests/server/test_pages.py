"""Pages and fragments: the thread that a URL names, and what is said when it cannot be."""

from __future__ import annotations

import re
from base64 import b64decode
from io import BytesIO

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from enso.host.contract import WINDOW_MESSAGES
from enso.server.application import EnsoServer
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.look.scenes import png
from tests.server.conftest import MakeServer, prompt

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}
RESTORE = {"HX-History-Restore-Request": "true"}


def titled(html: str) -> str:
    """The text of the page's title element."""
    found = re.search(r"<title>(.*?)</title>", html, re.DOTALL)
    assert found
    return found[1]


def is_whole_page(answer: TestResponse) -> bool:
    """Whether an answer is a document that holds the rail and the pane."""
    return answer.text.startswith("<!doctype html>") and 'id="rail"' in answer.text


def test_a_url_names_its_thread_and_none_is_a_fresh_page(
    host: FakeHost, client: FlaskClient
) -> None:
    """A thread's page has its messages and its name; the fresh page a form under a new id."""
    host.store("t1", user("Fix the total"), assistant("Done."))
    page = client.get("/threads/t1")
    assert page.status_code == 200
    assert is_whole_page(page)
    assert titled(page.text).startswith("Fix the total")
    assert "Done." in page.text
    fresh = client.get("/")
    assert fresh.status_code == 200
    actions = re.findall(r'action="/threads/([^/"]+)/prompt"', fresh.text)
    assert len(actions) == 1
    assert re.fullmatch(r"[0-9a-f-]{36}", actions[0])
    assert host.built == []


def test_the_composer_says_where_it_is_told_that_somebody_types(
    host: FakeHost, client: FlaskClient
) -> None:
    """The host gets ready at that word; nothing is built."""
    (href,) = re.findall(r'data-prepare="([^"]+)"', client.get("/").text)
    assert client.post(href).status_code == 204
    assert host.prepared == 1
    assert host.built == []


@pytest.mark.parametrize("bad", ["..%2F..%2Fetc", "a%2Fb", "-x", "%00", "a%20b", "x" * 300])
def test_a_malformed_id_is_a_fresh_page_and_said(client: FlaskClient, bad: str) -> None:
    """Whatever stands where an id should, the page is fresh under its own id and says why."""
    page = client.get(f"/threads/{bad}")
    assert page.status_code == 200
    assert is_whole_page(page)
    assert "cannot be a thread id" in page.text
    assert re.search(r'action="/threads/[0-9a-f-]{36}/prompt"', page.text)


def test_an_unknown_id_starts_fresh_under_that_id_and_nothing_is_said(
    host: FakeHost, client: FlaskClient
) -> None:
    """The URL's own thread, lost before it was stored, goes on under its id."""
    page = client.get("/threads/lost-before-it-was-stored")
    assert page.status_code == 200
    assert 'action="/threads/lost-before-it-was-stored/prompt"' in page.text
    assert 'role="note"' not in page.text.split('id="pane"')[1]
    assert host.built == []


def test_a_rail_row_whose_thread_is_gone_is_a_line_for_the_rail(client: FlaskClient) -> None:
    """Where the rail asked, a thread that is gone is a 404 in one line, not a fresh page."""
    answer = client.get("/threads/gone", headers=PARTIAL)
    assert answer.status_code == 404
    assert "gone" in answer.text
    assert "<main" not in answer.text


def test_a_fragment_is_sent_only_to_who_asks_for_one(host: FakeHost, client: FlaskClient) -> None:
    """The pane alone for a swap, the whole page for a restore or a browser; caches are told."""
    host.store("t1", user("Hi"), assistant("Hello."))
    fragment = client.get("/threads/t1", headers=PARTIAL)
    assert fragment.text.lstrip().startswith("<title>")
    assert 'id="rail"' not in fragment.text
    for headers in (RESTORE, {**PARTIAL, **RESTORE}, {}, {"HX-Request": "true"}):
        assert is_whole_page(client.get("/threads/t1", headers=headers))
    for answer in (fragment, client.get("/")):
        assert set(answer.headers["Vary"].split(", ")) >= {
            "HX-Request",
            "HX-Request-Type",
            "HX-History-Restore-Request",
        }
        assert answer.headers["Cache-Control"] == "no-store"


def test_other_query_parameters_stay_in_every_link(host: FakeHost, client: FlaskClient) -> None:
    """What a person put into the URL is in the rail's links, the form's action and the refresh."""
    host.store("t1", user("Hi"), assistant("Hello."))
    html = client.get("/threads/t1?theme=dark&x=1").text
    assert 'href="/threads/t1?theme=dark&amp;x=1"' in html
    assert 'href="/?theme=dark&amp;x=1"' in html
    assert 'action="/threads/t1/prompt?theme=dark&amp;x=1"' in html
    refreshed = client.get(
        "/rail", headers={**PARTIAL, "HX-Current-URL": "http://localhost/threads/t1?theme=dark"}
    )
    assert 'href="/threads/t1?theme=dark"' in refreshed.text
    assert 'aria-current="page"' in refreshed.text


def test_a_long_thread_opens_at_its_last_page_and_earlier_ones_follow(
    host: FakeHost, client: FlaskClient
) -> None:
    """Walking up page by page, as a script or without one, meets every message exactly once."""
    host.store("long", *(user(f"question {n:03}", id=f"q{n:03}") for n in range(200)))
    html = client.get("/threads/long").text
    seen = re.findall(r'id="m-long-(q\d+)"', html)
    assert seen[-1] == "q199"
    assert len(seen) == WINDOW_MESSAGES
    while found := re.search(r'href="(/threads/long/history\?before=[^"]+)"', html):
        answer = client.get(found[1], headers=PARTIAL)
        whole = client.get(found[1])
        html = answer.text
        page = re.findall(r'id="m-long-(q\d+)"', html)
        assert page == re.findall(r'id="m-long-(q\d+)"', whole.text)
        assert is_whole_page(whole)
        seen = page + seen
    assert seen == [f"q{n:03}" for n in range(200)]
    assert client.get("/threads/long/history?before=nope").status_code == 404


def test_the_rail_pages_filters_and_keeps_the_open_thread(
    host: FakeHost, client: FlaskClient
) -> None:
    """Fifty newest rows, more on demand, what fits a query; the open thread always there."""
    for n in range(120):
        host.store(f"t{n:03}", user(f"About topic {n:03}"), assistant("Yes."))
    html = client.get("/threads/t001").text
    rows = re.findall(r'data-thread="(t\d+)" title', html)
    assert rows[:50] == [f"t{n:03}" for n in range(119, 69, -1)]
    assert rows[50:] == ["t001"]
    more = more_of(html)
    host.store("new", user("Came meanwhile"), assistant("Yes."))
    further = client.get(more, headers=PARTIAL).text
    assert rows_of(further) == [f"t{n:03}" for n in range(69, -1, -1)]
    assert 'id="rail-more"' not in further
    assert 'name="shown" value="150"' in further
    found = client.get("/rail?q=06+TOPIC+About", headers=PARTIAL).text
    assert re.findall(r'data-thread="(t\d+)"', found) == [
        "t106",
        *(f"t{n:03}" for n in range(69, 59, -1)),
        "t006",
    ]
    assert "No title fits" in client.get("/rail?q=nothing+like+it", headers=PARTIAL).text


def rows_of(html: str) -> list[str]:
    """The threads of a rail's rows, in their order."""
    return re.findall(r'data-thread="([^"]+)" title', html)


def more_of(html: str) -> str:
    """Where a rail leads to more."""
    found = re.search(r'id="rail-more"><a href="([^"]+)"', html)
    assert found, "the rail leads to no more rows"
    return found[1].replace("&amp;", "&")


def test_an_answer_with_more_rows_does_not_grow_with_those_before(
    host: FakeHost, client: FlaskClient
) -> None:
    """Page after page of a query: each row once, and no answer has more rows or bytes."""
    for n in range(1000):
        host.store(f"t{n:04}", user(f"About topic {n:04}"), assistant("Yes."))
    html = client.get("/rail?q=topic", headers=PARTIAL).text
    seen = rows_of(html)
    sizes = list[int]()
    while 'id="rail-more"' in html:
        html = client.get(more_of(html), headers=PARTIAL).text
        sizes.append(
            len(re.sub(r"(<time[^>]*>)[^<]*", r"\1", html))
        )  # ages are as long as they are
        assert len(rows_of(html)) <= 100
        seen += rows_of(html)
    assert seen == [f"t{n:04}" for n in range(999, -1, -1)]
    assert len(sizes) == 10
    assert max(sizes) < sizes[0] + 500, "no answer is a row longer than the first"


def test_more_rows_go_on_behind_a_row_that_moved_or_went(
    host: FakeHost, client: FlaskClient
) -> None:
    """The place is that of the last row when it was shown; none behind it is skipped or shown
    before. What the browser missed is asked for anew."""
    for n in range(60):
        host.store(f"t{n:02}", user(f"About topic {n:02}"), assistant("Yes."))
    more = more_of(client.get("/rail", headers=PARTIAL).text)
    assert ".t10&" in more
    host.store("t10", user("Moved up"), assistant("Yes."))
    assert rows_of(client.get(more, headers=PARTIAL).text) == [f"t{n:02}" for n in range(9, -1, -1)]
    missed = re.sub(r"drawn=[^&]*", "drawn=before", more)
    assert 'hx-target="#rail-news"' in client.get(missed, headers=PARTIAL).text


def test_without_scripts_more_rows_are_a_page_with_a_way_back(
    host: FakeHost, client: FlaskClient
) -> None:
    """The rows that follow, the open thread among them, and links on and back."""
    for n in range(160):
        host.store(f"t{n:03}", user(f"About topic {n:03}"), assistant("Yes."))
    second = client.get(more_of(client.get("/threads/t159?theme=dark").text))
    assert is_whole_page(second)
    assert rows_of(second.text) == [*(f"t{n:03}" for n in range(109, 9, -1)), "t159"]
    back = re.search(r'href="([^"]+)">Back to the newest threads', second.text)
    assert back
    third = client.get(more_of(second.text))
    assert rows_of(third.text) == [*(f"t{n:03}" for n in range(9, -1, -1)), "t159"]
    first = client.get(back[1].replace("&amp;", "&")).text
    assert rows_of(first)[:50] == [f"t{n:03}" for n in range(159, 109, -1)]
    assert "theme=dark" in back[1]


@pytest.mark.parametrize("place", ["x", "1.", ".t1", "1.a/b", "9" * 40 + ".t1", "\u0663.t1"])
def test_a_place_in_the_rail_that_is_none_is_refused(client: FlaskClient, place: str) -> None:
    """It says what is wrong and what to do; elsewhere the parameter means nothing."""
    answer = client.get("/rail", query_string={"after": place}, headers=PARTIAL)
    assert answer.status_code == 400
    assert "after names no place in the list of threads" in answer.text
    assert client.get("/", query_string={"after": place}).status_code == 200


def test_the_rail_says_how_far_the_first_look_is(host: FakeHost, client: FlaskClient) -> None:
    """What is known by then, how many of how many, and where it is asked for again; until it is
    whole. Without scripts the same by a link."""
    for n in range(5):
        host.store(f"t{n}", user(f"About topic {n}"), assistant("Yes."))
    host.waiting = 2
    html = client.get("/?theme=dark").text
    assert re.findall(r'data-thread="(t\d)"', html) == ["t4", "t3", "t2"]
    assert '<progress max="5" value="3"></progress>' in html
    assert re.search(r'<a href="/rail\?[^"]*theme=dark[^"]*">3 of 5 threads</a>', html)
    assert 'hx-trigger="every 500ms"' in html
    host.waiting = 5
    empty = client.get("/rail", headers=PARTIAL).text
    assert "0 of 5 threads" in empty
    assert "Looking for threads." in empty
    assert "No threads yet" not in empty
    assert "No title fits" not in client.get("/rail?q=topic", headers=PARTIAL).text
    host.waiting = 0
    assert "<progress" not in client.get("/rail", headers=PARTIAL).text


def test_a_store_without_threads_says_what_to_do(client: FlaskClient) -> None:
    """The first page of all is no empty hole."""
    assert "No threads yet" in client.get("/").text


def test_the_composer_says_what_to_do_when_no_model_is_configured(
    make: MakeServer, host: FakeHost
) -> None:
    """Without a model there is no form that could only fail, but what to do first."""
    host._model = None
    html = make().app.test_client().get("/").text
    assert "Configure a model." in html
    assert "<textarea" not in html


def test_a_plain_form_starts_a_run_and_leads_to_the_thread(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """Without a script a prompt gets 303 to its thread; with htmx 202 and the URL to show."""
    plain = client.post("/threads/t1/prompt?x=1", data={"message": "Hi"})
    assert (plain.status_code, plain.headers["Location"]) == (303, "/threads/t1?x=1")
    swapped = client.post("/threads/t2/prompt", data={"message": "Hi"}, headers=PARTIAL)
    assert (swapped.status_code, swapped.text) == (202, "")
    assert swapped.headers["HX-Push-Url"] == "/threads/t2"
    assert [thread.scripted.prompts for thread in host.built] == [["Hi"], ["Hi"]]


def test_a_refused_plain_form_keeps_what_was_typed(host: FakeHost, client: FlaskClient) -> None:
    """The thread's page comes back with the refusal's status, its sentence, and the draft."""
    reply = Reply.held()
    host.script.add(reply)
    prompt(client, "t1", "first")
    reply.wait_until_held()
    refused = client.post("/threads/t1/prompt", data={"message": "second <b>thought</b>"})
    assert refused.status_code == 409
    assert "still working" in refused.text
    assert "second &lt;b&gt;thought&lt;/b&gt;</textarea>" in refused.text
    line = client.post("/threads/t1/prompt", data={"message": "second"}, headers=PARTIAL)
    assert line.status_code == 409
    assert "still working" in line.text
    assert "<main" not in line.text
    empty = client.post("/threads/t3/prompt", data={"message": "  \r\n "})
    assert empty.status_code == 400
    reply.release()


def test_an_image_goes_with_the_prompt_and_a_wrong_one_is_said(
    host: FakeHost, client: FlaskClient
) -> None:
    """A chosen PNG is part of the prompt; a PDF is refused by its kind before anything is built."""
    image = b64decode(png(2, 2).data)
    data = {"message": "Look", "images": (BytesIO(image), "a.png", "image/png")}
    assert client.post("/threads/t1/prompt", data=data).status_code == 303
    sent = (BytesIO(b"%PDF"), "a.pdf", "application/pdf")
    pdf = {"message": "Look", "images": sent}
    refused = client.post("/threads/t2/prompt", data=pdf)
    assert refused.status_code == 400
    assert "application/pdf" in refused.text
    assert len(host.built) == 1


def test_an_address_that_is_nothing_is_a_page_that_says_so(client: FlaskClient) -> None:
    """A wrong address keeps the rail and the element that a history restore needs."""
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert is_whole_page(answer)
    assert "hx-history-elt" in answer.text


def test_the_model_menu_says_what_people_call_a_provider(
    host: FakeHost, client: FlaskClient
) -> None:
    """On a thread's page and on a new one's; its id where no name is known, and in what is sent."""
    host.store("t1", user("Hi"), assistant("Hello."))
    provider = host.models()[0].provider
    for url in ("/", "/threads/t1"):
        html = client.get(url).text
        assert f'<h3 title="{provider}">Scripted</h3>' in html
        assert f'name="provider" value="{provider}"' in html
    assert client.get("/api/models").json["models"][0]["providerName"] == "Scripted"
    host.provider_names.clear()
    assert f"<h3>{provider}</h3>" in client.get("/threads/t1").text
    assert client.get("/api/models").json["models"][0]["providerName"] is None
