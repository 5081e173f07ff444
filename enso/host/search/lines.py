"""The lines of a session file that are searched, from where it was read to on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from enso.host.file_stamp import FileStamp
from enso.host.json_lines import MalformedLine, parse_line
from enso.host.precedence import LONG_STEP, answers
from enso.host.search.index import Addition, IndexedFile, Line
from enso.host.search.words import searched_text
from enso.host.stored_values import milliseconds, object_of, text_of

_LONGEST_LINE = 16 * 1024 * 1024
_NEAR = 1024 * 1024


def new_lines(path: Path, stamp: FileStamp, known: IndexedFile | None) -> Addition | None:
    """What a file that is in this state has that is not in the index; ``None``: unreadable.

    A line that is not ended yet is left for the next time, and one longer than 16 MB is left out.
    """
    grown = known is not None and stamp.grown_from(known.stamp)
    start = known.upto if known is not None and grown else 0
    lines: list[Line] = []
    try:
        with path.open("rb") as file:
            file.seek(start)
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                if len(raw) > LONG_STEP:
                    answers.give_way()
                line = _line(raw, start)
                start += len(raw)
                if line is not None:
                    lines.append(line)
    except OSError:
        return None
    state = IndexedFile(stamp=stamp, upto=start)
    return Addition(path=str(path), state=state, lines=lines, anew=not grown)


def read_line(path: str, start: int, length: int) -> Mapping[str, Any] | None:
    """The entry at a place of a file, when there is one still."""
    try:
        with Path(path).open("rb") as file:
            raw = os.pread(file.fileno(), length, start)
    except OSError:
        return None
    return _entry(raw)


def message_entry_id(path: str, start: int, entry: Mapping[str, Any]) -> str:
    """The entry of the message that shows this one: of a tool's result, the one with its call.

    That stands a few lines before; what is not found near is the entry itself.
    """
    own = text_of(entry.get("id"))
    if object_of(entry.get("message")).get("role") != "toolResult":
        return own
    wanted = text_of(entry.get("parentId"))
    for raw in _lines_before(path, start):
        earlier = _entry(raw) if wanted.encode() in raw else None
        if earlier is None or text_of(earlier.get("id")) != wanted:
            continue
        if object_of(earlier.get("message")).get("role") != "toolResult":
            return wanted
        wanted = text_of(earlier.get("parentId"))
    return own


def _lines_before(path: str, start: int) -> list[bytes]:
    """The whole lines that end before a place, the nearest first, of the last megabyte."""
    begin = max(0, start - _NEAR)
    try:
        with Path(path).open("rb") as file:
            raw = os.pread(file.fileno(), start - begin, begin)
    except OSError:
        return []
    lines = raw.split(b"\n")
    return lines[::-1] if begin == 0 else lines[:0:-1]


def _entry(raw: bytes) -> Mapping[str, Any] | None:
    try:
        value = parse_line(raw)
    except MalformedLine:
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _line(raw: bytes, start: int) -> Line | None:
    if len(raw) > _LONGEST_LINE:
        return None
    entry = _entry(raw)
    if entry is None or not (text := searched_text(entry)):
        return None
    return Line(start=start, length=len(raw), at=written_at(entry) or 0, text=text)


def written_at(entry: Mapping[str, Any]) -> int | None:
    """When an entry was written, in ms since the epoch: its own time, else its message's."""
    own = milliseconds(entry.get("timestamp"))
    return (
        own if own is not None else milliseconds(object_of(entry.get("message")).get("timestamp"))
    )
