"""What a thread used is one reading: as JSON, as a page, and in the pane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from enso.server.application import EnsoServer
from enso.transcript import ToolCallPart, Usage
from tests.fakes.fake_host import FakeHost, assistant, user
from tests.fakes.scripted_runtime import Reply
from tests.server.conftest import MakeServer, prompt, settled

KNOWN = Usage(input=1000, output=20, cache_read=300, cache_write=4, cost=0.25)
UNKNOWN = Usage(input=7, output=1, cost_known=False)


def stats(client: FlaskClient, thread_id: str = "t1") -> Any:
    """The stats of a thread as JSON."""
    answer = client.get(f"/api/threads/{thread_id}/stats")
    assert answer.status_code == 200
    return answer.json


def test_a_stored_threads_stats(host: FakeHost, client: FlaskClient) -> None:
    """Totals as pi counts them, and each request and turn; nothing is built for it."""
    host.store("t1", user("Hi"), assistant("Hello.", usage=KNOWN), user("More"))
    told = stats(client)
    assert told["totals"] == {
        "input": 1000,
        "output": 20,
        "cacheRead": 300,
        "cacheWrite": 4,
        "totalTokens": 1324,
        "cost": 0.25,
        "costKnown": True,
        "unpricedRequests": 0,
    }
    assert [(t["prompt"], t["requests"]) for t in told["turns"]] == [("Hi", 1), ("More", 0)]
    (request,) = told["requests"]
    assert (request["kind"], request["turn"], request["usage"]) == ("answer", 0, told["totals"])
    assert host.built == []


def test_an_unknown_cost_is_null_and_not_nothing(host: FakeHost, client: FlaskClient) -> None:
    """A sum is a lower bound, with the number of the requests that it does not know."""
    host.store("t1", user("Hi"), assistant("A", usage=UNKNOWN), assistant("B", usage=UNKNOWN))
    totals = stats(client)["totals"]
    assert (totals["cost"], totals["costKnown"], totals["unpricedRequests"]) == (None, False, 2)
    host.grow("t1", assistant("C", usage=KNOWN))
    totals = stats(client)["totals"]
    assert (totals["cost"], totals["costKnown"], totals["unpricedRequests"]) == (0.25, False, 2)


def test_stats_are_the_same_live_and_cold(
    host: FakeHost, server: EnsoServer, make: MakeServer, client: FlaskClient
) -> None:
    """As the live thread tells them, and as another server reads them."""
    call = ToolCallPart("c1", "bash", {"command": "make"})
    host.script.add(Reply(tool_call=call, result="made", usage=KNOWN), Reply(usage=UNKNOWN))
    prompt(client, "t1", "Build it")
    settled(server, "t1")
    live = stats(client)
    assert "stats t1" not in host.asked
    assert stats(make().app.test_client()) == live
    assert "stats t1" in host.asked
    assert [(tool["name"], tool["calls"]) for tool in live["tools"]] == [("bash", 1)]


@pytest.mark.parametrize("path", ["/api/threads/{}/stats"])
def test_what_cannot_be_read_is_refused_as_its_history_is(
    path: str, host: FakeHost, client: FlaskClient, tmp_path: Path
) -> None:
    """404 for what is not there, 403 naming the directory that is not served."""
    host.store("t1", user("Hi"), directory=tmp_path / "elsewhere")
    assert client.get(path.format("unknown")).status_code == 404
    assert client.get(path.format("..")).status_code == 404
    refused = client.get(path.format("t1"))
    assert refused.status_code == 403
    assert str(tmp_path / "elsewhere") in refused.text
