"""What a provider is sent of a stored thread: pi's context, as each protocol wants it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.model_server import SIGNATURE, ModelServer, Reply, Request
from tests.runtimes.agent_files import change_model
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import assistant, new_thread, stored_thread, user
from tests.runtimes.test_turns import MODELS, THOUGHTFUL, every_protocol


@pytest.fixture
def sent(make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer) -> Any:
    """Continue a thread with these entries and give the request's body."""

    def send(*entries: dict[str, Any], prompt: str = "Go on.") -> Any:
        thread = stored_thread(make_runtimes("labserver/lab-coder"), tmp_path, entries)
        thread.run(prompt)
        return server.requests()[-1].body

    return send


def system(**sections: str | None) -> dict[str, Any]:
    """A stored entry: a system message of these sections."""
    message = {"role": "system", "content": "", "sections": sections, "timestamp": 0}
    return {"type": "message", "message": {**message, "toolsAdded": []}}


def call(call_id: str, **fields: Any) -> dict[str, Any]:
    """A content block: a call of the tool ``read``."""
    block = {"type": "toolCall", "id": call_id, "name": "read", "arguments": {"path": "a"}}
    return {**block, **fields}


def result(call_id: str, text: str = "content of a") -> dict[str, Any]:
    """A stored entry: the result of a call."""
    content = [{"type": "text", "text": text}]
    message = {"role": "toolResult", "toolCallId": call_id, "toolName": "read", "content": content}
    return {"type": "message", "message": {**message, "isError": False, "timestamp": 3}}


def roles(body: Any) -> list[str]:
    """The roles of a chat completions request."""
    return [message["role"] for message in body["messages"]]


def text_of(message: Any) -> str:
    """The text of a chat message, however it is written."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


# -- the format's rules ---------------------------------------------------------------------------


def test_a_thread_goes_out_in_order_with_its_system_message_first(sent: Any) -> None:
    """Prompt, answer, prompt: as they are stored."""
    body = sent(system(a="Be exact."), user("One?"), assistant("One."))
    assert roles(body) == ["system", "user", "assistant", "user"]
    assert [text_of(message) for message in body["messages"]] == [
        "Be exact.",
        "One?",
        "One.",
        "Go on.",
    ]


def test_system_messages_are_one_and_a_later_section_replaces_an_earlier(sent: Any) -> None:
    """Sections are patched by name, and one that is taken away is gone."""
    later = {"role": "system", "content": "And kind.", "sections": {"a": "Be brief.", "b": None}}
    body = sent(
        system(a="Be exact.", b="Be loud."), user("One?"), {"type": "message", "message": later}
    )
    assert roles(body) == ["system", "user", "user"]
    assert text_of(body["messages"][0]) == "And kind.\n\nBe brief."


def test_refused_and_aborted_answers_are_left_out(sent: Any) -> None:
    """What a provider refused, or a person stopped, is no part of the conversation."""
    body = sent(
        user("One?"),
        assistant("Half", stopReason="aborted", errorMessage="Request was aborted"),
        user("Two?"),
        assistant(stopReason="error", errorMessage="503: {}"),
        user("Three?"),
        assistant("Three."),
    )
    assert roles(body)[1:] == ["user", "user", "user", "assistant", "user"]
    assert "Half" not in json.dumps(body)


def test_an_edit_takes_an_entry_out_or_replaces_it(
    make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """A context edit holds for what the model is told; the entry stays where it is."""
    thread = stored_thread(
        make_runtimes("labserver/lab-coder"),
        tmp_path,
        [user("One?"), assistant("One."), user("Two?")],
    )
    first, _, third = (entry["id"] for entry in thread.session.branch())
    thread.session.append("context_edit", {"targetId": first, "replacement": None})
    thread.session.append(
        "context_edit",
        {"targetId": third, "replacement": {"content": [{"type": "text", "text": "2?"}]}},
    )
    thread.run("Go on.")
    body = server.requests()[-1].body
    assert [text_of(message) for message in body["messages"][1:]] == ["One.", "2?", "Go on."]


def test_a_compaction_stands_for_what_it_summarised(
    make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """The summary goes first, then what was kept, then what came after."""
    thread = stored_thread(
        make_runtimes("labserver/lab-coder"),
        tmp_path,
        [user("One?"), assistant("One."), user("Two?"), assistant("Two.")],
    )
    kept = thread.session.branch()[2]["id"]
    thread.session.append(
        "compaction", {"summary": "They counted.", "firstKeptEntryId": kept, "tokensBefore": 9}
    )
    thread.run("Go on.")
    body = server.requests()[-1].body
    texts = [text_of(message) for message in body["messages"][1:]]
    assert texts[0] == (
        "The conversation history before this point was compacted into the following summary:\n\n"
        "<summary>\nThey counted.\n</summary>"
    )
    assert texts[1:] == ["Two?", "Two.", "Go on."]


def test_what_is_no_message_goes_out_in_the_words_of_pi(sent: Any) -> None:
    """A command that a person ran, a custom message and a branch summary are told as a user's."""
    shell = {"role": "bashExecution", "command": "ls", "output": "a.py", "exitCode": 2}
    hidden = {**shell, "command": "secret", "excludeFromContext": True}
    body = sent(
        {"type": "message", "message": shell},
        {"type": "message", "message": hidden},
        {"type": "custom_message", "customType": "x", "content": "Only read.", "display": True},
        {"type": "custom", "customType": "modes", "data": {"mode": "plan"}},
        {"type": "branch_summary", "summary": "We tried B.", "fromId": "1"},
    )
    texts = [text_of(message) for message in body["messages"][1:]]
    assert texts[0] == "Ran `ls`\n```\na.py\n```\n\nCommand exited with code 2"
    assert texts[1] == "Only read."
    assert texts[2] == (
        "The following is a summary of a branch that this conversation came back from:\n\n"
        "<summary>\nWe tried B.</summary>"
    )
    assert texts[3:] == ["Go on."]


