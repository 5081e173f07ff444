"""Reading a whole session file as rows: of each line no more than one kind of reading needs.

Owns the way through the file: its header, ids and parents by the same rules as
``enso.host.session_log``, and where a later reading goes on. No line is kept. A line is decoded
into a typed shape (``Shape``); one that does not fit it is parsed whole, so that what a row says is
what the stored entry says, whatever types its fields have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as filled
from typing import Any, BinaryIO, Final, Generic, Protocol, TypeVar, cast

from msgspec import DecodeError, Struct, field

from enso.host.lines_before import Counters
from enso.host.session_log import (
    CURRENT_VERSION,
    Entry,
    EntryAdopter,
    Header,
    read_header,
    read_lines,
)
from enso.host.stretches import NOWHERE, Stretches
from enso.thread_ids import is_thread_id

_NEWLINE: Final = 10
_AT_ONCE: Final = 1 << 20
"""Bytes of lines that are decoded together."""


class StoredLine(Struct, gc=False):
    """What every reading decodes of a line."""

    type: str | None = None
    id: str = ""
    parent: str | None = field(default=None, name="parentId")


StoredLineT = TypeVar("StoredLineT", bound=StoredLine)


def line_itself(line: StoredLineT, entry_id: str, parent: str | None, _offset: int) -> StoredLineT:
    """The row of a reading that takes the decoded lines as they are."""
    line.id, line.parent = entry_id, parent
    return line


class WholeLine(StoredLine, gc=False, kw_only=True):
    """A line that does not fit, as the entry that was read of it."""

    entry: Entry


def whole_line(entry: Entry) -> WholeLine:
    """The line of an entry that was read whole."""
    return WholeLine(entry=entry)


def is_message_of(roles: Collection[str]) -> Callable[[Any], bool]:
    """Whether a decoded line is a message of one of these roles."""

    def is_one(line: Any) -> bool:
        message = line.message
        return message is not None and line.type == "message" and message.role in roles

    return is_one


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
    A decoded line that ``fits`` refuses is read whole as well.
    ``row`` is given the line, its id, its parent and where it begins. ``unpack`` makes rows of what
    ``msgspec.msgpack`` made of them.
    """

    decode: Callable[[bytes], LineT]
    line_of: Callable[[Entry], LineT]
    row: Callable[[LineT, str, str | None, int], RowT]
    unpack: Callable[[bytes], list[RowT]]
    fits: Callable[[LineT], bool] | None = None

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
    rows: list[RowT] = filled(default_factory=list[Any])
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
    take: Callable[[list[RowT]], None] | None = None,
    until: int | None = None,
) -> FileRows[RowT] | None:
    """The rows of a file; ``None`` when it is no session. Raises ``OSError``.

    With ``earlier`` rows of the same file, the stream stands behind them; they are added to.
    Where ``take`` is given, it is given the rows as they are read, and they are not held.
    ``until`` is where the line begins that is not read any more.
    """
    found = earlier if earlier is not None else _begun(stream, counters)
    if found is not None:
        _Walk(shape, found).take(stream, counters, take or found.rows.extend, until)
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
    """Takes the lines behind the header, many at once."""

    def __init__(self, shape: Shape[LineT, RowT], found: FileRows[RowT]) -> None:
        self._shape = shape
        self._found = found
        self._regular = found.header.version == CURRENT_VERSION
        self._adopter = EntryAdopter(found.header.version)
        if not self._regular:
            self._adopter.pass_by()  # the header, which version 1 counts as well

    def take(
        self,
        stream: BinaryIO,
        counters: Counters,
        take: Callable[[list[RowT]], None],
        until: int | None,
    ) -> None:
        """Take every line up to that place."""
        found, begun = self._found, self._found.consumed
        while raws := _lines_of(stream, found.consumed, until):
            counters.lines_parsed += len(raws)
            rows = self._rows(raws)
            found.torn = raws[-1][-1] != _NEWLINE
            take(rows)
        counters.bytes_read += found.consumed - begun

    def _rows(self, raws: list[bytes]) -> list[RowT]:
        lines = self._lines(raws)
        if lines is None:  # nearly never: one of them does not fit
            return self._rows_of(raws, [self._line(raw) for raw in raws])
        if self._shape.row is not line_itself or not _all_usual(lines):
            return self._rows_of(raws, lines)
        self._found.consumed += sum(map(len, raws))
        self._found.last_id = lines[-1].id
        return cast("list[RowT]", lines)

    def _rows_of(self, raws: list[bytes], lines: Sequence[LineT | None]) -> list[RowT]:
        found, to_row, fits = self._found, self._shape.row, self._shape.fits
        rows: list[RowT] = []
        offset, last_id, add = found.consumed, found.last_id, rows.append
        for raw, line in zip(raws, lines, strict=True):
            if (
                line is None
                or not line.id
                or line.type == "session"
                or (fits is not None and not fits(line))
            ):
                found.last_id = last_id
                row = self._take_parsed(raw, offset)
                last_id = found.last_id
                if row is not None:
                    add(row)
            else:
                # Nearly every entry follows the one before it: both share one text.
                parent = line.parent
                parent = last_id if parent == last_id else parent or None
                last_id = line.id
                add(to_row(line, last_id, parent, offset))
            offset += len(raw)
        found.consumed, found.last_id = offset, last_id
        return rows

    def _lines(self, raws: list[bytes]) -> list[LineT] | None:
        """The lines decoded; ``None`` where one does not fit."""
        if not self._regular:
            return None
        try:
            return list(map(self._shape.decode, raws))
        except (DecodeError, RecursionError):
            return None

    def _line(self, raw: bytes) -> LineT | None:
        if not self._regular:
            return None
        try:
            return self._shape.decode(raw)
        except (DecodeError, RecursionError):
            return None

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


