"""A file gets new content as a whole: whoever reads it sees the old or the new, never a half.

The content is written aside and renamed. What the file is otherwise stays: its mode, its owner,
and the symlink that leads to it. Where a rename cannot do that (other names of the same file, a
directory that may not be written, a mounted file), it is written in place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from io import RawIOBase
from pathlib import Path
from typing import Final

from enso.host.runtimes.builtin.tools.tool import ToolFailed, system_failure
from enso.host.runtimes.builtin.tools.workers import Cancellation
from enso.host.runtimes.paths import real_path

_PIECE: Final = 4 * 1024 * 1024
_NO_RENAME: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.ETXTBSY})


def replace_file(path: Path, content: bytes, cancellation: Cancellation) -> None:
    """Make ``content`` the whole content of the file, which may not be there yet.

    Raises ``ToolFailed`` when it cannot be, ``Cancelled`` before anything was changed.
    """
    real = real_path(path)
    try:
        before = real.stat() if real.exists() else None
        _refuse_what_is_no_file(path, real, before)
        _write(real, before, content, cancellation)
    except OSError as error:
        raise system_failure(error, "open", path) from error


def _refuse_what_is_no_file(path: Path, real: Path, before: os.stat_result | None) -> None:
    if before is None:
        return
    if stat.S_ISDIR(before.st_mode):
        raise OSError(errno.EISDIR, "")
    if not stat.S_ISREG(before.st_mode):
        raise ToolFailed(f"{path} is no regular file and cannot be written.")
    if not os.access(real, os.W_OK):
        raise OSError(errno.EACCES, "")


def _write(
    real: Path, before: os.stat_result | None, content: bytes, cancellation: Cancellation
) -> None:
    if before is not None and before.st_nlink > 1:
        _write_in_place(real, content, cancellation)
        return
    try:
        _write_aside(real, before, content, cancellation)
    except OSError as error:
        if before is None or error.errno not in _NO_RENAME:
            raise
        _write_in_place(real, content, cancellation)


def _write_aside(
    real: Path, before: os.stat_result | None, content: bytes, cancellation: Cancellation
) -> None:
    aside = real.with_name(f".enso-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(aside, flags, 0o666)
    try:
        with os.fdopen(handle, "wb", buffering=0) as file:
            if before is not None:
                _keep_owner_and_mode(handle, before)
            _write_all(file, content, cancellation)
        cancellation.check()
        aside.replace(real)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _keep_owner_and_mode(handle: int, before: os.stat_result) -> None:
    made = os.fstat(handle)
    if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode))


def _write_in_place(real: Path, content: bytes, cancellation: Cancellation) -> None:
    cancellation.check()
    with real.open("r+b", buffering=0) as file:
        _write_all(file, content, Cancellation())  # once begun, it is ended
        file.truncate(len(content))


def _write_all(file: RawIOBase, content: bytes, cancellation: Cancellation) -> None:
    left = memoryview(content)
    while left:
        cancellation.check()
        left = left[file.write(left[:_PIECE]) or 0 :]
