"""Driving an agent: dialogs, steering, modes, models, names, forks and the trash, by any eye."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from enso import wire
from enso.server.application import EnsoServer
from enso.server.slash import COMMAND_NAMES
from enso.transcript import Refusal, ToolCallPart
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply, permission
from tests.server.conftest import Listening, MakeServer, prompt, settled

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}
CALL = ToolCallPart("c1", "bash", {"command": "make <b>dist</b>"})


def asks(host: FakeHost) -> None:
    """Script a run that asks before its one tool call, and goes on after it."""
    reply = Reply(deltas=(), tool_call=CALL, dialog=permission(CALL), result="built")
    host.script.add(reply, Reply(deltas=("Done.",)))


def test_a_dialog_parks_the_run_and_the_first_answer_wins(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """Two eyes see the question; one answers, the other is told, and a second answer is refused."""
    asks(host)
    with listening.follow("t1") as one, listening.follow("t1") as other:
        one.until("snapshot")
        other.until("snapshot")
        prompt(client, "t1", "build it")
        dialog = next(f for f in one.until("dialog") if f["type"] == "dialog")["dialog"]
        assert dialog["kind"] == "permission"
        assert [option["value"] for option in dialog["options"]] == ["once", "thread", "deny"]
        assert dialog["tool"] == {"name": "bash", "arguments": {"command": "make <b>dist</b>"}}
        one.until("status", word="needs you")
        url = f"/api/threads/t1/dialogs/{dialog['id']}"
        assert client.post(url, json={"value": "once"}).status_code == 202
        again = client.post(url, json={"value": "deny"})
        assert again.status_code == 409
        assert again.json["error"]["code"] == "answered"
        closed = other.until("dialog", closed=dialog["id"])[-1]
        assert closed["outcome"] == "once"
        other.until("status", busy=False, generation=1)
    messages = client.get("/api/threads/t1/history").json["messages"]
    assert messages[-1]["parts"][0]["content"] == "Done."


def test_a_dialog_survives_a_reload_and_waits_on_its_own_page(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """A snapshot and a page read anew hold the open question; a page lists all that wait."""
    asks(host)
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        prompt(client, "t1", "build it")
        socket.until("dialog")
    with listening.follow("t1") as socket:
        snapshot = socket.frame()
    assert [dialog["id"] for dialog in snapshot["openDialogs"]] == ["d1"]
    assert snapshot["status"]["word"] == "needs you"
    page = client.get("/threads/t1").text
    assert 'action="/threads/t1/dialogs/d1"' in page
    assert "make &lt;b&gt;dist&lt;/b&gt;" in page
    assert "<b>dist</b>" not in page
    assert 'data-asks="d-t1-d1"' in client.get("/rail").text
    waiting = client.get("/api/waiting").json["dialogs"]
    assert [(one["threadId"], one["dialog"]["id"]) for one in waiting] == [("t1", "d1")]
    assert "d1" in client.get("/waiting").text
    rail = client.get("/rail", headers=PARTIAL).text
    assert "1 thread needs you" in rail
    client.post("/threads/t1/dialogs/d1", data={"value": "deny", "reason": "not now"})
    settled(server, "t1")
    assert client.get("/api/waiting").json == {"dialogs": []}


def test_a_stop_closes_the_dialog_and_empties_the_queue(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """After a stop nothing waits: neither a question nor a queued prompt, for any eye."""
    asks(host)
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        prompt(client, "t1", "build it")
        socket.until("dialog")
        client.post("/api/threads/t1/queue", json={"message": "and then", "when": "after"})
        socket.until("queue")
        stopped = client.post("/api/threads/t1/abort")
        assert stopped.status_code == 202
        assert stopped.json == {"draft": {"message": "and then", "images": []}}
        frames = socket.until("status", busy=False, generation=1)
    assert any(f["type"] == "dialog" and f.get("closed") == "d1" for f in frames)
    queues = [f["queue"] for f in frames if f["type"] == "queue"]
    assert queues[-1] == []
    late = client.post("/api/threads/t1/dialogs/d1", json={"value": "once"})
    assert late.status_code == 409


def test_a_queued_prompt_is_shown_taken_back_or_delivered(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """The queue is the same for every eye; what was taken back is given back, once."""
    held = Reply.held(before="end")
    host.script.add(held, Reply(deltas=("Later.",)))
    assert client.post("/api/threads/t1/queue", json={"message": "x"}).status_code == 409
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        prompt(client, "t1", "go")
        held.wait_until_held()
        first = client.post("/api/threads/t1/queue", json={"message": "one", "when": "after"})
        second = client.post("/api/threads/t1/queue", json={"message": "two", "when": "after"})
        item = first.json["id"]
        taken = client.post(f"/api/threads/t1/queue/{item}/take-back", json={})
        assert (taken.status_code, taken.json["message"]) == (202, "one")
        again = client.post(f"/api/threads/t1/queue/{item}/take-back", json={})
        assert again.status_code == 409
        held.release()
        frames = socket.until("status", busy=False, generation=1)
    queues = [[q["message"] for q in f["queue"]] for f in frames if f["type"] == "queue"]
    assert queues == [["one"], ["one", "two"], ["two"], []]
    texts = [
        part["content"]
        for message in client.get("/api/threads/t1/history").json["messages"]
        for part in message["parts"]
        if message["role"] == "user"
    ]
    assert texts == ["go", "two"]
    assert second.status_code == 202


def test_a_mode_is_set_cold_or_live_and_told(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """Setting the mode makes a thread live, appends to its branch, and reaches every eye."""
    host.store("t1", user("Hi"), assistant("Hello."))
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        assert client.post("/api/threads/t1/mode", json={"mode": "plan"}).status_code == 202
        frame = socket.until("mode")[-1]
        assert frame["permissionMode"]["mode"] == "plan"
        socket.until("status", live=True, busy=False)
    assert client.get("/api/threads/t1/history").json["permissionMode"]["mode"] == "plan"
    unknown = client.post("/api/threads/t1/mode", json={"mode": "reckless"})
    assert unknown.status_code == 409
    form = client.post("/threads/t1/mode", data={"mode": "edit"})
    assert (form.status_code, form.headers["Location"]) == (303, "/threads/t1")
    assert client.get("/api/threads/t1/history").json["permissionMode"]["mode"] == "edit"


def test_a_thread_that_only_ran_commands_leaves_no_file(
    host: FakeHost, client: FlaskClient
) -> None:
    """A mode, a model and a name set before the first prompt are kept in memory alone."""
    assert client.post("/api/threads/t1/mode", json={"mode": "plan"}).status_code == 202
    assert client.post("/api/threads/t1/name", json={"name": "Later"}).status_code == 202
    assert not host.has("t1")
    assert client.get("/api/threads/t1").json["sessionFile"] is None


def test_a_model_is_chosen_from_the_configured_ones(
    host: FakeHost, client: FlaskClient, listening: Listening
) -> None:
    """The choice is stored and told; one that is not configured is refused by name."""
    models = client.get("/api/models").json["models"]
    assert [model["model"] for model in models] == ["script-1", "script-2"]
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        choice = {"provider": "scripted", "model": "script-1", "thinkingLevel": "high"}
        assert client.post("/api/threads/t1/model", json=choice).status_code == 202
        assert socket.until("model")[-1]["model"]["model"] == "script-1"
    refused = client.post("/api/threads/t1/model", json={"provider": "p", "model": "gone"})
    assert refused.status_code == 409


def test_a_name_is_the_title_from_then_on(
    host: FakeHost, client: FlaskClient, listening: Listening
) -> None:
    """A thread's new name is in its page, in the listing and in a snapshot for every eye."""
    host.store("t1", user("Hi"), assistant("Hello."))
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        assert client.post("/api/threads/t1/name", json={"name": "Money"}).status_code == 202
        socket.until("snapshot")
    assert "<title>Money" in client.get("/threads/t1").text
    assert client.get("/api/stored-threads").json["threads"][0]["name"] == "Money"
    taken_away = client.post("/threads/t1/name", data={"name": ""})
    assert (taken_away.status_code, taken_away.headers["Location"]) == (303, "/threads/t1")
    assert "<title>Hi" in client.get("/threads/t1").text


