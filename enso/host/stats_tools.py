"""The tools that a thread called, counted: calls, failures, time, and what has no result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from enso.host.contract import ToolStats
from enso.transcript import Usage


@dataclass(slots=True)
class _Tool:
    calls: int = 0
    errors: int = 0
    duration_ms: int = 0
    timed: int = 0
    usage: Usage | None = None


_FEW: Final = 8  # calls that are looked through one by one

Call = tuple[str, str]
"""A call: its id, and the tool's name."""


class ToolCounts:
    """The calls of every tool, and what became of them. Answers are told by their places."""

    def __init__(self) -> None:
        self._tools: dict[str, _Tool] = {}
        self._calls: dict[int, tuple[Call, ...]] = {}
        self._many: dict[int, dict[str, list[str]]] = {}
        self._results: dict[tuple[int, str], int] = {}

    def call(self, answer: int, calls: tuple[Call, ...]) -> None:
        """An answer called these."""
        self._calls[answer] = calls
        for _, name in calls:
            tool = self._tools.get(name)
            if tool is None:
                tool = self._tools[name] = _Tool()
            tool.calls += 1

    def answered(
        self, answer: int, call_id: str, *, failed: bool, usage: Usage | None, took: int | None
    ) -> bool:
        """A call of that answer has a result, after so many ms; False: there is no such call."""
        names = self._names(answer, call_id)
        if not names:
            return False
        # An id that a model gave twice in one answer is answered in the order of its calls.
        before = self._results.get((answer, call_id), 0)
        tool = self._tools[names[before] if before < len(names) else names[-1]]
        self._results[answer, call_id] = before + 1
        tool.errors += failed
        if took is not None:
            tool.duration_ms += took
            tool.timed += 1
        if usage is not None:
            tool.usage = (tool.usage or Usage()) + usage
        return True

    def _names(self, answer: int, call_id: str) -> list[str]:
        """The tools that an answer called under one id."""
        calls = self._calls.get(answer, ())
        if len(calls) <= _FEW:
            return [name for known, name in calls if known == call_id]
        if answer not in self._many:
            by_id: dict[str, list[str]] = {}
            for known, name in calls:
                by_id.setdefault(known, []).append(name)
            self._many[answer] = by_id
        return self._many[answer].get(call_id, [])

    def stats(self) -> tuple[ToolStats, ...]:
        """Every tool, in the order in which they were first called."""
        unanswered = self._unanswered()
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

    def _unanswered(self) -> Counter[str]:
        """How many calls of each tool have no result."""
        unanswered, results = Counter[str](), self._results.copy()
        for answer, calls in self._calls.items():
            for call_id, name in calls:
                left = results.get((answer, call_id), 0)
                results[answer, call_id] = left - 1
                unanswered[name] += left <= 0
        return unanswered
