"""Stored entries to the transcript: same length, same order, whatever JSON is in there.

Owns what each stored shape means to a reader. Never raises: what cannot
be understood is ``TranscriptOther`` or an empty part. All text that leaves can be encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from enso.host.json_lines import clean_text, plain
from enso.host.stored_values import (
    NOTHING,
    Stored,
    count_of,
    milliseconds,
    object_of,
    text_of,
)
from enso.host.usage import read_usage, usage_of_entry
from enso.transcript import (
    ImagePart,
    OtherPart,
    Part,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    TranscriptCustom,
    TranscriptEntry,
    TranscriptLabel,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptModelChange,
    TranscriptOther,
    TranscriptThinkingLevel,
    TranscriptToolResult,
)

ProviderNames = Callable[[str], str]
"""A provider's display name by its id."""

_STOP_REASONS: Final[dict[str, StopReason]] = {
    "stop": "stop",
    "length": "length",
    "toolUse": "tool-use",
    "error": "error",
    "aborted": "aborted",
}


def decode_branch(
    entries: Iterable[Stored], *, providers: ProviderNames
) -> tuple[TranscriptEntry, ...]:
    """The transcript of a branch: one value for each stored entry, in the same order."""
    return tuple(decode_entry(entry, providers=providers) for entry in entries)


def decode_entry(entry: Stored, *, providers: ProviderNames) -> TranscriptEntry:
    """One stored entry in our types. Never raises, whatever the entry holds."""
    kind = entry.get("type")
    if kind == "message":
        return _message(entry, object_of(entry.get("message")), providers)
    decoder = _BY_TYPE.get(kind) if isinstance(kind, str) else None
    return decoder(entry) if decoder else _other(entry, text_of(kind) or "unknown")


# -- fields ---------------------------------------------------------------------------------------


def _id(entry: Stored) -> str:
    return text_of(entry.get("id"))


def entry_time(entry: Stored, message: Stored = NOTHING) -> int | None:
    """When the entry was made: its message's own time, else the entry's."""
    own = count_of(message.get("timestamp"))
    return own if own is not None else milliseconds(entry.get("timestamp"))


def _duration(message: Stored) -> int | None:
    return count_of(message.get("durationMs"))


# -- messages -------------------------------------------------------------------------------------


def _message(entry: Stored, message: Stored, providers: ProviderNames) -> TranscriptEntry:
    role = message.get("role")
    if role == "user":
        return TranscriptMessage(
            id=_id(entry),
            created_at=entry_time(entry, message),
            role="user",
            parts=decode_parts(message.get("content")),
        )
    if role == "assistant":
        return _assistant(entry, message, providers)
    if role == "toolResult":
        return _tool_result(entry, message)
    if role == "bashExecution":
        return _shell(entry, message)
    if role == "custom":
        return _custom_message({**message, **{k: entry.get(k) for k in ("id", "timestamp")}})
    return _other(entry, f"message:{text_of(role) or 'unknown'}")


def _assistant(entry: Stored, message: Stored, providers: ProviderNames) -> TranscriptMessage:
    provider, model = text_of(message.get("provider")), text_of(message.get("model"))
    stop_reason = stop_reason_of(message.get("stopReason"))
    refusal = None
    if stop_reason == "error":
        from enso.host.refusals import read_refusal  # noqa: PLC0415 - few messages are one

        refusal = read_refusal(
            provider_name=providers(provider),
            model=model,
            error_message=text_of(message.get("errorMessage")),
        )
    return TranscriptMessage(
        id=_id(entry),
        created_at=entry_time(entry, message),
        role="assistant",
        parts=decode_parts(message.get("content")),
        provider=provider,
        model=model,
        usage=read_usage(message.get("usage")),
        stop_reason=stop_reason,
        refusal=refusal,
        duration_ms=_duration(message),
    )


def stop_reason_of(value: Any) -> StopReason | None:
    """How a stored reply ended; ``None`` where that is not stored."""
    if value is None:
        return None
    return _STOP_REASONS.get(value, "other") if isinstance(value, str) else "other"


def _tool_result(entry: Stored, message: Stored) -> TranscriptToolResult:
    return TranscriptToolResult(
        id=_id(entry),
        created_at=entry_time(entry, message),
        tool_call_id=text_of(message.get("toolCallId")),
        tool_name=text_of(message.get("toolName")),
        parts=decode_parts(message.get("content")),
        is_error=message.get("isError") is True,
        details=plain(message.get("details")),
        usage=usage_of_entry(entry),
        duration_ms=_duration(message),
    )


