"""Sizes of a branch's entries, added up from a place on: also where a compaction moved the start.

Appending, changing and asking cost the same however long the branch is (but for a logarithm), so
that a branch of any shape is measured in one walk.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Final, NamedTuple

_HIGHEST: Final = 1 << 32  # places are below it


class Size(NamedTuple):
    """Messages, their letters, and about how many tokens they are."""

    elements: int
    letters: int
    tokens: int

    def plus(self, other: Size) -> Size:
        """Both together."""
        elements, letters, tokens = self
        return Size(elements + other[0], letters + other[1], tokens + other[2])

    def minus(self, other: Size) -> Size:
        """What is left without the other."""
        return Size(
            self.elements - other.elements,
            self.letters - other.letters,
            self.tokens - other.tokens,
        )


NOTHING: Final = Size(0, 0, 0)

Sizes = dict[str, Size]
"""Sizes by kind."""


def add(sizes: Sizes, more: Mapping[str, Size]) -> None:
    """Add sizes to sizes, kind by kind."""
    for kind, size in more.items():
        sizes[kind] = sizes.get(kind, NOTHING).plus(size)


class PlacedSizes:
    """The sizes of one branch's places, by kind, and what edits change of them."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}
        self._changes: dict[str, _Changes] = {}

    def append(self, place: int, sizes: Mapping[str, Size]) -> None:
        """What stands at the next place."""
        for kind, size in sizes.items():
            self.append_one(place, kind, size)

    def append_one(self, place: int, kind: str, size: Size) -> None:
        """A size of one kind that stands at the next place."""
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = _Kind()
        found.append(place, size)

    def change(self, place: int, sizes: Mapping[str, Size]) -> None:
        """Add to what is found by who asks from this place on, or from before it."""
        for kind, size in sizes.items():
            self._changes.setdefault(kind, _Changes()).add(place, size)

    def since(self, start: int) -> Sizes:
        """Everything from a place on."""
        sizes = {kind: found.since(start) for kind, found in self._kinds.items()}
        add(sizes, {kind: found.since(start) for kind, found in self._changes.items()})
        return sizes


class _Kind:
    """Sizes in the order of their places: sums from the beginning up to each."""

    def __init__(self) -> None:
        self._places = array("Q")
        self._elements, self._letters, self._tokens = (array("q", (0,)) for _ in Size._fields)
        self._all = NOTHING

    def append(self, place: int, size: Size) -> None:
        elements, letters, tokens = self._all = self._all.plus(size)
        self._places.append(place)
        self._elements.append(elements)
        self._letters.append(letters)
        self._tokens.append(tokens)

    def since(self, start: int) -> Size:
        first = bisect_left(self._places, start)
        before = Size(self._elements[first], self._letters[first], self._tokens[first])
        return self._all.minus(before)


class _Changes:
    """Sizes at places in any order: a Fenwick tree that holds only the nodes in use."""

    def __init__(self) -> None:
        self._nodes: dict[int, Size] = {}
        self._all = NOTHING

    def add(self, place: int, size: Size) -> None:
        self._all = self._all.plus(size)
        node = place + 1
        while node <= _HIGHEST:
            self._nodes[node] = self._nodes.get(node, NOTHING).plus(size)
            node += node & -node

    def since(self, start: int) -> Size:
        before, node = NOTHING, start
        while node:
            before = before.plus(self._nodes.get(node, NOTHING))
            node -= node & -node
        return self._all.minus(before)
