"""The doors: who may speak to the server, and what a browser may do with its pages."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from enso.projects import Projects
from enso.server.application import EnsoServer
from enso.server.doors import Doors, is_loopback
from enso.server.resources import static_dir
from enso.server.static_files import AFTER, BEFORE, JOINED, SCRIPTS, joined_scripts, static_urls
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost

TOKEN = "a-long-random-word"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1:7433", "[::1]:7433", "LOCALHOST:9000"])
def test_the_names_of_this_machine_are_answered(client: FlaskClient, name: str) -> None:
    """A loopback name may have any port, as through a tunnel."""
    assert client.get("/", headers={"Host": name}).status_code == 200


@pytest.mark.parametrize(
    "name",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7433", "10.0.0.7", "["],
)
def test_a_rebound_name_is_not_answered(client: FlaskClient, name: str) -> None:
    """A page elsewhere whose name was pointed at this machine reads nothing and runs nothing."""
    answer = client.get("/api/stored-threads", headers={"Host": name})
    assert answer.status_code == 421
    assert answer.json["error"]["code"] == "unknown-host"


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://localhost",
        "http://localhost:1",
        "null",
        "http://localhost.x",
    ],
)
def test_a_page_of_another_site_changes_nothing(
    host: FakeHost, client: FlaskClient, origin: str
) -> None:
    """An Origin that is not exactly this server's is refused before anything is built."""
    answer = client.post(
        "/api/threads/t1/prompt", json={"message": "rm -rf"}, headers={"Origin": origin}
    )
    assert answer.status_code == 403
    assert answer.json["error"]["code"] == "foreign-origin"
    form = client.post("/threads/t1/prompt", data={"message": "x"}, headers={"Origin": origin})
    assert form.status_code == 403
    assert host.built == []


