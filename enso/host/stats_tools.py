"""The tools that a thread called, counted: calls, failures, time, and what has no result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final

from msgspec import Struct

from enso.host.session_spend import NO_SUMS, Counts, Sums, added

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


class Tool(Struct, gc=False, array_like=True):
    """What was counted of one tool.

    ``first`` is its first call: the place of the entry, and which of its calls. ``uses`` is what
    calls of it asked models for: the places of their results, and how much. It is added to ``used``
    once all before it was; ``None``: no call of it asked one.
    """

    first: tuple[int, int]
    calls: int = 0
    answered: int = 0
    errors: int = 0
    duration_ms: int = 0
    timed: int = 0
    used: Sums | None = None
    uses: list[tuple[int, Counts]] = []

    def add(self, other: Tool) -> None:
        """Add what was counted of it elsewhere."""
        self.first = min(self.first, other.first)
        self.calls += other.calls
        self.answered += other.answered
        self.errors += other.errors
        self.duration_ms += other.duration_ms
        self.timed += other.timed
        self.uses += other.uses

    def settle(self) -> None:
        """All that came up to here was counted."""
        if self.uses:
            self.uses.sort(key=itemgetter(0))
            self.used = added(self.used or NO_SUMS, [counts for _, counts in self.uses])
            self.uses = []


class ToolCounts:
    """The calls of every tool, and what became of them; places are those of entries."""

    def __init__(self) -> None:
        self.by_name: dict[str, Tool] = {}
        """Every tool, in the order in which they were first called."""

    def call(self, calls: Sequence[Call], place: int) -> None:
        """The answer at a place called these."""
        for number, (_, name) in enumerate(calls):
            tool = self.by_name.get(name)
            if tool is None:
                tool = self.by_name[name] = Tool((place, number))
            tool.calls += 1

    def answered(self, answer: Answer, call_id: str, took: int | None) -> Tool | None:
        """The tool of a call of that answer, which has a result, after so many ms.

        ``None``: there is no such call.
        """
        found = answer.take_result(call_id)
        if found is None:
            return None
        tool = self.by_name[found[0]]
        if found[1]:
            tool.answered += 1
        if took is not None:
            tool.duration_ms += took
            tool.timed += 1
        return tool

    def join(self, others: Mapping[str, Tool], offset: int) -> None:
        """Add what was counted of a part whose places begin with ``offset``."""
        for name, other in others.items():
            place, number = other.first
            other.first = place + offset, number
            other.uses = [(place + offset, counts) for place, counts in other.uses]
            if name in self.by_name:
                self.by_name[name].add(other)
            else:
                self.by_name[name] = other
        self.by_name = dict(sorted(self.by_name.items(), key=lambda tool: tool[1].first))

    def settle(self) -> None:
        """All that came up to here was counted."""
        for tool in self.by_name.values():
            tool.settle()
