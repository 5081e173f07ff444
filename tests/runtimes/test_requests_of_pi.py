"""What a provider is sent of a recorded session is what real pi sends of it.

``tests/data/pi_requests.json`` holds, for each session of the corpus, the messages that pi 1.6.0
sent with the prompt "Go on." (system messages left out, long texts as their digest).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from enso.host.session_file import SessionFile
from tests.host.corpus import CORPUS
from tests.model_server import ModelServer
from tests.runtimes.agent_files import write_json, write_provider
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread

RECORDED: dict[str, Any] = json.loads((CORPUS.parent / "pi_requests.json").read_text("utf-8"))
LONGEST = 300


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_session_goes_out_as_pi_sends_it(
    name: str, make_runtimes: MakeRuntimes, agent_dir: Path, server: ModelServer, tmp_path: Path
) -> None:
    """Message for message: roles, texts, calls, results, images, thoughts."""
    write_json(agent_dir / "settings.json", {"compaction": {"enabled": False}})
    provider = json.loads((agent_dir / "models.json").read_text())["providers"]["labserver"]
    more = [{**provider["models"][0], "id": model} for model in ("lab-mini", "lab-text")]
    write_provider(agent_dir, "labserver", {**provider, "models": [*provider["models"], *more]})
    path = tmp_path / "session.jsonl"
    shutil.copy(CORPUS / name, path)
    thread = LiveThread(make_runtimes(), SessionFile.open(path))
    thread.run("Go on.")
    request = server.requests()[0]
    assert request.api == RECORDED[name]["api"]
    sent = json.loads(json.dumps(request.body["messages"]))
    assert as_said(sent) == as_said(RECORDED[name]["messages"])


def as_said(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages without what is only a way of writing: who follows oneself goes on."""
    said: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] in ("system", "developer"):
            continue
        one = {k: v for k, v in message.items() if k != "content"}
        one["content"] = [_block(block) for block in _blocks(message.get("content"))]
        for call in one.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        if message["role"] == "user" and said and said[-1]["role"] == "user":
            said[-1]["content"] += one["content"]
        else:
            said.append(one)
    return said


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content or []


def _block(block: dict[str, Any]) -> dict[str, Any]:
    block = {k: v for k, v in block.items() if k != "cache_control"}
    if "content" in block:
        block["content"] = [_block(inner) for inner in _blocks(block["content"])]
    return {k: _digest(v) for k, v in block.items()}


def _digest(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _digest(v) for k, v in value.items()}
    if isinstance(value, str) and len(value) > LONGEST:
        return f"sha256:{hashlib.sha256(value.encode()).hexdigest()}"
    return value