def test_the_own_origin_and_programs_that_are_no_browser_may_change(
    host: FakeHost, client: FlaskClient
) -> None:
    """A page of this server and a command line reach the agent; a browser that hides it not."""
    own = client.post(
        "/threads/t1/prompt", data={"message": "Hi"}, headers={"Origin": "http://localhost"}
    )
    assert own.status_code == 303
    assert client.post("/threads/t2/prompt", data={"message": "Hi"}).status_code == 303
    hidden = client.post(
        "/threads/t3/prompt", data={"message": "Hi"}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert hidden.status_code == 403
    assert len(host.built) == 2


def test_pages_run_no_script_or_style_but_their_own_files(
    host: FakeHost, client: FlaskClient
) -> None:
    """The policy allows nothing inline, and the pages have nothing inline."""
    host.store("t1", user("Hi"), assistant("# Title\n\n```python\nx = 1\n```\n"))
    for path in ("/", "/threads/t1", "/nowhere", "/rail"):
        answer = client.get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert " style=" not in answer.text
        assert "<style" not in answer.text
        assert "<script>" not in answer.text
        assert " onclick" not in answer.text
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_static_files_are_kept_by_their_content(client: FlaskClient) -> None:
    """A file asked for by its version is kept for ever; without one it is asked for again."""
    html = client.get("/").text
    url = html.split('href="/static/enso.css')[1].split('"')[0]
    kept = client.get(f"/static/enso.css{url}", buffered=True)
    assert "immutable" in kept.headers["Cache-Control"]
    plain = client.get("/static/enso.css", buffered=True)
    assert "immutable" not in plain.headers["Cache-Control"]
    assert client.get("/static/../app.py").status_code == 404


def test_static_texts_are_compressed_for_who_takes_that(client: FlaskClient) -> None:
    """The same file, smaller, its length said."""
    takes = {"Accept-Encoding": "br, gzip"}
    for path in ("/static/enso.css?v=1", "/static/scripts.js?v=1"):
        plain = client.get(path, buffered=True)
        small = client.get(path, headers=takes, buffered=True)
        assert "Content-Encoding" not in plain.headers
        assert (small.headers["Content-Encoding"], small.headers["Vary"]) == (
            "gzip",
            "Accept-Encoding",
        )
        assert gzip.decompress(small.data) == plain.data
        assert int(small.headers["Content-Length"]) == len(small.data) < len(plain.data) / 2


def test_the_scripts_of_a_page_are_one_file_of_them_all(client: FlaskClient) -> None:
    """htmx first, then what it is told of; each whole, by a URL that changes with any of them."""
    url = client.get("/").text.split('<script src="')[1].split('"')[0]
    answer = client.get(url, buffered=True)
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.mimetype == "text/javascript"
    parts = [(static_dir() / name).read_bytes() for name in SCRIPTS]
    places = [answer.data.index(part) for part in parts]
    assert places == sorted(places)
    assert places[0] == len(BEFORE)


def test_a_script_that_changes_changes_the_url_of_them_all(tmp_path: Path) -> None:
    """A browser that keeps the joined scripts for ever asks for them again after a change."""
    (tmp_path / "enso.js").write_text("one()")
    url = static_urls(tmp_path)
    before = url(JOINED)
    (tmp_path / "agent.js").write_text("two()")
    assert url(JOINED) != before
    assert joined_scripts(tmp_path) == BEFORE + b"one()\n;\ntwo()\n;\n" + AFTER


@pytest.fixture
def open_client(host: FakeHost, project: Path) -> Iterator[FlaskClient]:
    """A client of a server that listens everywhere, and so asks for its token."""
    server = EnsoServer(
        host=host,
        projects=Projects([project]),
        doors=Doors.of(host="0.0.0.0", token=TOKEN),
    )
    yield server.app.test_client()
    server.close()


def test_away_from_loopback_a_token_is_asked_for(host: FakeHost, open_client: FlaskClient) -> None:
    """Without it nothing is shown; a program gives it in a header, a browser once in a form."""
    host.store("t1", user("A secret title"), assistant("Hello."))
    for path in ("/", "/threads/t1", "/api/stored-threads", "/nowhere"):
        answer = open_client.get(path)
        assert answer.status_code == 401
        assert "secret" not in answer.text
    assert 'action="/token"' in open_client.get("/").text
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert open_client.get("/api/stored-threads", headers=bearer).status_code == 200
    assert open_client.post("/token", data={"token": "guess"}).status_code == 401
    admitted = open_client.post("/token", data={"token": TOKEN})
    assert admitted.status_code == 303
    cookie = admitted.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "A secret title" in open_client.get("/").text


def test_who_gave_the_token_comes_to_the_page_they_asked_for(open_client: FlaskClient) -> None:
    """Also after a wrong one; a fragment says where to give it; no other site is led to."""
    asked = "/threads/a%20b?q=x&y=%C3%BC"
    hidden = f'<input type="hidden" name="to" value="{asked.replace("&", "&amp;")}">'
    assert hidden in open_client.get(asked).text
    assert hidden in open_client.post("/token", data={"token": "guess", "to": asked}).text
    partial = {"HX-Request": "true", "HX-Request-Type": "partial"}
    assert '<a href="">Give it</a>' in open_client.get("/rail", headers=partial).text
    for wanted, page in {
        asked: asked,
        "": "/",
        "https://evil.example/": "/",
        "//evil.example/": "/",
        "/\\evil.example": "/",
        "/\t/evil.example": "/",
        "/a\r\nX: y": "/",
        "javascript:alert(1)": "/",
    }.items():
        given = open_client.post("/token", data={"token": TOKEN, "to": wanted})
        assert given.headers["Location"] == page


def test_a_token_is_required_to_listen_elsewhere() -> None:
    """An address that other machines reach is refused without a token, in a sentence."""
    with pytest.raises(ValueError, match="ENSO_TOKEN must be set"):
        Doors.of(host="0.0.0.0", token=None)
    assert Doors.of(host="127.0.0.1", token=None).token is None


@pytest.mark.parametrize(
    "host,answer",
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("192.168.1.5", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_what_is_loopback(host: str, answer: bool) -> None:
    """Only addresses that no other machine reaches are loopback."""
    assert is_loopback(host) is answer
