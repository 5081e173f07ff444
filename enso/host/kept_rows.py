"""What whole readings took of files, kept for the next one: bounded, packed, never trusted blindly.

Owns when a file must be read. One that did not change is not; one that only grew is read from where
it ended; several who ask at once wait for one reading. What is kept is the rows
(``enso.host.session_rows``) as bytes, a tenth of the file or less, the last used ones alone.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, NamedTuple, TypeVar

from msgspec import msgpack

from enso.host.file_stamp import FileStamp
from enso.host.kept_files import KeptFiles
from enso.host.lines_before import Counters
from enso.host.session_log import Header, open_regular
from enso.host.session_rows import FileRows, PlacedRow, Shape, read_rows

MOST_BYTES: Final = 32 << 20
"""Packed rows that are kept."""

MOST_FILES: Final = 64

_PROBE: Final = 512

RowT = TypeVar("RowT", bound=PlacedRow)


class ReadRows(NamedTuple, Generic[RowT]):
    """The rows of a file as it is now, which are the caller's own; the last id is the leaf's.

    ``skipped`` counts damaged lines; ``consumed`` and ``torn`` say how far was read, as of
    ``FileRows``.
    """

    header: Header
    rows: list[RowT]
    last_id: str | None
    skipped: int
    consumed: int
    torn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A file as it was when it was read: how far, and the ends of that."""

    stamp: FileStamp | None = None
    ends: tuple[bytes, bytes] = (b"", b"")

    @classmethod
    def of(cls, stream: BinaryIO) -> FileState:
        """The state of a file that is to be read."""
        return cls(stamp=_stamp(stream))

    def is_of(self, stream: BinaryIO) -> bool:
        """Whether the file did not change since."""
        return self.stamp is not None and self.stamp == _stamp(stream)

    def read_to(self, stream: BinaryIO, found: FileRows[Any] | None) -> FileState:
        """The same state, once the file was read.

        Another program may have written meanwhile: what was read of that is there, and the rest is
        read from there.
        """
        if found is None or self.stamp is None:
            return self
        stamp = FileStamp(self.stamp.inode, found.consumed, self.stamp.mtime_ns)
        return FileState(stamp=stamp, ends=_ends(stream, found.consumed))

    def has_grown(self, stream: BinaryIO, found: FileRows[Any] | None) -> bool:
        """Whether this is the file that was read, with more behind what was read of it."""
        if found is None or self.stamp is None or not found.can_grow:
            return False
        now = _stamp(stream)
        return (
            now.grown_from(self.stamp)
            and now.size > self.stamp.size
            and _ends(stream, found.consumed) == self.ends
        )


def _stamp(stream: BinaryIO) -> FileStamp:
    status = os.fstat(stream.fileno())
    return FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(slots=True)
class _Kept:
    """What is known of one kind of rows of one file. The lock is held while it is read."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: FileState = field(default_factory=FileState)
    found: FileRows[Any] | None = None  # without its rows
    packed: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return sum(map(len, self.packed))


class KeptRows:
    """Reads rows of files, each state of a file once. Usable from any worker."""

    def __init__(self, counters: Counters, most_bytes: int = MOST_BYTES) -> None:
        self._counters = counters
        self._kept = KeptFiles(_Kept, most_bytes=most_bytes, most_files=MOST_FILES)

    def read(self, path: Path, shape: Shape[Any, RowT]) -> ReadRows[RowT] | None:
        """The rows of a file now; ``None`` when it is no session. Raises ``OSError``."""
        with self._kept.of(path, shape) as kept, kept.lock, open_regular(path) as stream:
            rows = self._read(kept, stream, shape)
            found = kept.found
        if found is None:
            return None
        return ReadRows(
            found.header, rows, found.last_id, found.skipped, found.consumed, found.torn
        )

    def _read(self, kept: _Kept, stream: BinaryIO, shape: Shape[Any, RowT]) -> list[RowT]:
        if kept.state.is_of(stream):
            return _unpacked(kept.packed, shape)
        earlier: FileRows[RowT] | None = None
        if kept.state.has_grown(stream, kept.found):
            earlier = kept.found
        else:
            kept.packed = ()
        state = FileState.of(stream)
        before = _unpacked(kept.packed, shape)
        stream.seek(earlier.consumed if earlier is not None else 0)
        found = read_rows(stream, shape, self._counters, earlier)
        kept.found, kept.state = found, state.read_to(stream, found)
        if found is None:
            return []
        kept.packed = (*kept.packed, msgpack.encode(found.rows))
        rows, found.rows = before + found.rows, []
        return rows


def _ends(stream: BinaryIO, size: int) -> tuple[bytes, bytes]:
    """The first and the last bytes of the first ``size`` bytes."""
    descriptor, length = stream.fileno(), min(_PROBE, size)
    return os.pread(descriptor, length, 0), os.pread(descriptor, length, size - length)


def _unpacked(packed: tuple[bytes, ...], shape: Shape[Any, RowT]) -> list[RowT]:
    rows: list[RowT] = []
    for piece in packed:
        rows += shape.unpack(piece)
    return rows