def _lines_of(stream: BinaryIO, place: int, until: int | None) -> list[bytes]:
    """Some of the lines from a place up to another, where a line begins."""
    if until is None:
        return stream.readlines(_AT_ONCE)
    most = min(_AT_ONCE, until - place - 1)  # the line with the byte after that many is the last
    return stream.readlines(most) if most > 0 else [*filter(None, [stream.readline(until - place)])]


def _all_usual(lines: Sequence[StoredLine]) -> bool:
    """Whether each is an entry whose id and parent are as they are to be."""
    ids, parents = [line.id for line in lines], [line.parent for line in lines]
    return all(ids) and "" not in parents and "session" not in [line.type for line in lines]


class RowTree(Stretches, Generic[RowT]):
    """The rows of a file, each id once: where it came first, what was stored last.

    ``places`` is where each id is in ``rows``. ``starts`` are the places of those that do not
    follow the row before them, in order: between two of them each row follows the one before.
    ``above`` is the place of each one's parent, ``NOWHERE`` without one. ``ranges`` are the places
    from the root to the leaf, the same branch as ``enso.host.session_log.branch_of``: nothing is
    above the first. ``leaf`` is the last of them, ``NOWHERE`` without one.
    """

    def __init__(self, rows: list[RowT], leaf_id: str | None) -> None:
        """Makes each id in ``rows`` unique."""
        super().__init__()
        self.places = dict(zip([row.id for row in rows], range(len(rows)), strict=True))
        if len(self.places) < len(rows):
            rows[:] = {row.id: row for row in rows}.values()
            self.places = {row.id: place for place, row in enumerate(rows)}
        self.rows = rows
        self._part()
        self.on_branch = bytearray(len(rows))
        self.ranges = self._walked(leaf_id)

    @property
    def branch(self) -> list[int]:
        """The places from the root to the leaf."""
        return [place for places in self.ranges for place in places]

    def _place_of(self, entry_id: str | None) -> int:
        if self.rows and self.rows[-1].id == entry_id:
            return len(self.rows) - 1
        return self.places.get(entry_id, NOWHERE) if entry_id is not None else NOWHERE

    def _part(self) -> None:
        ids, parents = [row.id for row in self.rows], [row.parent for row in self.rows]
        pairs = enumerate(zip(ids, parents[1:], strict=False), 1)
        starts = [0] if ids else []
        starts += [at for at, (last, parent) in pairs if parent is not last and parent != last]
        for start in starts:
            self.begin(start, self.places.get(parents[start] or "", NOWHERE))

    def end_of(self, stretch: int) -> int:
        """The place behind the last of a stretch."""
        return self.starts[stretch + 1] if stretch + 1 < len(self.starts) else len(self.rows)

    def _walked(self, leaf_id: str | None) -> list[range]:
        """The stretches of the branch, from its root on."""
        ranges: list[range] = []
        place = self.leaf = self._place_of(leaf_id)
        while place != NOWHERE:
            stretch = self.stretch_of(place)
            start = self.starts[stretch]
            met = self.on_branch.rfind(1, start, place + 1)
            if met == place:  # a cycle closes here
                break
            first = start if met < 0 else met + 1
            self.on_branch[first : place + 1] = b"\1" * (place + 1 - first)
            ranges.append(range(first, place + 1))
            place = self.above[stretch] if met < 0 else NOWHERE
        ranges.reverse()
        self._cut(ranges)
        return ranges

    def _cut(self, ranges: list[range]) -> None:
        """Let nothing stand above the root of the branch, where a cycle was cut."""
        if ranges:
            root = ranges[0].start
            stretch = self.stretch_of(root)
            if self.starts[stretch] == root:
                self.above[stretch] = NOWHERE
            else:
                self.starts.insert(stretch + 1, root)
                self.above.insert(stretch + 1, NOWHERE)
