"""Runs: one at a time, numbered, told to every eye, and let go of when nothing happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from flask.testing import FlaskClient

from enso.server.application import EnsoServer
from enso.server.registry import WRITTEN_ELSEWHERE
from enso.transcript import ToolCallPart
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.server.conftest import Listening, MakeServer, prompt, settled


def test_a_second_prompt_while_busy_is_refused_in_words(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """Nothing is lost or queued in silence: 409, with what to do, and one run."""
    reply = Reply.held()
    host.script.add(reply)
    prompt(client, "t1", "first")
    reply.wait_until_held()
    refused = prompt(client, "t1", "second")
    assert refused.status_code == 409
    assert refused.json["error"]["code"] == "busy"
    assert "Wait, or stop it" in refused.json["error"]["message"]
    reply.release()
    settled(server, "t1")
    assert host.built[0].scripted.prompts == ["first"]


def test_the_same_prompt_id_twice_starts_one_run(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """A repeat gets the first one's answer: while it runs, after it, from many workers at once."""
    reply = Reply.held()
    host.script.add(reply)
    first = prompt(client, "t1", "once", promptId="p-1")
    reply.wait_until_held()
    again = prompt(client, "t1", "once", promptId="p-1")
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json == again.json
    reply.release()
    settled(server, "t1")
    assert prompt(client, "t1", "once", promptId="p-1").json["generation"] == 1

    answers: list[int] = []

    def send() -> None:
        answers.append(
            prompt(server.app.test_client(), "t2", "together", promptId="p-2").status_code
        )

    senders = [threading.Thread(target=send) for _ in range(8)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    settled(server, "t2")
    assert answers == [202] * 8
    assert [thread.scripted.prompts for thread in host.built] == [["once"], ["together"]]


def test_a_refused_prompt_id_can_be_sent_again(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """What started nothing is not remembered as if it had."""
    reply = Reply.held()
    host.script.add(reply)
    prompt(client, "t1", "first")
    reply.wait_until_held()
    assert prompt(client, "t1", "second", promptId="p-2").status_code == 409
    reply.release()
    settled(server, "t1")
    assert prompt(client, "t1", "second", promptId="p-2").json["generation"] == 2


def test_two_eyes_see_the_same(host: FakeHost, client: FlaskClient, listening: Listening) -> None:
    """Two follows of one thread get the same frames in the same order."""
    with listening.follow("another") as socket:
        socket.until("snapshot")
        host.store("t1", user("Hi"), assistant("Hello."))
        socket.until("rail")  # from here on nothing that happened before is told any more
    host.script.add(Reply(deltas=("a", "b", "c"), thinking=("hm",)))
    with listening.follow("t1") as one, listening.follow("t1") as other:
        assert one.frame() == other.frame()
        prompt(client, "t1", "go")
        seen = one.until("status", busy=False, live=True, generation=1)
        assert other.until("status", busy=False, live=True, generation=1) == seen


def test_an_eye_that_opens_mid_stream_sees_what_came_so_far(
    host: FakeHost, client: FlaskClient, listening: Listening
) -> None:
    """A snapshot in the middle of an answer holds its text so far, and the rest follows."""
    reply = Reply.held("so ", "far ")
    host.script.add(reply)
    prompt(client, "t1", "go")
    reply.wait_until_held()
    with listening.follow("t1") as early:
        early.until("snapshot")
        with listening.follow("t1") as socket:
            snapshot = socket.frame()
            assert snapshot["status"]["busy"] is True
            streaming = snapshot["messages"][-1]
            heard = "".join(part["content"] for part in streaming["parts"])
            reply.release()
            frames = socket.until("status", busy=False, generation=1)
    heard += "".join(frame["delta"] for frame in frames if frame["type"] == "part-delta")
    final = [frame["message"] for frame in frames if frame["type"] == "message"][-1]
    assert heard == "so far " == final["parts"][0]["content"]
    assert final["id"] == streaming["id"]


def test_a_call_without_a_result_runs_while_busy_and_is_interrupted_after(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """A tool call's state says whether anything still works on it."""
    reply = Reply(deltas=(), tool_call=ToolCallPart("c1", "bash", {"command": "ls"}))
    host.script.add(reply)
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        prompt(client, "t1", "go")
        frames = socket.until("status", busy=False, generation=1)
    states = [
        part["state"]
        for frame in frames
        if frame["type"] == "message"
        for part in frame["message"]["parts"]
        if part["type"] == "tool-call"
    ]
    assert states == ["running", "interrupted"]
    assert frames[-1]["word"] == "interrupted"
    history = client.get("/api/threads/t1/history").json
    assert history["interrupted"] == "tool-call-without-result"


def test_an_idle_thread_is_let_go_and_comes_back(
    host: FakeHost, make: MakeServer, listen: Callable[[EnsoServer], Listening]
) -> None:
    """After the idle time its follow says live: false; the next prompt makes it live, as run 2."""
    server = make(idle_seconds=0.2)
    client = server.app.test_client()
    with listen(server).follow("t1") as socket:
        socket.until("snapshot")
        prompt(client, "t1", "one")
        frames = socket.until("status", live=False)
        assert host.built[0].closed
        assert [f["word"] for f in frames if f["type"] == "status"] == [
            "held",
            "busy",
            "held",
            "cold",
        ]
        assert prompt(client, "t1", "two").json["generation"] == 2
        socket.until("status", busy=True, generation=2)
        socket.until("status", live=False)
    assert len(host.built) == 2
    assert client.get("/api/threads").json == {"threads": []}


def test_abort_ends_the_run_and_nothing_else(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """A stopped run leaves its prompt and what had streamed; with nothing running it is a 409."""
    assert client.post("/api/threads/t1/abort").status_code == 409
    reply = Reply.held("half an ans")
    host.script.add(reply)
    prompt(client, "t1", "go")
    reply.wait_until_held()
    assert client.post("/api/threads/t1/abort").status_code == 202
    settled(server, "t1")
    last = client.get("/api/threads/t1/history").json["messages"][-1]
    assert (last["stopReason"], last["parts"][0]["content"]) == ("aborted", "half an ans")


def test_growth_by_another_program_shows_cold_and_held_alike(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """A cold follow and a held one both get the new state, and a held thread stays held."""
    host.store("t1", user("Hi"), assistant("Hello."))
    with listening.follow("t1") as socket:
        assert len(socket.frame()["messages"]) == 2
        host.grow("t1", user("From a terminal"))
        assert len(socket.until("snapshot")[-1]["messages"]) == 3
        prompt(client, "t1", "go")
        socket.until("status", busy=False, live=True, generation=1)
        host.grow("t1", user("Again"), assistant("Yes."))
        snapshot = socket.until("snapshot")[-1]
    assert [m["role"] for m in snapshot["messages"]][-2:] == ["user", "assistant"]
    assert snapshot["status"]["live"] is True
    assert snapshot["status"]["generation"] == 1


def test_the_next_prompt_continues_from_what_another_program_wrote(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """A held thread whose log grew elsewhere is opened anew before its next run."""
    prompt(client, "t1", "one")
    settled(server, "t1")
    host.grow("t1", user("elsewhere"), assistant("There."))
    prompt(client, "t1", "two")
    settled(server, "t1")
    texts = [
        part["content"]
        for message in client.get("/api/threads/t1/history").json["messages"]
        for part in message["parts"]
        if message["role"] == "user"
    ]
    assert texts == ["one", "elsewhere", "two"]
    # The run began on the log as it then was, not only its end was read again.
    assert [thread.scripted.prompts for thread in host.built[:2]] == [["one"], ["two"]]


def test_what_was_written_elsewhere_during_a_run_is_shown_after_it(
    host: FakeHost, server: EnsoServer, client: FlaskClient, listening: Listening
) -> None:
    """When the run settles, the log's end decides what every eye sees; it is said why."""
    reply = Reply.held()
    host.script.add(reply)
    prompt(client, "t1", "one")
    reply.wait_until_held()
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        host.grow("t1", user("meanwhile"))
        reply.release()
        frames = socket.until("snapshot")
        said = socket.until("notice")[-1]["message"]
    texts = [part["content"] for message in frames[-1]["messages"] for part in message["parts"]]
    assert "meanwhile" in texts
    assert said == WRITTEN_ELSEWHERE


def test_a_directory_that_is_gone_reads_cold_and_refuses_live(
    host: FakeHost, client: FlaskClient, project: Path
) -> None:
    """The thread still opens; a prompt is refused with the directory's name, and builds nothing."""
    host.store("t1", user("Hi"), assistant("Hello."))
    host.rename_away(project)
    assert client.get("/threads/t1").status_code == 200
    refused = prompt(client, "t1", "go on")
    assert refused.status_code == 409
    assert str(project) in refused.json["error"]["message"]
    assert client.get("/api/threads").json == {"threads": []}


def test_without_a_model_a_prompt_is_refused_and_nothing_stays_live(
    make: MakeServer, host: FakeHost
) -> None:
    """A refusal before the run leaves no live thread and no file behind."""
    host._model = None
    client = make().app.test_client()
    refused = prompt(client, "t1", "Hi")
    assert refused.status_code == 409
    assert refused.json["error"]["code"] == "no-model"
    assert client.get("/api/threads").json == {"threads": []}
    assert not host.has("t1")


def test_a_new_thread_goes_into_the_project_it_names(
    host: FakeHost, client: FlaskClient, project: Path
) -> None:
    """Only a thread without a file asks where to go; what is no project is refused by name."""
    refused = prompt(client, "t1", "Hi", projectId="/nowhere")
    assert refused.status_code == 400
    assert "/nowhere" in refused.json["error"]["message"]
    assert prompt(client, "t1", "Hi", projectId=str(project)).status_code == 202
    host.store("t2", user("Hi"), assistant("Hello."))
    assert prompt(client, "t2", "go on", projectId="/nowhere").status_code == 202
    model = {"provider": "scripted", "model": "script-1"}
    for act, body in {"mode": {"mode": "plan"}, "model": model, "name": {"name": "N"}}.items():
        url, begins = f"/api/threads/new-{act}/{act}", {**body, "projectId": str(project)}
        refused = client.post(url, json={**body, "projectId": "/nowhere"})
        assert refused.status_code == 400
        assert "/nowhere" in refused.json["error"]["message"]
        assert client.post(url, json=begins).status_code == 202


def test_the_rail_is_news_to_every_follow(
    host: FakeHost, client: FlaskClient, listening: Listening
) -> None:
    """A thread that is stored, renamed, runs or goes is told to whoever watches any thread."""
    with listening.follow("some-other-thread") as socket:
        socket.until("snapshot")
        host.store("t1", user("Hi"), assistant("Hello."))
        row = socket.until("rail")[-1]["threads"][0]
        assert (row["threadId"], row["title"], row["busy"]) == ("t1", "Hi", False)
        host.rename("t1", "A better name")
        assert socket.until("rail")[-1]["threads"][0]["name"] == "A better name"
        reply = Reply.held()
        host.script.add(reply)
        prompt(client, "t1", "go")
        reply.wait_until_held()
        while not socket.until("rail")[-1]["threads"][0]["busy"]:
            pass
        reply.release()
        while socket.until("rail")[-1]["threads"][0]["busy"]:
            pass
        host.remove("t1")
        while "t1" not in socket.until("rail")[-1]["gone"]:
            pass


def test_a_slow_reader_of_a_long_answer_gets_a_snapshot(
    host: FakeHost, client: FlaskClient, listening: Listening
) -> None:
    """A reader that fell far behind is not sent the pile, and ends with the same text."""
    words = [f"word{n} " for n in range(5000)]
    host.script.add(Reply(deltas=words))
    with listening.follow("t1") as socket:
        socket.until("snapshot")
        prompt(client, "t1", "go")
        frames = socket.until("status", busy=False, generation=1)
    final = [frame["message"] for frame in frames if frame["type"] == "message"][-1]
    assert final["parts"][0]["content"] == "".join(words)
    assert len(frames) < 1000


def test_a_page_that_begins_in_the_middle_gets_snapshots_from_there(
    host: FakeHost, listening: Listening
) -> None:
    """A snapshot begins at the page's first message; when that is gone, the page begins anew."""
    host.store("t1", *(user(f"question {n:03}", id=f"q{n:03}") for n in range(100)))
    with listening.follow("t1", html=True, first="q070") as socket:
        snapshot = socket.text()
    assert "question 070" in snapshot
    assert "question 069" not in snapshot
    assert "#before-t1" not in snapshot
    with listening.follow("t1", html=True, first="gone") as socket:
        snapshot = socket.text()
    assert snapshot.startswith('<hx-partial hx-target="#before-t1" hx-swap="innerHTML">')
    assert "/threads/t1/history?before=q040" in snapshot
    assert "question 040" in snapshot
    assert "question 039" not in snapshot


def test_without_a_directory_to_run_in_the_fresh_page_says_so(
    host: FakeHost, client: FlaskClient, project: Path
) -> None:
    """A new thread is not offered where it could not run."""
    project.rmdir()
    html = client.get("/").text
    assert "nowhere to run" in html
    assert "<textarea" not in html


def test_a_page_whose_thread_is_deleted_elsewhere_says_so(
    host: FakeHost, listening: Listening
) -> None:
    """An open page does not empty without a word; a page that began empty says nothing."""
    host.store("t1", user("Hi", id="u1"), assistant("Hello."))
    with listening.follow("t1", html=True, first="u1") as socket:
        assert "Hello." in socket.text()
        host.remove("t1")
        while "file is gone" not in (text := socket.text()):
            pass
    assert "Hello." not in text
    with listening.follow("never-stored", html=True) as socket:
        assert "file is gone" not in socket.text()


def test_what_is_gone_and_comes_back_is_shown_again(host: FakeHost, listening: Listening) -> None:
    """Another tab's Undo, a file moved back: all is there again, earlier messages too, and nothing
    says otherwise."""
    messages = [user(f"question {n:03}", id=f"q{n:03}") for n in range(100)]
    host.store("t1", *messages)
    with listening.follow("t1", html=True, first="q040") as socket:
        assert "question 040" in socket.text()
        host.delete("t1")
        while "file is gone" not in (text := socket.text()):
            pass
        assert "question 040" not in text
        host.restore("t1")
        while "question 040" not in (text := socket.text()):
            pass
    assert "/threads/t1/history?before=q040" in text
    assert text.endswith('<hx-partial hx-target="#gone-t1" hx-swap="innerHTML"></hx-partial>')
