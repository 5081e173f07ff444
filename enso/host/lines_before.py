"""The lines of a file on the way back from a place in it, and how much was read of files that way.

Imports nothing of Enso: processes that help with the listing load it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

BLOCK: Final = 1 << 17
"""Bytes that are read at once on the way back."""


class FileChanged(Exception):
    """The file is not as it was when it was scanned: it is to be read anew."""


class Counters:
    """How much was read of files by their ends: what the shape of the work is told by."""

    def __init__(self) -> None:
        self.bytes_read = 0
        self.lines_parsed = 0
        self.entries_added_up = 0


def lines_before(
    descriptor: int, end: int, counters: Counters, size: int = BLOCK
) -> Iterator[tuple[int, bytes]]:
    """The lines before ``end``, where one ends, the last first: where each begins, and its bytes.

    ``size`` is how much is read at once.
    Raises ``FileChanged`` when the file is shorter than that.
    """
    pieces: list[bytes] = []  # of the line whose beginning was not read yet, the last first
    while end > 0:
        begin = max(0, end - size)
        block = os.pread(descriptor, end - begin, begin)
        if len(block) != end - begin:
            raise FileChanged
        counters.bytes_read += len(block)
        stop = len(block)
        while (newline := block.rfind(b"\n", 0, stop if pieces else stop - 1)) >= 0:
            pieces.append(block[newline + 1 : stop])
            stop = newline + 1
            yield begin + stop, b"".join(reversed(pieces))
            pieces.clear()
        pieces.append(block[:stop])
        end = begin
    if pieces:
        yield 0, b"".join(reversed(pieces))
