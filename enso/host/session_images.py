"""Images that are not read: a page tells of them, and each is read when it is looked at.

Owns which images of an entry a page leaves out, and how a stored line is read without their bytes.
A small image stays as it is stored, and so does one that is seen to be damaged, and one of an entry
without an id, which could not be asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec.structs import replace

from enso.images import SMALL, told_size
from enso.transcript import (
    ImagePart,
    ImageSketch,
    TranscriptEntry,
    TranscriptMessage,
    TranscriptToolResult,
)

LONG: Final = 1 << 13
"""Characters of base64 from which on an image is passed over: whether it is damaged is seen when
it is looked at."""

_DATA: Final = b'"data":"'
_BLOCK = re.compile(rb'\{"type":"image",(?:"mimeType":"[A-Za-z0-9.+/-]{0,80}",)?\Z')
_BLOCK_BYTES: Final = 128
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class Cut(NamedTuple):
    """Where the base64 of an image is in a line, and what is told in its place."""

    start: int
    end: int
    sketch: ImageSketch


class LeanLine(NamedTuple):
    """A stored line with a mark in place of each of its long images, and what is told of them."""

    text: bytes
    sketches: tuple[ImageSketch, ...] = ()


def cuts_of(line: bytes) -> tuple[Cut, ...]:
    """The long images of a line that is known to be JSON, laid out as pi writes them."""
    found: list[Cut] = []
    for start, end in _data_in(line):
        if end - start >= LONG:
            size = told_size(memoryview(line)[start:end])
            found.append(Cut(start, end, ImageSketch(end - start, size)))
    return tuple(found)


def cuts_around(
    text: bytes, holes: Sequence[tuple[int, int]], read: Callable[[int, int], bytes]
) -> tuple[Cut, ...] | None:
    """The same of a line that lacks stretches without a quote or an escape.

    ``holes`` are where they were in ``text``, and how long; ``read`` gives bytes of the line from a
    place on. ``None``: a hole is in something else than a long image.
    """
    found: list[Cut] = []
    passed = before = 0  # holes up to here, and their bytes
    for start, end in _data_in(text):
        within = [hole for hole in holes[passed:] if hole[0] <= end]
        if any(at < start for at, _ in within):
            return None
        missing = sum(length for _, length in within)
        begin, length = start + before, end - start + missing
        if length >= LONG:
            known = text[start : within[0][0] if within else end]
            size = told_size(_Stretch(begin, length, known, read))
            found.append(Cut(begin, begin + length, ImageSketch(length, size)))
        passed, before = passed + len(within), before + missing
    return tuple(found) if passed == len(holes) else None


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of a line, of which the beginning is known; the rest is read where it is asked."""

    begin: int
    length: int
    known: bytes
    read: Callable[[int, int], bytes]

    def __getitem__(self, part: slice) -> bytes:
        start, stop = part.start, min(part.stop, self.length)
        if stop <= len(self.known):
            return self.known[start:stop]
        return self.read(self.begin + start, stop - start) if start < stop else b""


def _data_in(line: bytes) -> Iterator[tuple[int, int]]:
    """Where the data of images begin and end that are laid out as pi writes them."""
    at = 0
    while (key := line.find(_DATA, at)) >= 0:
        start = key + len(_DATA)
        end = at = line.find(b'"', start)
        if end < 0:
            return
        is_block = _BLOCK.search(line, max(0, key - _BLOCK_BYTES), key)
        if is_block and line.find(b"\\", start, end) < 0:
            yield start, end


def without_images(line: bytes) -> LeanLine:
    """A line that was read, as what a page takes of it."""
    cuts = cuts_of(line) if len(line) > LONG else ()
    return lean_line([line[start:end] for start, end in around(cuts, len(line))], cuts)


def around(cuts: Sequence[Cut], length: int) -> Iterator[tuple[int, int]]:
    """The pieces of a line between its cuts."""
    begin = 0
    for cut in cuts:
        yield begin, cut.start
        begin = cut.end
    yield begin, length


def lean_line(pieces: Sequence[bytes], cuts: Sequence[Cut]) -> LeanLine:
    """The pieces of a line, put together with marks between them."""
    marked = [pieces[0]]
    for number, piece in enumerate(pieces[1:]):
        marked += [_mark(number).encode(), piece]
    return LeanLine(b"".join(marked), tuple(cut.sketch for cut in cuts))


def _mark(number: int) -> str:
    return f"@{number}"


def leave_out(
    entry: TranscriptEntry, sketches: Sequence[ImageSketch] = ()
) -> TranscriptEntry | None:
    """The entry without the bytes of its images. ``sketches`` are of those that were cut out.

    ``None``: what was cut out of its line were not all images of its content.
    """
    if not isinstance(entry, TranscriptMessage | TranscriptToolResult):
        return None if sketches else entry
    cut = {_mark(number): sketch for number, sketch in enumerate(sketches)}
    images = [part for part in entry.parts if isinstance(part, ImagePart)]
    if [part.data for part in images if part.data in cut] != list(cut) or (cut and not entry.id):
        return None
    if not images or not entry.id:
        return entry
    parts = tuple(_told(part, cut) if isinstance(part, ImagePart) else part for part in entry.parts)
    return replace(entry, parts=parts)


def _told(part: ImagePart, cut: Mapping[str, ImageSketch]) -> ImagePart:
    """An image as it is told of, if it was cut out or is to be left out."""
    if part.data in cut:
        return ImagePart(part.mime_type, "", cut[part.data])
    length = len(part.data)
    if length <= SMALL or not part.data.isascii():
        return part
    if length < LONG and not _BASE64.fullmatch(part.data):
        return part
    return ImagePart(part.mime_type, "", ImageSketch(length, told_size(part.data)))