def test_a_fork_is_a_new_thread_up_to_that_message(host: FakeHost, client: FlaskClient) -> None:
    """The new thread holds what came before the message; the old one is as it was."""
    host.store("t1", user("One", id="u1"), assistant("A"), user("Two", id="u2"), assistant("B"))
    forked = client.post("/api/threads/t1/fork", json={"entryId": "u2"})
    assert forked.status_code == 202
    messages = client.get(f"/api/threads/{forked.json['id']}/history").json["messages"]
    assert [m["parts"][0]["content"] for m in messages] == ["One", "A"]
    empty = client.post("/api/threads/t1/fork", json={"entryId": "u1"}).json["id"]
    head = '<p class="meta"><span title="'
    assert head in client.get(f"/threads/{empty}").text  # it belongs to its thread's project
    assert head not in client.get("/").text
    assert len(client.get("/api/threads/t1/history").json["messages"]) == 4
    form = client.post("/threads/t1/fork", data={"entryId": "u2"})
    assert form.status_code == 303
    assert form.headers["Location"].startswith("/threads/")
    assert form.headers["Location"] != "/threads/t1"


def test_going_to_another_entry_changes_the_branch_for_every_eye(
    host: FakeHost, client: FlaskClient, listening: Listening
) -> None:
    """From a user message on, the branch is what came before it, and can be gone on from."""
    host.store("t1", user("One", id="u1"), assistant("A"), user("Two", id="u2"), assistant("B"))
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        assert client.post("/api/threads/t1/tree", json={"entryId": "u2"}).status_code == 202
        snapshot = socket.until("snapshot")[-1]
    assert [m["parts"][0]["content"] for m in snapshot["messages"]] == ["One", "A"]
    assert client.post("/api/threads/t1/tree", json={"entryId": "nope"}).status_code == 409


