"""AG-UI over threads: a run's events, its dialogs as interrupts, and what cannot be asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import Event
from flask.testing import FlaskClient
from pydantic import TypeAdapter
from werkzeug.test import TestResponse

from enso import transcript
from enso.server.application import EnsoServer
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply, permission
from tests.server.conftest import prompt, settled

EVENT: TypeAdapter[Any] = TypeAdapter(Event)
Json = dict[str, Any]
LS = transcript.ToolCallPart("c1", "ls", {"path": "."})


def said(text: str, message_id: str = "mine") -> Json:
    """A person's message, as a client sends it."""
    return {"id": message_id, "role": "user", "content": text}


def run(client: FlaskClient, *messages: Json, run_id: str = "r1", **fields: Any) -> TestResponse:
    """Ask for a run on the thread ``t1``."""
    body = {"threadId": "t1", "runId": run_id, "messages": list(messages), **fields}
    return client.post("/api/agui", json=body)


def events(answer: TestResponse) -> list[Json]:
    """The events of an answer, each of which the protocol's own shapes accept."""
    assert answer.status_code == 200
    assert answer.mimetype == "text/event-stream"
    lines = [line for line in answer.text.split("\n\n") if line.startswith("data: ")]
    told = [json.loads(line.removeprefix("data: ")) for line in lines]
    for event in told:
        EVENT.validate_python(event)
    return told


def kinds(told: Sequence[Json]) -> list[str]:
    """The kinds of events, in order, custom ones by their name; repeated content once."""
    names = [event.get("name", event["type"]) for event in told]
    return [name for at, name in enumerate(names) if at == 0 or name != names[at - 1]]


