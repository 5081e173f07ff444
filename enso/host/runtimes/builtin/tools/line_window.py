"""Some lines of a file that may be of any size, in bounded memory.

Kept is what can be shown; what comes after it is counted, so that the reader knows how much is
left. Bytes that are no UTF-8 become U+FFFD, and count as such.
"""

from __future__ import annotations

import codecs

from enso.host.runtimes.builtin.tools.truncation import MAX_BYTES, Truncation, cut_to_head

_KEPT = MAX_BYTES + 8  # more than is shown, also without a character that is cut in two


class LineWindow:
    """Takes a file piece by piece, and shows ``limit`` of its lines from line ``start`` (0 …)."""

    def __init__(self, start: int, limit: int | None) -> None:
        self._to_skip = start
        self._left = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = bytearray()
        self._size = 0
        self._line_ends = 0
        self._selected_ends = 0
        self._first_line_size: int | None = None
        self._ends_line = False

    @property
    def total_lines(self) -> int:
        """Lines of the whole file, of which the last may be empty."""
        return self._line_ends + 1

    @property
    def first_line_size(self) -> int:
        """Bytes of the first selected line."""
        return self._size if self._first_line_size is None else self._first_line_size

    def feed(self, data: bytes, *, last: bool = False) -> None:
        """Take the next piece of the file."""
        text = self._decoder.decode(data, final=last).encode()
        ends = text.count(b"\n")
        self._line_ends += ends
        if self._to_skip > ends:
            self._to_skip -= ends
            return
        at = 0
        for _ in range(self._to_skip):
            at = text.index(b"\n", at) + 1
        self._to_skip = 0
        self._select(text[at:] if at else text)

    def cut(self) -> Truncation:
        """The selected lines, as far as they are shown."""
        shown = cut_to_head(self._kept.decode("utf-8", "ignore"))
        lines = 0 if not self._size else self._selected_ends + (0 if self._ends_line else 1)
        return shown.with_totals(lines=lines, size=self._size)

    def _select(self, text: bytes) -> None:
        if self._left is not None:
            text = self._limited(text)
        if not text:
            return
        if self._first_line_size is None and (end := text.find(b"\n")) != -1:
            self._first_line_size = self._size + end
        self._kept += text[: _KEPT - len(self._kept)]
        self._size += len(text)
        self._selected_ends += text.count(b"\n")
        self._ends_line = text.endswith(b"\n")

    def _limited(self, text: bytes) -> bytes:
        left = self._left or 0
        if not left:
            return b""
        if text.count(b"\n") < left:
            self._left = left - text.count(b"\n")
            return text
        at = 0
        for _ in range(left):
            at = text.index(b"\n", at) + 1
        self._left = 0
        return text[: at - 1]  # the end of the last selected line is not selected
