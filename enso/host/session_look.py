"""Looking at one session file for its row in the rail: whole the first time, then where it grew.

Takes no more of each line than a row needs, with a parser that still refuses every line that is no
JSON; a line whose fields have other types than pi writes is read by other means. How the branch
ends is told by the file's last lines. Where those do not tell it, and for a file of another version
than 3, the row is that of the full scan (``enso.host.session_scan``), which it always equals.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple
from zlib import crc32

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, structs
from msgspec.json import Decoder

from enso.host.file_stamp import FileStamp
from enso.host.precedence import LONG_STEP, answers
from enso.host.session_beginning import read_beginning
from enso.host.session_facts import scan_line, title_of, value_of
from enso.host.session_log import CURRENT_VERSION, name_of, open_regular
from enso.host.session_row_end import end_of
from enso.host.stored_values import LATEST_MS, count_of, milliseconds
from enso.host.thread_ends import ThreadEnd
from enso.thread_ids import is_thread_id

if TYPE_CHECKING:
    from enso.host.session_scan import ScannedFile

_PROBE: Final = 512
_NEWLINE: Final = 10
_SPOKEN: Final = ("user", "assistant")


class _Message(Struct, gc=False):
    role: str | None = None
    content: Raw | UnsetType = UNSET
    timestamp: int | float | None = None


class _Entry(Struct, gc=False):
    type: str | None = None
    message: _Message | None = None
    name: Raw | UnsetType = UNSET


_decode = Decoder(_Entry).decode


class RowFacts(Struct, gc=False):
    """What the lines of a file tell for its row. ``newest_ms`` is 0 without a message's time."""

    id: str
    cwd: str
    created_ms: int | None
    message_count: int = 0
    first_message: str = ""
    name: str | None = None
    newest_ms: int = 0
    end: ThreadEnd = "empty"


class Read(Struct, frozen=True, gc=False):
    """How far a file was read, and what the next reading goes on from.

    ``consumed`` is where the last whole line ends; ``begins`` and ``ends`` are digests of the first
    and last bytes of that, to know the file again by. ``facts`` are what it tells; ``None``: the
    same as the whole file.
    """

    consumed: int
    begins: int
    ends: int
    facts: RowFacts | None = None


class RowFile(Struct, frozen=True, gc=False, omit_defaults=True):
    """One file as it was looked at: ``facts`` are of everything in it, also of a last line without
    its newline; ``None`` when it is no session. ``read``: ``None`` when a change is to be read
    whole. ``proven``: whether every byte of it was looked at."""

    path: str
    stamp: FileStamp
    facts: RowFacts | None = None
    read: Read | None = None
    proven: bool = True


def look_at(path: str, earlier: RowFile | None = None) -> RowFile | None:
    """The row of a file now; ``None`` when it is gone, unreadable or no regular file.

    With an ``earlier`` look, a file that only grew is read from where that one ended.
    """
    answers.give_way()
    try:
        with open_regular(Path(path)) as stream:
            status = os.fstat(stream.fileno())
            stamp = FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)
            return _looked(path, stream, stamp, earlier)
    except (OSError, ValueError):
        return None


def modified_ms(file: RowFile) -> int:
    """When a thread was last active: its newest message's time, else its header's, else the
    file's, as far as the file's own time bears it out."""
    facts = file.facts
    newest = facts.newest_ms or facts.created_ms if facts is not None else None
    return file.stamp.active_ms(newest)


def _looked(
    path: str, stream: BinaryIO, stamp: FileStamp, earlier: RowFile | None
) -> RowFile | None:
    start = _continued(stream, stamp, earlier)
    if start is None:
        beginning = read_beginning(stream)
        if beginning is None or not is_thread_id(beginning.header.id):
            return RowFile(path, stamp)
        header = beginning.header
        if header.version != CURRENT_VERSION or not beginning.consumed:
            return _whole(path)
        facts = RowFacts(header.id, header.cwd, beginning.created_ms)
        start = _Start(beginning.consumed, facts)
    return _read_on(path, stream, stamp, start) or _whole(path)


def _whole(path: str) -> RowFile | None:
    """The row by the full scan."""
    from enso.host.session_scan import scan_file  # noqa: PLC0415 - few files need it

    scanned = scan_file(Path(path))
    return RowFile(path, scanned.stamp, _facts_of(scanned)) if scanned is not None else None