def _shell(entry: Stored, message: Stored) -> TranscriptMarker:
    """A command that a person ran: its output, and how it ended when it did not end well."""
    code = message.get("exitCode")
    ending = ""
    if message.get("cancelled") is True:
        ending = "cancelled"
    elif isinstance(code, int) and code:
        ending = f"exit code {code}"
    return TranscriptMarker(
        id=_id(entry),
        created_at=entry_time(entry, message),
        kind="shell",
        title=text_of(message.get("command")),
        text="\n\n".join(text for text in (text_of(message.get("output")), ending) if text),
    )


# -- parts ----------------------------------------------------------------------------------------


def decode_parts(content: Any) -> tuple[Part, ...]:
    """The parts of a stored ``content``: a text, a list of blocks, or nothing that can be read."""
    if isinstance(content, str):
        return (TextPart(clean_text(content)),) if content else ()
    if not isinstance(content, list):
        return ()
    return tuple(_part(block) for block in cast("list[Any]", content))


def _part(block: Any) -> Part:
    stored = object_of(block)
    kind = stored.get("type")
    if kind == "text" and isinstance(stored.get("text"), str):
        return TextPart(text_of(stored.get("text")))
    if kind == "thinking":
        return ThinkingPart(text_of(stored.get("thinking")))
    if kind == "image" and isinstance(stored.get("data"), str):
        return ImagePart(text_of(stored.get("mimeType")), text_of(stored.get("data")))
    if kind == "toolCall":
        return ToolCallPart(
            text_of(stored.get("id")), text_of(stored.get("name")), plain(stored.get("arguments"))
        )
    return OtherPart(text_of(kind) or "unknown")


def _joined_text(content: Any) -> str:
    """The text of a stored ``content``, its blocks on lines of their own."""
    return "\n".join(part.text for part in decode_parts(content) if isinstance(part, TextPart))


# -- entries that are no messages -----------------------------------------------------------------


def _other(entry: Stored, kind: str) -> TranscriptOther:
    return TranscriptOther(
        id=_id(entry), created_at=entry_time(entry), kind=kind, usage=usage_of_entry(entry)
    )


def _custom_message(entry: Stored) -> TranscriptEntry:
    if entry.get("display") is not True:
        return _other(entry, "custom_message")
    return TranscriptMarker(
        id=_id(entry),
        created_at=entry_time(entry),
        kind="custom",
        title=text_of(entry.get("customType")),
        text=_joined_text(entry.get("content")),
    )


def _compaction(entry: Stored) -> TranscriptMarker:
    tokens = count_of(entry.get("tokensBefore"))
    before = f", {tokens:,} tokens" if tokens else ""
    return TranscriptMarker(
        id=_id(entry),
        created_at=entry_time(entry),
        kind="compaction",
        title=f"Earlier messages were summed up for the model{before}",
        usage=usage_of_entry(entry),
        text=text_of(entry.get("summary")),
    )


def _branch_summary(entry: Stored) -> TranscriptMarker:
    return TranscriptMarker(
        id=_id(entry),
        created_at=entry_time(entry),
        kind="branch-summary",
        title="Another branch was summed up",
        usage=usage_of_entry(entry),
        text=text_of(entry.get("summary")),
    )


def _custom(entry: Stored) -> TranscriptCustom:
    return TranscriptCustom(
        id=_id(entry),
        created_at=entry_time(entry),
        custom_type=text_of(entry.get("customType")),
        data=plain(entry.get("data")),
    )


def _model_change(entry: Stored) -> TranscriptModelChange:
    return TranscriptModelChange(
        id=_id(entry),
        created_at=entry_time(entry),
        provider=text_of(entry.get("provider")),
        model=text_of(entry.get("modelId")),
    )


def _label(entry: Stored) -> TranscriptLabel:
    return TranscriptLabel(
        id=_id(entry),
        created_at=entry_time(entry),
        target_id=text_of(entry.get("targetId")),
        label=text_of(entry.get("label")),
    )


def _thinking_level(entry: Stored) -> TranscriptThinkingLevel:
    return TranscriptThinkingLevel(
        id=_id(entry), created_at=entry_time(entry), level=text_of(entry.get("thinkingLevel"))
    )


_BY_TYPE: Final[dict[str, Callable[[Stored], TranscriptEntry]]] = {
    "custom_message": _custom_message,
    "compaction": _compaction,
    "branch_summary": _branch_summary,
    "custom": _custom,
    "label": _label,
    "model_change": _model_change,
    "thinking_level_change": _thinking_level,
}
