"""A request that is made of the last one: the same as if the whole branch were converted again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from enso.host.runtimes.builtin.answer import Request
from enso.host.runtimes.builtin.connection import Asked, Connections
from enso.host.runtimes.builtin.kept_conversation import KeptConversation
from enso.host.runtimes.builtin.request import branch_request
from enso.host.runtimes.builtin.timeouts import Timeouts
from enso.host.runtimes.models.configuration import ConfigurationFiles
from enso.host.runtimes.models.model_choice import usable_model
from enso.host.runtimes.models.model_description import ModelName
from enso.host.runtimes.models.provider_keys import Access
from enso.host.session_context import Stored
from enso.host.session_log import read_session
from tests.host.corpus import ALL
from tests.model_server import configure

MODELS = [
    ModelName("labserver", "lab-coder"),
    ModelName("labresponses", "lab-thinker"),
    ModelName("labclaude", "lab-sonnet"),
    ModelName("labgoogle", "lab-gemini"),
]
OPENED = [recorded for recorded in ALL if recorded.opened and recorded.says["size"]]


class Asking:
    """Makes requests of branches to one model, without sending them."""

    def __init__(self, agent_dir: Path, name: ModelName) -> None:
        configure(agent_dir, "http://127.0.0.1:1")
        self.model = usable_model(ConfigurationFiles(agent_dir).current(), name)
        self.built = Connections(Timeouts()).model(self.model, Access(key="lab-key", headers={}))
        self.kept = KeptConversation()

    def ask(self, branch: list[Stored], kept: KeptConversation | None = None) -> Request:
        """A request for the next message of a branch."""
        return branch_request(
            self.built,
            self.model,
            branch,
            asked=Asked(level="off", thread_id="t1"),
            kept=kept or self.kept,
        )


@pytest.fixture(params=MODELS, ids=str)
def asking(request: pytest.FixtureRequest, tmp_path: Path) -> Asking:
    """A model of each protocol."""
    return Asking(tmp_path, request.param)


def told(request: Request) -> Any:
    """All that a request says, but for when its messages were made of the entries."""
    messages = ModelMessagesTypeAdapter.dump_python(list(request.messages), mode="json")
    return _without_times(messages), request.parameters, request.settings


def _without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_times(one) for one in value]
    if isinstance(value, dict):
        return {key: _without_times(one) for key, one in value.items() if key != "timestamp"}
    return value


def test_a_branch_that_grows_is_asked_about_as_if_it_were_new(asking: Asking) -> None:
    """Entry by entry over every recorded session, with its summaries, edits, tools and damage."""
    for recorded in OPENED:
        log = read_session(recorded.path)
        assert log is not None, str(recorded)
        branch = log.branch()
        for length in range(1, len(branch) + 1):
            stretch = branch[:length]
            whole = asking.ask(stretch, KeptConversation())
            assert told(asking.ask(stretch)) == told(whole), (str(recorded), length)


def said(number: int, role: str, *blocks: Stored, **fields: Any) -> Stored:
    """A message's entry."""
    content = list(blocks) or [{"type": "text", "text": f"Message {number}."}]
    message = {"role": role, "content": content, "timestamp": 0, **fields}
    return {"type": "message", "id": f"{number:08x}", "parentId": None, "message": message}


def test_only_what_came_is_converted(asking: Asking) -> None:
    """What was sent before goes out again as the very same messages."""
    roles = ("user", "assistant")
    branch = [said(number, roles[number % 2]) for number in range(21)]
    first = asking.ask(branch)
    second = asking.ask([*branch, said(21, "assistant"), said(22, "user")])
    assert len(second.messages) == len(first.messages) + 2
    pairs = zip(first.messages, second.messages, strict=False)
    assert all(before is after for before, after in pairs)


def test_tools_are_declared_once_for_all_threads(asking: Asking) -> None:
    """Of two threads with the same tools the second one's are those of the first, as sent."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tools = [{"name": "read", "description": "Read.", "parameters": schema}]

    def sent(tools: list[Stored]) -> Any:
        branch = [said(0, "system", toolsAdded=tools), said(1, "user")]
        parameters = asking.ask(branch, KeptConversation()).parameters
        return asking.built.prepare_request(None, parameters)[1].function_tools

    first, again = sent(tools), sent([dict(tools[0])])
    assert again[0].parameters_json_schema is first[0].parameters_json_schema
    other = sent([{**tools[0], "description": "Read it."}])
    assert other[0].description == "Read it."
    assert [tool.name for tool in first] == ["read"]


def test_what_changes_the_past_has_all_of_it_converted_again(asking: Asking) -> None:
    """An edit, another branch, a tool that is declared, a late result, another model."""
    branch = [said(number, ("user", "assistant")[number % 2]) for number in range(5)]
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {}}
    called = [*branch, said(5, "assistant", call)]
    edit = {"type": "context_edit", "id": "e", "targetId": "00000001", "replacement": None}
    tools = {"toolsAdded": [{"name": "read", "description": "", "parameters": {}}]}
    result = said(6, "toolResult", toolCallId="c1", toolName="read", isError=False)
    for before, after in (
        (branch, [*branch, edit]),
        (branch, [*branch[:3], said(9, "assistant"), said(10, "user")]),
        (branch, [*branch, said(9, "system", **tools)]),
        (called, [*called, result]),
        (branch, branch[:3]),
    ):
        asking.kept.forget()
        asking.ask(before)
        assert told(asking.ask(after)) == told(asking.ask(after, KeptConversation()))
