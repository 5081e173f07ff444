"""The tools that a thread called, counted: calls, failures, time, and what has no result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from enso.host.contract import ToolStats
from enso.transcript import Usage

_FEW: Final = 8  # calls that are looked through one by one

Call = tuple[str, str]
"""A call: its id, and the tool's name."""


class Answer(Struct, gc=False, array_like=True):
    """An answer whose results may still come: its place, when it was stored, what it called.

    ``answered``: its only call was, once. ``results`` are counted by their calls' ids where it is
    not as simple as that.
    """

    place: int
    stored: int | None
    calls: list[Call]
    answered: bool = False
    results: dict[str, int] | None = None
    names: dict[str, list[str]] | None = None

    def take_result(self, call_id: str) -> tuple[str, bool] | None:
        """The tool that a result is of, and whether its call had none; ``None``: no such call."""
        calls, results = self.calls, self.results
        if results is None:
            if not self.answered and len(calls) == 1 and calls[0][0] == call_id:
                self.answered = True  # as nearly every result
                return calls[0][1], True
            results = self.results = {calls[0][0]: 1} if self.answered else {}
        names = self._names(call_id)
        if not names:
            return None
        # An id that a model gave twice in one answer is answered in the order of its calls.
        before = results.get(call_id, 0)
        results[call_id] = before + 1
        return names[min(before, len(names) - 1)], before < len(names)

    def _names(self, call_id: str) -> list[str]:
        """The tools that were called under one id."""
        if len(self.calls) <= _FEW:
            return [name for known, name in self.calls if known == call_id]
        if self.names is None:
            self.names = {}
            for known, name in self.calls:
                self.names.setdefault(known, []).append(name)
        return self.names.get(call_id, [])


@dataclass(slots=True)
class Tool:
    """What was counted of one tool."""

    calls: int = 0
    answered: int = 0
    errors: int = 0
    duration_ms: int = 0
    timed: int = 0
    usage: Usage | None = None

    def use(self, usage: Usage) -> None:
        """A call of it asked models for so much."""
        self.usage = (self.usage or Usage()) + usage


class ToolCounts:
    """The calls of every tool, and what became of them."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def call(self, calls: Sequence[Call]) -> None:
        """An answer called these."""
        for _, name in calls:
            tool = self._tools.get(name)
            if tool is None:
                tool = self._tools[name] = Tool()
            tool.calls += 1

    def answered(self, answer: Answer, call_id: str, took: int | None) -> Tool | None:
        """The tool of a call of that answer, which has a result, after so many ms.

        ``None``: there is no such call.
        """
        found = answer.take_result(call_id)
        if found is None:
            return None
        tool = self._tools[found[0]]
        if found[1]:
            tool.answered += 1
        if took is not None:
            tool.duration_ms += took
            tool.timed += 1
        return tool

    def stats(self) -> tuple[ToolStats, ...]:
        """Every tool, in the order in which they were first called."""
        return tuple(
            ToolStats(
                name=name,
                calls=tool.calls,
                errors=tool.errors,
                unanswered=tool.calls - tool.answered,
                duration_ms=tool.duration_ms,
                timed=tool.timed,
                usage=tool.usage,
            )
            for name, tool in self._tools.items()
        )
