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
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, NamedTuple, TypeVar

from enso.host.kept_files import KeptFiles
from enso.host.kept_rows import FileState
from enso.host.later_lines import later_lines, pays_from
from enso.host.lines_before import Counters
from enso.host.session_log import CURRENT_VERSION, Header, open_regular
from enso.host.session_rows import FileRows, PlacedRow, Shape, read_rows
from enso.host.sums_in_order import InOrder, NotInOrder, Sum
from enso.host.uncollected import uncollected

MOST_BYTES: Final = 64 << 20
"""Sums that are kept: those of one thread of 80,000 entries, or of a hundred usual ones."""

MOST_FILES: Final = 64

RowT = TypeVar("RowT", bound=PlacedRow)
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summing(Generic[RowT, AnswerT]):
    """One kind of sum: the rows it adds up; one of nothing; one of rows whose leaf has an id.

    ``helper`` is the module of a process that adds up the later lines of a file, where there is one
    (``enso.host.later_lines``).
    """

    shape: Shape[Any, RowT]
    nothing: Callable[[], Sum[RowT, AnswerT]]
    of_rows: Callable[[list[RowT], str | None], Sum[RowT, AnswerT]]
    helper: str | None = None


class Summed(NamedTuple, Generic[AnswerT]):
    """What a file comes to now."""

    header: Header
    answer: AnswerT


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

    def __init__(
        self,
        counters: Counters,
        most_bytes: int = MOST_BYTES,
        *,
        pays_bytes: int | None = None,
    ) -> None:
        """``pays_bytes``: what a file has at least that another process helps with, if not as
        many as it pays from."""
        self._counters = counters
        self._pays_bytes = pays_bytes if pays_bytes is not None else pays_from()
        self._kept = KeptFiles(_Kept, most_bytes=most_bytes, most_files=MOST_FILES)

    def read(self, path: Path, kind: Summing[RowT, AnswerT]) -> Summed[AnswerT] | None:
        """What a file comes to now; ``None`` when it is no session. Raises ``OSError``."""
        with self._kept.of(path, kind) as kept, kept.lock, open_regular(path) as stream:
            self._read(kept, path, stream, kind)
            found, answer = kept.found, kept.answer
        return Summed(found.header, answer) if found is not None else None

    def _read(
        self, kept: _Kept, path: Path, stream: BinaryIO, kind: Summing[RowT, AnswerT]
    ) -> None:
        if kept.state.is_of(stream):
            return
        before, kept.state = kept.state, FileState()  # until all that came was added
        with uncollected():
            try:
                kept.state = self._add_up(kept, before, path, stream, kind)
            except NotInOrder:
                kept.state = self._add_up_rows(kept, stream, kind)
        kept.answer = kept.total.answer() if kept.total is not None else None

    def _add_up(
        self,
        kept: _Kept,
        before: FileState,
        path: Path,
        stream: BinaryIO,
        kind: Summing[RowT, AnswerT],
    ) -> FileState:
        """Add up what is new in a file, in the order of its entries."""
        earlier = kept.found if before.has_grown(stream, kept.found) else None
        if earlier is None or kept.total is None:
            earlier, kept.total, kept.met = None, kind.nothing(), array("q")
        in_order = InOrder(kept.total, kept.met, earlier)
        state = FileState.of(stream)
        if earlier is None:
            kept.found = self._read_parted(path, stream, kind, in_order)
        else:
            stream.seek(earlier.consumed)
            kept.found = read_rows(stream, kind.shape, self._counters, earlier, in_order.take)
        in_order.settle()
        self._counters.entries_added_up += in_order.added
        return state.read_to(stream, kept.found)

    def _read_parted(
        self, path: Path, stream: BinaryIO, kind: Summing[RowT, Any], in_order: InOrder[RowT]
    ) -> FileRows[RowT] | None:
        """Read a whole file, with another process where that pays."""
        shape, counters = kind.shape, self._counters
        if kind.helper is None:
            return read_rows(stream, shape, counters, None, in_order.take)
        with later_lines(path, stream, shape, kind.helper, self._pays_bytes) as later:
            until = later.start if later is not None else None
            found = read_rows(stream, shape, counters, None, in_order.take, until)
            if found is None or later is None:
                return found
            part = later.told() if found.header.version == CURRENT_VERSION else None
            if part is None:
                return read_rows(stream, shape, counters, found, in_order.take)
        in_order.join(part)
        counters.lines_parsed += part.lines
        counters.bytes_read += part.consumed - found.consumed
        found.consumed, found.torn = part.consumed, part.torn
        found.skipped += part.skipped
        found.last_id = part.ids[-1]
        return found

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
