"""A process that adds up the stats of the later lines of a file: its path, its inode, their place.

Answers with a ``LaterPart`` on its output. Ends with an error where the lines cannot be added up
without those before them, or the path leads to another file by now.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import Never

from msgspec import msgpack

from enso.host.lines_before import Counters
from enso.host.session_log import CURRENT_VERSION, Header, open_regular
from enso.host.session_rows import FileRows, read_rows
from enso.host.stats_lines import STATS, StatsLine
from enso.host.stats_part import PartSum
from enso.host.sums_in_order import LaterPart, NotInOrder, PartInOrder


def later_part(path: Path, inode: int, start: int) -> LaterPart:
    """The lines of that file from a place on, where one begins, added up.

    Raises ``OSError`` where that file is not there, ``NotInOrder``.
    """
    in_order, counters = PartInOrder[StatsLine](PartSum()), Counters()
    with open_regular(path) as stream:
        if os.fstat(stream.fileno()).st_ino != inode:
            raise FileNotFoundError(path)
        stream.seek(start)
        header = Header(id="", cwd="", version=CURRENT_VERSION, raw={})
        found = FileRows[StatsLine](header=header, consumed=start)
        read_rows(stream, STATS, counters, found, in_order.take)
    return in_order.told(found, counters.lines_parsed)


def main() -> Never:
    """Answer on the standard output, and end."""
    gc.disable()
    try:
        path, inode, start = sys.argv[1:]
        told = msgpack.encode(later_part(Path(path), int(inode), int(start)))
        sys.stdout.buffer.write(told)
        sys.stdout.buffer.flush()
    except (OSError, NotInOrder, KeyboardInterrupt):
        os._exit(1)
    os._exit(0)  # who waits for the end need not wait for the interpreter's
