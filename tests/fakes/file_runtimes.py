"""A ``RuntimeFactory`` whose runtimes answer from a script and write real session files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from enso.host.contract import HostReadiness, ModelInUse, PromptImage
from enso.host.decode import decode_entry
from enso.host.session_file import SessionFile
from enso.transcript import (
    Part,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    TranscriptEntry,
)
from tests.fakes.scripted_runtime import (
    MODEL,
    MODEL_IN_USE,
    PROVIDER,
    Reply,
    Script,
    ScriptedRuntime,
)

NAMES = {PROVIDER: "Scripted"}
STORED_STOP_REASONS: Mapping[StopReason, str] = {
    "stop": "stop",
    "tool-use": "toolUse",
    "error": "error",
    "aborted": "aborted",
}


class ScriptedRuntimes:
    """Builds ``ScriptedRuntime`` over session files; ``built`` lists the files it built for."""

    def __init__(self, *, model: ModelInUse | None = MODEL_IN_USE) -> None:
        self.script = Script()
        self.built: list[SessionFile] = []
        self.closed = False
        self._model = model

    def build(self, session: SessionFile) -> ScriptedRuntime:
        """A runtime that writes to ``session``."""
        self.built.append(session)
        return ScriptedRuntime(_FileLog(session), self.script, model=self._model)

    def readiness(self, transcript: Sequence[TranscriptEntry]) -> HostReadiness:
        """The one scripted model, or what to do without one."""
        del transcript
        what_to_do = "" if self._model is not None else "Configure a model."
        return HostReadiness(model=self._model, what_to_do=what_to_do)

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id."""
        return NAMES.get(provider, provider)

    def close(self) -> None:
        """Nothing to end."""
        self.closed = True


class _FileLog:
    def __init__(self, session: SessionFile) -> None:
        self._session = session

    def store_prompt(self, message: str, images: Sequence[PromptImage]) -> TranscriptEntry:
        content: list[dict[str, Any]] = [{"type": "text", "text": message}]
        content += [{"type": "image", "data": i.data, "mimeType": i.mime_type} for i in images]
        return self._store({"role": "user", "content": content, "timestamp": _now_ms()})

    def begin_answer(self) -> tuple[str, int]:
        self._session.begin()
        return self._session.new_entry_id(), _now_ms()

    def store_answer(
        self,
        entry_id: str,
        created_at: int,
        reply: Reply,
        parts: tuple[Part, ...],
        stop_reason: StopReason,
    ) -> TranscriptEntry:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": [_block(part) for part in parts],
            "provider": PROVIDER,
            "model": MODEL,
            "usage": _stored_usage(reply),
            "stopReason": STORED_STOP_REASONS[stop_reason],
            "timestamp": created_at,
        }
        if stop_reason == "error" and reply.refusal is not None:
            status = f"{reply.refusal.status} " if reply.refusal.status is not None else ""
            message["errorMessage"] = f"{status}{reply.refusal.reason}"
        return self._store(message, entry_id)

    def _store(self, message: dict[str, Any], entry_id: str | None = None) -> TranscriptEntry:
        entry = self._session.append("message", {"message": message}, entry_id=entry_id)
        return decode_entry(entry, providers=lambda provider: NAMES.get(provider, provider))


def _block(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text):
            return {"type": "text", "text": text}
        case ThinkingPart(text):
            return {"type": "thinking", "thinking": text}
        case ToolCallPart(call_id, name, arguments):
            return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        case _:
            raise AssertionError(part)


def _stored_usage(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    return {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "totalTokens": usage.total_tokens,
        "cost": {"total": usage.cost},
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
