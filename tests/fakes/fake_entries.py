"""Entries as tests write them, a thread of them as it is stored in memory, and what they tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import to_builtins

from enso.host.contract import (
    ThreadEnd,
)
from enso.transcript import (
    Part,
    Refusal,
    StopReason,
    TextPart,
    ToolCallPart,
    TranscriptEntry,
    TranscriptMessage,
    TranscriptToolResult,
    Usage,
)
from tests.fakes.fake_tree import FakeTree
from tests.fakes.scripted_runtime import (
    MODEL,
    PROVIDER,
)


def user(text: str, *, id: str = "", created_at: int | None = None) -> TranscriptMessage:  # noqa: A002
    """A prompt. Without an id and a time it gets the host's next ones when it is stored."""
    return TranscriptMessage(
        id=id, created_at=created_at, role="user", parts=(TextPart(text),) if text else ()
    )


def assistant(
    text: str = "",
    *,
    id: str = "",  # noqa: A002
    created_at: int | None = None,
    stop_reason: StopReason = "stop",
    refusal: Refusal | None = None,
    parts: tuple[Part, ...] | None = None,
    usage: Usage | None = None,
) -> TranscriptMessage:
    """An answer; a refused attempt when it has a refusal."""
    return TranscriptMessage(
        id=id,
        created_at=created_at,
        role="assistant",
        parts=parts if parts is not None else ((TextPart(text),) if text else ()),
        provider=PROVIDER,
        model=MODEL,
        stop_reason="error" if refusal is not None else stop_reason,
        refusal=refusal,
        usage=usage,
    )


@dataclass
class Stored:
    """A thread as it is stored. ``version`` counts the writes, whoever made them."""

    id: str
    directory: Path
    name: str | None = None
    entries: list[TranscriptEntry] = field(default_factory=list[TranscriptEntry])
    tree: FakeTree = field(default_factory=FakeTree)
    version: int = 0
    unreadable: str = ""

    @property
    def leaf(self) -> str | None:
        """The id of the last entry of the branch."""
        return self.entries[-1].id if self.entries else None

    def extend(self, *entries: TranscriptEntry) -> None:
        """Put entries at the end of the branch."""
        self.tree.grow(self.leaf, *entries)
        self.entries.extend(entries)


def entry_text(entries: Sequence[TranscriptEntry], entry_id: str) -> str | None:
    """An entry as JSON to be looked at."""
    found = next((entry for entry in entries if entry.id == entry_id), None)
    return json.dumps(to_builtins(found), indent=2) if found is not None else None


def spend(entries: Sequence[TranscriptEntry]) -> Usage:
    """The usage of all entries."""
    return sum((entry.usage for entry in entries if entry.usage is not None), Usage())


def end_of(entries: Sequence[TranscriptEntry]) -> ThreadEnd:
    """How a transcript ends, by its last message."""
    for entry in reversed(entries):
        if isinstance(entry, TranscriptToolResult):
            return "interrupted"
        if isinstance(entry, TranscriptMessage):
            return _end_of_message(entry)
    return "empty"


def _end_of_message(message: TranscriptMessage) -> ThreadEnd:
    if message.role == "user":
        return "interrupted"
    if message.stop_reason in ("error", "aborted", "length"):
        ends: dict[str, ThreadEnd] = {
            "error": "refused",
            "aborted": "aborted",
            "length": "cut-by-length",
        }
        return ends[message.stop_reason]
    calls = any(isinstance(part, ToolCallPart) for part in message.parts)
    return "interrupted" if calls else "complete"


def text_of(message: TranscriptMessage) -> str:
    """The text of a message."""
    return " ".join(part.text for part in message.parts if isinstance(part, TextPart))
