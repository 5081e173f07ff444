"""The places of images in a page: how large, what is said there, and which come by themselves.

An image has its place before it has come, so that nothing moves when it comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from enso import wire
from enso.images import SMALL
from enso.server.shapes import SHOWN_IMAGE_TYPES

MOST_HEIGHT: Final = 416
"""Pixels of the page that an image is high at most; its own page shows it as it is."""

UNKNOWN: Final = (320, 200)
"""The place of an image whose header does not tell its size."""

ROOMY: Final = (208, 56)
"""A place from this size on has room for what is said of its image; else that stands beside it."""

MOST_LENGTH: Final = 8 << 20
MOST_PIXELS: Final = 40_000_000
"""Characters of base64 and pixels beyond which an image waits until it is asked for."""


@dataclass(frozen=True, slots=True)
class PictureBox:
    """A place in pixels. ``waits``: its image does not come by itself."""

    width: int
    height: int
    roomy: bool
    waits: bool


def comes_later(image: wire.ImagePart) -> bool:
    """Whether a page shows an image when it is looked at; a small one is in the page."""
    return image.place is not None and (image.place.length > SMALL or not image.url)


def picture_box(place: wire.ImagePlace) -> PictureBox:
    """The place of an image, in its own proportions."""
    width, height = place.size or UNKNOWN
    shown = min(height, MOST_HEIGHT)
    fits = max(1, round(width * shown / height))
    roomy = fits >= ROOMY[0] and shown >= ROOMY[1]
    waits = place.length > MOST_LENGTH or width * height > MOST_PIXELS
    return PictureBox(fits, shown, roomy, waits)


def facts(image: wire.ImagePart) -> str:
    """``PNG, 1,024 × 768, 340 kB``: what is told of an image."""
    told = [image.mime_type.removeprefix("image/").upper()]
    if image.place is not None:
        if image.place.size is not None:
            told.append("{:,} × {:,}".format(*image.place.size))
        told.append(_bytes(image.place.length * 3 // 4))
    return ", ".join(told)


def not_shown(image: wire.ImagePart) -> str:
    """Why there is nothing to see: its kind is not shown, or it is one that is and is damaged."""
    if image.mime_type in SHOWN_IMAGE_TYPES:
        return "This image is damaged and cannot be shown."
    return f"An image of the kind “{image.mime_type or 'unknown'}” is not shown."


def _bytes(count: int) -> str:
    for unit, size in (("MB", 1_000_000), ("kB", 1000)):
        if count >= size:
            return f"{count / size:.1f} {unit}" if count < 10 * size else f"{count // size} {unit}"
    return f"{count} bytes"
