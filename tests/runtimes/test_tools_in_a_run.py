"""An agent's turns: calls run, their results are stored as pi stores them, and it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import (
    EntryStored,
    PartReplaced,
    RunSettled,
    ToolCallVerdict,
    ToolProgress,
)
from enso.host.hosted_thread import SessionThread
from enso.host.runtimes.builtin.tools import TOOLS
from enso.transcript import ToolCallPart, TranscriptToolResult
from tests.model_server import Gate, ModelServer, Reply
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread, assistant, new_thread, stored_thread, user
from tests.runtimes.test_turns import MODELS, every_protocol

DONE = Reply(text=("Done.",))


@pytest.fixture
def agent(thread: LiveThread) -> LiveThread:
    """A new thread that asks nobody."""
    thread.runtime.set_mode("auto")
    return thread


def call(name: str, call_id: str = "", **arguments: Any) -> dict[str, Any]:
    """A tool call of a scripted reply."""
    made = {"name": name, "args": arguments}
    return {**made, "id": call_id} if call_id else made


# -- one turn -------------------------------------------------------------------------------------


@every_protocol
def test_a_call_runs_and_its_result_is_sent_back(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Over each protocol: call, result, answer, all in one run, the same live and cold."""
    (tmp_path / "a.py").write_text("x = 1\n")
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([Reply(text=("I look.",), tools=[call("read", "call_7", path="a.py")]), DONE])
    assert thread.run("Look") == RunSettled("complete")
    assert thread.kinds()[-4:] == [
        "message:user",
        "message:assistant",
        "message:toolResult",
        "message:assistant",
    ]
    asked = thread.messages()[-3]
    assert asked["stopReason"] == "toolUse"
    assert asked["content"][1]["arguments"] == {"path": "a.py"}
    result = thread.results()[0]
    assert result["toolCallId"] == asked["content"][1]["id"]
    assert result["content"] == [{"type": "text", "text": "x = 1\n"}]
    assert thread.last_answer["content"][0]["text"] == "Done."
    assert "x = 1" in str(server.requests()[-1].body)
    assert tuple(thread.stored_live()) == thread.read_cold()
    assert thread.activities == ["asking", "answering", "tools", "asking", "answering"]


