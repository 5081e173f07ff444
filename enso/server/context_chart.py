"""The chart of a context: how much the model was shown, request by request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from enso.server.charts import Ceiling, Column, Mark, column_chart
from enso.server.words import count, tokens

ENDINGS: Final[Mapping[str, str]] = {
    "stop": "answered",
    "length": "cut by length",
    "tool-use": "answered with tool calls",
    "error": "refused",
    "aborted": "stopped",
    "other": "ended otherwise",
}
"""How a request ended, in words, by its stop reason."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is drawn of one request: its number, its size, how it ended, what came before it."""

    index: int
    tokens: int
    elements: int
    stop_reason: str | None
    compacted: bool


def context_chart(requests: Sequence[Drawn], *, key: str, window: int | None) -> Markup:
    """Columns over all requests, compactions as marks, the model's ``window`` as the ceiling."""
    return column_chart(
        [_column(one) for one in requests],
        key=f"context-{key}",
        title="Context, request by request",
        description=_description(requests),
        scale=lambda height: f"{tokens(round(height))} tokens",
        join=max,
        marks=[
            Mark(before=place, told=f"Earlier messages were summed up before request {one.index}")
            for place, one in enumerate(requests)
            if one.compacted
        ],
        ceiling=Ceiling(value=window, told=f"window: {tokens(window)}") if window else None,
    )


def _description(requests: Sequence[Drawn]) -> str:
    largest = max((one.tokens for one in requests), default=0)
    compactions = sum(one.compacted for one in requests)
    said = f"{count(len(requests), 'request')}, the largest of {tokens(largest)} tokens"
    if compactions:
        said += f"; earlier messages were summed up {count(compactions, 'time')}"
    return f"{said}. The table has the numbers."


def _column(one: Drawn) -> Column:
    told = f"Request {one.index}: {tokens(one.tokens)} tokens, {count(one.elements, 'element')}"
    unanswered = one.stop_reason in ("error", "aborted")
    return Column(
        value=one.tokens,
        label=str(one.index),
        told=f"{told}, {ENDINGS[one.stop_reason or 'other']}" if unanswered else told,
        kind="muted" if unanswered else "",
    )
