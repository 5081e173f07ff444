"""What of a stored branch is a model's business, compared with what pi itself says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enso.host.contract import SessionUnreadable
from enso.host.runtimes.builtin.context import context_messages
from enso.host.runtimes.builtin.conversation import library_messages
from enso.host.runtimes.models.known_providers import APIS
from enso.host.runtimes.models.model import Model
from enso.host.runtimes.thread_settings import thread_level, thread_model
from enso.host.session_context import session_context
from enso.host.session_file import SessionFile

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
EXPECTED: dict[str, Any] = json.loads((CORPUS / "expected.json").read_text())["files"]


def opened(name: str) -> list[dict[str, Any]]:
    """The branch of a file of the corpus, read in place."""
    return SessionFile.open(CORPUS / name).branch()


def opening() -> list[str]:
    """The files that pi opens, and reads without a fault of its own."""
    return [
        name
        for name, said in EXPECTED.items()
        if said["open"]["ok"] and "context" in said["open"] and (CORPUS / name).exists()
    ]


@pytest.mark.parametrize("name", opening())
def test_the_context_is_pis_context(name: str) -> None:
    """Over the whole corpus: the same roles in the same order, and the same model and level."""
    said = EXPECTED[name]["open"]["context"]
    try:
        branch = opened(name)
    except SessionUnreadable:
        assert said["messageCount"] == 0, "only a file with nothing in it may not open"
        return
    roles = [str(message.get("role")) for message in session_context(branch)]
    assert roles == said["roles"]
    model = said["model"]
    named = (model["provider"], model["modelId"]) if model else None
    assert thread_model(branch) == named
    assert (thread_level(branch) or "off") == said["thinkingLevel"]


@pytest.mark.parametrize("content", [None, 7, {}, [None, 7, "text"], [{"type": 7}]])
def test_content_that_is_no_content_is_no_fault(content: Any) -> None:
    """Whatever JSON stands in a message, the context is built."""
    branch = [
        {"type": "message", "id": "1", "message": {"role": "user", "content": content}},
        {"type": "message", "id": "2", "message": content},
        {"type": "compaction", "id": "3", "summary": content, "firstKeptEntryId": content},
        {"type": "context_edit", "id": "4", "targetId": "1", "replacement": content},
        {"type": "custom_message", "id": "5", "content": content},
    ]
    assert session_context(branch)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def sometimes(*values: Any) -> st.SearchStrategy[Any]:
    """One of the values that have a meaning, or any JSON at all."""
    return st.sampled_from(values) | ANY_JSON


BLOCK = ANY_JSON | st.fixed_dictionaries(
    {"type": sometimes("text", "thinking", "image", "toolCall")},
    optional={
        "text": sometimes("words", ""),
        "thinking": sometimes("hm"),
        "thinkingSignature": sometimes("reasoning", '{"id": "rs_1", "encrypted_content": "x"}'),
        "textSignature": sometimes('{"id": "m"}'),
        "redacted": ANY_JSON,
        "data": sometimes("aGVsbG8=", "no"),
        "mimeType": sometimes("image/png"),
        "id": sometimes("c1"),
        "name": sometimes("read"),
        "arguments": sometimes({"a": 1}),
    },
)
MESSAGE = ANY_JSON | st.fixed_dictionaries(
    {"role": sometimes("user", "assistant", "toolResult", "system", "bashExecution")},
    optional={
        "content": sometimes("text") | st.lists(BLOCK, max_size=3),
        "provider": sometimes("p"),
        "api": sometimes(*APIS),
        "model": sometimes("m"),
        "toolCallId": sometimes("c1"),
        "toolName": sometimes("read"),
        "isError": ANY_JSON,
        "stopReason": sometimes("stop"),
        "responseId": sometimes("r"),
        "sections": sometimes({"a": "b", "c": None}),
        "command": sometimes("ls"),
        "output": sometimes("x"),
        "exitCode": ANY_JSON,
    },
)
ENTRY = st.fixed_dictionaries(
    {
        "type": sometimes("message", "compaction", "context_edit", "custom_message"),
        "id": st.sampled_from("1234"),
    },
    optional={
        "message": MESSAGE,
        "summary": sometimes("s"),
        "firstKeptEntryId": sometimes("1"),
        "systemMessage": MESSAGE,
        "targetId": sometimes("1", "2"),
        "replacement": sometimes(None, {"content": "new"}),
        "content": sometimes("text"),
    },
)


@settings(max_examples=100, deadline=None)
@given(branch=st.lists(ENTRY, max_size=6), api=st.sampled_from(sorted(APIS)))
def test_whatever_is_stored_can_be_sent(branch: list[dict[str, Any]], api: Any) -> None:
    """No stored JSON keeps a thread from going on: what cannot be told is left out."""
    model = Model(
        provider="p",
        provider_name="P",
        id="m",
        label="M",
        api=api,
        base_url="http://x",
        images=True,
    )
    messages = context_messages(session_context(branch), model)
    assert [m["role"] for m in messages].count("system") <= 1
    for message in library_messages(messages, model, system="p"):
        assert message.parts
