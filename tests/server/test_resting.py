"""Held threads that let go of their conversations, and what is seen of that: nothing."""

from __future__ import annotations

from enso.server.resting import Held, to_rest
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.server.conftest import WAIT, MakeServer, prompt, settled


def test_those_used_last_stay_up_to_the_bound() -> None:
    """The longest unused rest, what fits beside them stays, and the newest always does."""
    held = [Held("old", 1, 2), Held("older", 0, 3), Held("new", 3, 5), Held("light", 2, 0)]
    assert to_rest(held, 10) == []
    assert to_rest(held, 8) == ["older"]
    assert to_rest(held, 7) == ["older"]
    assert to_rest(held, 4) == ["old", "older"]
    assert to_rest([Held("large", 1, 100)], 4) == []
    assert to_rest([], 4) == []


def test_a_thread_that_rests_is_shown_changed_and_prompted_as_any(
    host: FakeHost, make: MakeServer
) -> None:
    """It stays live, is listed without being read, and nothing of it is lost or said twice."""
    server = make(most_held=1)
    client = server.app.test_client()
    for thread_id in ("t1", "t2"):
        host.script.add(Reply(deltas=("Hello.",)))
        prompt(client, thread_id, "Hi")
        settled(server, thread_id)
    first = host.built[0]
    assert first.rests.wait(WAIT)
    assert {row["threadId"] for row in client.get("/api/threads").json["threads"]} == {"t1", "t2"}
    assert first.rests.is_set()
    before = client.get("/api/threads/t1/history").json["messages"]
    assert [message["role"] for message in before] == ["user", "assistant"]
    with server.registry.at("t1") as slot:
        assert slot.live is not None
        assert first.rest()
        slot.live.state.rest()
    assert client.post("/api/threads/t1/mode", json={"mode": "plan"}).status_code == 202
    history = client.get("/api/threads/t1/history").json
    assert (history["messages"], history["permissionMode"]["mode"]) == (before, "plan")
    with server.registry.at("t1") as slot:
        assert slot.live is not None
        assert first.rest()
        slot.live.state.rest()
    assert prompt(client, "t1", "Again").json["generation"] == 2
    settled(server, "t1")
    after = client.get("/api/threads/t1/history").json["messages"]
    assert after[:2] == before
    assert [message["role"] for message in after] == ["user", "assistant"] * 2
    assert len(host.built) == 2
