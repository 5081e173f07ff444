"""What the stats take of each line of a session file: ids, times, usage, calls, a prompt's words.

A message is decoded by its role, and its content no further than that role is told by. Numbers are
decoded where they count as they stand; a line in which one does not, or that holds a value of
another type than is said, does not fit, and is read whole (``line_of``), by the rules of
``enso.host.usage``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, cast

from msgspec import Meta, Struct, msgpack
from msgspec.json import Decoder

from enso.host.json_lines import clean_text
from enso.host.session_log import Entry
from enso.host.session_rows import Shape, StoredLine, line_itself
from enso.host.session_spend import Counts
from enso.host.stored_values import LATEST_MS, count_of, object_of
from enso.host.usage import MOST_DOLLARS, MOST_TOKENS, read_usage

MOST_OF_A_PROMPT: Final = 200
"""Characters of a prompt that a turn is called by."""

_BLOCKS_OF_A_PROMPT: Final = 20

_Milliseconds = Annotated[int, Meta(ge=0, le=LATEST_MS)]
_Tokens = Annotated[int, Meta(ge=0, le=MOST_TOKENS)]
_Dollars = Annotated[float, Meta(ge=0, le=MOST_DOLLARS)]


class _Cost(Struct, gc=False):
    total: _Dollars = 0.0
    priceUnknown: bool = False  # noqa: N815 - the stored key


class LineUsage(Struct, gc=False):
    """A stored ``usage``."""

    input: _Tokens = 0
    output: _Tokens = 0
    cacheRead: _Tokens = 0  # noqa: N815 - the stored key
    cacheWrite: _Tokens = 0  # noqa: N815 - the stored key
    cost: _Cost | None = None

    def counts(self) -> Counts:
        """What counts of it."""
        cost = self.cost
        if cost is None:
            return self.input, self.output, self.cacheRead, self.cacheWrite, 0.0, True
        known = not cost.priceUnknown
        return self.input, self.output, self.cacheRead, self.cacheWrite, cost.total, known


class _Text(Struct, gc=False):
    text: str | None = None


class _Block(Struct, gc=False):
    type: str | None = None
    id: str | None = None
    name: str | None = None


class Prompt(Struct, gc=False, tag_field="role", tag="user"):
    """A person's message."""

    content: list[_Text] | str | None = None
    timestamp: _Milliseconds | None = None

    def beginning(self) -> str:
        """How it begins, on one line."""
        content, texts = self.content, cast("Iterable[str | None]", ())
        if isinstance(content, str):
            texts = (content,)
        elif content is not None:
            texts = [block.text for block in content[:_BLOCKS_OF_A_PROMPT]]
        words = " ".join([(text or "")[: MOST_OF_A_PROMPT * 4] for text in texts])
        return " ".join(words.split())[:MOST_OF_A_PROMPT]


class Reply(Struct, gc=False, tag_field="role", tag="assistant"):
    """An answer of a model."""

    content: list[_Block] | str | None = None
    timestamp: _Milliseconds | None = None
    provider: str | None = None
    model: str | None = None
    usage: LineUsage | None = None
    stopReason: str | None = None  # noqa: N815 - the stored key
    durationMs: int | float | None = None  # noqa: N815 - the stored key

    def calls(self) -> list[tuple[str, str]]:
        """The tools that it calls: the calls' ids, and the tools' names."""
        content = self.content
        if not isinstance(content, list):
            return []
        return [(b.id or "", b.name or "") for b in content if b.type == "toolCall"]


class Result(Struct, gc=False, tag_field="role", tag="toolResult"):
    """What a tool gave back."""

    timestamp: _Milliseconds | None = None
    toolCallId: str | None = None  # noqa: N815 - the stored key
    isError: bool | None = None  # noqa: N815 - the stored key
    durationMs: int | float | None = None  # noqa: N815 - the stored key
    provider: str | None = None
    model: str | None = None
    usage: LineUsage | None = None
    stopReason: str | None = None  # noqa: N815 - the stored key


class StatsLine(StoredLine, gc=False):
    """One line. ``message`` counts where ``type`` says so, what is beside it where it does not."""

    timestamp: str | int | float | None = None
    message: Prompt | Reply | Result | None = None
    usage: LineUsage | None = None
    provider: str | None = None
    model: str | None = None
    stopReason: str | None = None  # noqa: N815 - the stored key


# -- a stored entry of any types ------------------------------------------------------------------


def _text(value: Any) -> str | None:
    return clean_text(value) if isinstance(value, str) else None


def _usage(value: Any) -> LineUsage | None:
    told = read_usage(value)
    if told is None:
        return None
    cost = _Cost(told.cost, not told.cost_known)
    return LineUsage(told.input, told.output, told.cache_read, told.cache_write, cost)


def _line_of(entry: Entry) -> StatsLine:
    stored = entry.get("timestamp")
    return StatsLine(
        type=_text(entry.get("type")),
        timestamp=_text(stored) if isinstance(stored, str) else count_of(stored),
        message=_message_of(entry.get("message")),
        **_spent(entry),
    )


def _message_of(value: Any) -> Prompt | Reply | Result | None:
    stored = object_of(value)
    content, at = stored.get("content"), count_of(stored.get("timestamp"))
    blocks = list(map(object_of, cast("list[Any]", content))) if isinstance(content, list) else None
    match stored.get("role"):
        case "user":
            texts = [_Text(_text(block.get("text"))) for block in blocks or ()]
            return Prompt(_text(content) if blocks is None else texts, at)
        case "assistant":
            calls = [
                _Block(*(_text(block.get(name)) for name in ("type", "id", "name")))
                for block in blocks or ()
            ]
            told = count_of(stored.get("durationMs"))
            return Reply(content=calls, timestamp=at, durationMs=told, **_spent(stored))
        case "toolResult":
            return Result(
                at,
                _text(stored.get("toolCallId")),
                stored.get("isError") is True,
                count_of(stored.get("durationMs")),
                **_spent(stored),
            )
        case _:
            return None


def _spent(stored: Any) -> dict[str, Any]:
    """Who was asked, how that ended, and what it used."""
    return {
        "provider": _text(stored.get("provider")),
        "model": _text(stored.get("model")),
        "stopReason": _text(stored.get("stopReason")),
        "usage": _usage(stored.get("usage")),
    }


STATS: Final = Shape(
    decode=Decoder(StatsLine).decode,
    line_of=_line_of,
    row=line_itself,
    unpack=msgpack.Decoder(list[StatsLine]).decode,
)
"""The reading of a file for its stats: its rows are the lines themselves."""
