"""How the branch of a session file ends, by its last lines alone, for the file's row."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from enso.host.lines_before import Counters, FileChanged, lines_before
from enso.host.session_facts import ScannedEntry, end_of_message, scan_line
from enso.host.thread_ends import ThreadEnd

_BACK_BLOCK: Final = 1 << 14
_MOST_BACK: Final = 64
"""Entries that are looked at from the end back for what tells how the branch ends."""


def end_of(descriptor: int, size: int, last: bytes) -> ThreadEnd | None:
    """How the branch of the first ``size`` bytes ends, whose last line is ``last``; ``None`` when
    the last lines do not tell."""
    entry, _ = scan_line(last)
    told = _told_by(entry) if entry is not None else None
    return told or _end_behind(descriptor, size)


def _told_by(entry: ScannedEntry) -> ThreadEnd | None:
    return end_of_message(entry.message) if entry.type == "message" else None


def _end_behind(descriptor: int, size: int) -> ThreadEnd | None:
    """The same where the leaf does not tell it.

    Goes from the leaf back to what tells it. An entry that stands before its child, and whose id
    does not come again behind it, is the parent; anything else is left to the full scan.
    """
    wanted: str | None = None
    passed: set[str] = set()
    try:
        for _, raw in lines_before(descriptor, size, Counters(), _BACK_BLOCK):
            entry, _ = scan_line(raw)
            if entry is None:
                continue
            entry_id, parent_id = entry.id, entry.parentId or None
            if not isinstance(entry_id, str) or not entry_id or len(passed) > _MOST_BACK:
                return None
            if wanted is None or entry_id == wanted:
                told = _told_by(entry)
                if told is not None:
                    return told
                if parent_id is None or parent_id is UNSET:
                    return "empty"
                if not isinstance(parent_id, str) or parent_id in passed | {entry_id}:
                    return None
                wanted = parent_id
            passed.add(entry_id)
    except FileChanged:
        return None
    return "empty" if wanted is None else None
