"""What a thread used, read from its stored entries: by request, by turn, by tool.

A fold over the rows of a file (``enso.host.stats_rows``), in time that grows with their number.
What ``durationMs`` does not say comes from times: an answer's message is stamped when it is asked
for and its entry when it is stored, a tool's result when it is there.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from enso.host.contract import (
    BranchStats,
    RequestKind,
    RequestOutcome,
    RequestStats,
    TurnStats,
)
from enso.host.session_log import Entry
from enso.host.session_rows import RowTree
from enso.host.session_spend import usage_of_scan
from enso.host.stats_places import NOBODY, Places
from enso.host.stats_rows import STATS, StatsRow
from enso.host.stats_tools import ToolCounts
from enso.host.stored_values import Stored
from enso.host.usage import UsageSum
from enso.transcript import Usage

_NEVER: Final = -1
_OUTCOMES: Final[dict[str, RequestOutcome]] = {
    "error": "refused",
    "aborted": "aborted",
    "length": "cut",
}


def branch_stats(entries: Sequence[Stored], leaf_id: str | None) -> BranchStats:
    """The stats of a file's entries, of which ``leaf_id`` is the last of the current branch.

    Entries have ids and parents, as ``enso.host.session_log`` gives them; of two with one id the
    later one counts. Never raises, whatever else they hold.
    """
    return stats_of_rows(STATS.rows_of(cast("Sequence[Entry]", entries)), leaf_id)


def stats_of_rows(rows: list[StatsRow], leaf_id: str | None) -> BranchStats:
    """The same of a file's rows. Takes them: the list is empty afterwards."""
    fold = _Fold(RowTree(rows, leaf_id))
    rows.reverse()
    place = 0
    while rows:
        row = rows.pop()  # so that no more than the rows or their requests stand in memory
        if row.kind != "none":
            fold.add(place, row)
        place += 1
    # Requests are the entries that use anything: their sum is the sum over the file.
    return BranchStats(
        totals=fold.totals(),
        requests=tuple(fold.requests),
        turns=tuple(turn.stats() for turn in fold.turns),
        tools=fold.tools.stats(),
    )


# -- sums -----------------------------------------------------------------------------------------


def _between(start: int | None, end: int | None) -> int | None:
    """The time from one moment to another; ``None`` when one is not known, or clocks disagree."""
    return end - start if start is not None and end is not None and end >= start else None


@dataclass(slots=True)
class _Turn:
    """A turn under way."""

    prompt_id: str | None
    prompt: str
    on_branch: bool
    at: int | None
    end: int | None = None
    requests: int = 0
    refused: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    used: UsageSum = field(default_factory=UsageSum)

    def reach(self, moment: int | None) -> None:
        """Something of this turn ended then."""
        if moment is not None and (self.end is None or moment > self.end):
            self.end = moment

    def stats(self) -> TurnStats:
        """The turn with its sums."""
        return TurnStats(
            prompt_id=self.prompt_id,
            prompt=self.prompt,
            on_branch=self.on_branch,
            at=self.at,
            duration_ms=_between(self.at, self.end),
            requests=self.requests,
            refused=self.refused,
            tool_calls=self.tool_calls,
            tool_errors=self.tool_errors,
            usage=self.used.usage(),
        )


# -- the fold -------------------------------------------------------------------------------------


def _stored_or_never(row: StatsRow) -> int:
    return _NEVER if row.stored is None else row.stored


class _Fold:
    """The requests, turns and tools of rows, added in the order of the file."""

    def __init__(self, tree: RowTree[StatsRow]) -> None:
        self.requests: list[RequestStats] = []
        self.turns: list[_Turn] = []
        self.tools = ToolCounts()
        self.cost = 0.0  # in the order of the file: sums of sums are not the same
        self._on_branch = tree.on_branch
        self._first = {i: row for i, row in enumerate(tree.rows) if row.kind == "user"}
        self._stored = array("q", map(_stored_or_never, tree.rows))
        places = Places(tree)
        self._prompts, self._answers = places.prompts, places.answers
        self._indexes: dict[int, int] = {}

    def add(self, place: int, row: StatsRow) -> None:
        """Take in the next row."""
        kind = row.kind
        if kind == "user":
            self._turn_of(place, row)
            return
        usage = usage_of_scan(row.usage) if row.usage is not None else None
        if kind == "answer":
            took = row.told_ms if row.told_ms is not None else _between(row.own, row.stored)
            turn = self._add_request(place, row, kind, usage, took)
            end = row.stored if row.stored is not None else row.own
            if end is not None and (turn.end is None or end > turn.end):
                turn.end = end
            if row.calls:
                turn.tool_calls += len(row.calls)
                self.tools.call(place, row.calls)
        elif kind == "result":
            took = self._add_result(place, row, usage)
            if usage is not None:
                self._add_request(place, row, "tool", usage, took)
        else:
            self._add_request(place, row, cast("RequestKind", kind), usage, None)

    def totals(self) -> Usage:
        """The sum over all requests."""
        total = UsageSum(cost=self.cost)
        for turn in self.turns:
            total.add_counts(turn.used)
        return total.usage()

    def _turn_of(self, place: int, row: StatsRow) -> int:
        """The index of the entry's turn, which begins with it when there is none."""
        prompt, on_branch = self._prompts[place], self._on_branch[place]
        key = prompt * 2 + on_branch
        index = self._indexes.get(key)
        if index is None:
            index = self._indexes[key] = len(self.turns)
            first = row if prompt == NOBODY else self._first[prompt]
            prompt_id, words = (first.id, first.text) if prompt != NOBODY else (None, "")
            self.turns.append(_Turn(prompt_id, words, bool(on_branch), first.began))
        return index

    def _add_request(
        self, place: int, row: StatsRow, kind: RequestKind, usage: Usage | None, took: int | None
    ) -> _Turn:
        index = self._turn_of(place, row)
        turn = self.turns[index]
        outcome: RequestOutcome = _OUTCOMES.get(row.reason, "done") if row.reason else "done"
        request = RequestStats(
            entry_id=row.id,
            kind=kind,
            on_branch=bool(self._on_branch[place]),
            turn=index,
            at=row.own if row.own is not None else row.stored,
            provider=row.provider,
            model=row.model,
            usage=usage,
            duration_ms=took,
            tool_calls=len(row.calls),
            outcome=outcome,
        )
        self.requests.append(request)
        turn.requests += 1
        if outcome == "refused":
            turn.refused += 1
        if usage is not None:
            turn.used.add(usage)
            self.cost += usage.cost
        return turn

    def _add_result(self, place: int, row: StatsRow, usage: Usage | None) -> int | None:
        """Count a result that has its call, as the pane shows it; returns how long it took."""
        answer, took = self._answers[place], row.told_ms
        if answer == NOBODY:
            return took
        if took is None and self._stored[answer] != _NEVER:
            took = _between(self._stored[answer], row.own)
        if self.tools.answered(answer, row.text, failed=row.failed, usage=usage, took=took):
            turn = self.turns[self._turn_of(place, row)]
            turn.tool_errors += row.failed
            turn.reach(row.own if row.own is not None else row.stored)
        return took
