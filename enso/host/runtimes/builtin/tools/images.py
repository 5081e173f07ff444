"""Whether a model can be shown an image file; if not, it is told of in words instead.

Sentences: pi 1.6.0, which also makes large images smaller.
"""

from __future__ import annotations

from typing import Final

from enso.images import MAX_IMAGE_BYTES, MAX_SIDE, image_size

_TOO_LARGE: Final = "[Image omitted: could not be resized below the inline image size limit.]"
_NO_FORMAT: Final = "[Image omitted: could not be converted to a supported inline image format.]"


def why_not_shown(kind: str, data: bytes) -> str | None:
    """The line that stands instead of the image; ``None`` when it can be shown."""
    if kind == "image/bmp":
        return _NO_FORMAT
    if len(data) > MAX_IMAGE_BYTES:
        return _TOO_LARGE
    size = image_size(kind, data)
    if size is None:
        return "[Image omitted: the file is damaged.]"
    if max(size) > MAX_SIDE:
        return f"[Image omitted: {size[0]}x{size[1]} pixels, and {MAX_SIDE} a side is the limit.]"
    return None
