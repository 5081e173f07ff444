"""What of a stored branch is a model's business, compared with what pi itself says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import SessionUnreadable
from enso.host.runtimes.builtin.session_context import session_context
from enso.host.runtimes.builtin.thread_settings import thread_level, thread_model
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
