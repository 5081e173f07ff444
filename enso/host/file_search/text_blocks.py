"""A file as blocks of whole lines: text, or nothing when it is binary. Memory stays bounded."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO, Final

BLOCK: Final = 8 * 1024 * 1024
LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of a line, and of a text in UTF-16; of what is longer nothing more is searched."""

_SNIFFED: Final = 64 * 1024
_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def text_blocks(file: BinaryIO, *, named: bool) -> Iterator[str]:
    """The lines of a file in blocks, each of which but the last ends with a line's end.

    A NUL makes a file binary, and what comes after it is not searched; in a file that was
    ``named`` itself it ends a line instead. Other bytes that are no UTF-8 become U+FFFD.
    """
    first = file.read(_SNIFFED)
    if first[:2] in _UTF_16:
        yield _utf_16(first, file)
        return
    if b"\0" in first and not named:
        return
    rest = first.removeprefix(codecs.BOM_UTF8)
    while rest:
        rest += file.read(BLOCK)
        if named:
            rest = rest.replace(b"\0", b"\n")
        elif b"\0" in rest:
            yield _text(rest[: rest.rfind(b"\n", 0, rest.index(b"\0")) + 1])
            return
        end = rest.rfind(b"\n") + 1
        more = file.read(1)
        if not more:
            yield _text(rest)
            return
        yield _text(rest[:end])
        rest = rest[end:] + more
        if len(rest) > LONGEST_LINE:
            return


def _utf_16(first: bytes, file: BinaryIO) -> str:
    data = first + file.read(LONGEST_LINE - len(first))
    return data[2:].decode(_UTF_16[first[:2]], "replace")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
