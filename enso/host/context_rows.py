"""What a context takes of each line of a session file: how long a message is, not what it says.

A message of a conversation becomes a row of its letters and of what its provider counted; an entry
that says more of a context than that (a summary, an edit, a system message) is kept as it is. As
stored entries of a branch (``ContextRow.stored``) both are measured by ``enso.host.context_walk``.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

from msgspec import UNSET, Raw, Struct, UnsetType, msgpack
from msgspec.json import Decoder

from enso.host.context_size import (
    LETTERS_OF_AN_IMAGE,
    Letters,
    counted_tokens,
    json_letters,
    letters_of,
    message_letters,
)
from enso.host.json_lines import parse_line, plain
from enso.host.session_context import Stored, message_of
from enso.host.session_log import Entry
from enso.host.session_rows import Shape, StoredLine, WholeLine, is_message_of, whole_line
from enso.host.session_spend import ScannedUsage, counts_of_scan
from enso.host.stored_values import count_of, milliseconds, object_of, text_of
from enso.host.usage import read_usage

_SIZED: Final = ("user", "assistant", "toolResult", "custom")
_UNANSWERED: Final = ("aborted", "error")

# One text by its name, as most calls have: written as it is stored.
_ONE_TEXT: Final = re.compile(rb'\{"[^"\\]*":"(?:[^"\\]|\\["\\nrtbf])*"\}')


class ContextRow(Struct, gc=False, array_like=True):
    """One entry: a message by its ``letters``, or whole as ``entry``.

    ``counted`` is what its provider counted for the answer, ``shown`` the part of it that was sent.
    """

    id: str
    parent: str | None
    role: str = ""
    letters: int = 0
    counted: int = 0
    shown: int = 0
    at: int | None = None
    provider: str = ""
    model: str = ""
    reason: str = ""
    entry: dict[str, Any] | None = None

    def stored(self) -> Stored:
        """The entry, as far as its context is told by it."""
        if self.entry is not None:
            return self.entry
        message: dict[str, Any] = {"role": self.role, "content": Letters(self.letters)}
        if self.role == "assistant":
            message["timestamp"] = self.at
            message["provider"] = self.provider
            message["model"] = self.model
            message["stopReason"] = self.reason or None
            if self.counted or self.shown:
                message["usage"] = {"totalTokens": self.counted, "input": self.shown}
        return {"type": "message", "id": self.id, "message": message}


# -- lines ----------------------------------------------------------------------------------------


class _Usage(ScannedUsage, gc=False):
    totalTokens: int | float = 0  # noqa: N815 - the stored key


class _Block(Struct, gc=False):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    arguments: Raw | UnsetType = UNSET


class _Message(Struct, gc=False):
    role: str | None = None
    content: list[_Block] | str | None = None
    timestamp: int | float | None = None
    usage: _Usage | None = None
    provider: str | None = None
    model: str | None = None
    stopReason: str | None = None  # noqa: N815 - the stored key


class _Line(StoredLine, gc=False):
    timestamp: str | int | float | None = None
    message: _Message | None = None


def _row(line: _Line | WholeLine, entry_id: str, parent: str | None, _offset: int) -> ContextRow:
    if isinstance(line, WholeLine):
        return _row_of_entry(line.entry, entry_id, parent)
    message = cast("_Message", line.message)
    role = cast("str", message.role)
    letters = _letters(message.content, is_answer=role == "assistant")
    if role != "assistant":
        return ContextRow(entry_id, parent, role, letters)
    at = count_of(message.timestamp)
    counted, shown = _counted(message.usage)
    return ContextRow(
        entry_id,
        parent,
        role,
        letters,
        0 if message.stopReason in _UNANSWERED else counted,
        shown,
        at if at is not None else milliseconds(line.timestamp),
        message.provider or "",
        message.model or "",
        message.stopReason or "",
    )


def _counted(usage: _Usage | None) -> tuple[int, int]:
    """What was counted altogether, and how much of it was sent."""
    if usage is None:
        return 0, 0
    parts = (usage.input, usage.output, usage.cacheRead, usage.cacheWrite)
    counted = count_of(usage.totalTokens) or sum([count_of(part) or 0 for part in parts])
    sent, _, read, written, _, _ = counts_of_scan(usage)
    return counted, sent + read + written


def _letters(content: list[_Block] | str | None, *, is_answer: bool) -> int:
    if not isinstance(content, list):
        return letters_of(content)
    letters = 0
    for block in content:
        kind = block.type
        if kind == "text":
            letters += letters_of(block.text)
        elif not is_answer:
            letters += LETTERS_OF_AN_IMAGE if kind == "image" else 0
        elif kind == "thinking":
            letters += letters_of(block.thinking)
        elif kind == "toolCall":
            letters += letters_of(block.name) + _letters_of_arguments(block.arguments)
    return letters


def _letters_of_arguments(arguments: Raw | UnsetType) -> int:
    if not isinstance(arguments, Raw):
        return json_letters(None)
    raw = bytes(arguments)
    if _ONE_TEXT.fullmatch(raw) is not None:
        return len(raw) if raw.isascii() else letters_of(raw.decode("utf-8", "replace"))
    return json_letters(parse_line(raw))


def _row_of_entry(entry: Entry, entry_id: str, parent: str | None) -> ContextRow:
    message = message_of(entry)
    role = message.get("role")
    reason = message.get("stopReason")
    if role not in _SIZED or not (reason is None or isinstance(reason, str)):
        return ContextRow(entry_id, parent, entry=plain(entry))
    at, usage = count_of(message.get("timestamp")), read_usage(message.get("usage"))
    shown = usage.input + usage.cache_read + usage.cache_write if usage is not None else 0
    row = ContextRow(entry_id, parent, cast("str", role), message_letters(message))
    if role == "assistant":
        row.counted, row.shown = counted_tokens(message), shown
        row.at = at if at is not None else milliseconds(entry.get("timestamp"))
        row.provider = text_of(message.get("provider"))
        row.model = text_of(message.get("model"))
        row.reason = text_of(object_of(message).get("stopReason"))
    return row


CONTEXT: Final[Shape[_Line | WholeLine, ContextRow]] = Shape(
    decode=Decoder(_Line).decode,
    fits=is_message_of(_SIZED),
    line_of=whole_line,
    row=_row,
    unpack=msgpack.Decoder(list[ContextRow]).decode,
)
"""The reading of a file for the context of its requests."""
