"""What a thread used, read from its stored entries: by request, by turn, by tool.

A file is added up as it is read (``enso.host.stats_sum``), in time that grows with its lines. One
in which an id comes twice, or a parent behind its child, is added up here, once its tree is known:
in the order of the file, stretch by stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from enso.host.contract import BranchStats
from enso.host.kept_sums import Summing
from enso.host.session_log import Entry
from enso.host.session_rows import RowTree
from enso.host.stats_lines import STATS, Prompt, StatsLine
from enso.host.stats_places import Followed, Places
from enso.host.stats_sum import StatsSum
from enso.host.stats_walk import prompted
from enso.host.stored_values import Stored
from enso.host.stretches import NOWHERE


def branch_stats(entries: Sequence[Stored], leaf_id: str | None) -> BranchStats:
    """The stats of a file's entries, of which ``leaf_id`` is the last of the current branch.

    Entries have ids and parents, as ``enso.host.session_log`` gives them; of two with one id the
    later one counts. Never raises, whatever else they hold.
    """
    return stats_of_rows(STATS.rows_of(cast("Sequence[Entry]", entries)), leaf_id)


def stats_of_rows(rows: list[StatsLine], leaf_id: str | None) -> BranchStats:
    """The same of a file's rows."""
    return sum_of_rows(rows, leaf_id).answer()


def sum_of_rows(rows: list[StatsLine], leaf_id: str | None) -> StatsSum:
    """The sum over a file's rows, standing at its leaf."""
    tree, total = RowTree(rows, leaf_id), StatsSum()
    places = Places(tree)
    for stretch, start in enumerate(tree.starts):
        _stand(total, tree, places.before(stretch))
        total.follow(tree.rows[start : tree.end_of(stretch)])
    _stand(total, tree, places.at(tree.leaf))
    total.settle(tree.ranges)
    return total


def _stand(total: StatsSum, tree: RowTree[StatsLine], follows: Followed) -> None:
    """Let the sum stand behind a prompt and an answer, where that was added already."""
    row = tree.rows[follows.prompt] if follows.prompt != NOWHERE else None
    prompt = prompted(row, row.message) if row and isinstance(row.message, Prompt) else None
    total.stand(prompt, total.answer_at(follows.answer))


STATS_SUM: Final = Summing(
    shape=STATS, nothing=StatsSum, of_rows=sum_of_rows, helper="enso.host.stats_worker"
)
"""The sum of a file that its stats are."""
