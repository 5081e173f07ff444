"""What a thread used as a page shows it: facts, tables and charts of the numbers that are sent.

Every number comes from ``wire.ThreadStats``, which is also what the JSON interface answers: only
words are made here. A price that is not known is said as unknown, never as nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from enso import wire
from enso.server.charts import Bar, Column, bar_chart, column_chart
from enso.server.tool_lines import duration_words
from enso.server.views import Row, Table
from enso.server.words import clock, count, money, price, tokens

_KINDS: Final = {
    "answer": "answer",
    "tool": "inside a tool",
    "compaction": "compaction",
    "branch-summary": "branch summary",
    "other": "other",
}
_OUTCOMES: Final = {"done": "", "refused": "refused", "aborted": "stopped", "cut": "cut off"}
_USAGE_HEADS: Final = ("Input", "Output", "Cache read", "Cache written", "Cost")


def facts(stats: wire.ThreadStats) -> list[tuple[str, str]]:
    """The totals: what each is called, and its number in words."""
    totals = stats.totals
    calls = sum(tool.calls for tool in stats.tools)
    errors = sum(tool.errors for tool in stats.tools)
    refused = sum(turn.refused for turn in stats.turns)
    unknown = [("Price unknown", count(totals.unpriced_requests, "request"))]
    return [
        ("Cost", price(totals) or "nothing"),
        *(unknown if totals.unpriced_requests else []),
        ("Tokens", f"{totals.total_tokens:,}"),
        ("Input", f"{totals.input:,}"),
        ("Output", f"{totals.output:,}"),
        ("Cache read", f"{totals.cache_read:,}"),
        ("Cache written", f"{totals.cache_write:,}"),
        ("Turns", f"{len(stats.turns):,}"),
        ("Requests", _with(_requests(stats), refused, "refused")),
        ("Tool calls", _with(calls, errors, "failed")),
    ]


def _requests(stats: wire.ThreadStats) -> int:
    """How many requests there were, of which the last may be all that is at hand."""
    return sum(turn.requests for turn in stats.turns)


def _with(number: int, some: int, what: str) -> str:
    return f"{number:,}, {some:,} {what}" if some else f"{number:,}"


# -- tables ---------------------------------------------------------------------------------------


def turns_table(stats: wire.ThreadStats, shown: int) -> Table:
    """The turns, the newest first."""
    numbered = list(enumerate(stats.turns, 1))[::-1]
    unknown = ("Price unknown",) if stats.totals.unpriced_requests else ()
    return Table(
        caption="Turns, the newest first",
        heads=("Turn", "Prompt", "Requests", *_USAGE_HEADS, *unknown, "Time", "Tool calls"),
        rows=tuple(_turn_row(number, turn, bool(unknown)) for number, turn in numbered[:shown]),
        names=2,
        left_out=max(0, len(numbered) - shown),
    )


def _turn_row(number: int, turn: wire.TurnStats, some_unknown: bool) -> Row:
    requests = turn.usage.unpriced_requests
    unknown = (count(requests, "request") if requests else "",) if some_unknown else ()
    return Row(
        cells=(
            str(number),
            _turn_name(turn),
            _with(turn.requests, turn.refused, "refused"),
            *_usage_cells(turn.usage),
            *unknown,
            duration_words(turn.duration_ms),
            _with(turn.tool_calls, turn.tool_errors, "failed") if turn.tool_calls else "",
        ),
        beside=not turn.on_branch,
    )


def _turn_name(turn: wire.TurnStats) -> str:
    name = turn.prompt or ("An empty prompt" if turn.prompt_id else "Before the first prompt")
    return name if turn.on_branch else f"{name} (another branch)"


def requests_table(stats: wire.ThreadStats, shown: int) -> Table:
    """The requests, the newest first; the last ``shown`` must be at hand."""
    total = _requests(stats)
    newest_first = stats.requests[: -shown - 1 : -1]
    numbered = zip(range(total, 0, -1), newest_first, strict=False)
    return Table(
        caption="Requests, the newest first",
        heads=("Request", "Turn", "Model", "For", "Began", "Ended", *_USAGE_HEADS, "Time",
               "Tool calls"),
        rows=tuple(_request_row(number, request) for number, request in numbered),
        names=6,
        left_out=max(0, total - shown),
    )  # fmt: skip


def _request_row(number: int, request: wire.RequestStats) -> Row:
    return Row(
        cells=(
            str(number),
            str(request.turn + 1),
            request.model or "",
            _KINDS[request.kind] + ("" if request.on_branch else " (another branch)"),
            clock(request.at) if request.at else "",
            _OUTCOMES[request.outcome],
            *_usage_cells(request.usage),
            duration_words(request.duration_ms),
            str(request.tool_calls) if request.tool_calls else "",
        ),
        beside=not request.on_branch,
    )


def _usage_cells(usage: wire.Usage | None) -> tuple[str, ...]:
    if usage is None:
        return ("", "", "", "", "not recorded")
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return (*(f"{number:,}" for number in counts), price(usage))


def tools_table(stats: wire.ThreadStats) -> Table:
    """The tools, the one that took longest first."""
    return Table(
        caption="Tools, the slowest first",
        heads=("Tool", "Calls", "Failed", "Without result", "Time", "Time a call", "Cost"),
        rows=tuple(Row(cells=_tool_cells(tool)) for tool in _slowest_first(stats.tools)),
    )


def _slowest_first(tools: Sequence[wire.ToolStats]) -> list[wire.ToolStats]:
    return sorted(tools, key=lambda tool: (-tool.duration_ms, -tool.calls, tool.name))


def _tool_cells(tool: wire.ToolStats) -> tuple[str, ...]:
    return (
        tool.name or "unnamed tool",
        f"{tool.calls:,}",
        f"{tool.errors:,}" if tool.errors else "",
        f"{tool.unanswered:,}" if tool.unanswered else "",
        duration_words(tool.duration_ms) if tool.timed else "not known",
        duration_words(tool.duration_ms // tool.timed) if tool.timed else "",
        price(tool.usage) if tool.usage else "",
    )


# -- charts ---------------------------------------------------------------------------------------


def cost_chart(stats: wire.ThreadStats, *, key: str) -> Markup:
    """Cost over turns; in tokens where nothing is known to have cost anything."""
    in_money = bool(stats.totals.cost)
    if not stats.totals.total_tokens and not in_money:
        return Markup()
    columns = [
        Column(
            value=(turn.usage.cost or 0.0) if in_money else turn.usage.total_tokens,
            label=f"turn {number}",
            told=f"Turn {number}: {_cost_words(turn, in_money=in_money)}",
            kind="" if turn.on_branch else "muted",
            open_ended=in_money and not turn.usage.cost_known,
        )
        for number, turn in enumerate(stats.turns, 1)
    ]
    what = "Cost" if in_money else "Tokens"
    return column_chart(
        columns,
        key=f"{key}-cost",
        title=f"{what} of each turn",
        description=f"{what} of {count(len(columns), 'turn')}, oldest first. "
        f"{_peak(stats, in_money=in_money)} Every number is in the table of turns.",
        scale=money if in_money else lambda top: f"{tokens(int(top))} tokens",
    )


def cost_says(stats: wire.ThreadStats) -> str:
    """What the chart of turns shows, for who sees it: its unit, and what its looks mean."""
    in_money = bool(stats.totals.cost)
    told = ["Cost of each turn." if in_money else "Tokens of each turn."]
    if in_money and not stats.totals.cost_known:
        told.append("Dashed: a price that is not known comes on top.")
    if not all(turn.on_branch for turn in stats.turns):
        told.append("Pale: on another branch.")
    return " ".join(told)


def _cost_words(turn: wire.TurnStats, *, in_money: bool) -> str:
    return (price(turn.usage) or "nothing") if in_money else f"{turn.usage.total_tokens:,} tokens"


def _peak(stats: wire.ThreadStats, *, in_money: bool) -> str:
    """The dearest turn in a sentence."""

    def size(turn: wire.TurnStats) -> float:
        return (turn.usage.cost or 0.0) if in_money else turn.usage.total_tokens

    number, turn = max(enumerate(stats.turns, 1), key=lambda pair: size(pair[1]))
    return f"The most is turn {number} with {_cost_words(turn, in_money=in_money)}."


def tool_chart(stats: wire.ThreadStats, *, key: str) -> Markup:
    """Tools by their time; empty where no tool tells its."""
    timed = [tool for tool in _slowest_first(stats.tools) if tool.duration_ms][:12]
    bars = [
        Bar(
            value=tool.duration_ms,
            label=tool.name or "unnamed tool",
            told=f"{duration_words(tool.duration_ms)} · {count(tool.calls, 'call')}",
        )
        for tool in timed
    ]
    told = ", ".join(f"{bar.label} {bar.told}" for bar in bars[:3])
    return bar_chart(
        bars,
        key=f"{key}-tools",
        title="Time of each tool",
        description=f"The slowest first: {told}. Every number is in the table of tools.",
    )
