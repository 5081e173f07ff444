"""What was appended to a session file since it was last read: whole lines only.

A read beside a write may see half a line: that is left for the next time.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import NamedTuple

from enso.host.file_stamp import FileStamp
from enso.host.session_log import Entry, EntryAdopter, open_regular, read_lines


class Growth(NamedTuple):
    """The entries that came, and the state of the file that was read: up to its last whole line."""

    entries: list[Entry]
    stamp: FileStamp


def read_growth(path: Path, since: FileStamp | None, version: float | None) -> Growth:
    """What the file holds behind ``since``; all of it for ``None``. Raises ``OSError``."""
    start = since.size if since is not None else 0
    with open_regular(path) as stream:
        status = os.fstat(stream.fileno())
        stream.seek(start)
        content = stream.read(max(0, status.st_size - start))
    whole = content[: content.rfind(b"\n") + 1]
    adopter = EntryAdopter(version)
    lines = read_lines(io.BytesIO(whole), start)
    entries = [entry for line in lines if (entry := adopter.adopt(line)) is not None]
    stamp = FileStamp(status.st_ino, start + len(whole), status.st_mtime_ns)
    return Growth(entries, stamp)