def _facts_of(scanned: ScannedFile) -> RowFacts | None:
    row = scanned.thread
    if row is None:
        return None
    return RowFacts(
        row.id,
        str(row.cwd),
        round(row.modified.timestamp() * 1000),
        row.message_count,
        row.first_message,
        row.name,
        end=row.end,
    )


class _Start(NamedTuple):
    """Where a reading begins, and what the lines before tell."""

    consumed: int
    facts: RowFacts


def _continued(stream: BinaryIO, stamp: FileStamp, earlier: RowFile | None) -> _Start | None:
    """What the earlier look came to, if this is the same file and has only grown since."""
    read = earlier.read if earlier is not None else None
    if earlier is None or read is None or not stamp.grown_from(earlier.stamp):
        return None
    same_size = stamp.size == earlier.stamp.size
    if same_size or _ends(stream, read.consumed) != (read.begins, read.ends):
        return None
    facts = read.facts or earlier.facts
    return _Start(read.consumed, facts) if facts is not None else None


def _ends(stream: BinaryIO, size: int) -> tuple[int, int]:
    """Digests of the first and of the last bytes of the first ``size`` bytes."""
    descriptor = stream.fileno()
    length = min(_PROBE, size)
    first, last = os.pread(descriptor, length, 0), os.pread(descriptor, length, size - length)
    return crc32(first), crc32(last)


def _read_on(path: str, stream: BinaryIO, stamp: FileStamp, start: _Start) -> RowFile | None:
    """Read on from a start; ``None`` when the end does not tell how the branch ends."""
    facts = structs.replace(start.facts)
    stream.seek(start.consumed)
    consumed, last, rest = take_lines(facts, stream, start.consumed)
    if last:
        end = end_of(stream.fileno(), consumed, last)
        if end is None:
            return None
        facts.end = end
    ends = _ends(stream, consumed)
    if not rest:
        return RowFile(path, stamp, facts, Read(consumed, *ends))
    shown = structs.replace(facts)
    _take_line(shown, rest)
    end = end_of(stream.fileno(), consumed + len(rest), rest)
    if end is None:
        return None
    shown.end = end
    return RowFile(path, stamp, shown, Read(consumed, *ends, facts))


# -- lines ----------------------------------------------------------------------------------------


def take_lines(
    facts: RowFacts, lines: Iterable[bytes], consumed: int = 0
) -> tuple[int, bytes, bytes]:
    """Take every whole line into the facts; the first begins at ``consumed``.

    Returns where the last one ends, its bytes, and what is behind it without a newline. What is on
    every line is kept in local variables: this loop is what a look takes its time for.
    """
    raw, rest = b"", b""
    last, count, newest, titled = b"", 0, facts.newest_ms, bool(facts.first_message)
    for raw in lines:
        if raw[-1] != _NEWLINE:
            rest = raw
            break
        last, length = raw, len(raw)
        consumed += length
        if length > LONG_STEP:
            answers.give_way()
        try:
            entry = _decode(raw)
        except (DecodeError, RecursionError):
            _take_line(facts, raw)
            newest, titled = max(newest, facts.newest_ms), bool(facts.first_message)
            continue
        if entry.type == "message":
            count += 1
            message = entry.message
            role = message.role if message is not None else None
            if message is None or role not in _SPOKEN:
                continue
            counted = message.timestamp
            if type(counted) is int and 0 < counted <= LATEST_MS and titled:
                if newest < counted and message.content is not UNSET:
                    newest = counted
            else:
                count -= 1
                _take_line(facts, raw)
                newest, titled = max(newest, facts.newest_ms), bool(facts.first_message)
        elif entry.type == "session_info":
            facts.name = name_of({"name": value_of(entry.name)})
    facts.message_count += count
    facts.newest_ms = newest
    return consumed, last, rest


def _take_line(facts: RowFacts, raw: bytes) -> None:
    """Take one line, whatever it holds."""
    entry, _ = scan_line(raw)
    if entry is None:
        return
    if entry.type == "session_info":
        facts.name = name_of({"name": value_of(entry.name)})
    if entry.type != "message":
        return
    facts.message_count += 1
    message = entry.message
    if message is None or message.role not in _SPOKEN or message.content is UNSET:
        return
    counted = count_of(message.timestamp)
    if counted is None:
        counted = milliseconds(entry.timestamp) or 0
    facts.newest_ms = max(facts.newest_ms, counted)
    if not facts.first_message and message.role == "user":
        facts.first_message = title_of(value_of(message.content))
