"""What a thread used, read from its stored entries: by request, by turn, by tool.

A fold over the rows of a file (``enso.host.stats_rows``), in time that grows with their number:
which turn each entry is in, and which answer a result is of. How it counts there is
``enso.host.stats_sum``'s.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, cast

from enso.host.contract import BranchStats
from enso.host.kept_sums import Summing
from enso.host.session_log import Entry
from enso.host.session_rows import NOWHERE, RowTree
from enso.host.stats_places import Followed, Places
from enso.host.stats_rows import STATS, StatsRow
from enso.host.stats_sum import Beginning, StatsSum
from enso.host.stats_tools import Answer
from enso.host.stored_values import Stored


def branch_stats(entries: Sequence[Stored], leaf_id: str | None) -> BranchStats:
    """The stats of a file's entries, of which ``leaf_id`` is the last of the current branch.

    Entries have ids and parents, as ``enso.host.session_log`` gives them; of two with one id the
    later one counts. Never raises, whatever else they hold.
    """
    return stats_of_rows(STATS.rows_of(cast("Sequence[Entry]", entries)), leaf_id)


def stats_of_rows(rows: list[StatsRow], leaf_id: str | None) -> BranchStats:
    """The same of a file's rows."""
    return sum_of_rows(rows, leaf_id).answer()


def sum_of_rows(rows: list[StatsRow], leaf_id: str | None) -> StatsSum:
    """The sum over a file's rows, standing at its leaf."""
    fold = _Fold(RowTree(rows, leaf_id))
    for stretch in range(len(fold.tree.starts)):
        fold.add(stretch)
    fold.stand_at_leaf()
    return fold.sum


class _Fold:
    """Adds rows in the order of the file, stretch by stretch, wherever in its tree they stand."""

    def __init__(self, tree: RowTree[StatsRow]) -> None:
        self.sum = StatsSum()
        self.tree = tree
        self._places = Places(tree)
        followed = {self._places.before(one).answer for one in range(len(tree.starts))}
        followed.add(self._places.at(tree.leaf).answer)
        self._followed = sorted(followed - {NOWHERE})
        self._answers: dict[int, Answer | None] = {}

    def add(self, stretch: int) -> None:
        """Add the rows of a stretch."""
        tree, follows = self.tree, self._places.before(stretch)
        start, end = tree.starts[stretch], tree.end_of(stretch)
        left = max(start, tree.on_branch.rfind(1, start, end) + 1)  # from where on it is a branch
        if start < left:
            self._add(follows, start, left)
            follows = self._places.at(left - 1)
        if left < end:
            self._add(follows, left, end)

    def _add(self, follows: Followed, start: int, end: int) -> None:
        """Add rows that are all on the branch, or none of them."""
        total, rows = self.sum, self.tree.rows
        self._stand(follows, on_branch=self.tree.on_branch[start] == 1)
        first, beyond = bisect_left(self._followed, start), bisect_left(self._followed, end)
        for answer in self._followed[first:beyond]:
            total.follow(rows[start : answer + 1])
            self._answers[answer] = total.asking
            start = answer + 1
        total.follow(rows[start:end])

    def _stand(self, follows: Followed, *, on_branch: bool) -> None:
        prompt = self.tree.rows[follows.prompt] if follows.prompt != NOWHERE else None
        self.sum.stand(Beginning(prompt, on_branch), self._answers.get(follows.answer))

    def stand_at_leaf(self) -> None:
        """Let the sum stand where what comes next will follow."""
        if self.tree.leaf != NOWHERE:
            self._stand(self._places.at(self.tree.leaf), on_branch=True)


STATS_SUM: Final = Summing(shape=STATS, nothing=StatsSum, of_rows=sum_of_rows)
"""The sum of a file that its stats are."""
