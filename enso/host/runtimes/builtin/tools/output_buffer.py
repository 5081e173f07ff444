"""The output of a command: its tail in memory, all of it in a file once it is long.

Memory stays bounded, whatever comes. Bytes that are no UTF-8 become U+FFFD in what is shown, and
stay what they are in the file. Used by one worker at a time. Source of the rule: pi 1.6.0.
"""

from __future__ import annotations

import codecs
import os
import secrets
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from enso.host.runtimes.builtin.tools.truncation import (
    MAX_BYTES,
    MAX_LINES,
    Truncation,
    cut_to_tail,
)
from enso.host.runtimes.sizes import size_text

MAX_FILE_BYTES: Final = 1024 * 1024 * 1024
"""Of a longer output the file holds the beginning."""

_TAIL: Final = 2 * MAX_BYTES


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """What is shown of an output; ``notice`` names the lines and the file when it is cut."""

    cut: Truncation
    notice: str
    path: Path | None

    @property
    def text(self) -> str:
        """The shown lines, and the notice under them."""
        return f"{self.cut.content}\n\n{self.notice}" if self.notice else self.cut.content


class OutputBuffer:
    """Takes an output piece by piece. ``close`` it in the end."""

    def __init__(self, *, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tail = bytearray()
        self._tail_is_cut_in_line = False
        self._size = 0
        self._line_ends = 0
        self._line_size = 0
        self._ends_line = True
        self._file = _FullOutput(max_file_bytes)

    def append(self, data: bytes) -> None:
        """Take a piece."""
        self._take(self._decoder.decode(data))
        self._file.append(data)
        if self._is_long:
            self._file.keep()

    def close(self) -> None:
        """There will be no more of it."""
        self._take(self._decoder.decode(b"", final=True))
        if self._is_long:
            self._file.keep()
        self._file.close()

    def shown(self) -> ShownOutput:
        """What is shown of the output so far."""
        tail = bytes(self._tail)
        if self._tail_is_cut_in_line:
            tail = tail[tail.find(b"\n") + 1 :] or tail
        cut = cut_to_tail(tail.decode()).with_totals(lines=self._lines, size=self._size)
        if not self._is_long:
            return ShownOutput(replace(cut, truncated_by=None), "", None)
        if cut.truncated_by is None:
            cut = replace(cut, truncated_by="bytes" if self._size > MAX_BYTES else "lines")
        return ShownOutput(cut, self._notice(cut), self._file.path)

    @property
    def _lines(self) -> int:
        return self._line_ends + (0 if self._ends_line else 1)

    @property
    def _is_long(self) -> bool:
        return self._size > MAX_BYTES or self._lines > MAX_LINES

    def _take(self, text: str) -> None:
        if not self._size:
            text = text.removeprefix("\ufeff")
        if not text:
            return
        data = text.encode()
        self._count(data)
        self._tail += data
        if len(self._tail) > 2 * _TAIL:
            self._trim()

    def _count(self, data: bytes) -> None:
        ends = data.count(b"\n")
        end = len(data) - (1 if data.endswith(b"\n") else 0)
        start = data.rfind(b"\n", 0, end) + 1
        goes_on = start == 0 and not self._ends_line
        self._line_size = end - start + (self._line_size if goes_on else 0)
        self._size += len(data)
        self._line_ends += ends
        self._ends_line = data.endswith(b"\n")

    def _trim(self) -> None:
        start = len(self._tail) - _TAIL
        while start < len(self._tail) and self._tail[start] & 0xC0 == 0x80:
            start += 1
        self._tail_is_cut_in_line = self._tail[start - 1] != 0x0A
        del self._tail[:start]

    def _notice(self, cut: Truncation) -> str:
        last = cut.total_lines
        where = self._file.words
        if cut.last_line_partial:
            part, whole = size_text(cut.output_bytes), size_text(self._line_size)
            return f"[Showing last {part} of line {last} (line is {whole}). {where}]"
        first = last - cut.output_lines + 1
        why = "" if cut.truncated_by == "lines" else f" ({size_text(MAX_BYTES)} limit)"
        return f"[Showing lines {first}-{last} of {last}{why}. {where}]"


class _FullOutput:
    """The whole output: in memory while it is short, then in a file that its owner alone reads."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._early = bytearray()
        self._handle: int | None = None
        self._lost = ""
        self.path: Path | None = None

    @property
    def words(self) -> str:
        """Where the whole output is."""
        if self.path is None:
            return f"The full output could not be kept: {self._lost}"
        said = f"Full output: {self.path}"
        return f"{said} (only its beginning: {self._lost})" if self._lost else said

    def append(self, data: bytes) -> None:
        """Take a piece."""
        if self._handle is None and self.path is None and not self._lost:
            self._early += data
        else:
            self._write(data)

    def keep(self) -> None:
        """Make the file, if there is none yet."""
        if self.path is not None or self._lost:
            return
        path = Path(tempfile.gettempdir(), f"enso-bash-{secrets.token_hex(8)}.log")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._handle = os.open(path, flags, 0o600)
        except OSError as error:
            self._lost = f"{error.strerror}"
            return
        self.path = path
        self._write(bytes(self._early))
        self._early.clear()

    def close(self) -> None:
        """No more comes."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _write(self, data: bytes) -> None:
        if self._handle is None or self._lost:
            return
        left = memoryview(data)[: self._left]
        self._left -= len(left)
        if len(left) < len(data):
            self._lost = "it is longer than a file may be"
        try:
            while left:
                left = left[os.write(self._handle, left) :]
        except OSError as error:
            self._lost = f"{error.strerror}"
