"""The images of a prompt: taken from a form, and checked before a thread can hold them.

The composer says the same before it sends (``static/images.js``); here it is said to plain forms
and to programs. A file is named, and what to do with it.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterable, Sequence

from werkzeug.datastructures import FileStorage

from enso.host.contract import PromptImage
from enso.images import (
    KINDS,
    MAX_IMAGE_BYTES,
    MAX_IMAGES,
    MAX_SIDE,
    MAX_TOGETHER,
    image_size,
    image_type,
)
from enso.server.refusals import Refused

MAX_NAME = 80


def uploaded(files: Iterable[FileStorage]) -> tuple[list[PromptImage], list[str]]:
    """The images that a form holds, and the names of their files."""
    # A form without a chosen file sends one empty part.
    chosen = [file for file in files if file.filename or file.content_length]
    images = [
        PromptImage(file.mimetype, base64.b64encode(file.read()).decode("ascii")) for file in chosen
    ]
    return images, [file.filename or "" for file in chosen]


def checked_images(images: list[PromptImage], names: Sequence[str] = ()) -> list[PromptImage]:
    """A prompt's images; raises ``Refused`` 400 or 413 that names the image, the limit, the way.

    ``names`` are their files'; an image without one is named by its number.
    """
    if len(images) > MAX_IMAGES:
        raise Refused(
            413,
            "too-many-images",
            f"These are {len(images)} images; one prompt takes at most {MAX_IMAGES}. "
            "Send the rest with the next one.",
        )
    together = 0
    for number, image in enumerate(images):
        name = names[number] if number < len(names) and names[number] else ""
        shown = name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"
        together += _checked(image, f"“{shown}”" if shown else f"Image {number + 1}")
    if together > MAX_TOGETHER:
        raise Refused(
            413,
            "images-too-large",
            f"Together the images have {megabytes(together)}; one prompt takes at most "
            f"{megabytes(MAX_TOGETHER)}. Send some with the next one.",
        )
    return images


def _checked(image: PromptImage, name: str) -> int:
    """The size of one image in bytes; raises ``Refused`` when no provider takes it."""
    if image.mime_type not in KINDS:
        kind = image.mime_type[:80] or "unknown"
        raise Refused(
            400,
            "image-kind",
            f"{name} is of the kind “{kind}”, which cannot be sent as an image: "
            "use PNG, JPEG, GIF or WebP.",
        )
    size = len(image.data) // 4 * 3
    if size - 2 > MAX_IMAGE_BYTES:
        raise Refused(
            413,
            "image-too-large",
            f"{name} has {megabytes(size)}; an image may have at most "
            f"{megabytes(MAX_IMAGE_BYTES, whole=False)}. Make it smaller.",
        )
    _check_pixels(_decoded(image.data), name)
    return size


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""  # which is no image


def _check_pixels(data: bytes, name: str) -> None:
    kind = image_type(data)
    sides = image_size(kind, data) if kind in KINDS else None
    if sides is None:
        raise Refused(
            400,
            "image-damaged",
            f"{name} cannot be read as an image: it is damaged, moves, or is of another kind than "
            "it says. Save it anew as PNG or JPEG.",
        )
    if max(sides) > MAX_SIDE:
        raise Refused(
            413,
            "image-too-large",
            f"{name} is {sides[0]:,} × {sides[1]:,} pixels; a side may have at most {MAX_SIDE:,}. "
            "Make it smaller.",
        )


def megabytes(size: int, *, whole: bool = True) -> str:
    """``3.6 MB``: a size up to the next tenth; a limit (not ``whole``) down to the last."""
    tenths = size / 100_000
    return f"{(math.ceil(tenths) if whole else math.floor(tenths)) / 10:g} MB"
