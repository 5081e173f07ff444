"""Exports: a thread as HTML, as Markdown and as its log, live or cold, over a real store too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from enso import wire
from enso.projects import Projects
from enso.server.application import EnsoServer
from enso.server.doors import Doors
from enso.server.exports import plain_name
from enso.server.formats import FORMATS
from enso.transcript import ImagePart, TextPart, ToolCallPart, TranscriptToolResult
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.host.corpus import ALL, host_over, place
from tests.server.conftest import Listening, prompt, settled
from tests.server.drawn import HOSTILE

LISTED = [recorded for recorded in ALL if recorded.listed]


@pytest.fixture(scope="module")
def recorded_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client of a server over every recorded file that is listed."""
    agent_dir = tmp_path_factory.mktemp("recorded")
    for recorded in LISTED:
        place(recorded, agent_dir)
    directories = [Path(recorded.listed["cwd"]) for recorded in LISTED]
    server = EnsoServer(
        host=host_over(agent_dir),
        projects=Projects(directories),
        doors=Doors.of(host="127.0.0.1", token=None),
    )
    yield server.app.test_client()
    server.close()


@pytest.mark.parametrize("format_name", FORMATS)
def test_an_export_is_a_download_for_pages_and_for_programs(
    host: FakeHost, client: FlaskClient, format_name: str
) -> None:
    """Both addresses give the same file, as an attachment that a browser does nothing with."""
    host.store("t1", user("Fix the “tax” total"), assistant("Done."))
    answers = [
        client.get(f"{prefix}/threads/t1/export?format={format_name}") for prefix in ("", "/api")
    ]
    names = {"html": "fix-the-tax-total.html", "md": "fix-the-tax-total.md", "jsonl": "t1.jsonl"}
    for answer in answers:
        assert answer.status_code == 200
        told = answer.headers["Content-Disposition"]
        assert told == f'attachment; filename="{names[format_name]}"'
        assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answers[0].data == answers[1].data
    assert host.built == []


def test_the_default_export_is_html(host: FakeHost, client: FlaskClient) -> None:
    """Without a format the page that needs nothing else comes."""
    host.store("t1", user("Hi"), assistant("Hello."))
    assert client.get("/threads/t1/export").mimetype == "text/html"


@pytest.mark.parametrize(
    "path,status",
    [
        ("t1/export?format=pdf", 400),
        ("none/export?format=html", 404),
        ("none/export?format=jsonl", 404),
        ("-x/export?format=md", 404),
        ("elsewhere/export?format=html", 403),
        ("elsewhere/export?format=jsonl", 403),
    ],
)
def test_what_cannot_be_exported_is_said(
    host: FakeHost, client: FlaskClient, tmp_path: Path, path: str, status: int
) -> None:
    """An unknown format, thread or directory is named; nothing is handed out."""
    host.store("t1", user("Hi"), assistant("Hello."))
    host.store("elsewhere", user("Secret"), assistant("Hello."), directory=tmp_path / "other")
    answer = client.get(f"/api/threads/{path}")
    assert answer.status_code == status
    wire.Error.model_validate_json(answer.text)
    assert "Secret" not in answer.text


@pytest.mark.parametrize("recorded", LISTED, ids=str)
def test_the_exported_log_is_the_file(recorded_client: FlaskClient, recorded: object) -> None:
    """Byte for byte, with its length told, whatever damage it holds."""
    assert isinstance(recorded, type(LISTED[0]))
    thread_id = recorded.listed["id"]
    answer = recorded_client.get(f"/threads/{thread_id}/export?format=jsonl")
    same_id = [one.path.read_bytes() for one in LISTED if one.listed["id"] == thread_id]
    assert answer.data in same_id
    assert answer.content_length == len(answer.data)


