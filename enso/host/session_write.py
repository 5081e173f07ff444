"""The bytes that go to a session file: a new file in one go, one whole line at its end.

Owns partial writes, torn ends and the sentences for what the disk refuses. Knows no entries.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from enso.host.contract import SessionNotWritten

_LOST_MS: Final = 2000


class FileStamp(Struct, frozen=True, gc=False):
    """What tells one state of a file from another, without reading it."""

    inode: int
    size: int
    mtime_ns: int

    def grown_from(self, earlier: FileStamp) -> bool:
        """Whether this is the same file, and no shorter."""
        return self.inode == earlier.inode and self.size >= earlier.size

    def active_ms(self, told_ms: int | None) -> int:
        """When the file was last active, by the time that it tells of itself (``None``: none).

        A time behind the file's own is not believed; but for two seconds, which a file's time
        loses in an archive or on a file system that keeps whole ones.
        """
        file_ms = max(self.mtime_ns // 1_000_000, 0)
        return file_ms if told_ms is None or told_ms > file_ms + _LOST_MS else told_ms


def stamp_of(path: Path) -> FileStamp | None:
    """The state of the file now; ``None`` when there is none that can be looked at."""
    try:
        return _stamp(path.stat())
    except (OSError, ValueError):
        return None


def _stamp(status: os.stat_result) -> FileStamp:
    return FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)


def create_whole(path: Path, content: bytes, thread_id: str) -> FileStamp:
    """Make a file that must not exist yet, and its directory; raises ``SessionNotWritten``.

    When the content does not go in whole, the file is taken away again.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
    except OSError as error:
        raise _not_written(thread_id, path, error) from error
    try:
        _write_all(descriptor, content)
        return _stamp(os.fstat(descriptor))
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise _not_written(thread_id, path, error) from error
    finally:
        os.close(descriptor)


def append_whole(
    path: Path, line: bytes, thread_id: str, before: FileStamp | None
) -> tuple[FileStamp, bool]:
    """Append one whole line, after the newline that a torn end lacks; raises ``SessionNotWritten``.

    Returns the file's state afterwards, and whether nothing but this line came since ``before``.
    A line that does not go in whole is taken out again, unless another program wrote behind it.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError as error:
        raise _not_written(thread_id, path, error) from error
    try:
        found = os.fstat(descriptor)
        content = line if _ends_whole(descriptor, found.st_size) else b"\n" + line
        _write_or_undo(descriptor, content, found.st_size)
        after = _stamp(os.fstat(descriptor))
    except OSError as error:
        raise _not_written(thread_id, path, error) from error
    finally:
        os.close(descriptor)
    alone = before == _stamp(found) and after.size == found.st_size + len(content)
    return after, alone


def _ends_whole(descriptor: int, size: int) -> bool:
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _write_all(descriptor: int, content: bytes) -> None:
    """Write everything; the system may take a part, and refuses the rest when the disk is full."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _write_or_undo(descriptor: int, content: bytes, size: int) -> None:
    written = 0
    try:
        while written < len(content):
            written += os.write(descriptor, memoryview(content)[written:])
    except OSError:
        with suppress(OSError):
            if written and os.fstat(descriptor).st_size == size + written:
                os.ftruncate(descriptor, size)
        raise


def _not_written(thread_id: str, path: Path, error: OSError) -> SessionNotWritten:
    return SessionNotWritten(
        thread_id, f"The session file {path} could not be written: {error.strerror or error}."
    )
