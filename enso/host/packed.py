"""Long lists of values that are kept as bytes, and made when they are looked at, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar, cast, overload

from msgspec import msgpack

PAGE: Final = 256
"""Values that are packed together: to look at one is to make as many."""

ItemT = TypeVar("ItemT")
PageT = TypeVar("PageT")

_encode: Final = msgpack.Encoder().encode


class Packed(Sequence[ItemT], Generic[PageT, ItemT]):
    """Values that stand in memory as bytes; a slice is a tuple. Equal to any sequence of them."""

    __slots__ = ("_length", "_pages", "_unpack")

    def __init__(
        self, pages: Sequence[PageT], length: int, unpack: Callable[[PageT], list[ItemT]]
    ) -> None:
        """Every page but the last holds ``PAGE`` values, which ``unpack`` makes of it."""
        self._pages = pages
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
        number, page = -1, list[ItemT]()
        for place in places:
            wanted, at = divmod(place, PAGE)
            if wanted != number:
                number, page = wanted, self._unpack(self._pages[wanted])
            yield page[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(cast("Sequence[Any]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it is compared by what it holds

    def __repr__(self) -> str:
        return repr(tuple(self))


class Packing:
    """Packs rows as they come. A row is what ``msgspec.msgpack`` takes."""

    def __init__(self) -> None:
        self._pages: list[bytes] = []
        self._last: list[object] = []

    def __len__(self) -> int:
        return len(self._pages) * PAGE + len(self._last)

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        return sum(map(len, self._pages)) + 100 * len(self._last)

    def extend(self, rows: Sequence[object]) -> None:
        """More rows."""
        last = self._last
        last.extend(rows)
        while len(last) >= PAGE:
            self._pages.append(_encode(last[:PAGE]))
            del last[:PAGE]

    def replace(self, place: int, row: object) -> None:
        """Another row in the place of one."""
        number, at = divmod(place, PAGE)
        if number == len(self._pages):
            self._last[at] = row
        else:
            rows: list[object] = msgpack.decode(self._pages[number])
            rows[at] = row
            self._pages[number] = _encode(rows)

    def pages(self) -> tuple[bytes, ...]:
        """What was packed so far, ``PAGE`` rows a page."""
        return (*self._pages, _encode(self._last)) if self._last else tuple(self._pages)
