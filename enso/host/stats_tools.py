"""The tools that a thread called, counted: calls, failures, time, and what has no result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from enso.host.contract import ToolStats
from enso.host.stored_values import Stored, count_of, text_of
from enso.transcript import Usage


@dataclass(slots=True)
class ToolResult:
    """A tool's result, as far as it is counted."""

    call_id: str
    is_error: bool
    usage: Usage | None
    duration_ms: int | None

    @classmethod
    def of(cls, message: Stored, usage: Usage | None) -> ToolResult:
        """The result in a stored message, which used ``usage``."""
        return cls(
            text_of(message.get("toolCallId")),
            message.get("isError") is True,
            usage,
            count_of(message.get("durationMs")),
        )


@dataclass(slots=True)
class _Tool:
    calls: int = 0
    errors: int = 0
    duration_ms: int = 0
    timed: int = 0
    usage: Usage | None = None


class ToolCounts:
    """The calls of every tool, and what became of them."""

    def __init__(self) -> None:
        self._tools: dict[str, _Tool] = {}
        self._names: dict[tuple[str, str], list[str]] = {}
        self._results: Counter[tuple[str, str]] = Counter()

    def call(self, answer_id: str, calls: Iterable[Stored]) -> None:
        """An answer called these."""
        for call in calls:
            name = text_of(call.get("name"))
            self._tools.setdefault(name, _Tool()).calls += 1
            self._names.setdefault((answer_id, text_of(call.get("id"))), []).append(name)

    def answered(self, answer_id: str, result: ToolResult) -> bool:
        """A call of that answer has this result; False when there is no such call."""
        key = answer_id, result.call_id
        names = self._names.get(key)
        if names is None:
            return False
        # An id that a model gave twice in one answer is answered in the order of its calls.
        tool = self._tools[names[min(self._results[key], len(names) - 1)]]
        self._results[key] += 1
        tool.errors += result.is_error
        if result.duration_ms is not None:
            tool.duration_ms += result.duration_ms
            tool.timed += 1
        if result.usage is not None:
            tool.usage = (tool.usage or Usage()) + result.usage
        return True

    def stats(self) -> tuple[ToolStats, ...]:
        """Every tool, in the order in which they were first called."""
        unanswered = Counter(
            name for key, names in self._names.items() for name in names[self._results[key] :]
        )
        return tuple(
            ToolStats(
                name=name,
                calls=tool.calls,
                errors=tool.errors,
                unanswered=unanswered[name],
                duration_ms=tool.duration_ms,
                timed=tool.timed,
                usage=tool.usage,
            )
            for name, tool in self._tools.items()
        )
