"""What a model was shown, as JSON: live and cold alike, and said where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from enso.server.application import EnsoServer
from enso.server.contexts import MOST_ENTRY_TEXT
from enso.transcript import ToolCallPart
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.server.conftest import prompt, settled


def test_a_context_lists_its_requests_and_the_next(host: FakeHost, client: FlaskClient) -> None:
    """Index, number of elements, tokens and the answer's entry, read cold; nothing is built."""
    host.store("t1", user("Hello"), assistant("Hi.", id="a1"), user("More"), assistant("Yes."))
    context = client.get("/api/threads/t1/context").json
    assert [(r["index"], r["elements"], r["tokens"]) for r in context["requests"]] == [
        (1, 1, 2),
        (2, 3, 4),
    ]
    assert context["requests"][0]["entryId"] == "a1"
    assert (context["next"]["elements"], context["next"]["characters"]) == (4, 16)
    assert host.built == []


def test_a_request_opens_to_its_elements_by_role_and_size(
    host: FakeHost, client: FlaskClient
) -> None:
    """One element for each message, with the role word of the store, and its entry."""
    host.store("t1", user("Hello", id="u1"), assistant("Hi."))
    detail = client.get("/api/threads/t1/context/next").json
    assert detail["request"] == "next"
    assert [(e["role"], e["size"]) for e in detail["elements"]] == [("user", 5), ("assistant", 3)]
    assert detail["elements"][0]["entryId"] == "u1"
    first = client.get("/api/threads/t1/context/1").json
    assert (first["request"], len(first["elements"])) == (1, 1)


def test_a_context_is_the_same_live_and_cold(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """After a run the live thread says what the log says once it is let go."""
    host.script.add(Reply(deltas=("An answer.",)))
    prompt(client, "t1", "A question")
    settled(server, "t1")
    paths = ("context", "context/1", "context/next")
    live = [client.get(f"/api/threads/t1/{path}").json for path in paths]
    server.registry.close()
    assert [client.get(f"/api/threads/t1/{path}").json for path in paths] == live
    assert len(live[0]["requests"]) == 1


@pytest.mark.parametrize("request_id", ["0", "2", "-1", "1.0", "last", "١", "9" * 40, "%20"])
def test_a_request_that_is_not_there_is_said(
    host: FakeHost, client: FlaskClient, request_id: str
) -> None:
    """Whatever stands for a number: 404 with its own code."""
    host.store("t1", user("Hello"), assistant("Hi."))
    answer = client.get(f"/api/threads/t1/context/{request_id}")
    assert answer.status_code == 404
    assert answer.json["error"]["code"] == "request-not-found"


@pytest.mark.parametrize("path", ["context", "context/next", "entries/e1"])
def test_a_thread_that_cannot_be_read_has_no_context(
    host: FakeHost, client: FlaskClient, tmp_path: Path, path: str
) -> None:
    """No id, no thread, and one of a directory that is not served, which is named."""
    host.store("far", user("Hello"), directory=tmp_path / "elsewhere")
    for thread_id, status, code in (
        ("-bad", 404, "malformed-id"),
        ("none", 404, "thread-not-found"),
        ("far", 403, "directory-not-served"),
    ):
        answer = client.get(f"/api/threads/{thread_id}/{path}")
        assert (answer.status_code, answer.json["error"]["code"]) == (status, code)


def test_an_entry_is_sent_as_it_is_stored_and_cut(host: FakeHost, client: FlaskClient) -> None:
    """Text to look at, no more of it than a page takes, and how long it really is."""
    host.store("t1", user("short", id="u1"), assistant("x" * 100_000, id="a/1"))
    assert "short" in client.get("/api/threads/t1/entries/u1").json["text"]
    long = client.get("/api/threads/t1/entries/a%2F1").json
    assert len(long["text"]) == MOST_ENTRY_TEXT
    assert long["characters"] > 100_000


def inspected(client: FlaskClient, thread_id: str = "t1") -> dict[str, Any]:
    """A live thread in full."""
    found = client.get(f"/api/threads/{thread_id}").json
    assert isinstance(found, dict)
    return found


def test_an_inspection_holds_the_whole_live_thread(
    host: FakeHost, server: EnsoServer, client: FlaskClient, project: Path
) -> None:
    """Ids and places, the branch by kind, commands, extensions, and what the run told."""
    call = ToolCallPart("call_1", "read", {"path": "a.py"})
    host.script.add(Reply(tool_call=call, result="content"), Reply(deltas=("Done",)))
    prompt(client, "t1", "Read it")
    settled(server, "t1")
    seen = inspected(client)
    assert (seen["sessionId"], seen["cwd"]) == ("t1", str(project))
    assert seen["sessionFile"].startswith(seen["sessionDir"])
    kinds = [entry["kind"] for entry in seen["entries"]]
    assert kinds == ["message:user", "message:assistant", "tool-result:read", "message:assistant"]
    assert seen["commands"]
    assert seen["loadedExtensionPaths"] == []
    told = seen["emittedEvents"]
    assert told[-1]["type"] == "run-settled"
    assert told[-1]["text"] == "complete"
    stored = [event["of"] for event in told if event["type"] == "entry-stored"]
    assert stored == [entry["id"] for entry in seen["entries"]]


def test_text_that_streamed_is_one_event_with_its_number(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """The pieces of one part are one row, which names the part and holds their text."""
    host.script.add(Reply(deltas=("One ", "two ", "three.")))
    prompt(client, "t1", "Count")
    settled(server, "t1")
    seen = inspected(client)
    (deltas,) = [event for event in seen["emittedEvents"] if event["type"] == "part-delta"]
    assert (deltas["times"], deltas["text"]) == (3, "One two three.")
    assert deltas["of"] == f"{seen['entries'][-1]['id']}/0"


def test_the_session_file_is_null_until_it_is_there(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """Before the first answer begins, the inspection has the branch and no file."""
    held = Reply.held("Wait", before="message")
    host.script.add(held)
    prompt(client, "t1", "Hello")
    seen = inspected(client)
    held.release()
    settled(server, "t1")
    assert seen["sessionFile"] is None
    assert inspected(client)["sessionFile"] is not None
