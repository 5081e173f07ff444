"""What a branch says of its model and thinking level: the last word holds. Source: pi 1.6.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from enso.host.decode import text_of
from enso.host.session_context import message_of
from enso.transcript import (
    TranscriptEntry,
    TranscriptMessage,
    TranscriptModelChange,
)


def thread_model(branch: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """The provider id and model id of a stored branch; ``None`` when it names none.

    An entry that lacks one of the two names no model.
    """
    for entry in reversed(branch):
        message = message_of(entry)
        if entry.get("type") == "model_change":
            named = text_of(entry.get("provider")), text_of(entry.get("modelId"))
        elif message.get("role") == "assistant":
            named = text_of(message.get("provider")), text_of(message.get("model"))
        else:
            continue
        if all(named):
            return named
    return None


def transcript_model(transcript: Sequence[TranscriptEntry]) -> tuple[str, str] | None:
    """The same of a transcript of ours."""
    for entry in reversed(transcript):
        if not isinstance(entry, TranscriptModelChange | TranscriptMessage):
            continue
        if isinstance(entry, TranscriptMessage) and entry.role != "assistant":
            continue
        if entry.provider and entry.model:
            return entry.provider, entry.model
    return None


def thread_level(branch: Sequence[Mapping[str, Any]]) -> str | None:
    """The thinking level of a stored branch; ``None`` when it names none."""
    for entry in reversed(branch):
        if entry.get("type") == "thinking_level_change":
            return text_of(entry.get("thinkingLevel"))
    return None
