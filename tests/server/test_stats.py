"""What a thread used is one reading: as JSON, as a page, and in the pane."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from enso.server.application import EnsoServer
from enso.server.messages import transcript_to_messages
from enso.server.stats import stats_shape
from enso.transcript import (
    ToolCallPart,
    TranscriptCustom,
    TranscriptMarker,
    TranscriptToolResult,
    Usage,
)
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.host.corpus import ALL, Recorded, host_over, place
from tests.server.conftest import Listening, MakeServer, prompt, settled

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


@pytest.mark.parametrize("path", ["/api/threads/{}/stats", "/threads/{}/stats"])
def test_what_cannot_be_read_is_refused_as_its_history_is(
    path: str, host: FakeHost, client: FlaskClient, tmp_path: Path
) -> None:
    """404 for what is not there, 403 naming the directory that is not served."""
    host.store("t1", user("Hi"), directory=tmp_path / "elsewhere")
    assert client.get(path.format("unknown")).status_code == 404
    assert client.get(path.format("-")).status_code == 404
    refused = client.get(path.format("t1"))
    assert refused.status_code == 403
    assert str(tmp_path / "elsewhere") in refused.text


# -- the page -------------------------------------------------------------------------------------


def words(html: str) -> str:
    """The page's text, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def test_the_page_says_the_numbers_of_the_api(host: FakeHost, client: FlaskClient) -> None:
    """Totals, turns, requests and tools, each in a table behind its chart."""
    call = ToolCallPart("c1", "bash", {"command": "make"})
    host.store(
        "t1",
        user("Build it"),
        assistant("", parts=(call,), stop_reason="tool-use", usage=KNOWN),
        TranscriptToolResult(
            id="r", tool_call_id="c1", tool_name="bash", is_error=True, duration_ms=2500
        ),
        assistant("Done.", usage=KNOWN),
        user("Thanks"),
        assistant("Welcome.", usage=UNKNOWN),
    )
    answer = client.get("/threads/t1/stats")
    assert answer.status_code == 200
    assert answer.text.startswith("<!doctype html>")
    text = words(answer.text)
    assert "Cost at least $0.50 Price unknown 1 request" in text
    assert "Tokens 2,656 Input 2,007 Output 41 Cache read 600 Cache written 8" in text
    assert "Turns 2 Requests 3 Tool calls 1, 1 failed" in text
    assert "1 Build it 2 2,000 40 600 8 $0.50" in text
    assert "2 Thanks 1 7 1 0 0 price unknown 1 request" in text
    assert "bash 1 1 2.5 s 2.5 s" in text
    assert answer.text.count('<svg class="chart') == 2
    assert "The most is turn 1 with $0.50." in text


def test_the_page_is_a_fragment_for_the_pane(host: FakeHost, client: FlaskClient) -> None:
    """With its title, and the way back; every query parameter of the page is kept."""
    host.store("t1", user("Hi"), assistant("Hello.", usage=KNOWN))
    answer = client.get(
        "/threads/t1/stats",
        headers={
            "HX-Request": "true",
            "HX-Request-Type": "partial",
            "HX-Current-URL": "http://localhost/threads/t1?desk=left",
        },
    )
    assert "<title>Usage · Hi · Enso</title>" in answer.text
    assert "<html" not in answer.text
    assert 'href="/threads/t1?desk=left"' in answer.text


def test_a_long_thread_shows_its_newest_rows_and_offers_more(
    host: FakeHost, client: FlaskClient
) -> None:
    """What is left out is counted."""
    turns = [(user(f"Step {n}"), assistant("Done.", usage=KNOWN)) for n in range(60)]
    host.store("t1", *(entry for turn in turns for entry in turn))
    text = client.get("/threads/t1/stats").text
    assert "Step 59" in text
    assert "Step 9<" not in text
    assert "10 older rows not shown here." in text
    (more,) = re.findall(r'href="(/threads/t1/stats\?shown=\d+)"', text)
    assert "Step 9<" in client.get(more).text
    assert client.get("/threads/t1/stats?shown=x").status_code == 200