def test_a_tool_call_without_a_result_gets_one(sent: Any) -> None:
    """A run that was killed in a tool can be continued."""
    body = sent(user("Look"), assistant(content=[call("c1"), call("c2")]), result("c1"))
    assert roles(body)[1:] == ["user", "assistant", "tool", "tool", "user"]
    by_id = {m["tool_call_id"]: m["content"] for m in body["messages"] if m["role"] == "tool"}
    assert by_id == {"c1": "content of a", "c2": "No result provided"}


def test_a_result_without_its_call_is_left_out(sent: Any) -> None:
    """Providers refuse results of calls that they do not see."""
    assert roles(sent(user("Look"), result("c9")))[1:] == ["user", "user"]


def test_images_of_the_history_go_out_as_images(sent: Any) -> None:
    """An image that was stored once is sent with every request."""
    image = {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}
    content = [{"type": "text", "text": "What?"}, image]
    body = sent({"type": "message", "message": {"role": "user", "content": content}})
    url = body["messages"][1]["content"][1]["image_url"]["url"]
    assert url == "data:image/png;base64,aGVsbG8="


def test_text_that_cannot_be_encoded_is_sent_with_a_mark(sent: Any) -> None:
    """Half of a surrogate pair, as other programs store it, breaks no request."""
    assert "\ufffd" in text_of(sent(user("cut \ud83d here"))["messages"][1])


# -- thinking -------------------------------------------------------------------------------------


def thought_in(api: str, request: Request) -> Any:
    """The thinking of the history in a request, as its protocol has it; ``None`` without any."""
    body = request.body
    if api == "openai-completions":
        return next(
            (m["reasoning_content"] for m in body["messages"] if "reasoning_content" in m), None
        )
    if api == "openai-responses":
        return next((i for i in body["input"] if i.get("type") == "reasoning"), None)
    if api == "anthropic-messages":
        blocks = [b for m in body["messages"] for b in m["content"] if isinstance(b, dict)]
        return next((b for b in blocks if b["type"] == "thinking"), None)
    parts = [part for content in body["contents"] for part in content["parts"]]
    return next((part for part in parts if part.get("thought")), None)


