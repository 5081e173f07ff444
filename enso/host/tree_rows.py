"""What a tree takes of each line of a session file: what the entry is, a line of it, its calls."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, cast

from msgspec import UNSET, Raw, Struct, UnsetType, msgpack
from msgspec.json import Decoder

from enso.host.contract import TreeKind, first_line
from enso.host.decode import decode_entry, stop_reason_of
from enso.host.json_lines import clean_text, parse_line, plain
from enso.host.session_log import Entry
from enso.host.session_rows import Shape, StoredLine, WholeLine, is_message_of, whole_line
from enso.host.stored_values import NOTHING, count_of, milliseconds, object_of, text_of
from enso.transcript import StopReason, TranscriptMarker

_ARGUMENTS: Final = 20
_ARGUMENT_CHARACTERS: Final = 500
"""How much of a call's arguments is kept: enough to name what it was about."""

Call = tuple[str, str, dict[str, Any]]
"""A call: its id, the tool's name, and the beginning of its arguments."""


class TreeRow(Struct, gc=False, array_like=True):
    """One entry. ``calls`` are a reply's; ``answers`` is the id of the call of a tool's result.

    ``labelled`` is the entry that a label is on, and ``label`` its words.
    """

    id: str
    parent: str | None
    kind: TreeKind
    name: str = ""
    text: str = ""
    at: int | None = None
    stop: StopReason | None = None
    failed: bool = False
    calls: tuple[Call, ...] = ()
    answers: str = ""
    labelled: str | None = None
    label: str = ""


class _Block(Struct, gc=False):
    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: Raw | UnsetType = UNSET


class _Message(Struct, gc=False):
    role: str | None = None
    content: list[_Block] | str | None = None
    timestamp: int | float | None = None
    stopReason: str | None = None  # noqa: N815 - the stored key
    errorMessage: str | None = None  # noqa: N815 - the stored key
    toolName: str | None = None  # noqa: N815 - the stored key
    toolCallId: str | None = None  # noqa: N815 - the stored key
    isError: bool | None = None  # noqa: N815 - the stored key


class _Line(StoredLine, gc=False):
    timestamp: str | int | float | None = None
    message: _Message | None = None


_SPOKEN: Final = ("user", "assistant", "toolResult")


def _row(line: _Line | WholeLine, entry_id: str, parent: str | None, _offset: int) -> TreeRow:
    if isinstance(line, WholeLine):
        return _row_of_entry(line.entry, entry_id, parent)
    message = cast("_Message", line.message)
    at, role = count_of(message.timestamp), message.role
    if at is None:
        at = milliseconds(line.timestamp)
    content = message.content
    text = content if isinstance(content, str) else ""
    blocks: list[_Block] = content if isinstance(content, list) else []
    words = first_line(text) if text else _first_line(blocks)
    if role == "user":
        return TreeRow(entry_id, parent, "user", "", words, at)
    if role == "toolResult":
        failed, answers = message.isError is True, message.toolCallId or ""
        name = message.toolName or ""
        return TreeRow(
            entry_id, parent, "tool-result", name, words, at, failed=failed, answers=answers
        )
    calls = tuple([_call(block) for block in blocks if block.type == "toolCall"])
    stop = stop_reason_of(message.stopReason)
    words = words or first_line(message.errorMessage or "")
    return TreeRow(entry_id, parent, "assistant", "", words, at, stop, calls=calls)


def _first_line(blocks: list[_Block]) -> str:
    for block in blocks:
        line = first_line(block.text) if block.text else ""
        if line:
            return line
    return ""


def _call(block: _Block) -> Call:
    arguments = parse_line(bytes(block.arguments)) if isinstance(block.arguments, Raw) else None
    return block.id or "", block.name or "", _short(arguments)


def _short(arguments: Any) -> dict[str, Any]:
    """The first arguments of a call that are no lists or objects, long texts cut."""
    short: dict[str, Any] = {}
    for name, value in islice(object_of(arguments).items(), _ARGUMENTS):
        if not isinstance(value, (dict, list)):
            shorter = value[:_ARGUMENT_CHARACTERS] if isinstance(value, str) else value
            short[clean_text(name)] = plain(shorter)
    return short


# -- a stored entry of any types ------------------------------------------------------------------


def _row_of_entry(entry: Entry, entry_id: str, parent: str | None) -> TreeRow:
    message = object_of(entry.get("message")) if entry.get("type") == "message" else NOTHING
    role, at = message.get("role"), count_of(message.get("timestamp"))
    if at is None:
        at = milliseconds(entry.get("timestamp"))
    if role not in _SPOKEN:
        return _row_of_other(entry, entry_id, parent, at)
    row = TreeRow(entry_id, parent, "user", "", _line(message.get("content")), at)
    if role == "assistant":
        row.kind = "assistant"
        row.text = row.text or first_line(text_of(message.get("errorMessage")))
        row.stop = stop_reason_of(message.get("stopReason"))
        row.calls = tuple(_calls(message.get("content")))
    elif role == "toolResult":
        row.kind = "tool-result"
        row.name = text_of(message.get("toolName"))
        row.failed = message.get("isError") is True
        row.answers = text_of(message.get("toolCallId"))
    return row


def _calls(content: Any) -> list[Call]:
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return [
        (text_of(block.get("id")), text_of(block.get("name")), _short(block.get("arguments")))
        for block in map(object_of, blocks)
        if block.get("type") == "toolCall"
    ]


def _line(content: Any) -> str:
    """The first line of a stored ``content``; only as much is looked at as that takes."""
    blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
    for block in blocks:
        text = block if isinstance(block, str) else object_of(block).get("text")
        line = first_line(text) if isinstance(text, str) else ""
        if line:
            return clean_text(line)
    return ""


def _row_of_other(entry: Entry, entry_id: str, parent: str | None, at: int | None) -> TreeRow:
    """An entry that is no message of a person, a model or a tool."""
    kind = text_of(entry.get("type")) or "unknown"
    if kind == "label":
        return _row_of_label(entry, entry_id, parent, at)
    if kind in _SETTINGS:
        words = [text_of(entry.get(name)) for name in _SETTINGS[kind]]
        text = first_line("/".join(filter(None, words)))
        return TreeRow(entry_id, parent, "setting", kind, text, at)
    decoded = decode_entry(entry, providers=str)
    if isinstance(decoded, TranscriptMarker):
        words = decoded.text if decoded.kind == "custom" else decoded.title
        text = first_line(words or decoded.title)
        return TreeRow(entry_id, parent, "marker", decoded.kind, text, at)
    return TreeRow(entry_id, parent, "setting", getattr(decoded, "kind", kind), "", at)


def _row_of_label(entry: Entry, entry_id: str, parent: str | None, at: int | None) -> TreeRow:
    words, target = text_of(entry.get("label")), entry.get("targetId")
    row = TreeRow(entry_id, parent, "label", "label", first_line(words), at)
    if isinstance(target, str):
        row.labelled, row.label = clean_text(target), words
    return row


_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "model_change": ("provider", "modelId"),
    "thinking_level_change": ("thinkingLevel",),
    "session_info": ("name",),
    "custom": ("customType",),
    "context_edit": ("targetId",),
    "usage": ("kind",),
}
"""What is kept for the runtime, and which fields say it."""

TREE: Final[Shape[_Line | WholeLine, TreeRow]] = Shape(
    decode=Decoder(_Line).decode,
    fits=is_message_of(_SPOKEN),
    line_of=whole_line,
    row=_row,
    unpack=msgpack.Decoder(list[TreeRow]).decode,
)
"""The reading of a file for its tree."""
