"""A server over the recorded sessions: whatever is stored, every reading of it is answered."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from flask.testing import FlaskClient
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from enso.projects import Projects
from enso.server.application import EnsoServer
from enso.server.doors import Doors
from enso.server.openapi import openapi_document
from tests.host.corpus import ALL, host_over, named, place

IDS = sorted({recorded.listed["id"] for recorded in ALL if recorded.listed})
READINGS = (
    "",
    "/history",
    "/entries",
    "/context",
    "/context/1",
    "/context/next",
    "/tree",
    "/stats",
)


def _place(agent_dir: Path) -> None:
    """Every recorded file in one store; of those with one id the last is listed."""
    for number, recorded in enumerate(ALL):
        folder = agent_dir / "sessions" / f"--{recorded.path.parent.name}--"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(recorded.path, folder / f"{number}_{recorded.path.name}")


def _server(agent_dir: Path) -> EnsoServer:
    directories = {Path(r.listed["cwd"]) for r in ALL if r.listed}
    return EnsoServer(
        host=host_over(agent_dir),
        projects=Projects(sorted(directories)),
        doors=Doors.of(host="127.0.0.1", token=None),
    )


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client of a server over all of them."""
    agent_dir = tmp_path_factory.mktemp("recorded")
    _place(agent_dir)
    server = _server(agent_dir)
    yield server.app.test_client()
    server.close()


@pytest.mark.parametrize("thread_id", IDS)
def test_every_page_of_a_recorded_session_is_drawn(client: FlaskClient, thread_id: str) -> None:
    """The thread, what is behind it, and what a drawer asks for: answered, never a fault."""
    for reading in READINGS:
        for headers in ({}, {"HX-Request": "true", "HX-Request-Type": "partial"}):
            answer = client.get(f"/threads/{thread_id}{reading}", headers=headers)
            assert answer.status_code in (200, 404), reading
            assert answer.text


@pytest.mark.parametrize("thread_id", IDS)
def test_a_context_has_the_elements_that_its_requests_open_to(
    client: FlaskClient, thread_id: str
) -> None:
    """The number in the list is the number of elements, for the next request and the last."""
    context = client.get(f"/api/threads/{thread_id}/context").json
    detail = client.get(f"/api/threads/{thread_id}/context/next").json
    assert len(detail["elements"]) == context["next"]["elements"]
    assert detail["tokens"] == context["next"]["tokens"]
    for request in context["requests"][-1:]:
        detail = client.get(f"/api/threads/{thread_id}/context/{request['index']}").json
        assert len(detail["elements"]) == request["elements"]
        assert detail["tokens"] == request["tokens"]


def test_damage_of_a_file_is_said_beside_its_entries(tmp_path: Path) -> None:
    """How many lines cannot be read, and every entry that can be."""
    recorded = named("garbage-middle")
    place(recorded, tmp_path)
    server = _server(tmp_path)
    html = server.app.test_client().get(f"/threads/{recorded.listed['id']}/entries").text
    server.close()
    assert "2 lines that cannot be read" in html
    assert html.count("<li value=") == recorded.opened["branchEntryCount"]


def _stored_application() -> Any:
    """A server over files, for requests made up from its description."""
    agent_dir = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, agent_dir, ignore_errors=True)
    _place(agent_dir)
    return _server(agent_dir).app


schema = schemathesis.openapi.from_dict(json.loads(openapi_document()))
schema.app = _stored_application()


@schema.given(thread_id=st.sampled_from(IDS))
@schema.include(method="GET", path_regex="threadId").parametrize()
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_made_up_readings_of_recorded_sessions_are_answered_as_described(
    case: Any, thread_id: str
) -> None:
    """Whatever else is asked about a thread that is there, the answer is described, no fault."""
    case.path_parameters["threadId"] = thread_id
    response = case.call()
    assert response.status_code < 500
    # The id of the path is another than the one that was made up, which may have been wrong.
    checks = schemathesis.checks
    case.validate_response(
        response,
        excluded_checks=[checks.positive_data_acceptance, checks.negative_data_rejection],
    )