def test_a_deleted_thread_can_be_taken_back(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """It leaves the listing for the trash; the page that follows offers it back by name."""
    host.store("t1", user("Precious <i>work</i>"), assistant("Hello."))
    form = client.post("/threads/t1/delete")
    assert (form.status_code, form.headers["Location"]) == (303, "/?deleted=t1")
    assert client.get("/api/stored-threads").json["threads"] == []
    page = client.get("/?deleted=t1").text
    assert 'action="/threads/t1/restore"' in page
    assert "Precious &lt;i&gt;work&lt;/i&gt;" in page
    assert client.post("/api/threads/t1/restore").status_code == 202
    assert len(client.get("/api/stored-threads").json["threads"]) == 1
    assert client.post("/api/threads/t1/restore").status_code == 404
    assert client.post("/api/threads/none/delete").status_code == 404


def test_a_busy_thread_is_not_deleted(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """What runs must be stopped first."""
    held = Reply.held()
    host.script.add(held)
    prompt(client, "t1", "go")
    held.wait_until_held()
    refused = client.post("/api/threads/t1/delete")
    assert (refused.status_code, refused.json["error"]["code"]) == (409, "busy")
    held.release()
    settled(server, "t1")


def test_compaction_is_a_run_with_a_marker(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """A compaction is busy like any run, and ends in a marker that opens to the summary."""
    host.store("t1", user("Hi"), assistant("Hello."))
    host.script.add(Reply(deltas=("What was said so far.",)))
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        assert client.post("/api/threads/t1/compact", json={}).status_code == 202
        frames = socket.until("status", busy=False, generation=1)
    kinds = [f["activity"]["kind"] for f in frames if f.get("activity")]
    assert "compacting" in kinds
    markers = [f["message"] for f in frames if f["type"] == "message"]
    assert markers[-1]["role"] == "marker"
    assert markers[-1]["parts"][0]["content"] == "What was said so far."


def test_a_retry_wait_is_told_and_can_be_ended(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """Busy from the first attempt to the settlement; the wait has its attempt and its end."""
    refusal = Refusal(
        provider="Scripted",
        model="script-1",
        refusal_class="overloaded",
        status=529,
        reason="Full.",
    )
    host.script.add(Reply(deltas=(), refusal=refusal, retried=True), Reply(deltas=("Now.",)))
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        prompt(client, "t1", "go")
        waiting: dict[str, object] = {}
        while waiting.get("kind") != "retry-wait":
            waiting = socket.until("status", busy=True)[-1].get("activity") or {}
        assert client.post("/api/threads/t1/retry").status_code == 202
        frames = socket.until("status", live=True, busy=False)
    assert [f["word"] for f in frames if f["type"] == "status"][-1] == "held"
    assert client.post("/api/threads/t1/retry").status_code == 409


def test_a_running_tool_tells_how_far_it_is(
    host: FakeHost, client: FlaskClient, listening: Listening
) -> None:
    """The tail of its output is told with the message and the call that it belongs to."""
    reply = Reply(deltas=(), tool_call=CALL, progress=("1 of 2", "2 of 2"), result="done")
    host.script.add(reply, Reply(deltas=("Ready.",)))
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        prompt(client, "t1", "go")
        frames = socket.until("status", busy=False, generation=1)
    told = [f for f in frames if f["type"] == "tool-progress"]
    assert [f["text"] for f in told] == ["1 of 2", "2 of 2"]
    caller = next(
        f["message"]["id"]
        for f in frames
        if f["type"] == "message" and f["message"]["parts"]
        if f["message"]["parts"][0]["type"] == "tool-call"
    )
    assert {(f["callId"], f["messageId"]) for f in told} == {("c1", caller)}


def test_commands_are_listed_without_building(host: FakeHost, client: FlaskClient) -> None:
    """A fresh, a cold and a live thread name their slash commands."""
    host.store("cold", user("Hi"), assistant("Hello."))
    for thread_id in ("fresh-one", "cold"):
        answer = client.get(f"/api/threads/{thread_id}/commands")
        names = [command["name"] for command in answer.json["commands"]]
        assert {"compact", "review"} <= set(names)
    assert host.built == []


@pytest.mark.parametrize(
    "path,body,status",
    [
        ("mode", {}, 400),
        ("mode", {"mode": 7}, 400),
        ("queue", {"message": "", "when": "after"}, 400),
        ("queue", {"message": "x", "when": "now"}, 400),
        ("model", {"provider": "p"}, 400),
        ("label", {"entryId": "x" * 300, "label": "y"}, 400),
        ("dialogs/none", {"value": "once"}, 409),
        ("dialogs/none", {}, 400),
        ("retry", {}, 409),
        ("abort", {}, 409),
    ],
)
def test_what_cannot_be_done_is_said(
    host: FakeHost, client: FlaskClient, path: str, body: dict[str, object], status: int
) -> None:
    """A wrong body is 400 and names the field, what is not possible now 409; nothing is built."""
    answer = client.post(f"/api/threads/t1/{path}", json=body)
    assert answer.status_code == status
    wire.Error.model_validate_json(answer.text)
    assert host.built == []


def test_a_malformed_id_is_refused_everywhere(client: FlaskClient) -> None:
    """No action is taken on what cannot be a thread."""
    for path in ("abort", "mode", "delete", "fork"):
        assert client.post(f"/api/threads/-x/{path}", json={"mode": "plan"}).status_code == 400


def test_a_directory_that_is_gone_refuses_what_makes_live(
    make: MakeServer, host: FakeHost, project: Path
) -> None:
    """A mode cannot be set where nothing can run, and the thread stays cold."""
    host.store("t1", user("Hi"), assistant("Hello."))
    host.rename_away(project)
    client = make().app.test_client()
    assert client.post("/api/threads/t1/mode", json={"mode": "plan"}).status_code == 409
    assert client.get("/api/threads").json == {"threads": []}


def test_slash_commands_do_what_buttons_do(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """Typed as a prompt, a command of Enso's starts no run; its answer is said to every eye."""
    host.store("t1", user("Hi"), assistant("Hello."))
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        assert prompt(client, "t1", "/mode plan").json["generation"] == 0
        assert socket.until("mode")[-1]["permissionMode"]["mode"] == "plan"
        prompt(client, "t1", "/name A better name")
        socket.until("snapshot")
        prompt(client, "t1", "/model scripted/script-2")
        assert socket.until("model")[-1]["model"]["model"] == "script-2"
        prompt(client, "t1", "/help")
        assert "/compact" in socket.until("notice")[-1]["message"]
        prompt(client, "t1", "/mode")
        assert "plan" in socket.until("notice")[-1]["message"]
    assert client.get("/api/stored-threads").json["threads"][0]["name"] == "A better name"
    forked = prompt(client, "t1", "/fork").json["threadId"]
    assert len(client.get(f"/api/threads/{forked}/history").json["messages"]) == 2
    assert prompt(client, "t1", "/model nonsense").status_code == 400
    assert all(not thread.scripted.prompts for thread in host.built)
    assert prompt(client, "t1", "/review this").json["generation"] == 1
    settled(server, "t1")
    assert host.built[-1].scripted.prompts == ["/review this"]


def test_every_command_of_ensos_is_done(host: FakeHost, client: FlaskClient) -> None:
    """What is listed as Enso's own is what is done here, and nothing else."""
    listed = client.get("/api/threads/t1/commands").json["commands"]
    assert {one["name"] for one in listed if one["source"] == "enso"} == COMMAND_NAMES


def test_completion_puts_what_begins_so_first(host: FakeHost, client: FlaskClient) -> None:
    """The composer's list fits what was typed, names before parts of names."""
    html = client.get("/threads/t1/commands?q=/mod", headers=PARTIAL).text
    assert html.index("/mode") < html.index("/model")
    assert "/compact" not in html


def test_files_of_the_project_are_offered_behind_an_at_sign(
    host: FakeHost, client: FlaskClient, project: Path
) -> None:
    """A fresh or stored thread offers the files of its own directory, escaped."""
    (project / "orders & lines.py").write_text("x")
    (project / "stock.py").write_text("x")
    html = client.get("/threads/t1/files?q=@ord", headers=PARTIAL).text
    assert "orders &amp; lines.py" in html
    assert "stock.py" not in html
