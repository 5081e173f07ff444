"""A glance at a session file for its row: sooner than a look, and not proven.

Owns what a first listing shows before every byte was looked at. A line that begins and ends as pi
writes a message, and that the next entry hangs on, is counted as one, and what stands in it is not
looked at. Lines that do not, those that may tell the title and the last ones are looked at exactly
(``enso.host.session_look``). So a row is the exact one but where a line is damaged inside and was
still gone on from, or where the newest message is not among the last lines. Every file is looked at
exactly soon after (``enso.host.session_proof``).
"""

from __future__ import annotations

import os
import stat
from typing import Final

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from enso.host.file_stamp import FileStamp, stamp_by
from enso.host.session_log import CURRENT_VERSION
from enso.host.session_look import RowFacts, RowFile, take_lines
from enso.host.session_row_end import end_of
from enso.host.stored_values import milliseconds
from enso.thread_ids import is_thread_id

_NEWLINE: Final = 10
_BRACE: Final = 125
_BUFFER: Final = 1 << 20
_LONGEST: Final = _BUFFER // 2
"""Bytes of a line beyond which its file is looked at exactly."""
_LAST: Final = 8
"""So many of the last lines are looked at for the newest message's time."""

_MESSAGE: Final = b'{"type":"message","id":"'
_ID: Final = len(_MESSAGE)
_DIGITS: Final = 8
_PARENT: Final = _ID + _DIGITS + len(b'","parentId":"')
"""Where, in such a line, its parent's id begins: ids of pi have eight digits."""
_OF_USER: Final = b'","message":{"role":"user"'
_OF_TOOL: Final = b'","message":{"role":"toolResult"'
_REACH: Final = 160
"""Bytes of a line within which it says what it hangs on, and whose message it is."""


class _Header(Struct, gc=False):
    type: str
    version: int
    id: str
    timestamp: str
    cwd: str


_decode_header = Decoder(_Header).decode


class Glance:
    """Glances at one file after another. Not thread-safe: all go through one buffer."""

    def __init__(self) -> None:
        self.lines_parsed = 0
        """How many lines were looked at exactly."""
        self._buffer = bytearray(_BUFFER)
        self._view = memoryview(self._buffer)

    def at(self, path: str) -> RowFile | None:
        """The row of a file, not proven; ``None`` for a file that is to be looked at exactly."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            stamp = stamp_by(status)
            facts = self._facts(descriptor, stamp)
            return RowFile(path, stamp, facts, proven=False) if facts is not None else None
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _facts(self, descriptor: int, stamp: FileStamp) -> RowFacts | None:
        facts: RowFacts | None = None
        offset = start = held = 0  # where the buffer begins in the file; what of it was taken, held
        while offset + held < stamp.size:
            left = held - start
            if left > _LONGEST:
                return None
            self._buffer[:left] = self._buffer[start:held]
            offset += start
            held = left + self._read(descriptor, offset + left, left, stamp.size)
            if held == left or self._buffer.find(b"\0", left, held) >= 0:
                return None
            start = 0
            if facts is None:
                start = self._buffer.find(b"\n", 0, held) + 1
                facts = self._begun(start)
                if facts is None:
                    return None
            start = self._take(facts, start, held)
        if facts is None or self._buffer[held - 1] != _NEWLINE:
            return None
        if start < held:
            self._take_exactly(facts, start, held)
        return _ended(facts, descriptor, stamp.size, self._last_lines(held))

    def _read(self, descriptor: int, offset: int, left: int, size: int) -> int:
        """Read on behind what is held, and no further than the file's end; how many bytes."""
        return os.preadv(descriptor, [self._view[left : left + size - offset]], offset)

    def _begun(self, size: int) -> RowFacts | None:
        """What the first line says; ``None`` when it is no header as pi writes it."""
        try:
            header = _decode_header(self._view[:size])
        except (DecodeError, RecursionError):
            return None
        if header.type != "session" or header.version != CURRENT_VERSION:
            return None
        created_ms = milliseconds(header.timestamp)
        return RowFacts(header.id, header.cwd, created_ms) if is_thread_id(header.id) else None

    def _take(self, facts: RowFacts, at: int, held: int) -> int:
        """Take the lines that are held; returns where the first one begins that was not taken: the
        last message, which no entry hangs on yet, or a line that is not whole."""
        buffer, find, begins = self._buffer, self._buffer.find, self._buffer.startswith
        titled = bool(facts.first_message)
        count, before, name = 0, at, b""  # the message before, and its id
        while after := find(b"\n", at, held) + 1:
            is_message = begins(_MESSAGE, at) and buffer[after - 2] == _BRACE
            if name:
                if (
                    buffer[at + _PARENT : at + _PARENT + _DIGITS] == name
                    if is_message
                    else find(name, at, at + _REACH) >= 0
                ):
                    count += 1
                else:
                    titled = self._take_exactly(facts, before, at)
            if is_message and (titled or find(_OF_USER, at, at + _REACH) < 0):
                before, name = at, buffer[at + _ID : at + _ID + _DIGITS]
            else:
                titled, name = self._take_exactly(facts, at, after), b""
            at = after
        facts.message_count += count
        return before if name else at

    def _take_exactly(self, facts: RowFacts, begin: int, end: int) -> bool:
        """Take one line; whether there is a title now."""
        take_lines(facts, (bytes(self._view[begin:end]),))
        self.lines_parsed += 1
        return bool(facts.first_message)

    def _last_lines(self, end: int) -> list[bytes]:
        """The last lines that are held, the last first; but the first of them no tools' results."""
        lines: list[bytes] = []
        for _ in range(_LAST):
            begin = self._buffer.rfind(b"\n", 0, end - 1) + 1
            if not lines or self._buffer.find(_OF_TOOL, begin, begin + _REACH) < 0:
                lines.append(bytes(self._view[begin:end]))
                self.lines_parsed += 1
            end = begin
            if not end:
                break
        return lines


def _ended(facts: RowFacts, descriptor: int, size: int, last: list[bytes]) -> RowFacts | None:
    """The facts with what the last lines tell; ``None`` when they do not."""
    told = RowFacts("", "", None, first_message="not asked for")
    take_lines(told, last)
    end = end_of(descriptor, size, last[0])
    if end is None or (facts.message_count and not told.newest_ms):
        return None
    facts.newest_ms = max(facts.newest_ms, told.newest_ms)
    facts.end = end
    return facts