def test_a_prompt_streams_thoughts_words_and_the_usage(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """One run from its start to its end; the thread is stored under the client's id."""
    host.script.add(Reply(thinking=("Hm, ", "well."), deltas=("Hello", ", you.")))
    told = events(run(client, said("Hi")))
    assert kinds(told) == [
        "RUN_STARTED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    words = [event["delta"] for event in told if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert "".join(words) == "Hello, you."
    assert told[-1]["outcome"] == {"type": "success"}
    assert told[-1]["usage"][0]["outputTokens"] == 5
    settled(server, "t1")
    assert [thread.id for thread in host.list_sessions()] == ["t1"]


def test_a_tool_call_has_its_arguments_its_result_and_its_message(
    host: FakeHost, client: FlaskClient
) -> None:
    """The call belongs to the reply that made it; the next reply is a message of its own."""
    host.script.add(Reply(deltas=("Looking.",), tool_call=LS, result="a.txt"), Reply())
    told = events(run(client, said("What is here?")))
    by_kind = {event["type"]: event for event in told}
    texts = [event["messageId"] for event in told if event["type"] == "TEXT_MESSAGE_START"]
    assert len(set(texts)) == 2
    assert by_kind["TOOL_CALL_START"]["parentMessageId"] == texts[0]
    assert by_kind["TOOL_CALL_START"]["toolCallName"] == "ls"
    assert json.loads(by_kind["TOOL_CALL_ARGS"]["delta"]) == {"path": "."}
    assert by_kind["TOOL_CALL_RESULT"]["content"] == "a.txt"
    order = kinds(told)
    assert order.index("TOOL_CALL_END") < order.index("TOOL_CALL_RESULT")


def test_a_dialog_interrupts_and_the_answer_resumes(host: FakeHost, client: FlaskClient) -> None:
    """The client's run ends with the question; the run that answers it brings the rest, once."""
    host.script.add(
        Reply(deltas=("May I?",), tool_call=LS, dialog=permission(LS), result="a.txt"),
        Reply(deltas=("Done.",)),
    )
    first = events(run(client, said("Go")))
    outcome = first[-1]["outcome"]
    assert outcome["type"] == "interrupt"
    (question,) = outcome["interrupts"]
    choices = question["responseSchema"]["properties"]["value"]["oneOf"]
    assert [one["const"] for one in choices] == ["once", "thread", "deny"]
    answer = {"interruptId": question["id"], "status": "resolved", "payload": {"value": "once"}}
    rest = events(run(client, said("Go"), run_id="r2", resume=[answer]))
    assert kinds(rest) == [
        "RUN_STARTED",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert rest[-1]["outcome"] == {"type": "success"}
    again = run(client, said("Go"), run_id="r3", resume=[answer])
    assert again.status_code == 409
    assert again.json["error"]["code"] == "answered"


def test_a_refusal_is_the_runs_error(host: FakeHost, client: FlaskClient) -> None:
    """The bubble's sentence and its class close the run; an attempt tried again is only told."""
    refusal = transcript.Refusal(
        provider="OpenAI",
        model="gpt-5.2",
        refusal_class="rate limit",
        status=429,
        reason="Slow down.",
    )
    host.script.add(Reply(deltas=(), refusal=refusal))
    told = events(run(client, said("Hi")))
    assert told[-1]["type"] == "RUN_ERROR"
    assert told[-1]["code"] == "rate limit"
    assert told[-1]["message"] == "OpenAI · gpt-5.2 refused: rate limit (429) — Slow down."


def test_a_client_that_knows_nothing_is_given_the_history(
    host: FakeHost, client: FlaskClient
) -> None:
    """A run without a prompt shows the thread and builds nothing; one with a prompt shows both."""
    host.store("t1", user("Before"), assistant("It was."))
    seen = events(run(client))
    assert kinds(seen) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert [one["content"] for one in seen[1]["messages"]] == ["Before", "It was."]
    assert host.built == []
    told = events(run(client, said("Now"), run_id="r2"))
    assert [one["content"] for one in told[1]["messages"]] == ["Before", "It was.", "Now"]
    assert told[1]["messages"][-1]["id"] == "mine"


def test_the_same_run_asked_twice_is_one_prompt(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """A request that is repeated starts nothing."""
    events(run(client, said("Once")))
    settled(server, "t1")
    events(run(client, said("Once")))
    read = host.read_stored_thread("t1")
    assert read is not None
    assert len(read.entries) == 2


def test_a_slash_command_answers_in_words(client: FlaskClient) -> None:
    """What the pane says beside its composer is the client's answer."""
    told = events(run(client, said("/help")))
    text = "".join(one["delta"] for one in told if one["type"] == "TEXT_MESSAGE_CONTENT")
    assert "/compact" in text
    assert told[-1]["outcome"] == {"type": "success"}


def test_a_busy_thread_refuses_and_can_be_watched(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """A second prompt is refused before anything streams; a run without one sees the first out."""
    held = Reply.held("Slowly", before="end")
    host.script.add(held)
    prompt(client, "t1", "Begin")
    held.wait_until_held()
    refused = run(client, said("Me too"))
    assert refused.status_code == 409
    assert "still working" in refused.json["error"]["message"]
    answer = client.post("/api/agui", json={"threadId": "t1", "runId": "r9", "messages": []})
    held.release()
    told = events(answer)
    assert told[1]["type"] == "MESSAGES_SNAPSHOT"
    assert told[-1]["type"] == "RUN_FINISHED"
    settled(server, "t1")


def test_a_client_that_leaves_gives_its_place_back(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """Closing the stream ends the follow, and not the thread's run."""
    held = Reply.held("Slowly", before="end")
    host.script.add(held)
    body = {"threadId": "t1", "runId": "r1", "messages": [said("Begin")]}
    answer = client.post("/api/agui", json=body, buffered=False)
    assert next(iter(answer.response)).startswith(b"data: ")
    with server.services.registry.at("t1") as slot:
        assert len(slot.follows) == 1
    answer.close()
    with server.services.registry.at("t1") as slot:
        assert len(slot.follows) == 0
        assert slot.live is not None
        assert slot.live.busy
    held.release()
    settled(server, "t1")


@pytest.mark.parametrize(
    "body, status, part",
    [
        ({"threadId": "../x", "runId": "r", "messages": []}, 400, "thread id"),
        ({"runId": "r", "messages": []}, 400, "threadId"),
        ({"threadId": "t1", "runId": "r", "messages": [{"role": "user"}]}, 400, "messages"),
        (
            {"threadId": "t1", "runId": "r", "messages": [said("  ")]},
            400,
            "Write something first",
        ),
        (
            {
                "threadId": "t1",
                "runId": "r",
                "messages": [],
                "resume": [{"interruptId": "d", "status": "resolved", "payload": 7}],
            },
            400,
            "{value, reason}",
        ),
    ],
)
def test_what_cannot_be_asked_is_said(
    client: FlaskClient, body: Json, status: int, part: str
) -> None:
    """A request that is not right is answered by its status and sentence, and starts nothing."""
    answer = client.post("/api/agui", json=body)
    assert answer.status_code == status
    assert part in answer.json["error"]["message"]
