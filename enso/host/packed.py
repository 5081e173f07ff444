"""Long lists of values that are kept as bytes, and made when they are looked at, page by page."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar, cast, overload

from msgspec import msgpack

PAGE: Final = 256
"""Values that are packed together, or fewer: to look at one is to make as many."""

ItemT = TypeVar("ItemT")
PageT = TypeVar("PageT")

_encode: Final = msgpack.Encoder().encode


class Packed(Sequence[ItemT], Generic[PageT, ItemT]):
    """Values that stand in memory as bytes; a slice is a tuple. Equal to any sequence of them."""

    __slots__ = ("_length", "_pages", "_starts", "_unpack")

    def __init__(
        self,
        pages: Sequence[PageT],
        starts: Sequence[int],
        length: int,
        unpack: Callable[[PageT], list[ItemT]],
    ) -> None:
        """Pages hold the values from these on, which ``unpack`` makes of them."""
        self._pages = pages
        self._starts = starts
        self._length = length
        self._unpack = unpack

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[ItemT]:
        for page in self._pages:
            yield from self._unpack(page)

    @overload
    def __getitem__(self, index: int) -> ItemT: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ItemT, ...]: ...
    def __getitem__(self, index: int | slice) -> ItemT | tuple[ItemT, ...]:
        places = range(self._length)
        if isinstance(index, slice):
            return tuple(self._at(places[index]))
        return next(self._at((places[index],)))

    def _at(self, places: Iterable[int]) -> Iterator[ItemT]:
        start, page = 0, list[ItemT]()
        for place in places:
            if not start <= place < start + len(page):
                number = bisect_right(self._starts, place) - 1
                start, page = self._starts[number], self._unpack(self._pages[number])
            yield page[place - start]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(cast("Sequence[Any]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it is compared by what it holds

    def __repr__(self) -> str:
        return repr(tuple(self))


class Packing:
    """Packs rows as they come. A row is what ``msgspec.msgpack`` takes."""

    def __init__(self) -> None:
        self._pages: list[bytes] = []
        self._starts: list[int] = []
        self._packed = 0
        self._last: list[object] = []

    def __len__(self) -> int:
        return self._packed + len(self._last)

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        return sum(map(len, self._pages)) + 100 * len(self._last)

    def extend(self, rows: Sequence[object]) -> None:
        """More rows."""
        last = self._last
        last.extend(rows)
        while len(last) >= PAGE:
            self.add_page(_encode(last[:PAGE]), PAGE)
            del last[:PAGE]

    def add_page(self, page: bytes, rows: int) -> None:
        """A page of so many rows, which is packed already; what comes before it is."""
        self._pages.append(page)
        self._starts.append(self._packed)
        self._packed += rows

    def end_page(self) -> None:
        """What comes is in another page."""
        rows = len(self._last)
        if rows:
            self.add_page(_encode(self._last), rows)
            self._last.clear()

    def replace(self, place: int, row: object) -> None:
        """Another row in the place of one."""
        if place >= self._packed:
            self._last[place - self._packed] = row
            return
        number = bisect_right(self._starts, place) - 1
        rows: list[object] = msgpack.decode(self._pages[number])
        rows[place - self._starts[number]] = row
        self._pages[number] = _encode(rows)

    def pages(self) -> tuple[Sequence[bytes], Sequence[int]]:
        """What was packed so far, and which row each page begins with."""
        if not self._last:
            return tuple(self._pages), tuple(self._starts)
        return (*self._pages, _encode(self._last)), (*self._starts, self._packed)
