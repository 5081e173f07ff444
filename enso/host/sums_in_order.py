"""Adding the entries of a file up in the order in which it has them, as they are read.

The later part of a long file may be added up elsewhere meanwhile, by somebody who does not know the
part before it (``PartInOrder``), and is then joined.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from enso.host.session_rows import FileRows, PlacedRow
from enso.host.stretches import NOWHERE

RowT = TypeVar("RowT", bound=PlacedRow)
ToldT_co = TypeVar("ToldT_co", covariant=True)


class Sum(Protocol[RowT, ToldT_co]):
    """A sum to which entries may be added that follow what was added last."""

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        ...

    def follow(self, rows: list[RowT]) -> None:
        """Add entries of which each follows the one before."""
        ...

    def answer(self) -> ToldT_co:
        """What it comes to, which does not change when more is added."""
        ...


@runtime_checkable
class PartingSum(Protocol):
    """A sum that need not follow what was added last."""

    def part(self, above: int) -> None:
        """What comes follows the entry of this number, ``NOWHERE`` none; all are on the branch
        that lead to the last one."""
        ...


@runtime_checkable
class JoiningSum(Protocol):
    """A sum to which a later part may be added that was added up elsewhere."""

    def join(self, content: bytes, stretches: Mapping[int, int]) -> None:
        """Add what a ``SumOfPart`` came to.

        ``stretches`` says where in that part an entry does not follow the one before it, and the
        number of the one that it follows.
        """
        ...


class SumOfPart(Protocol[RowT]):
    """The sum of a part of a file, made without what is before it."""

    def follow(self, rows: list[RowT]) -> None:
        """Add entries of which each follows the one before."""
        ...

    def part(self, above: int | None) -> None:
        """What comes follows the entry of this number within the part; ``NOWHERE``: none;
        ``None``: one that is not in the part, or none."""
        ...

    def content(self) -> bytes:
        """What it came to, to be joined."""
        ...


class Parting(Struct, array_like=True, gc=False):
    """Where in a part an entry does not follow the one before it.

    ``place`` is its number within the part, ``above`` that of its parent, ``NOWHERE`` where that is
    none of the part; then ``outside`` is the parent's id, if it has one.
    """

    place: int
    above: int
    outside: str | None


class LaterPart(Struct, array_like=True, gc=False):
    """The later lines of a file, added up: what came of each entry, and how they follow each other.

    ``lines`` were read of it; ``consumed``, ``torn`` and ``skipped`` are those of ``FileRows``.
    """

    ids: list[str]
    partings: list[Parting]
    content: bytes
    lines: int
    consumed: int
    torn: bool
    skipped: int


class NotInOrder(Exception):
    """An entry does not follow one before it from which the sum can go on, or its id came twice."""


class InOrder(Generic[RowT]):
    """Adds rows up, of which each follows one before it, and whose ids were not met before."""

    def __init__(
        self, total: Sum[RowT, Any], met: array[int], earlier: FileRows[Any] | None
    ) -> None:
        """Behind what was added ``earlier`` each row is to follow the one before it."""
        self._total = total
        self._met = met
        self._goes_on = earlier is not None
        self._last_id = earlier.last_id if earlier is not None else None
        self._places: dict[str, int] = {}
        self._new = array("q")
        self._missing: set[str] = set()
        self._passed = 0
        self._joined = 0

    def take(self, rows: list[RowT]) -> None:
        """Take the next rows. Raises ``NotInOrder``."""
        if not rows:
            return
        ids, parents = [row.id for row in rows], [row.parent for row in rows]
        self._places.update(zip(ids, range(self._passed, self._passed + len(ids)), strict=True))
        self._new.extend(map(hash, ids))
        before = [self._last_id, *ids]
        self._last_id = before.pop()
        if parents == before:
            self._total.follow(rows)
        else:
            self._take_stretches(rows, parents, before)
        self._passed += len(rows)

    def _take_stretches(
        self, rows: list[RowT], parents: list[str | None], before: list[str | None]
    ) -> None:
        pairs = enumerate(zip(parents, before, strict=True))
        starts = [at for at, (parent, last) in pairs if parent != last]
        self._total.follow(rows[: starts[0]])
        for start, end in pairwise([*starts, len(rows)]):
            self._begin(self._passed + start, parents[start])
            self._total.follow(rows[start:end])

    def _begin(self, place: int, parent: str | None) -> None:
        """The row at a place does not follow the one before it."""
        above = self._places.get(parent, NOWHERE) if parent is not None else NOWHERE
        if self._goes_on or above >= place:
            raise NotInOrder
        if isinstance(self._total, PartingSum):
            self._total.part(above)
        elif place:
            raise NotInOrder
        if parent is not None and above == NOWHERE:
            self._missing.add(parent)

    def join(self, later: LaterPart) -> None:
        """Take all rows that are left, which were added up elsewhere. Raises ``NotInOrder``."""
        offset, places, stretches = self._passed, self._places, dict[int, int]()
        outside = {*self._missing, *(one.outside for one in later.partings)}
        if not places.keys().isdisjoint(later.ids) or not outside.isdisjoint(later.ids):
            raise NotInOrder
        for parting in later.partings:
            above, parent = parting.above, parting.outside
            if not parting.place and parent == self._last_id:
                continue
            if above != NOWHERE:
                above += offset
            elif parent is not None:
                above = places.get(parent, NOWHERE)
                if above == NOWHERE:
                    self._missing.add(parent)
            stretches[parting.place] = above
        if not isinstance(self._total, JoiningSum):
            raise NotInOrder
        self._total.join(later.content, stretches)
        self._new.extend(map(hash, later.ids))
        self._joined = len(later.ids)

    @property
    def added(self) -> int:
        """How many entries were added."""
        return self._passed + self._joined

    def settle(self) -> None:
        """Every row was taken. Raises ``NotInOrder``."""
        places = self._places
        if len(places) < self._passed or any(parent in places for parent in self._missing):
            raise NotInOrder
        if self._met and not set(self._new).isdisjoint(self._met):
            raise NotInOrder
        self._met.extend(self._new)


class PartInOrder(Generic[RowT]):
    """Adds up the rows of a part of a file, some of which follow rows that are not in it."""

    def __init__(self, total: SumOfPart[RowT]) -> None:
        self._total = total
        self._places: dict[str, int] = {}
        self._last_id: str | None = None
        self._passed = 0
        self._partings: list[Parting] = []

    def take(self, rows: list[RowT]) -> None:
        """Take the next rows. Raises ``NotInOrder``."""
        ids, parents = [row.id for row in rows], [row.parent for row in rows]
        begun, self._passed = self._passed, self._passed + len(ids)
        self._places.update(zip(ids, range(begun, self._passed), strict=True))
        if len(self._places) < self._passed:
            raise NotInOrder
        before = [self._last_id, *ids]
        self._last_id = before.pop()
        pairs = enumerate(zip(parents, before, strict=True))
        starts = [at for at, (parent, last) in pairs if parent != last or not begun + at]
        self._total.follow(rows[: starts[0] if starts else len(rows)])
        for start, end in pairwise([*starts, len(rows)]):
            self._begin(begun + start, parents[start])
            self._total.follow(rows[start:end])

    def _begin(self, place: int, parent: str | None) -> None:
        above = self._places.get(parent, NOWHERE) if parent is not None else NOWHERE
        if above >= place:
            raise NotInOrder
        outside = parent if above == NOWHERE else None
        self._partings.append(Parting(place, above, outside))
        self._total.part(above if outside is None and place else None)

    def told(self, found: FileRows[Any], lines: int) -> LaterPart:
        """What all rows came to, of which so much was read."""
        return LaterPart(
            ids=list(self._places),
            partings=self._partings,
            content=self._total.content(),
            lines=lines,
            consumed=found.consumed,
            torn=found.torn,
            skipped=found.skipped,
        )
