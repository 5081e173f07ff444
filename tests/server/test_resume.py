"""Resume: a stored thread, from the rail to live, under one id.

Each of these guarantees is one of the mission's own (the flow "Resume" and the storage seam).
"""

from __future__ import annotations

import json

from flask.testing import FlaskClient

from enso.server.application import EnsoServer
from enso.transcript import ImagePart, Refusal, TextPart, TranscriptCustom, TranscriptMessage
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.server.conftest import Listening, prompt, settled

REFUSAL = Refusal(
    provider="Scripted",
    model="script-1",
    refusal_class="rate limit",
    status=429,
    reason="Too many requests.",
)


def test_a_prompt_on_a_thread_passes_that_id_to_the_host(
    host: FakeHost, client: FlaskClient
) -> None:
    """The thread's id is the session's: a stored thread is opened under it, as run 1."""
    host.store("stored-1", user("Hi"), assistant("Hello."))
    answer = prompt(client, "stored-1", "continue")
    assert answer.status_code == 202
    assert answer.json == {"threadId": "stored-1", "generation": 1}
    assert [asked for asked in host.asked if asked.startswith("create")] == ["create stored-1"]
    assert host.built[0].scripted.prompts == ["continue"]


def test_the_listing_has_title_count_and_age_and_marks_what_runs(
    host: FakeHost, client: FlaskClient
) -> None:
    """Newest first, titled by the first user message; busy is a run in flight here alone."""
    host.store("older", user("First question"), assistant("Yes."))
    host.store("newer", user("   "), assistant("?"), name=None)
    reply = Reply.held()
    host.script.add(reply)
    prompt(client, "older", "go on")
    reply.wait_until_held()
    rows = client.get("/api/stored-threads").json["threads"]
    assert [row["threadId"] for row in rows] == ["older", "newer"]
    assert rows[0]["title"] == "First question"
    assert rows[0]["busy"] is True
    assert "title" not in rows[1]
    assert rows[1]["busy"] is False
    assert rows[1]["messageCount"] == 2
    assert rows[1]["lastActivityAt"].endswith("Z")
    reply.release()


def test_history_serves_a_stored_branch_with_its_mode_and_builds_nothing(
    host: FakeHost, client: FlaskClient
) -> None:
    """A cold read gives the messages and the mode they end in; an unknown id is a 404."""
    host.store(
        "stored-1",
        user("Hi", id="u1"),
        TranscriptCustom(id="", custom_type="modes", data={"mode": "plan"}),
        assistant("Hello.", id="a1"),
    )
    body = client.get("/api/threads/stored-1/history").json
    assert [(m["id"], m["role"]) for m in body["messages"]] == [("u1", "user"), ("a1", "assistant")]
    assert body["threadId"] == "stored-1"
    assert body["permissionMode"]["mode"] == "plan"
    assert "interrupted" not in body
    assert client.get("/api/threads/never-existed/history").status_code == 404
    assert host.built == []


