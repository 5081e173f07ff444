"""What the stats take of each line of a session file: ids, times, usage, calls, a prompt's words.

Tokens and money are ``enso.host.usage``'s. Nothing of a row is a stored value of another type than
is said: what stands in a file with another is not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern
from typing import Any, Final, Literal, cast

from msgspec import Struct, msgpack
from msgspec.json import Decoder

from enso.host.json_lines import clean_text
from enso.host.session_log import Entry
from enso.host.session_rows import Shape, StoredLine
from enso.host.session_spend import ScannedUsage, scanned_usage
from enso.host.stored_values import LATEST_MS, count_of, milliseconds, object_of

MOST_OF_A_PROMPT: Final = 200
"""Characters of a prompt that a turn is called by."""

_BLOCKS_OF_A_PROMPT: Final = 20

RowKind = Literal["user", "answer", "result", "compaction", "branch-summary", "other", "none"]
"""A prompt, an answer, a tool's result, what else uses a model, or an entry that does not count."""

_SPENDING: Final[dict[str, RowKind]] = {
    "compaction": "compaction",
    "branch_summary": "branch-summary",
    "usage": "other",
}


class StatsRow(Struct, gc=False, array_like=True):
    """One entry. ``own`` is its message's time, ``stored`` when it was stored, in milliseconds.

    ``stored`` is looked at only where it counts. ``text`` is how a prompt begins, or the id of the
    call that a result answers. ``calls`` are an answer's: their ids and the tools' names.
    """

    id: str
    parent: str | None
    kind: RowKind
    own: int | None = None
    stored: int | None = None
    told_ms: int | None = None
    usage: ScannedUsage | None = None
    provider: str = ""
    model: str = ""
    reason: str = ""
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    failed: bool = False

    @property
    def began(self) -> int | None:
        """When it began, as a transcript has it."""
        return self.own if self.own is not None else self.stored


class _Block(Struct, gc=False):
    type: str | None = None
    id: str | None = None
    name: str | None = None
    text: str | None = None


class _Message(Struct, gc=False):
    role: str | None = None
    content: list[_Block] | str | None = None
    timestamp: int | float | None = None
    durationMs: int | float | None = None  # noqa: N815 - the stored key
    usage: ScannedUsage | None = None
    provider: str | None = None
    model: str | None = None
    stopReason: str | None = None  # noqa: N815 - the stored key
    toolCallId: str | None = None  # noqa: N815 - the stored key
    isError: bool | None = None  # noqa: N815 - the stored key


class _Line(StoredLine, gc=False):
    timestamp: str | int | float | None = None
    message: _Message | None = None
    usage: ScannedUsage | None = None
    provider: str | None = None
    model: str | None = None
    stopReason: str | None = None  # noqa: N815 - the stored key


# -- a stored entry of any types ------------------------------------------------------------------


def _text(value: Any) -> str | None:
    return clean_text(value) if isinstance(value, str) else None


def _line_of(entry: Entry) -> _Line:
    stored = entry.get("timestamp")
    message = entry.get("message")
    return _Line(
        type=_text(entry.get("type")),
        timestamp=stored if isinstance(stored, str) else count_of(stored),
        message=_message_of(cast("Entry", message)) if isinstance(message, dict) else None,
        usage=scanned_usage(entry.get("usage")),
        provider=_text(entry.get("provider")),
        model=_text(entry.get("model")),
        stopReason=_text(entry.get("stopReason")),
    )


def _message_of(stored: Entry) -> _Message:
    content = stored.get("content")
    blocks = content if isinstance(content, str) else None
    if isinstance(content, list):
        blocks = [_block_of(block) for block in cast("list[Any]", content)]
    return _Message(
        role=_text(stored.get("role")),
        content=blocks,
        timestamp=count_of(stored.get("timestamp")),
        durationMs=count_of(stored.get("durationMs")),
        usage=scanned_usage(stored.get("usage")),
        provider=_text(stored.get("provider")),
        model=_text(stored.get("model")),
        stopReason=_text(stored.get("stopReason")),
        toolCallId=_text(stored.get("toolCallId")),
        isError=stored.get("isError") is True,
    )


def _block_of(value: Any) -> _Block:
    stored = object_of(value)
    return _Block(*(_text(stored.get(name)) for name in ("type", "id", "name", "text")))


# -- rows -----------------------------------------------------------------------------------------


def _known(text: str | None) -> str:
    """A word that comes again and again, held once."""
    return intern(text) if text else ""


def _row(line: _Line, entry_id: str, parent: str | None, _offset: int) -> StatsRow:
    message = line.message if line.type == "message" else None
    if message is None:
        return _row_of_other(line, entry_id, parent)
    role, own, told = message.role, message.timestamp, message.durationMs
    if type(own) is not int or not 0 <= own <= LATEST_MS:
        own = count_of(own)
    if role == "toolResult":
        stored = milliseconds(line.timestamp) if own is None else None
        told = count_of(told) if told is not None else None
        row = StatsRow(entry_id, parent, "result", own, stored, told, message.usage)
        row.text = message.toolCallId or ""
        if message.isError is True:
            row.failed = True
        if message.usage is not None:  # else nobody was asked for it
            _name(row, message)
        return row
    if role == "assistant":
        row = StatsRow(
            entry_id,
            parent,
            "answer",
            own,
            milliseconds(line.timestamp),
            count_of(told) if told is not None else None,
            message.usage,
        )
        _name(row, message)
        row.calls = _calls(message.content)
        return row
    if role != "user":
        return StatsRow(entry_id, parent, "none")
    stored = milliseconds(line.timestamp) if own is None else None
    return StatsRow(entry_id, parent, "user", own, stored, text=_beginning(message.content))


def _name(row: StatsRow, message: _Message) -> None:
    """Say who was asked, and how that ended: words that come again and again, held once."""
    if message.provider:
        row.provider = intern(message.provider)
    if message.model:
        row.model = intern(message.model)
    if message.stopReason:
        row.reason = intern(message.stopReason)


def _row_of_other(line: _Line, entry_id: str, parent: str | None) -> StatsRow:
    """An entry that is no message: it counts where it tells what a model used."""
    usage = line.usage
    kind = _SPENDING.get(line.type) if usage is not None and line.type else None
    if kind is None:
        return StatsRow(entry_id, parent, "none")
    return StatsRow(
        entry_id,
        parent,
        kind,
        None,
        milliseconds(line.timestamp),
        None,
        usage,
        _known(line.provider),
        _known(line.model),
        _known(line.stopReason),
    )


def _calls(content: list[_Block] | str | None) -> tuple[tuple[str, str], ...]:
    if not isinstance(content, list):
        return ()
    return tuple(
        [(b.id or "", intern(b.name) if b.name else "") for b in content if b.type == "toolCall"]
    )


def _beginning(content: list[_Block] | str | None) -> str:
    """How a prompt begins, on one line."""
    blocks: Iterable[str | None] = ()
    if isinstance(content, str):
        blocks = (content,)
    elif content is not None:
        blocks = [block.text for block in content[:_BLOCKS_OF_A_PROMPT]]
    words = " ".join((text or "")[: MOST_OF_A_PROMPT * 4] for text in blocks)
    return " ".join(words.split())[:MOST_OF_A_PROMPT]


STATS: Final = Shape(
    decode=Decoder(_Line).decode,
    line_of=_line_of,
    row=_row,
    unpack=msgpack.Decoder(list[StatsRow]).decode,
)
"""The reading of a file for its stats."""
