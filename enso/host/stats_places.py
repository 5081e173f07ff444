"""The tree of a session file as turns need it: which prompt and which answer an entry follows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from enso.host.session_rows import RowTree
from enso.host.stats_rows import StatsRow

NOBODY: Final = -1
"""Of an entry that follows none."""

_UNKNOWN: Final = -2


class Places:
    """Which prompt an entry follows, and which answer: the nearest of each, up the tree.

    Entries are told by their places in the tree. ``prompts`` holds the prompt that began the turn
    of each that counts, itself for a prompt; ``answers`` the answer before it in its turn, itself
    for an answer.
    """

    def __init__(self, tree: RowTree[StatsRow]) -> None:
        """The branch is one that a person reads: its entries follow each other as they stand."""
        self._rows, self._places = tree.rows, tree.places
        self.prompts = [_UNKNOWN] * len(tree.rows)
        self.answers = [_UNKNOWN] * len(tree.rows)
        self._fill(tree.branch, NOBODY, NOBODY)
        for place, prompt in enumerate(self.prompts):
            if prompt == _UNKNOWN and tree.rows[place].kind != "none":
                self._walk(place)

    def _walk(self, place: int) -> None:
        """Fill in an entry and what is above it. Each entry is walked once, cycles end."""
        path: list[int] = []
        above = place
        while above != NOBODY and self.prompts[above] == _UNKNOWN:
            path.append(above)
            self.prompts[above] = self.answers[above] = NOBODY  # until known: a cycle ends here
            parent = self._rows[above].parent
            above = self._places.get(parent, NOBODY) if parent is not None else NOBODY
        known = above != NOBODY
        prompt, answer = (self.prompts[above], self.answers[above]) if known else (NOBODY, NOBODY)
        self._fill(reversed(path), prompt, answer)

    def _fill(self, path: Iterable[int], prompt: int, answer: int) -> None:
        """Give each entry on a way down its places, from those above the first."""
        rows, prompts, answers = self._rows, self.prompts, self.answers
        for place in path:
            kind = rows[place].kind
            if kind == "user":
                prompt, answer = place, NOBODY
            elif kind == "answer":
                answer = place
            prompts[place], answers[place] = prompt, answer