@every_protocol
def test_a_thought_goes_back_to_the_model_that_thought_it(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The second request carries the first answer's thinking, signed as the provider signed it."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([THOUGHTFUL, Reply(text=("Yes.",))])
    thread.run("Which?")
    thread.run("Sure?")
    thought = thought_in(api, server.requests()[-1])
    match api:
        case "openai-completions":
            assert thought == "First the costs."
        case "openai-responses":
            assert thought["encrypted_content"] == SIGNATURE
            assert thought["summary"] == [{"type": "summary_text", "text": "First the costs."}]
        case "anthropic-messages":
            assert (thought["thinking"], thought["signature"]) == ("First the costs.", SIGNATURE)
        case _:
            assert thought["text"] == "First the costs."
            assert SIGNATURE in json.dumps(server.requests()[-1].body)


@every_protocol
def test_a_thought_of_another_model_does_not_go_out(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Signatures are worth nothing elsewhere, and a foreign thought is no part of the answer."""
    provider, model = MODELS[api].split("/")
    thought = {"type": "thinking", "thinking": "SECRET", "thinkingSignature": "c2ln"}
    blocks = [thought, {"type": "text", "text": "Yes."}]
    thread = stored_thread(
        make_runtimes(None),
        tmp_path,
        [
            user("Is it?"),
            assistant(content=blocks, provider="elsewhere", model="other"),
            {"type": "model_change", "provider": provider, "modelId": model},
        ],
    )
    thread.run("Sure?")
    sent_text = json.dumps(server.requests()[-1].body)
    assert "Yes." in sent_text
    assert "SECRET" not in sent_text
    assert "c2ln" not in sent_text


# -- tool calls in each protocol ------------------------------------------------------------------


@every_protocol
def test_a_thread_with_tool_calls_of_another_protocol_goes_out(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Ids that one protocol makes are too long for another: call and result keep one id."""
    provider, model = MODELS[api].split("/")
    call_id = "call_" + "x" * 30 + "|fc_" + "y+/=" * 120
    thread = stored_thread(
        make_runtimes(None),
        tmp_path,
        [
            user("Look"),
            assistant(content=[call(call_id)], api="openai-responses", provider="elsewhere"),
            result(call_id),
            {"type": "model_change", "provider": provider, "modelId": model},
        ],
    )
    thread.run("Go on.")
    body = server.requests()[-1].body
    ids = tool_call_ids(api, body)
    assert len(ids) == 2
    assert len(set(ids)) == 1
    if api != "openai-responses":
        assert re.fullmatch("[A-Za-z0-9_-]{1,40}", ids[0])


def tool_call_ids(api: str, body: Any) -> list[str]:
    """The ids of calls and of results in a request."""
    if api == "openai-completions":
        calls = [c["id"] for m in body["messages"] for c in m.get("tool_calls", [])]
        return calls + [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
    if api == "openai-responses":
        return [item["call_id"] for item in body["input"] if "call_id" in item]
    if api == "anthropic-messages":
        blocks = [b for m in body["messages"] for b in m["content"] if isinstance(b, dict)]
        return [b.get("id") or b["tool_use_id"] for b in blocks if "tool" in b["type"]]
    parts = [part for content in body["contents"] for part in content["parts"]]
    found = [p.get("functionCall") or p.get("functionResponse") for p in parts]
    return [part["id"] for part in found if part]


# -- what else goes out ---------------------------------------------------------------------------


def test_a_thinking_level_of_the_thread_goes_out(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The branch's own level is the one that the model is asked with, and is stored beside."""
    thread = stored_thread(
        make_runtimes("labresponses/lab-thinker"),
        tmp_path,
        [{"type": "thinking_level_change", "thinkingLevel": "high"}],
    )
    thread.run("Think")
    assert server.requests()[-1].body["reasoning"]["effort"] == "high"
    assert thread.last_answer["thinkingLevel"] == "high"
    assert thread.kinds().count("thinking_level_change") == 1


@pytest.mark.parametrize(
    "compat, expected, absent",
    [
        ({}, {"reasoning_effort": "medium"}, "thinking"),
        ({"thinkingFormat": "openrouter"}, {"reasoning": {"effort": "medium"}}, "reasoning_effort"),
        ({"thinkingFormat": "qwen"}, {"enable_thinking": True}, "reasoning_effort"),
        ({"thinkingFormat": "deepseek"}, {"thinking": {"type": "enabled"}}, "reasoning_effort"),
        ({"supportsReasoningEffort": False}, {}, "reasoning_effort"),
        ({"maxTokensField": "max_tokens"}, {"max_tokens": 4096}, "max_completion_tokens"),
    ],
)
def test_an_endpoint_is_asked_in_the_way_it_takes(
    compat: dict[str, Any],
    expected: dict[str, Any],
    absent: str,
    server: ModelServer,
    make_runtimes: MakeRuntimes,
    agent_dir: Path,
    tmp_path: Path,
) -> None:
    """``compat`` of models.json says how an endpoint differs."""
    change_model(agent_dir, "labserver", {"reasoning": True, "compat": compat})
    stored_thread(make_runtimes("labserver/lab-coder"), tmp_path, []).run("Think")
    body = server.requests()[-1].body
    assert {key: body[key] for key in expected} == expected
    assert absent not in body


def test_sampling_and_headers_of_models_json_go_out(
    server: ModelServer, make_runtimes: MakeRuntimes, agent_dir: Path, tmp_path: Path
) -> None:
    """What a person configures for a model is sent with every request."""
    changes = {"samplingParams": {"temperature": 0.2, "top_k": 5}, "headers": {"X-Team": "blue"}}
    change_model(agent_dir, "labserver", changes)
    stored_thread(make_runtimes("labserver/lab-coder"), tmp_path, []).run("Hello")
    request = server.requests()[-1]
    assert (request.body["temperature"], request.body["top_k"]) == (0.2, 5)
    assert request.headers["x-team"] == "blue"


def test_an_answer_is_asked_to_fit_into_the_window(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The longer the conversation, the less may be answered, so that both fit."""
    thread = stored_thread(make_runtimes("labserver/lab-coder"), tmp_path, [user("word " * 18000)])
    thread.run("And?")
    assert 1000 < server.requests()[-1].body["max_completion_tokens"] < 4096
