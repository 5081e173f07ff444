"""Reading a session file again that rested: the entries as they were when it was last in memory.

Its bytes up to the state that is known are the same as long as the file only grew, whoever wrote
behind them: who prompts next notices that (``changed_elsewhere``), and looks until then at what
was there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from enso.host.file_stamp import FileStamp
from enso.host.session_log import SessionLog, open_regular, read_lines, read_session_lines


class ReadAgain(NamedTuple):
    """A file's entries; ``None`` when it is gone or no session. ``as_it_was``: the known ones."""

    log: SessionLog | None
    as_it_was: bool


def read_as_it_was(path: Path, known: FileStamp | None) -> ReadAgain:
    """Read the file up to ``known``; all of one that was cut or replaced since."""
    try:
        with open_regular(path) as stream:
            status = os.fstat(stream.fileno())
            now = FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)
            if known is None or not now.grown_from(known):
                return ReadAgain(read_session_lines(read_lines(stream)), as_it_was=False)
            return ReadAgain(read_session_lines(read_lines(_up_to(stream, known.size))), True)
    except OSError:
        return ReadAgain(None, as_it_was=False)


def _up_to(stream: Iterable[bytes], size: int) -> Iterator[bytes]:
    for raw in stream:
        if size <= 0:
            return
        yield raw[:size]
        size -= len(raw)
