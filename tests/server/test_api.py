"""The JSON interface: closed shapes, the right statuses, and a description that leaves none out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from flask.testing import FlaskClient
from hypothesis import HealthCheck, settings
from pydantic import ValidationError

from enso import wire
from enso.projects import Projects
from enso.server.application import EnsoServer
from enso.server.doors import Doors
from enso.server.openapi import ENDPOINTS, openapi_document
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.look.scenes import png
from tests.server.conftest import prompt, settled


def test_every_answer_is_of_its_closed_shape(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """What the routes send is what the shapes allow, and not a field more."""
    host.store("t1", user("Hi"), assistant("Hello."))
    prompt(client, "t2", "Hi there")
    settled(server, "t2")
    for path, shape in (
        ("/api/stored-threads", wire.StoredThreads),
        ("/api/threads", wire.Threads),
        ("/api/threads/t2", wire.ThreadInspection),
        ("/api/threads/t1/history", wire.History),
        ("/api/threads/t2/history", wire.History),
        ("/api/threads/none/history", wire.Error),
        ("/api/threads/t1/stats", wire.ThreadStats),
        ("/api/threads/t2/stats", wire.ThreadStats),
        ("/api/threads/none/stats", wire.Error),
        ("/api/threads/t1/context", wire.ThreadContext),
        ("/api/threads/t2/context", wire.ThreadContext),
        ("/api/threads/t1/context/1", wire.RequestDetail),
        ("/api/threads/t2/context/next", wire.RequestDetail),
        ("/api/threads/t1/context/2", wire.Error),
        ("/api/threads/t1/entries/none", wire.Error),
    ):
        answer = client.get(path)
        assert answer.mimetype == "application/json"
        shape.model_validate_json(answer.text)
        with pytest.raises(ValidationError):
            shape.model_validate({**json.loads(answer.text), "more": 1})


def test_live_threads_are_summed_up(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """A live thread is listed with its run's number and file; a stored one is not."""
    host.store("cold", user("Hi"), assistant("Hello."))
    prompt(client, "live", "Hi")
    settled(server, "live")
    threads = client.get("/api/threads").json["threads"]
    assert [(t["threadId"], t["busy"], t["generation"]) for t in threads] == [("live", False, 1)]
    assert client.get("/api/threads/cold").status_code == 404


@pytest.mark.parametrize(
    "path,status,code",
    [
        ("/api/threads/-bad/history", 404, "malformed-id"),
        ("/api/threads/none/history", 404, "thread-not-found"),
        ("/api/threads/none", 404, "not-live"),
        ("/api/nothing", 404, "not-found"),
    ],
)
def test_what_is_not_there_is_said_with_a_code(
    client: FlaskClient, path: str, status: int, code: str
) -> None:
    """A reading that cannot be is a status, a code for programs and a sentence for people."""
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.json["error"]["code"] == code
    assert answer.json["error"]["message"].endswith(".")


@pytest.mark.parametrize(
    "body,status,said",
    [
        ({}, 400, "message"),
        ({"message": 7}, 400, "message"),
        ({"message": "   "}, 400, "Write something"),
        ({"message": "x", "unknown": 1}, 400, "unknown"),
        ({"message": "x", "images": [{"mimeType": "image/png", "data": "%%%"}]}, 400, "base64"),
        ({"message": "x", "images": [{"mimeType": "text/html", "data": "YQ=="}]}, 400, "text/html"),
        ({"message": "x" * 1_000_001}, 413, "1,000,001"),
        ([], 400, "body"),
    ],
)
def test_a_body_that_is_not_right_is_refused_naming_what(
    host: FakeHost, client: FlaskClient, body: Any, status: int, said: str
) -> None:
    """Nothing is built, and the sentence names the field or the limit."""
    answer = client.post("/api/threads/t1/prompt", json=body)
    assert answer.status_code == status
    assert said in answer.json["error"]["message"]
    assert host.built == []


