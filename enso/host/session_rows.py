"""Reading a whole session file as rows: of each line no more than one kind of reading needs.

Owns the way through the file: its header, ids and parents by the same rules as
``enso.host.session_log``, and where a later reading goes on. No line is kept. A line is decoded
into a typed shape (``Shape``); one that does not fit it is parsed whole, so that what a row says is
what the stored entry says, whatever types its fields have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Generic, Protocol, TypeVar

from msgspec import DecodeError, Struct

from enso.host.session_log import (
    CURRENT_VERSION,
    Entry,
    EntryAdopter,
    Header,
    read_header,
    read_lines,
)
from enso.host.session_tail import Counters
from enso.thread_ids import is_thread_id

_NEWLINE: Final = 10


class StoredLine(Struct, gc=False):
    """What every reading decodes of a line."""

    type: str | None = None
    id: str | None = None
    parentId: str | None = None  # noqa: N815 - the stored key


class WholeLine(StoredLine, gc=False, kw_only=True):
    """A line that does not fit, as the entry that was read of it."""

    entry: Entry


def whole_line(entry: Entry) -> WholeLine:
    """The line of an entry that was read whole."""
    return WholeLine(entry=entry)


class PlacedRow(Protocol):
    """What every row has: its entry's id, and its parent's."""

    @property
    def id(self) -> str:
        """The id of the entry."""
        ...

    @property
    def parent(self) -> str | None:
        """The id of its parent, which may be missing."""
        ...


LineT = TypeVar("LineT", bound=StoredLine)
RowT = TypeVar("RowT", bound=PlacedRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(Generic[LineT, RowT]):
    """One kind of reading: how a line is decoded, and the row that it becomes.

    ``decode`` raises for a line that does not fit; ``line_of`` makes the same of any stored entry.
    ``row`` is given the line, its id, its parent and where it begins. ``unpack`` makes rows of what
    ``msgspec.msgpack`` made of them.
    """

    decode: Callable[[bytes], LineT]
    line_of: Callable[[Entry], LineT]
    row: Callable[[LineT, str, str | None, int], RowT]
    unpack: Callable[[bytes], list[RowT]]

    def of_entry(self, entry: Entry, offset: int = 0) -> RowT:
        """The row of an entry that was read by other means, with its id and its parent."""
        return self.row(self.line_of(entry), entry["id"], entry["parentId"], offset)

    def rows_of(self, entries: Iterable[Entry]) -> list[RowT]:
        """The rows of such entries."""
        return [self.of_entry(entry) for entry in entries]


@dataclass(slots=True, kw_only=True)
class FileRows(Generic[RowT]):
    """The rows of a file up to ``consumed``, where its last whole line ends.

    ``torn``: behind it is a line that lacks its newline, and its row is the last, if it has one.
    What comes may be fused with that line.
    """

    header: Header
    rows: list[RowT] = field(default_factory=list[Any])
    consumed: int = 0
    last_id: str | None = None
    """The id of the last entry: the leaf."""
    torn: bool = False
    skipped: int = 0
    """How many damaged lines there are."""

    @property
    def can_grow(self) -> bool:
        """Whether a later reading may go on behind these rows."""
        return self.header.version == CURRENT_VERSION and not self.torn


def read_rows(
    stream: BinaryIO,
    shape: Shape[LineT, RowT],
    counters: Counters,
    earlier: FileRows[RowT] | None = None,
) -> FileRows[RowT] | None:
    """The rows of a file; ``None`` when it is no session. Raises ``OSError``.

    With ``earlier`` rows of the same file, the stream stands behind them; they are added to.
    """
    found = earlier if earlier is not None else _begun(stream, counters)
    if found is not None:
        _Walk(shape, found).take(stream, counters)
    return found


def _begun(stream: BinaryIO, counters: Counters) -> FileRows[Any] | None:
    """Read up to and with the header, which the first value of the file must be."""
    skipped = 0
    for line in read_lines(stream):
        skipped += line.damaged
        counters.lines_parsed += 1
        counters.bytes_read += len(line.raw)
        if not line.counts:
            continue
        header = read_header(line.value)
        if header is None or not is_thread_id(header.id):
            return None
        torn = not line.raw.endswith(b"\n")
        consumed = line.offset + len(line.raw)
        return FileRows(header=header, consumed=consumed, torn=torn, skipped=skipped)
    return None


class _Walk(Generic[LineT, RowT]):
    """Takes the lines behind the header, one after the other."""

    def __init__(self, shape: Shape[LineT, RowT], found: FileRows[RowT]) -> None:
        self._shape = shape
        self._found = found
        self._regular = found.header.version == CURRENT_VERSION
        self._adopter = EntryAdopter(found.header.version)
        if not self._regular:
            self._adopter.pass_by()  # the header, which version 1 counts as well

    def take(self, stream: BinaryIO, counters: Counters) -> None:
        """Take every line."""
        found, decode, to_row = self._found, self._shape.decode, self._shape.row
        offset, lines, add, regular = found.consumed, 0, found.rows.append, self._regular
        for raw in stream:
            lines += 1
            try:
                line = decode(raw) if regular else None
            except (DecodeError, RecursionError):
                line = None
            if line is None or not line.id or line.type == "session":
                row = self._take_parsed(raw, offset)
                if row is not None:
                    add(row)
            else:
                # Nearly every entry follows the one before it: both share one text.
                last_id, parent_id = found.last_id, line.parentId
                parent = last_id if parent_id == last_id else parent_id or None
                add(to_row(line, line.id, parent, offset))
                found.last_id = line.id
            offset += len(raw)
            found.torn = raw[-1] != _NEWLINE
        counters.lines_parsed += lines
        counters.bytes_read += offset - found.consumed
        found.consumed = offset

    def _take_parsed(self, raw: bytes, offset: int) -> RowT | None:
        """The row of any line, by way of the whole entry; ``None`` for one without an entry."""
        if self._regular:
            self._adopter.last_id = self._found.last_id
        (line,) = read_lines((raw,), offset)
        self._found.skipped += line.damaged
        entry = self._adopter.adopt(line)
        if entry is None:
            return None
        self._found.last_id = entry["id"]
        return self._shape.of_entry(entry, offset)


class RowTree(Generic[RowT]):
    """The rows of a file, each id once: where it came first, what was stored last.

    ``places`` is where each id is in ``rows``. ``branch`` are the places from the root to the leaf,
    the same branch as ``enso.host.session_log.branch_of``.
    """

    def __init__(self, rows: list[RowT], leaf_id: str | None) -> None:
        """Makes each id in ``rows`` unique."""
        self.places = {row.id: place for place, row in enumerate(rows)}
        if len(self.places) < len(rows):
            rows[:] = {row.id: row for row in rows}.values()
            self.places = {row.id: place for place, row in enumerate(rows)}
        self.rows = rows
        self.on_branch = bytearray(len(rows))
        self.branch = self._walked(leaf_id)

    def _walked(self, entry_id: str | None) -> list[int]:
        rows, on_branch, branch = self.rows, self.on_branch, list[int]()
        place = self.places.get(entry_id) if entry_id is not None else None
        while place is not None and not on_branch[place]:
            on_branch[place] = 1
            branch.append(place)
            parent = rows[place].parent
            if place and rows[place - 1].id == parent:  # as of nearly every entry
                place -= 1
            else:
                place = self.places.get(parent) if parent is not None else None
        branch.reverse()
        return branch
