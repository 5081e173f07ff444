"""What a thread used, added up as its entries come; requests and turns are kept packed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from msgspec import msgpack

from enso.host.contract import BranchStats, RequestStats, ToolStats
from enso.host.packed import Packed
from enso.host.session_spend import usage_of_counts
from enso.host.stats_gathered import Gathered, Request
from enso.host.stats_part import join_part
from enso.host.stats_tools import ToolCounts
from enso.host.stats_turns import Turns
from enso.host.stats_walk import StatsWalk
from enso.host.usage import UsageSum

if TYPE_CHECKING:
    from enso.host.contract import RequestKind, RequestOutcome


def _stats_of(request: Request, turn: int) -> RequestStats:
    """A request in a turn; off the branch with the complement (``~``) of its number."""
    return RequestStats(
        entry_id=request.entry_id,
        kind=cast("RequestKind", request.kind),
        on_branch=turn >= 0,
        turn=turn if turn >= 0 else ~turn,
        at=request.at,
        provider=request.provider,
        model=request.model,
        usage=usage_of_counts(request.counts) if request.counts is not None else None,
        duration_ms=request.duration_ms,
        tool_calls=request.tool_calls,
        outcome=cast("RequestOutcome", request.outcome),
    )


_unpack = msgpack.Decoder(list[Request]).decode


def _requests_of(page: tuple[bytes, list[int]]) -> list[RequestStats]:
    packed, turns = page
    return [_stats_of(one, turn) for one, turn in zip(_unpack(packed), turns, strict=True)]


def _tools_of(counts: ToolCounts) -> Iterator[ToolStats]:
    for name, tool in counts.by_name.items():
        yield ToolStats(
            name=name,
            calls=tool.calls,
            errors=tool.errors,
            unanswered=tool.calls - tool.answered,
            duration_ms=tool.duration_ms,
            timed=tool.timed,
            usage=UsageSum(*tool.used).usage() if tool.used is not None else None,
        )


class StatsSum(StatsWalk):
    """The requests, turns and tools of entries, in the order in which they are added."""

    def __init__(self) -> None:
        super().__init__()
        self._turns = Turns()

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        return self.requests.size + self._turns.size

    def join(self, content: bytes, stretches: Mapping[int, int]) -> None:
        """Add what a ``enso.host.stats_part.PartSum`` came to."""
        join_part(self, content, stretches)

    def settle(self, branch: Sequence[range]) -> None:
        """Every entry was added, these are the branch, and the sum stands at its leaf."""
        self._turns.cut(self.gathered, branch, self.prompt)
        self.gathered = Gathered(self.requests, self.prompt, self.asking)
        self.tools.settle()

    def answer(self) -> BranchStats:
        """What was added; more may be added behind it. The last entry is the leaf of the branch."""
        if self.gathered.ends:
            self.settle(self.gathered.branch())
        turns, (pages, starts) = self._turns.of_requests, self.requests.pages()
        ends = [*starts[1:], len(turns)]
        in_turns = [
            (page, turns[start:end]) for page, start, end in zip(pages, starts, ends, strict=False)
        ]
        # Requests are the entries that use anything: their sum is the sum over the file.
        return BranchStats(
            totals=UsageSum(*self.requests.used).usage(),
            requests=Packed(in_turns, starts, len(self.requests), _requests_of),
            turns=self._turns.packed(),
            tools=tuple(_tools_of(self.tools)),
        )
