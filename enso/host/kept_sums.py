"""What whole readings come to, kept for the next one: a sum, and where in its file it stands.

A file that did not change costs its state; one that went on from its last entry costs the lines
that came; of any other the sum is made anew. A file is added up as it is read where each entry
follows the one before, or one further up that the sum can go on from; any other from its rows once
all are there.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import (
    Any,
    BinaryIO,
    Final,
    Generic,
    NamedTuple,
    Protocol,
    TypeVar,
    runtime_checkable,
)

from enso.host.kept_files import KeptFiles
from enso.host.kept_rows import FileState
from enso.host.lines_before import Counters
from enso.host.session_log import Header, open_regular
from enso.host.session_rows import FileRows, PlacedRow, Shape, read_rows
from enso.host.stretches import NOWHERE
from enso.host.uncollected import uncollected

MOST_BYTES: Final = 64 << 20
"""Sums that are kept: those of one thread of 80,000 entries, or of a hundred usual ones."""

MOST_FILES: Final = 64

RowT = TypeVar("RowT", bound=PlacedRow)
AnswerT = TypeVar("AnswerT")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Summing(Generic[RowT, AnswerT]):
    """One kind of sum: the rows it adds up; one of nothing; one of rows whose leaf has an id."""

    shape: Shape[Any, RowT]
    nothing: Callable[[], Sum[RowT, AnswerT]]
    of_rows: Callable[[list[RowT], str | None], Sum[RowT, AnswerT]]


class Summed(NamedTuple, Generic[AnswerT]):
    """What a file comes to now."""

    header: Header
    answer: AnswerT


class _NotInOrder(Exception):
    """An entry does not follow one before it from which the sum can go on, or its id came twice."""


class _InOrder(Generic[RowT]):
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
        self.passed = 0

    def take(self, rows: list[RowT]) -> None:
        """Take the next rows. Raises ``_NotInOrder``."""
        if not rows:
            return
        ids, parents = [row.id for row in rows], [row.parent for row in rows]
        self._places.update(zip(ids, range(self.passed, self.passed + len(ids)), strict=True))
        self._new.extend(map(hash, ids))
        before = [self._last_id, *ids]
        self._last_id = before.pop()
        if parents == before:
            self._total.follow(rows)
        else:
            self._take_stretches(rows, parents, before)
        self.passed += len(rows)

    def _take_stretches(
        self, rows: list[RowT], parents: list[str | None], before: list[str | None]
    ) -> None:
        pairs = enumerate(zip(parents, before, strict=True))
        starts = [at for at, (parent, last) in pairs if parent != last]
        self._total.follow(rows[: starts[0]])
        for start, end in pairwise([*starts, len(rows)]):
            self._begin(self.passed + start, parents[start])
            self._total.follow(rows[start:end])

    def _begin(self, place: int, parent: str | None) -> None:
        """The row at a place does not follow the one before it."""
        above = self._places.get(parent, NOWHERE) if parent is not None else NOWHERE
        if self._goes_on or above >= place:
            raise _NotInOrder
        if isinstance(self._total, PartingSum):
            self._total.part(above)
        elif place:
            raise _NotInOrder
        if parent is not None and above == NOWHERE:
            self._missing.add(parent)

    def settle(self) -> None:
        """Every row was taken. Raises ``_NotInOrder``."""
        if len(self._places) < self.passed or not self._missing.isdisjoint(self._places):
            raise _NotInOrder
        if self._met and not set(self._new).isdisjoint(self._met):
            raise _NotInOrder
        self._met.extend(self._new)


@dataclass(slots=True)
class _Kept:
    """What is known of one kind of sum of one file. The lock is held while it is read."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: FileState = field(default_factory=FileState)
    found: FileRows[Any] | None = None  # without its rows
    total: Sum[Any, Any] | None = None
    met: array[int] = field(default_factory=lambda: array("q"))
    answer: Any = None

    @property
    def size(self) -> int:
        return (self.total.size if self.total is not None else 0) + 8 * len(self.met)


class KeptSums:
    """Adds files up, each state of one once. Usable from any worker."""

    def __init__(self, counters: Counters, most_bytes: int = MOST_BYTES) -> None:
        self._counters = counters
        self._kept = KeptFiles(_Kept, most_bytes=most_bytes, most_files=MOST_FILES)

    def read(self, path: Path, kind: Summing[RowT, AnswerT]) -> Summed[AnswerT] | None:
        """What a file comes to now; ``None`` when it is no session. Raises ``OSError``."""
        with self._kept.of(path, kind) as kept, kept.lock, open_regular(path) as stream:
            self._read(kept, stream, kind)
            found, answer = kept.found, kept.answer
        return Summed(found.header, answer) if found is not None else None

    def _read(self, kept: _Kept, stream: BinaryIO, kind: Summing[RowT, AnswerT]) -> None:
        if kept.state.is_of(stream):
            return
        before, kept.state = kept.state, FileState()  # until all that came was added
        with uncollected():
            try:
                kept.state = self._add_up(kept, before, stream, kind)
            except _NotInOrder:
                kept.state = self._add_up_rows(kept, stream, kind)
        kept.answer = kept.total.answer() if kept.total is not None else None

    def _add_up(
        self, kept: _Kept, before: FileState, stream: BinaryIO, kind: Summing[RowT, AnswerT]
    ) -> FileState:
        """Add up what is new in a file, in the order of its entries."""
        earlier = kept.found if before.has_grown(stream, kept.found) else None
        if earlier is None or kept.total is None:
            earlier, kept.total, kept.met = None, kind.nothing(), array("q")
        in_order = _InOrder(kept.total, kept.met, earlier)
        state = FileState.of(stream)
        stream.seek(earlier.consumed if earlier is not None else 0)
        kept.found = read_rows(stream, kind.shape, self._counters, earlier, in_order.take)
        in_order.settle()
        self._counters.entries_added_up += in_order.passed
        return state.read_to(stream, kept.found)

    def _add_up_rows(
        self, kept: _Kept, stream: BinaryIO, kind: Summing[RowT, AnswerT]
    ) -> FileState:
        """Add up a file from its rows, once all are there."""
        state, kept.total = FileState.of(stream), None
        stream.seek(0)
        found = kept.found = read_rows(stream, kind.shape, self._counters)
        if found is not None:
            rows, found.rows = found.rows, []
            kept.met = array("q", map(hash, [row.id for row in rows]))
            self._counters.entries_added_up += len(rows)
            kept.total = kind.of_rows(rows, found.last_id)
        return state.read_to(stream, found)
