"""Bringing a session file of version 1 or 2 to version 3 on disk, when its thread is resumed.

Lines are carried over byte for byte wherever they need no change, damaged ones too: what Enso does
not understand it does not drop. The new file is written aside and renamed, so that there is a
whole file at every moment.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from enso.host.contract import SessionNotWritten
from enso.host.json_lines import dump_line
from enso.host.session_log import (
    CURRENT_VERSION,
    Entry,
    EntryAdopter,
    Line,
    open_regular,
    read_header,
    read_lines,
)

_PLACE: Final = ("id", "parentId")


def write_migrated(path: Path, thread_id: str) -> None:
    """Rewrite the file as version 3, with its mode kept; raises ``SessionNotWritten``."""
    aside: str | None = None
    try:
        real = path.resolve(strict=True)
        with open_regular(real) as source:
            descriptor, aside = tempfile.mkstemp(prefix=".migrating-", dir=real.parent)
            with os.fdopen(descriptor, "wb") as target:
                os.fchmod(descriptor, stat.S_IMODE(os.fstat(source.fileno()).st_mode))
                target.writelines(_migrated_lines(source))
                target.flush()
                os.fsync(descriptor)
        Path(aside).replace(real)
    except OSError as error:
        if aside is not None:
            with suppress(OSError):
                Path(aside).unlink()
        why = f"The session file {path} could not be brought to version {CURRENT_VERSION}"
        raise SessionNotWritten(thread_id, f"{why}: {error.strerror or error}.") from error


def _migrated_lines(source: BinaryIO) -> Iterator[bytes]:
    adopter: EntryAdopter | None = None
    for line in read_lines(source):
        header = read_header(line.value) if adopter is None and line.counts else None
        if header is not None:
            adopter = EntryAdopter(header.version)
            adopter.adopt(line)
            yield _migrated_header(line.raw, header.raw)
        else:
            yield _whole(line.raw) if adopter is None else _migrated_line(adopter, line)


def _migrated_header(raw: bytes, stored: Entry) -> bytes:
    version = {"version": CURRENT_VERSION}
    try:
        return dump_line({**stored, **version})
    except ValueError:
        return _spliced(raw, version)


@dataclass(frozen=True, slots=True)
class _Before:
    """What an entry said where migration may change it."""

    place: Entry
    role: Any
    kept_index: Any

    @classmethod
    def of(cls, value: Any) -> _Before:
        stored = cast("Entry", value) if isinstance(value, dict) else {}
        message: Any = stored.get("message")
        role = cast("Entry", message).get("role") if isinstance(message, dict) else None
        place = {key: stored[key] for key in _PLACE if key in stored}
        return cls(place, role, stored.get("firstKeptEntryIndex"))


def _migrated_line(adopter: EntryAdopter, line: Line) -> bytes:
    """The line with the place it was given; as it was, where nothing changed."""
    before = _Before.of(line.value)  # adopting changes the value itself
    entry = adopter.adopt(line)
    after = _Before.of(entry)
    if entry is None or after == before:
        return _whole(line.raw)
    if before.place or (after.role, after.kept_index) != (before.role, before.kept_index):
        with suppress(ValueError):
            return dump_line(entry)
    return _spliced(line.raw, after.place)


def _spliced(raw: bytes, fields: Entry) -> bytes:
    """The line as it was, with more fields behind its last one."""
    body = raw.rstrip()[:-1].rstrip()
    comma = b"" if body.endswith(b"{") else b","
    return body + comma + dump_line(fields)[1:]


def _whole(raw: bytes) -> bytes:
    return raw if raw.endswith(b"\n") else raw + b"\n"
