"""The tree of a session file as turns need it: which prompt and which answer a stretch follows."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

from enso.host.session_rows import RowTree
from enso.host.stats_lines import Prompt, Reply, StatsLine
from enso.host.stretches import NOWHERE


class Followed(NamedTuple):
    """The places of the prompt that a turn began with and of its last answer, if there are any."""

    prompt: int = NOWHERE
    answer: int = NOWHERE


_NOTHING: Final = Followed()


class Places:
    """What each stretch of a tree follows: the nearest prompt, and the nearest answer behind it."""

    def __init__(self, tree: RowTree[StatsLine]) -> None:
        """Time grows with the rows, and with the stretches; cycles end."""
        self._tree = tree
        self._prompts = _places_of(Prompt, tree.rows)
        self._answers = _places_of(Reply, tree.rows)
        self._found: dict[int, Followed] = {}
        for stretch in range(len(tree.starts)):
            self._find(stretch)

    def before(self, stretch: int) -> Followed:
        """What the first entry of a stretch follows."""
        return self._found[stretch]

    def at(self, place: int) -> Followed:
        """What an entry that follows this one would follow."""
        if place == NOWHERE:
            return _NOTHING
        stretch = self._tree.stretch_of(place)
        start = self._tree.starts[stretch]
        prompt = _last(self._prompts, start, place)
        answer = _last(self._answers, max(start, prompt), place)
        if prompt != NOWHERE:
            return Followed(prompt, answer)
        before = self._found[stretch]
        return Followed(before.prompt, answer if answer != NOWHERE else before.answer)

    def _find(self, stretch: int) -> None:
        """Find what a stretch follows, and those above it that are not known yet."""
        path: list[int] = []
        while stretch not in self._found:
            path.append(stretch)
            self._found[stretch] = _NOTHING  # until known: a cycle ends here
            above = self._tree.above[stretch]
            if above != NOWHERE:
                stretch = self._tree.stretch_of(above)
        for one in reversed(path):
            self._found[one] = self.at(self._tree.above[one])


def _places_of(role: type[Prompt | Reply], rows: list[StatsLine]) -> list[int]:
    messages = enumerate(row.message for row in rows)
    return [at for at, message in messages if type(message) is role and rows[at].type == "message"]


def _last(places: list[int], start: int, end: int) -> int:
    """The last of these from a place up to and with another."""
    at = bisect_right(places, end) - 1
    return places[at] if at >= 0 and places[at] >= start else NOWHERE
