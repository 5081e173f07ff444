"""Where in the rail's order a page of rows ends, so that the next one begins behind it.

A place and not a count: threads that come to the top meanwhile move no row into or out of what
comes next. Knows the order of the listing, newest first, and nothing of how rows are drawn.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct

from enso.host.contract import StoredThread
from enso.thread_ids import is_thread_id

_WRITTEN = re.compile(r"(-?[0-9]{1,15})\.(.+)", re.ASCII)


class RailCursor(Struct, frozen=True):
    """The place of a row: its last activity, in milliseconds since 1970, and its thread."""

    modified_ms: int
    thread_id: str

    def __str__(self) -> str:
        """As it stands in a URL."""
        return f"{self.modified_ms}.{self.thread_id}"


def cursor_at(thread: StoredThread) -> RailCursor:
    """The place of a thread's row."""
    return RailCursor(_modified_ms(thread), thread.id)


def read_cursor(text: str) -> RailCursor | None:
    """A cursor out of a URL; ``None`` for what is none."""
    written = _WRITTEN.fullmatch(text)
    if written is None or not is_thread_id(written[2]):
        return None
    return RailCursor(int(written[1]), written[2])


def first_behind(threads: Sequence[StoredThread], cursor: RailCursor) -> int:
    """The index of the first of ``threads``, newest first, that stands behind a place.

    Its thread may have moved or gone. Of others of the very same time it is then not known which
    were shown: all of them are counted as behind, as a row twice is mended and one skipped is not.
    """
    wanted = -cursor.modified_ms
    start = bisect_left(threads, wanted, key=_oldness)
    end = bisect_right(threads, wanted, lo=start, key=_oldness)
    same = (index for index in range(start, end) if threads[index].id == cursor.thread_id)
    return next(same, start - 1) + 1


def _modified_ms(thread: StoredThread) -> int:
    return round(thread.modified.timestamp() * 1000)


def _oldness(thread: StoredThread) -> int:
    return -_modified_ms(thread)
