"""What kind of image some bytes are, how large it is, and what a prompt may hold of images.

A provider refuses an image that is damaged or too large, and every request of the thread after it:
so such an image is never let into one. Reads headers; decodes no picture. The limits of one image:
pi 1.6.0; 8,000 pixels and 5 MB as base64 are Anthropic's, the lowest that a provider says.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from typing import Final, Protocol

Read = Callable[[int, int], bytes]
"""Bytes of an image from an offset on, of a length; fewer where it ends."""

SNIFF_BYTES: Final = 4100
"""As much of a file's beginning as tells its kind."""

MAX_BASE64: Final = int(4.5 * 1024 * 1024)
MAX_IMAGE_BYTES: Final = MAX_BASE64 // 4 * 3
"""Size of an image that is shown to a model, in bytes; as base64 it is ``MAX_BASE64``."""

MAX_SIDE: Final = 8000
"""Pixels on one side: more is refused by every provider that says a limit."""

MAX_IMAGES: Final = 16
"""Images in one prompt."""

MAX_TOGETHER: Final = 20_000_000
"""Bytes of all images of one prompt: as base64 they still fit the requests that providers take."""

SMALL: Final = 1 << 12
"""Characters of base64 up to which an image goes with its page: to ask for it would cost more."""

KINDS: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The kinds that every provider takes, as MIME types."""

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_MOST_SEGMENTS: Final = 1000
_MOST_TOLD: Final = 100_000  # pixels on a side; what says more is no image that is shown


def image_type(head: bytes) -> str | None:
    """The MIME type by the first bytes; ``None`` for what is no still image of a known kind."""
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg" if head[3:4] != b"\xf7" else None
    if head.startswith(_PNG):
        return "image/png" if head[12:16] == b"IHDR" and not _is_animated(head) else None
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    if head.startswith(b"BM") and len(head) >= 30 and head[26:28] == b"\x01\x00":
        return "image/bmp"
    return None


def image_size(kind: str, data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; ``None`` when the file is damaged or cut."""
    match kind:
        case "image/png":
            whole = b"IEND" in data[-16:]
            return _pair(data, 16, 4, "big") if whole else None
        case "image/gif":
            return _pair(data, 6, 2, "little") if data.rstrip(b"\0").endswith(b";") else None
        case "image/webp":
            whole = int.from_bytes(data[4:8], "little") <= len(data) - 8
            return _webp_size(data) if whole else None
        case _:
            ends = b"\xff\xd9" in data[-4096:]
            return _jpeg_size(lambda at, length: data[at : at + length]) if ends else None


class Sliced(Protocol):
    """Something that is looked at by slices from a place to a place."""

    def __getitem__(self, part: slice, /) -> bytes | memoryview | str:
        """The slice; shorter where it goes over the end."""
        ...


def told_size(data: Sliced) -> tuple[int, int] | None:
    """Width and height by the header of an image in base64; ``None`` when it does not tell.

    Decodes what it reads and no more: a few bytes, and of a JPEG those between its segments.
    """

    def read(at: int, length: int) -> bytes:
        start, end = at // 3 * 4, -(-(at + length) // 3) * 4
        try:
            return binascii.a2b_base64(data[start:end])[at % 3 : at % 3 + length]
        except ValueError:
            return b""

    size = _header_size(read)
    return size if size is not None and max(size) <= _MOST_TOLD else None


def _header_size(read: Read) -> tuple[int, int] | None:
    head = read(0, 30)
    if head.startswith(b"\xff\xd8\xff"):
        return _jpeg_size(read)
    if head.startswith(_PNG):
        return _pair(head, 16, 4, "big")
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _pair(head, 6, 2, "little")
    return _webp_size(head) if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else None


def _is_animated(head: bytes) -> bool:
    control = head.find(b"acTL")
    picture = head.find(b"IDAT")
    return control != -1 and (picture == -1 or control < picture)


def _pair(data: bytes, at: int, width: int, order: str) -> tuple[int, int] | None:
    if len(data) < at + 2 * width:
        return None
    if order == "little":
        data = data[at : at + 2 * width][::-1]
        second, first = data[:width], data[width:]
    else:
        first, second = data[at : at + width], data[at + width : at + 2 * width]
    size = int.from_bytes(first, "big"), int.from_bytes(second, "big")
    return size if min(size) > 0 else None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    if len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8X":
            across, down = data[24:27], data[27:30]
            return int.from_bytes(across, "little") + 1, int.from_bytes(down, "little") + 1
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            across, down = data[26:28], data[28:30]
            return int.from_bytes(across, "little") & 0x3FFF, int.from_bytes(
                down, "little"
            ) & 0x3FFF
        case _:
            return None


def _jpeg_size(read: Read) -> tuple[int, int] | None:
    at = 2
    for _ in range(_MOST_SEGMENTS):
        head = read(at, 9)
        if len(head) < 9 or head[0] != 0xFF:
            return None
        marker = head[1]
        if marker == 0xFF:  # padding
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            size = _pair(head, 5, 2, "big")
            return (size[1], size[0]) if size else None
        else:
            at += 2 + int.from_bytes(head[2:4], "big")
    return None
