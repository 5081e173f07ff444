"""A ``RuntimeFactory`` whose runtimes answer from a script and write real session files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from enso.host.contract import (
    Command,
    HostReadiness,
    HostReport,
    ModelChoice,
    ModelInUse,
    PromptImage,
)
from enso.host.decode import decode_branch, decode_entry
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
    COMMANDS,
    MODEL_CHOICES,
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
        return _name(provider)

    def models(self) -> list[ModelChoice]:
        """Two scripted models."""
        return list(MODEL_CHOICES)

    def report(self) -> HostReport:
        """Nothing to say."""
        return HostReport(checks=(), configuration={}, secrets=frozenset())

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The commands of any thread."""
        del directory
        return COMMANDS

    def prepare(self) -> None:
        """Nothing to load."""

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
        model: str,
    ) -> TranscriptEntry:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": [_block(part) for part in parts],
            "provider": PROVIDER,
            "model": model,
            "usage": _stored_usage(reply),
            "stopReason": STORED_STOP_REASONS[stop_reason],
            "timestamp": created_at,
        }
        if stop_reason == "error" and reply.refusal is not None:
            status = f"{reply.refusal.status} " if reply.refusal.status is not None else ""
            message["errorMessage"] = f"{status}{reply.refusal.reason}"
        return self._store(message, entry_id)

    def store_result(self, call: ToolCallPart, text: str, *, is_error: bool) -> TranscriptEntry:
        return self._store(
            {
                "role": "toolResult",
                "toolCallId": call.id,
                "toolName": call.name,
                "content": [{"type": "text", "text": text}],
                "isError": is_error,
                "timestamp": _now_ms(),
            }
        )

    def store_summary(self, summary: str) -> TranscriptEntry:
        fields = {"summary": summary, "firstKeptEntryId": "", "tokensBefore": 1000}
        return self._append("compaction", fields)

    def store_custom(self, custom_type: str, data: Any) -> TranscriptEntry:
        return self._append("custom", {"customType": custom_type, "data": data})

    def store_model(self, provider: str, model: str) -> TranscriptEntry:
        return self._append("model_change", {"provider": provider, "modelId": model})

    def store_level(self, level: str) -> TranscriptEntry:
        return self._append("thinking_level_change", {"thinkingLevel": level})

    def store_name(self, name: str) -> TranscriptEntry:
        return self._append("session_info", {"name": name})

    def store_label(self, entry_id: str, label: str) -> TranscriptEntry | None:
        if all(entry["id"] != entry_id for entry in self._session.entries()):
            return None
        fields = {"targetId": entry_id}
        return self._append("label", {**fields, "label": label} if label else fields)

    def go_to(self, entry_id: str | None) -> bool:
        known = {entry["id"]: entry for entry in self._session.entries()}
        if entry_id is not None and entry_id not in known:
            return False
        entry = known[entry_id] if entry_id is not None else {}
        said = entry.get("type") == "message" and entry["message"]["role"] == "user"
        return self._session.go_to(entry["parentId"] if said else entry_id)

    def transcript(self) -> Sequence[TranscriptEntry]:
        return decode_branch(self._session.branch(), providers=_name)

    def _store(self, message: dict[str, Any], entry_id: str | None = None) -> TranscriptEntry:
        return self._append("message", {"message": message}, entry_id)

    def _append(
        self, kind: str, fields: dict[str, Any], entry_id: str | None = None
    ) -> TranscriptEntry:
        entry = self._session.append(kind, fields, entry_id=entry_id)
        return decode_entry(entry, providers=_name)


def _name(provider: str) -> str:
    return NAMES.get(provider, provider)


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
        "cost": {"total": usage.cost, "priceUnknown": not usage.cost_known},
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