@every_protocol
def test_every_tool_is_declared_to_the_provider(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """By name, and with the schema that is stored with the thread."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    thread.run("Hello")
    declared = declarations(api, server.requests()[-1].body)
    stored = {tool["name"]: tool for tool in thread.messages()[0]["toolsAdded"]}
    assert list(declared) == list(stored) == list(TOOLS)
    schema = stored["bash"]["parameters"]
    assert declared["bash"]["required"] == schema["required"]
    assert declared["bash"]["properties"].keys() == schema["properties"].keys()


def declarations(api: str, body: Any) -> dict[str, Any]:
    """The schemas by name that a request declares."""
    match api:
        case "openai-completions":
            return {t["function"]["name"]: t["function"]["parameters"] for t in body["tools"]}
        case "openai-responses":
            return {tool["name"]: tool["parameters"] for tool in body["tools"]}
        case "anthropic-messages":
            return {tool["name"]: tool["input_schema"] for tool in body["tools"]}
        case _:
            tools = [t for group in body["tools"] for t in group["functionDeclarations"]]
            return {tool["name"]: tool["parameters_json_schema"] for tool in tools}


def test_a_result_has_the_fields_of_pi_in_its_order(agent: LiveThread, server: ModelServer) -> None:
    """Role, call, name, content, details, error, duration, time; no details where pi has none."""
    tools = [call("write", path="n.txt", content="one"), call("edit", path="n.txt", edits=EDITS)]
    server.script([Reply(tools=[tool]) for tool in tools] + [DONE])
    agent.run("Write")
    written, edited = agent.results()
    plain = ["role", "toolCallId", "toolName", "content", "isError", "durationMs", "timestamp"]
    assert list(written) == plain
    assert list(edited) == [*plain[:4], "details", *plain[4:]]
    assert edited["details"]["diff"] == "-1 one\n+1 two"
    assert isinstance(edited["durationMs"], int)


EDITS = [{"oldText": "one", "newText": "two"}]


@pytest.mark.parametrize(
    "made, text",
    [
        (call("frobnicate", x=1), "Tool frobnicate not found"),
        (
            call("write", content="no path given"),
            (
                'Validation failed for tool "write":\n  - path: missing\n\nReceived arguments:\n'
                '{\n  "content": "no path given"\n}'
            ),
        ),
    ],
    ids=["unknown tool", "wrong arguments"],
)
def test_a_call_that_cannot_run_fails_in_the_words_of_pi(
    made: dict[str, Any], text: str, thread: LiveThread, server: ModelServer
) -> None:
    """Nobody is asked about it, it has no duration, and the model goes on."""
    server.script([Reply(tools=[made]), DONE])
    assert thread.run("Do") == RunSettled("complete")
    result = thread.results()[0]
    assert result["content"] == [{"type": "text", "text": text}]
    assert (result["details"], result["isError"]) == ({}, True)
    assert "durationMs" not in result


def test_calls_of_an_answer_that_was_cut_are_not_run(
    agent: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """Their arguments may be incomplete: each fails, and the model may make them again."""
    cut = call("write", path="half.txt", content="ha")
    server.script([Reply(tools=[cut], finish="length"), DONE])
    assert agent.run("Write") == RunSettled("complete")
    assert agent.results()[0]["isError"] is True
    assert "was not run" in agent.results()[0]["content"][0]["text"]
    assert not (tmp_path / "half.txt").exists()


def test_the_bundled_model_is_told_of_no_tools(make_runtimes: MakeRuntimes, tmp_path: Path) -> None:
    """It reads slowly and uses none: its system message is short."""
    from enso.host.runtimes.builtin.system_prompt import declared_tools, system_sections
    from enso.host.runtimes.models.local_weights import LOCAL_MODEL

    (tmp_path / "AGENTS.md").write_text("Be exact. " * 500)
    assert declared_tools(LOCAL_MODEL) == {}
    sections = system_sections(tmp_path, tmp_path / "agent", LOCAL_MODEL)
    assert len("".join(sections.values())) < 600


# -- several calls --------------------------------------------------------------------------------


def test_calls_of_one_message_run_at_the_same_time_and_are_stored_in_order(
    agent: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """The first waits for what the second does, so both run; results are in call order."""
    waits = "until [ -e go ]; do sleep 0.02; done; echo first"
    calls = [call("bash", command=waits), call("bash", command="touch go; echo second")]
    server.script([Reply(tools=calls), DONE])
    assert agent.run("Both") == RunSettled("complete")
    assert [result["content"][0]["text"] for result in agent.results()] == ["first\n", "second\n"]
    ids = [block["id"] for block in agent.messages()[-4]["content"]]
    assert [result["toolCallId"] for result in agent.results()] == ids


def test_a_result_is_stored_as_soon_as_those_before_it_are(
    agent: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """What is done is on disk while another call still runs: a kill does not lose it."""
    waits = "until [ -e go ]; do sleep 0.02; done"
    server.script([Reply(tools=[call("bash", command="echo one"), call("bash", command=waits)])])
    agent.start("Both")
    agent.wait_until(lambda: any(isinstance(e, TranscriptToolResult) for e in agent.stored_live()))
    assert [result["content"][0]["text"] for result in agent.results()] == ["one\n"]
    (tmp_path / "go").touch()
    agent.wait_settled()
    assert len(agent.results()) == 2


def test_output_is_told_while_a_tool_runs(
    agent: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """Progress names the call, and comes before its result."""
    command = "echo started; until [ -e go ]; do sleep 0.02; done; echo ended"
    server.script([Reply(tools=[call("bash", "call_p", command=command)]), DONE])
    agent.start("Run")
    assert agent.wait_for(ToolProgress) == ToolProgress("call_p", "started\n")
    assert not agent.results()
    (tmp_path / "go").touch()
    assert agent.wait_settled() == RunSettled("complete")
    assert agent.results()[0]["content"][0]["text"] == "started\nended\n"


def test_a_run_may_make_two_hundred_calls(agent: LiveThread, server: ModelServer) -> None:
    """Every call has its result behind it, and the last request holds all of them."""
    calls = [call("bash", command=f"echo {number}") for number in range(200)]
    server.script([*(Reply(tools=calls[n : n + 5]) for n in range(0, 200, 5)), DONE])
    assert agent.run("Count") == RunSettled("complete")
    texts = [result["content"][0]["text"] for result in agent.results()]
    assert texts == [f"{n}\n" for n in range(200)]
    last = server.requests()[-1].body["messages"]
    assert [m["content"] for m in last if m["role"] == "tool"] == texts
    assert tuple(agent.stored_live()) == agent.read_cold()


# -- what a thread declares -----------------------------------------------------------------------


def test_a_thread_of_another_program_is_brought_in_line_by_tools_alone(
    make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """Its prompt stays; tools that it lacks are added, tools that nobody has are taken out."""
    read = {"name": "read", "description": "Theirs.", "parameters": {"type": "object"}}
    system = {
        "role": "system",
        "content": "",
        "sections": {"preamble": "You are theirs.", "rules": "Their rules."},
        "timestamp": 0,
        "toolsAdded": [read, {**read, "name": "codemode"}],
    }
    entries = [{"type": "message", "message": system}, user("One?"), assistant("One.")]
    thread = stored_thread(make_runtimes("labserver/lab-coder"), tmp_path, entries)
    thread.run("Two?")
    added = thread.messages()[3]
    assert [tool["name"] for tool in added["toolsAdded"]] == [n for n in TOOLS if n != "read"]
    assert added["toolsRemoved"] == [{"name": "codemode"}]
    assert "sections" not in added
    body = server.requests()[-1].body
    declared = {tool["function"]["name"]: tool["function"] for tool in body["tools"]}
    assert declared.keys() == TOOLS.keys()
    assert declared["read"]["description"] == "Theirs."
    assert body["messages"][0]["content"] == "You are theirs.\n\nTheir rules."
    thread.run("Three?")
    assert thread.kinds()[-2:] == ["message:user", "message:assistant"]


def test_instructions_that_change_are_told_with_the_next_prompt(
    thread: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """Only the section that changed is stored; the request has it in its place."""
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    thread.run("One")
    (tmp_path / "AGENTS.md").write_text("Use spaces.")
    thread.run("Two")
    thread.run("Three")
    systems = [message for message in thread.messages() if message["role"] == "system"]
    assert [list(message["sections"]) for message in systems[1:]] == [["project_context"]]
    sent = server.requests()[-1].body["messages"][0]["content"]
    assert "Use spaces." in sent
    assert "Use tabs." not in sent


# -- the guard is one -----------------------------------------------------------------------------


def test_probing_a_call_says_what_the_guard_says(thread: LiveThread) -> None:
    """By the mode as it is, and what is no tool or no call is said as such."""
    hosted = SessionThread(thread.session, thread.runtime, lambda provider: provider)
    assert hosted.probe_tool_call("bash", {"command": "ls"}) == ToolCallVerdict(verdict="ask")
    thread.runtime.set_mode("auto")
    assert hosted.probe_tool_call("bash", {"command": "ls"}) == ToolCallVerdict(verdict="allow")
    thread.runtime.set_mode("plan")
    refused = hosted.probe_tool_call("write", {"path": "a", "content": ""})
    assert refused is not None
    assert refused.verdict == "refuse"
    assert hosted.probe_tool_call("frobnicate", {}) is None
    wrong = hosted.probe_tool_call("read", {})
    assert wrong is not None
    assert wrong.verdict == "refuse"


def test_a_call_streams_before_it_runs(agent: LiveThread, server: ModelServer) -> None:
    """A person sees what is going to be run, whole."""
    gate = Gate()
    server.script([Reply(tools=[call("read", path="a.py")], gate=gate), DONE])
    agent.start("Look")
    gate.reached.wait(20)
    gate.open()
    agent.wait_settled()
    names = [type(event) for event in agent.events]
    part = agent.told(PartReplaced)[-1].part
    assert isinstance(part, ToolCallPart)
    assert part.arguments == {"path": "a.py"}
    assert names.index(PartReplaced) < len(names) - names[::-1].index(EntryStored)