def test_a_thread_that_asked_nothing_has_a_page(host: FakeHost, client: FlaskClient) -> None:
    """Nothing is drawn of nothing, and nothing is said to be unknown."""
    host.store("t1", TranscriptCustom(id="m", custom_type="modes", data={"mode": "ask"}))
    text = client.get("/threads/t1/stats").text
    assert "Nothing was asked of a model yet." in text
    assert 'class="chart' not in text
    assert "unknown" not in words(text)


def test_hostile_names_stay_text(host: FakeHost, client: FlaskClient) -> None:
    """A prompt and a tool that are called like markup."""
    hostile = "<img src=x onerror=alert(1)>"
    call = ToolCallPart("c1", hostile, {})
    result = TranscriptToolResult(id="r", tool_call_id="c1", tool_name=hostile, duration_ms=1200)
    answer = assistant("", parts=(call,), stop_reason="tool-use", usage=KNOWN)
    host.store("t1", user(hostile), answer, result)
    text = client.get("/threads/t1/stats").text
    assert "<img" not in text
    assert text.count("&lt;img") >= 3


# -- the pane -------------------------------------------------------------------------------------


def test_the_last_reply_of_a_turn_says_what_the_turn_used(
    host: FakeHost, client: FlaskClient
) -> None:
    """The numbers of the stats, requests inside tools and summaries behind the reply counted."""
    call = ToolCallPart("c1", "ask", {})
    host.store(
        "t1",
        user("Build it"),
        assistant("", parts=(call,), stop_reason="tool-use", usage=KNOWN),
        TranscriptToolResult(id="r", tool_call_id="c1", tool_name="ask", usage=UNKNOWN),
        assistant("Done.", usage=KNOWN),
        TranscriptMarker(id="k", kind="compaction", title="Summed up", usage=KNOWN),
        user("Thanks"),
        assistant("Welcome.", usage=KNOWN),
    )
    messages = client.get("/api/threads/t1/history").json["messages"]
    told = [message.get("turn") for message in messages]
    first, second = stats(client)["turns"]
    assert told == [
        None,
        None,
        {"requests": first["requests"], "usage": first["usage"]},
        None,
        None,
        {"requests": second["requests"], "usage": second["usage"]},
    ]
    assert first["requests"] == 4
    page = client.get("/threads/t1").text
    assert "turn: 4 requests · 4.0 k tokens · at least $0.75 · 1 request of unknown price" in page
    assert page.count('class="turn"') == 1


def test_a_turn_says_its_sum_as_it_grows(
    host: FakeHost, server: EnsoServer, listening: Listening, client: FlaskClient
) -> None:
    """In frames: the reply that ends it comes with the sum of all requests of its turn."""
    call = ToolCallPart("c1", "bash", {"command": "make"})
    host.script.add(Reply(tool_call=call, result="made", usage=KNOWN), Reply(usage=UNKNOWN))
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        prompt(client, "t1", "Build it")
        frames = socket.until("status", busy=False, generation=1)
    told = [f["message"]["turn"] for f in frames if f.get("message", {}).get("turn")]
    assert told[-1]["requests"] == 2
    assert told[-1]["usage"] == stats(client)["turns"][0]["usage"]
    usages = [frame["usage"] for frame in frames if frame["type"] == "usage"]
    assert usages[-1] == stats(client)["totals"]


@pytest.mark.parametrize("recorded", [r for r in ALL if r.listed], ids=str)
def test_every_recorded_turn_says_the_numbers_of_the_stats(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Branches, retries, compactions: what the pane says is what the stats say."""
    place(recorded, tmp_path)
    host = host_over(tmp_path)
    read = host.read_stored_thread(recorded.listed["id"])
    stored = host.read_stored_thread_stats(recorded.listed["id"])
    assert read is not None
    assert stored is not None
    told = stats_shape("t", "p", stored.stats)
    turns = {turn.prompt_id: turn for turn in told.turns if turn.on_branch}
    prompt_id = None
    for message in transcript_to_messages(read.entries):
        prompt_id = message.id if message.role == "user" else prompt_id
        if message.turn is not None:
            turn = turns[prompt_id]
            assert message.turn.requests == turn.requests
            assert message.turn.usage.model_dump(exclude={"cost"}) == turn.usage.model_dump(
                exclude={"cost"}
            )
            assert message.turn.usage.cost == pytest.approx(turn.usage.cost, abs=1e-12)
    host.close()