def test_a_thread_held_idle_is_resumable(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """Held is not busy: history reads the runtime's memory, the listing does not mark it busy."""
    host.store("stored-1", user("Hi"), assistant("Hello."))
    prompt(client, "stored-1", "more")
    settled(server, "stored-1")
    host.asked.clear()
    body = client.get("/api/threads/stored-1/history").json
    assert [m["role"] for m in body["messages"]] == ["user", "assistant"] * 2
    assert host.asked == []
    assert client.get("/api/stored-threads").json["threads"][0]["busy"] is False
    assert prompt(client, "stored-1", "again").json["generation"] == 2


def test_a_stored_thread_is_followed_cold_and_the_same_follow_goes_live(
    host: FakeHost, client: FlaskClient, listening: Listening
) -> None:
    """One follow: cold with the file's messages, live, busy in run 1, the reply, idle again."""
    host.store("stored-1", user("Hi", id="u1"), assistant("Hello.", id="a1"))
    host.script.add(Reply(deltas=("One ", "two ", "three")))
    with listening.follow("stored-1") as socket:
        snapshot = socket.frame()
        assert snapshot["type"] == "snapshot"
        assert [m["id"] for m in snapshot["messages"]] == ["u1", "a1"]
        assert snapshot["status"]["live"] is False
        assert snapshot["context"] is None
        assert snapshot["openDialogs"] == []
        prompt(client, "stored-1", "count")
        frames = socket.until("status", busy=False, live=True, generation=1)
    statuses = [(f["live"], f["busy"], f["generation"]) for f in frames if f["type"] == "status"]
    assert statuses == [(True, False, 0), (True, True, 1), (True, False, 1)]
    messages = [f["message"] for f in frames if f["type"] == "message"]
    assert [(m["role"], m.get("streaming", False)) for m in messages] == [
        ("user", False),
        ("assistant", True),
        ("assistant", False),
    ]
    deltas = "".join(f["delta"] for f in frames if f["type"] == "part-delta")
    assert deltas == "One two three" == messages[2]["parts"][0]["content"]
    assert messages[1]["id"] == messages[2]["id"]


def test_a_thread_that_is_not_stored_is_followed_empty(listening: Listening) -> None:
    """Observation may precede the first prompt: an empty snapshot, and nothing built."""
    with listening.follow("not-yet") as socket:
        snapshot = socket.frame()
    assert snapshot["messages"] == []
    assert snapshot["status"] == {"live": False, "busy": False, "generation": 0, "word": "cold"}


def test_a_snapshot_whose_last_reply_is_refused_says_the_word(
    host: FakeHost, listening: Listening
) -> None:
    """The status carries the refusal; a reply after the refused attempt clears it."""
    host.store("refused", user("Hi"), assistant(refusal=REFUSAL))
    host.store("answered", user("Hi"), assistant(refusal=REFUSAL), assistant("There."))
    with listening.follow("refused") as socket:
        status = socket.frame()["status"]
    assert status["word"] == "refused"
    assert status["refusal"]["class"] == "rate limit"
    assert status["refusal"]["sentence"] == REFUSAL.sentence
    with listening.follow("answered") as socket:
        assert socket.frame()["status"]["word"] == "cold"


def test_a_stored_image_renders_with_its_bytes_inline(host: FakeHost, client: FlaskClient) -> None:
    """A resumed thread's image is an img with a data URL: text and image both, nothing fetched."""
    pixel = "iVBORw0KGgo="
    parts = (TextPart("What is this?"), ImagePart("image/png", pixel))
    host.store(
        "with-image", TranscriptMessage(id="u1", role="user", parts=parts), assistant("A dot.")
    )
    body = client.get("/api/threads/with-image/history").json
    assert body["messages"][0]["parts"] == [
        {"type": "text", "content": "What is this?"},
        {"type": "image", "mimeType": "image/png", "url": f"data:image/png;base64,{pixel}"},
    ]
    html = client.get("/threads/with-image").text
    assert f'<img src="data:image/png;base64,{pixel}"' in html


def test_a_refused_attempt_says_so_in_its_own_bubble_before_the_reply(
    host: FakeHost, client: FlaskClient
) -> None:
    """The bubble's words stand where the reply would have been, ahead of the reply that came."""
    host.store("t", user("Hi"), assistant(refusal=REFUSAL), assistant("Back again."))
    html = client.get("/threads/t").text
    bubble = "refused: rate limit (429) — Too many requests."
    assert html.index(bubble) < html.index("Back again.")
    assert "Scripted · script-1" in html


def test_mounting_a_stored_thread_restores_it_once_and_starts_nothing(
    host: FakeHost, client: FlaskClient
) -> None:
    """Its page has the dates, the title and the mode under its own id, from one cold read."""
    host.store("stored-1", user("Fix the total"), assistant("Done.", id="a1"))
    host.asked.clear()
    html = client.get("/threads/stored-1").text
    assert "<title>Fix the total" in html
    assert 'datetime="2026-01-01T00:00:02' in html
    assert 'action="/threads/stored-1/prompt"' in html
    assert host.asked.count("read stored-1") == 1
    assert host.built == []


def test_the_session_file_is_null_until_it_exists(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """A thread whose answer has not begun has a branch and no file, and is not listed."""
    reply = Reply.held(before="message")
    host.script.add(reply)
    prompt(client, "new-1", "Begin")
    reply.wait_until_held()
    body = client.get("/api/threads/new-1").json
    assert body["sessionFile"] is None
    assert [entry["kind"] for entry in body["entries"]] in ([], ["message:user"])
    assert client.get("/api/stored-threads").json["threads"] == []
    reply.release()
    settled(server, "new-1")
    assert client.get("/api/threads/new-1").json["sessionFile"]
    assert [row["threadId"] for row in client.get("/api/stored-threads").json["threads"]] == [
        "new-1"
    ]


def test_a_thread_of_a_directory_that_is_not_served_is_named_and_not_opened(
    host: FakeHost, client: FlaskClient
) -> None:
    """Not the 404 of a thread that never was: 403 naming the directory, and no second session."""
    elsewhere = host.projects[0].parent / "elsewhere"
    host.store("foreign", user("Hi"), assistant("Hello."), directory=elsewhere)
    for path in ("/api/threads/foreign/history", "/threads/foreign"):
        answer = client.get(path)
        assert answer.status_code == 403
        assert str(elsewhere) in answer.text
    refused = prompt(client, "foreign", "go on")
    assert refused.status_code == 409
    assert str(elsewhere) in refused.json["error"]["message"]
    assert host.built == []
    assert json.loads(client.get("/api/stored-threads").text) == {"threads": []}