def test_a_live_thread_is_exported_with_what_it_has(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """The export of a thread at work holds what streamed so far, and says that it was at work."""
    held = Reply.held("Half of an answer")
    host.script.add(held)
    with listening.follow("t1") as socket:
        prompt(client, "t1", "Hi")
        socket.until("part-delta")
    for format_name in ("html", "md"):
        text = client.get(f"/threads/t1/export?format={format_name}").text
        assert "Half of an answer" in text
        assert "was at work" in text
    held.release()
    settled(server, "t1")
    assert "was at work" not in client.get("/threads/t1/export").text


def test_nothing_is_cut(host: FakeHost, client: FlaskClient) -> None:
    """A result that the pane shows the end of is whole in HTML and in Markdown."""
    output = "".join(f"line {number} of many\n" for number in range(5000))
    command = "echo " + "x" * 5000
    host.store(
        "t1",
        user("p" * 5000),
        assistant(
            parts=(
                ToolCallPart("c1", "bash", {"command": command}),
                ToolCallPart("c2", "read", {"path": "d/" * 400 + "end.txt"}),
            ),
            stop_reason="tool-use",
        ),
        TranscriptToolResult(id="", tool_call_id="c1", tool_name="bash", parts=(TextPart(output),)),
        TranscriptToolResult(id="", tool_call_id="c2", tool_name="read", parts=(TextPart(output),)),
        assistant("Done."),
    )
    for format_name in ("html", "md"):
        text = client.get(f"/threads/t1/export?format={format_name}").text
        assert text.count("line 0 of many") == 2
        assert text.count("line 4999 of many") == 2
        assert command in text
        assert "d/end.txt" in text
        assert "p" * 5000 in text
        assert "not shown" not in text


def test_the_html_needs_nothing_else(host: FakeHost, client: FlaskClient) -> None:
    """One style in the file, allowed by its hash alone; no script, no link to a file, no form."""
    image = ImagePart("image/png", "iVBORw0KGgo=")
    host.store("t1", user(HOSTILE), assistant(parts=(TextPart(HOSTILE), image)))
    html = client.get("/threads/t1/export").text
    assert html.count("<style>") == 1
    assert not re.search(r"<(script|link|form|iframe|button|input)\b", html)
    assert not re.search(r"(src|href)=\"(?!data:image/png|https?:|#|mailto:)", html)
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in html
    assert "data:image/png;base64,iVBORw0KGgo=" in html


@pytest.mark.parametrize(
    "title,name",
    [
        ("Fix the tax", "fix-the-tax"),
        ('../../etc/passwd"\r\nX: y', "etc-passwd-x-y"),
        ("日本語", ""),
        ("", ""),
        ("a" * 300, "a" * 60),
    ],
)
def test_a_name_is_safe_wherever_it_is_saved(title: str, name: str) -> None:
    """A file's name has small letters, digits and dashes, whatever a title holds."""
    assert plain_name(title) == name


def test_a_slash_command_offers_the_files(
    host: FakeHost, client: FlaskClient, listening: Listening
) -> None:
    """It starts no run and builds nothing; every eye is shown where the files are."""
    host.store("t1", user("Hi"), assistant("Hello."))
    with listening.follow("t1") as socket, listening.follow("t1", html=True) as page:
        socket.until("snapshot")
        page.text()
        assert prompt(client, "t1", "/export").json["generation"] == 0
        links = socket.until("notice")[-1]["links"]
        assert [link["label"] for link in links] == ["HTML", "Markdown", "JSONL"]
        offers = [f'href="{link["href"]}" download' for link in links]
        # The file was stored a moment ago: its news may bring a page one snapshot more.
        while offers[0] not in (html := page.text()):
            pass
        for link, offer in zip(links, offers, strict=True):
            assert offer in html
            assert client.get(link["href"]).status_code == 200
        prompt(client, "t1", "/export md")
        assert [link["label"] for link in socket.until("notice")[-1]["links"]] == ["Markdown"]
    assert prompt(client, "t1", "/export pdf").status_code == 400
    assert host.built == []


def test_a_slash_command_on_a_thread_without_a_file_leaves_none(
    host: FakeHost, client: FlaskClient
) -> None:
    """There is nothing to take away, and nothing is made for it."""
    assert prompt(client, "new-one", "/export").status_code == 404
    assert not host.has("new-one")
    assert host.built == []


def test_a_plain_form_gets_the_file_at_once(host: FakeHost, client: FlaskClient) -> None:
    """Without scripts nothing could be offered, so the command leads to the download."""
    host.store("t1", user("Hi"), assistant("Hello."))
    answer = client.post("/threads/t1/prompt", data={"message": "/export md"})
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/threads/t1/export?format=md"
