"""What whole readings took of files, kept for the next one: bounded, packed, never trusted blindly.

Owns when a file must be read. One that did not change is not; one that only grew is read from where
it ended; several who ask at once wait for one reading. What is kept is the rows
(``enso.host.session_rows``) as bytes, a tenth of the file or less, the last used ones alone.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, NamedTuple, TypeVar

from msgspec import msgpack

from enso.host.session_log import Header, open_regular
from enso.host.session_rows import FileRows, PlacedRow, Shape, read_rows
from enso.host.session_tail import Counters
from enso.host.session_write import FileStamp

MOST_BYTES: Final = 32 << 20
"""Packed rows that are kept."""

MOST_FILES: Final = 64

_PROBE: Final = 512

RowT = TypeVar("RowT", bound=PlacedRow)


class ReadRows(NamedTuple, Generic[RowT]):
    """The rows of a file as it is now, which are the caller's own; the last id is the leaf's.

    ``skipped`` counts damaged lines.
    """

    header: Header
    rows: list[RowT]
    last_id: str | None
    skipped: int


@dataclass(slots=True)
class _Kept:
    """What is known of one kind of rows of one file. The lock is held while it is read."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    stamp: FileStamp | None = None
    found: FileRows[Any] | None = None  # without its rows
    packed: tuple[bytes, ...] = ()
    ends: tuple[bytes, bytes] = (b"", b"")

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return sum(map(len, self.packed))


class KeptRows:
    """Reads rows of files, each state of a file once. Usable from any worker."""

    def __init__(self, counters: Counters, most_bytes: int = MOST_BYTES) -> None:
        self._counters = counters
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Path, int], _Kept] = OrderedDict()

    def read(self, path: Path, shape: Shape[Any, RowT]) -> ReadRows[RowT] | None:
        """The rows of a file now; ``None`` when it is no session. Raises ``OSError``."""
        key = path, id(shape)
        with self._lock:
            kept = self._kept[key] = self._kept.pop(key, None) or _Kept()
        try:
            with kept.lock, open_regular(path) as stream:
                rows = self._read(kept, stream, shape)
                found = kept.found
        finally:
            self._let_go()
        return (
            ReadRows(found.header, rows, found.last_id, found.skipped)
            if found is not None
            else None
        )

    def _read(self, kept: _Kept, stream: BinaryIO, shape: Shape[Any, RowT]) -> list[RowT]:
        status = os.fstat(stream.fileno())
        stamp = FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)
        if kept.stamp == stamp:
            return _unpacked(kept.packed, shape)
        earlier: FileRows[RowT] | None = None
        if self._has_grown(kept, stream, stamp):
            earlier = kept.found
        else:
            kept.packed = ()
        before = _unpacked(kept.packed, shape)
        stream.seek(earlier.consumed if earlier is not None else 0)
        found = read_rows(stream, shape, self._counters, earlier)
        if found is None:
            kept.stamp, kept.found = stamp, None
            return []
        kept.packed = (*kept.packed, msgpack.encode(found.rows))
        kept.ends = _ends(stream, found.consumed)
        rows, found.rows = before + found.rows, []
        # Another program may have written meanwhile: such rows are there, and read from again.
        kept.stamp, kept.found = FileStamp(stamp.inode, found.consumed, stamp.mtime_ns), found
        return rows

    @staticmethod
    def _has_grown(kept: _Kept, stream: BinaryIO, stamp: FileStamp) -> bool:
        """Whether this is the file that was read, with more behind what was read of it."""
        found = kept.found
        if found is None or kept.stamp is None or not found.can_grow:
            return False
        return (
            stamp.grown_from(kept.stamp)
            and stamp.size > kept.stamp.size
            and (_ends(stream, found.consumed) == kept.ends)
        )

    def _let_go(self) -> None:
        """Keep no more than is to be kept, the last used first."""
        with self._lock:
            size = sum(kept.size for kept in self._kept.values())
            while self._kept and (size > self._most_bytes or len(self._kept) > MOST_FILES):
                _, kept = self._kept.popitem(last=False)
                size -= kept.size


def _ends(stream: BinaryIO, size: int) -> tuple[bytes, bytes]:
    """The first and the last bytes of the first ``size`` bytes."""
    descriptor, length = stream.fileno(), min(_PROBE, size)
    return os.pread(descriptor, length, 0), os.pread(descriptor, length, size - length)


def _unpacked(packed: tuple[bytes, ...], shape: Shape[Any, RowT]) -> list[RowT]:
    rows: list[RowT] = []
    for piece in packed:
        rows += shape.unpack(piece)
    return rows
