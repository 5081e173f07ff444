"""The state of a file: what tells one from another, and when it was last active.

Imports next to nothing: processes that help with the listing load it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

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
        return stamp_by(path.stat())
    except (OSError, ValueError):
        return None


def stamp_by(status: os.stat_result) -> FileStamp:
    """The state that the system tells."""
    return FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)
