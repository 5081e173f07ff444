"""The bytes that go to a session file: a new file in one go, one whole line at its end.

Owns partial writes, torn ends and the sentences for what the disk refuses. Knows no entries.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from enso.host.contract import SessionNotWritten
from enso.host.file_stamp import FileStamp, stamp_by


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
        return stamp_by(os.fstat(descriptor))
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
        after = stamp_by(os.fstat(descriptor))
    except OSError as error:
        raise _not_written(thread_id, path, error) from error
    finally:
        os.close(descriptor)
    alone = before == stamp_by(found) and after.size == found.st_size + len(content)
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