def test_other_bodies_and_methods_have_their_own_statuses(client: FlaskClient) -> None:
    """No JSON is 415, torn JSON 400, another method 405 with what is allowed, a bad id 400."""
    form = client.post("/api/threads/t1/prompt", data={"message": "x"})
    assert form.status_code == 415
    torn = client.post("/api/threads/t1/prompt", data='{"message"', content_type="application/json")
    assert torn.status_code == 400
    method = client.delete("/api/threads/t1/prompt")
    assert method.status_code == 405
    assert "POST" in method.headers["Allow"]
    assert client.post("/api/threads/-x/prompt", json={"message": "x"}).status_code == 400
    huge = client.post(
        "/api/threads/t1/prompt", data=b"x" * (33 * 1024 * 1024), content_type="application/json"
    )
    assert huge.status_code == 413
    form = client.post("/threads/t1/prompt", data={"message": "x" * (33 * 1024 * 1024)})
    assert form.status_code == 413
    assert "more than this server takes at once" in form.text


def test_images_come_back_as_they_went(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """An image sent as JSON is in the thread as a data URL of the same bytes."""
    data = png(2, 2).data
    image = {"mimeType": "image/png", "data": data}
    assert prompt(client, "t1", "", images=[image]).status_code == 202
    settled(server, "t1")
    part = client.get("/api/threads/t1/history").json["messages"][0]["parts"][0]
    assert part["url"] == f"data:image/png;base64,{data}"


def test_the_description_names_every_route_and_no_other(server: EnsoServer) -> None:
    """The routes that Flask serves under /api are the endpoints that are described."""
    served = {
        (method.lower(), re.sub(r"<(?:\w+:)?(\w+)_id>", r"{\1Id}", rule.rule))
        for rule in server.app.url_map.iter_rules()
        for method in rule.methods or ()
        if rule.rule.startswith("/api/") and method not in {"HEAD", "OPTIONS"}
        if not rule.websocket and rule.rule != "/api/openapi.json"
    }
    assert served == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}


def _described_application() -> Any:
    """A server with something in it, for requests made up from its description."""
    project = Path(__file__).parent
    host = FakeHost(project)
    host.store("stored", user("Hi"), assistant("Hello."))
    host.script.add(*(Reply(deltas=("ok",)) for _ in range(5)))
    server = EnsoServer(
        host=host,
        projects=Projects([project]),
        doors=Doors.of(host="127.0.0.1", token=None),
    )
    return server.app


schema = schemathesis.openapi.from_dict(json.loads(openapi_document()))
schema.app = _described_application()


@schema.parametrize()
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_made_up_requests_are_answered_as_described(case: Any) -> None:
    """Whatever the description allows or forbids, the answer is described and no fault."""
    response = case.call()
    assert response.status_code < 500
    # Whether a prompt is empty or its project is served is not for a schema to say.
    case.validate_response(response, excluded_checks=[schemathesis.checks.positive_data_acceptance])


def test_passages_are_found_with_the_thread_that_they_are_of(
    host: FakeHost, client: FlaskClient
) -> None:
    """The words around a match, the entry, the title; how far the search got."""
    host.store("t1", user("Fix the invoice total"), assistant("The invoice is right now."))
    host.store("t2", user("Nothing of it"))
    answer = client.get("/api/find?q=invoice").json
    assert [(one["threadId"], one["match"], one["saidBy"]) for one in answer["passages"]] == [
        ("t1", "invoice", "assistant"),
        ("t1", "invoice", "user"),
    ]
    assert answer["passages"][0]["title"] == "Fix the invoice total"
    assert answer["passages"][0]["before"] == "The "
    assert (answer["searched"], answer["threads"]) == (2, 2)
    assert client.get("/api/find?q=zebra").json["passages"] == []


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "limit=101", f"q={'a' * 501}"])
def test_a_search_that_cannot_be_is_said(client: FlaskClient, query: str) -> None:
    """A limit that is none, or too long a query, is a 400 with its sentence."""
    answer = client.get(f"/api/find?{query}")
    assert answer.status_code == 400
    assert answer.json["error"]["message"]
