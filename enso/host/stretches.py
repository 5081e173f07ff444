"""The shape of a file whose branches part: stretches in which each row follows the one before."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

NOWHERE: Final = -1
"""The place of a row that there is not."""


class Stretches:
    """Where stretches begin, in order, and the place of the row that each follows.

    A place is the number of a row. ``above`` is ``NOWHERE`` for a stretch that follows nothing.
    """

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.above: list[int] = []

    def begin(self, start: int, above: int) -> None:
        """A stretch begins here."""
        self.starts.append(start)
        self.above.append(above)

    def stretch_of(self, place: int) -> int:
        """Which stretch holds a place: the index of its start."""
        return bisect_right(self.starts, place) - 1

    def branch_of(self, leaf: int) -> list[range]:
        """The places from the root to a leaf, of rows that all come behind the row they follow."""
        ranges: list[range] = []
        while leaf != NOWHERE:
            stretch = self.stretch_of(leaf)
            ranges.append(range(self.starts[stretch], leaf + 1))
            leaf = self.above[stretch]
        ranges.reverse()
        return ranges
