"""What a thread used, added up as its entries come; requests and turns are kept packed.

Owns how one entry counts. Which entries follow each other is told by who adds: after one entry the
sum stands in its turn, at its answer, until it is told to stand elsewhere. What ``durationMs`` does
not say comes from times: an answer's message is stamped when it is asked for and its entry when it
is stored, a tool's result when it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec import Struct, msgpack

from enso.host.contract import (
    BranchStats,
    RequestKind,
    RequestOutcome,
    RequestStats,
    TurnStats,
)
from enso.host.packed import Packing
from enso.host.session_spend import Counts, counts_of_scan, usage_of_counts
from enso.host.stats_rows import StatsRow
from enso.host.stats_tools import Answer, ToolCounts
from enso.host.usage import UsageSum

_OUTCOMES: Final[dict[str, RequestOutcome]] = {
    "error": "refused",
    "aborted": "aborted",
    "length": "cut",
}


class _Request(Struct, array_like=True, gc=False):
    """A request as it is packed."""

    entry_id: str
    kind: RequestKind
    on_branch: bool
    turn: int
    at: int | None
    provider: str
    model: str
    counts: Counts | None
    duration_ms: int | None
    tool_calls: int
    outcome: RequestOutcome

    def stats(self) -> RequestStats:
        return RequestStats(
            entry_id=self.entry_id,
            kind=self.kind,
            on_branch=self.on_branch,
            turn=self.turn,
            at=self.at,
            provider=self.provider,
            model=self.model,
            usage=usage_of_counts(self.counts) if self.counts is not None else None,
            duration_ms=self.duration_ms,
            tool_calls=self.tool_calls,
            outcome=self.outcome,
        )


class _Turn(Struct, array_like=True, gc=False):
    """A turn, under way or as it is packed."""

    prompt_id: str | None
    prompt: str
    on_branch: bool
    at: int | None
    end: int | None = None
    requests: int = 0
    refused: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def reach(self, moment: int | None) -> None:
        """Something of this turn ended then."""
        if moment is not None and (self.end is None or moment > self.end):
            self.end = moment

    def use(self, counts: Counts) -> None:
        """A request of this turn used so much."""
        sent, got, read, written, cost, known = counts
        self.input += sent
        self.output += got
        self.cache_read += read
        self.cache_write += written
        self.cost += cost
        if not known:
            self.unpriced += 1

    def used(self) -> UsageSum:
        """What its requests used."""
        return UsageSum(
            self.input, self.output, self.cache_read, self.cache_write, self.cost, self.unpriced
        )

    def stats(self) -> TurnStats:
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
            usage=self.used().usage(),
        )


_unpack_requests = msgpack.Decoder(list[_Request]).decode
_unpack_turns = msgpack.Decoder(list[_Turn]).decode


def _requests_of(page: bytes) -> list[RequestStats]:
    return [request.stats() for request in _unpack_requests(page)]


def _turns_of(page: bytes) -> list[TurnStats]:
    return [turn.stats() for turn in _unpack_turns(page)]


def _between(start: int | None, end: int | None) -> int | None:
    """The time from one moment to another; ``None`` when one is not known, or clocks disagree."""
    return end - start if start is not None and end is not None and end >= start else None


class Beginning(NamedTuple):
    """What a turn begins with, once something of it counts; ``None``: with the first that does."""

    prompt: StatsRow | None = None
    on_branch: bool = True

    @property
    def key(self) -> tuple[str | None, bool]:
        """What no other turn has."""
        return self.prompt.id if self.prompt is not None else None, self.on_branch


@dataclass(slots=True)
class StatsSum:
    """The requests, turns and tools of entries, in the order in which they are added."""

    asking: Answer | None = None
    """The answer that the next entry's result may be of."""
    cost: float = 0.0  # in the order of the file: sums of sums are not the same
    _beginning: Beginning = field(default_factory=Beginning)
    _turn: _Turn | None = None  # in which it stands; None: in one of which nothing counted yet
    _index: int = 0
    _indexes: dict[tuple[str | None, bool], int] = field(
        default_factory=dict[tuple[str | None, bool], int]
    )
    _turns: list[_Turn] = field(default_factory=list[_Turn])
    _tools: ToolCounts = field(default_factory=ToolCounts)
    _past: UsageSum = field(default_factory=UsageSum)  # of packed turns, but for the one it is in
    _requests: Packing[RequestStats] = field(default_factory=lambda: Packing(_requests_of))
    _packed: Packing[TurnStats] = field(default_factory=lambda: Packing(_turns_of))

    # -- where it stands --------------------------------------------------------------------------

    def stand(self, beginning: Beginning, asking: Answer | None) -> None:
        """The next entry follows what is in this turn, and such an answer in it."""
        self._begin(beginning)
        self.asking = asking
        index = self._indexes.get(beginning.key)
        if index is not None:
            self._index, self._turn = index, self._turns[index - len(self._packed)]

    def _begin(self, beginning: Beginning) -> None:
        """The next entry is of a turn that begins; or of one that did since the last packing."""
        index, turn = self._index, self._turn
        if turn is not None and index < len(self._packed):
            self._packed.replace(index, turn)
            self._past.add_counts(turn.used())
        self._turn = None
        self._beginning = beginning

    def _turn_of(self, row: StatsRow) -> _Turn:
        turn = self._turn
        if turn is None:
            prompt, on_branch = beginning = self._beginning
            prompt_id, words = (prompt.id, prompt.text) if prompt is not None else (None, "")
            turn = self._turn = _Turn(prompt_id, words, on_branch, (prompt or row).began)
            self._index = self._indexes[beginning.key] = len(self._packed) + len(self._turns)
            self._turns.append(turn)
        return turn

    # -- entries ----------------------------------------------------------------------------------

    def follow(self, rows: Sequence[StatsRow]) -> None:
        """Add entries of which each follows the one before, the first the one added last."""
        on_branch = self._beginning.on_branch
        for row in rows:
            kind = row.kind
            if kind == "answer":
                self._add_answer(row)
            elif kind == "result":
                self._add_result(row)
            elif kind == "user":
                self._begin(Beginning(row, on_branch))
                self._turn_of(row)
                self.asking = None
            elif kind != "none":
                counts = counts_of_scan(row.usage) if row.usage is not None else None
                self._add_request(row, kind, counts, None)

    def _add_answer(self, row: StatsRow) -> None:
        own, stored, calls, took = row.own, row.stored, row.calls, row.told_ms
        if took is None and own is not None and stored is not None and stored >= own:
            took = stored - own
        counts = counts_of_scan(row.usage) if row.usage is not None else None
        turn = self._add_request(row, "answer", counts, took)
        end = stored if stored is not None else own
        if end is not None and (turn.end is None or end > turn.end):
            turn.end = end
        self.asking = Answer(stored, calls)
        if calls:
            turn.tool_calls += len(calls)
            self._tools.call(calls)

    def _add_result(self, row: StatsRow) -> None:
        """A result counts where it has its call, as the pane shows it."""
        answer, took = self.asking, row.told_ms
        counts = counts_of_scan(row.usage) if row.usage is not None else None
        if answer is not None:
            if took is None:
                took = _between(answer.stored, row.own)
            tool = self._tools.answered(answer, row.text, took)
            if tool is not None:
                turn = self._turn or self._turn_of(row)
                turn.reach(row.own if row.own is not None else row.stored)
                if row.failed:
                    turn.tool_errors += 1
                    tool.errors += 1
                if counts is not None:
                    tool.use(usage_of_counts(counts))
        if counts is not None:
            self._add_request(row, "tool", counts, took)

    def _add_request(
        self, row: StatsRow, kind: RequestKind, counts: Counts | None, took: int | None
    ) -> _Turn:
        turn, reason = self._turn or self._turn_of(row), row.reason
        outcome: RequestOutcome = _OUTCOMES.get(reason, "done") if reason else "done"
        at = row.own if row.own is not None else row.stored
        self._requests.append(
            (row.id, kind, turn.on_branch, self._index, at, row.provider, row.model,
             counts, took, len(row.calls), outcome)
        )  # fmt: skip
        turn.requests += 1
        if outcome == "refused":
            turn.refused += 1
        if counts is not None:
            turn.use(counts)
            self.cost += counts[4]
        return turn

    # -- the sum ----------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        return self._requests.size + self._packed.size

    def answer(self) -> BranchStats:
        """What was added; more may be added to the turn that the sum stands in, and behind it."""
        self._pack()
        totals = UsageSum(cost=self.cost)
        totals.add_counts(self._past)
        if self._turn is not None:
            totals.add_counts(self._turn.used())
        # Requests are the entries that use anything: their sum is the sum over the file.
        return BranchStats(
            totals=totals.usage(),
            requests=self._requests.packed(),
            turns=self._packed.packed(),
            tools=self._tools.stats(),
        )

    def _pack(self) -> None:
        """Pack the turns; the one that the sum stands in goes on."""
        if self._turn is not None and self._index < len(self._packed):
            self._packed.replace(self._index, self._turn)
        for turn in self._turns:
            self._packed.append(copy(turn) if turn is self._turn else turn)
            if turn is not self._turn:
                self._past.add_counts(turn.used())
        self._turns.clear()
        self._indexes.clear()
