"""Values of a transcript as they are sent: one by one, and nothing that could not be sent.

Lone surrogates become U+FFFD, numbers that JSON cannot hold and nesting that would break a reader
are replaced, and an image is shown only when it is one of four kinds. How values make messages is
not known here (``enso.server.messages``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from enso import images, transcript, wire
from enso.images import told_size

SHOWN_IMAGE_TYPES = frozenset(images.KINDS)
"""The kinds of image that are shown; SVG is not among them, because it can hold a document."""

MAX_JSON_DEPTH = 64
"""Nesting of arguments and details beyond which ``"…"`` stands instead."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_MAX_EXACT_INT = 2**64


def mended(text: str) -> str:
    """``text`` without lone surrogates: each becomes U+FFFD; halves that belong together join."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def iso_time(milliseconds: int | None) -> str | None:
    """Milliseconds since the epoch as ISO 8601 in UTC; ``None`` for what no calendar holds."""
    if milliseconds is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError, TypeError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_seconds(seconds: float) -> str:
    """Seconds since the epoch, as this machine's clock gives them, as ISO 8601 in UTC."""
    return iso_time(int(seconds * 1000)) or ""


def json_value(value: Any, depth: int = 0) -> Any:
    """A JSON value that every reader can take: mended strings, finite numbers, bounded nesting."""
    if isinstance(value, str):
        return mended(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < _MAX_EXACT_INT else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= MAX_JSON_DEPTH:
        return "…"
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {mended(str(key)): json_value(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [json_value(item, depth + 1) for item in cast("Sequence[Any]", value)]
    return mended(str(value))


def image_part(
    part: transcript.ImagePart, *, entry_id: str = "", number: int = 0
) -> wire.ImagePart:
    """An image with its bytes as a data URL; without a URL when its kind is not shown, or torn.

    One that can be shown has a place when it is told whose part it is.
    """
    mime_type = mended(part.mime_type).strip().lower()
    if mime_type == "image/jpg":
        mime_type = "image/jpeg"
    kept = part.sketch is not None
    shown = mime_type in SHOWN_IMAGE_TYPES and (kept or _BASE64.fullmatch(part.data) is not None)
    url = f"data:{mime_type};base64,{part.data}" if shown and not kept else ""
    place = _image_place(part, entry_id, number) if shown and entry_id else None
    return wire.ImagePart(mime_type=mime_type, url=url, place=place)


def _image_place(part: transcript.ImagePart, entry_id: str, number: int) -> wire.ImagePlace:
    sketch = part.sketch or transcript.ImageSketch(len(part.data), told_size(part.data))
    return wire.ImagePlace(entry_id=entry_id, number=number, length=sketch.length, size=sketch.size)


def draft_of(parts: Iterable[transcript.Part]) -> wire.Draft:
    """What was said, to be said differently: its texts as one, and those images that are shown."""
    each = list(parts)
    images = [part for part in each if isinstance(part, transcript.ImagePart)]
    return wire.Draft(
        message=mended(
            "".join(part.text for part in each if isinstance(part, transcript.TextPart))
        ),
        images=[
            wire.PromptImage(mime_type=image_part(image).mime_type, data=image.data)
            for image in images
            if image_part(image).url
        ],
    )


def usage_shape(usage: transcript.Usage) -> wire.Usage:
    """Usage as it is sent; a cost that is no number is not known."""
    finite = math.isfinite(usage.cost)
    known = usage.cost_known and finite
    cost = usage.cost if finite else 0.0
    return wire.Usage(
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        total_tokens=usage.total_tokens,
        cost=cost if known or cost else None,
        cost_known=known,
        unpriced_requests=usage.unpriced_requests or int(not known),
    )


def refusal_shape(refusal: transcript.Refusal) -> wire.Refusal:
    """A refusal as it is sent, with the bubble's whole sentence."""
    return wire.Refusal(
        provider=mended(refusal.provider),
        model=mended(refusal.model),
        refusal_class=refusal.refusal_class,
        status=refusal.status,
        reason=mended(refusal.reason),
        sentence=mended(refusal.sentence),
    )


def content_part(
    part: transcript.Part, *, entry_id: str = "", number: int = 0
) -> wire.TextPart | wire.ThinkingPart | wire.ImagePart | None:
    """A text, thinking or image part as it is sent; ``None`` for blank text and unknown kinds.

    Thinking stays when it is empty: its provider withheld it, and the message says so. The entry's
    id, and which of its parts this is, say where an image is asked for.
    """
    if isinstance(part, transcript.TextPart):
        return wire.TextPart(content=mended(part.text)) if part.text.strip() else None
    if isinstance(part, transcript.ThinkingPart):
        return wire.ThinkingPart(content=mended(part.text))
    if isinstance(part, transcript.ImagePart):
        return image_part(part, entry_id=entry_id, number=number)
    return None


def streaming_part(part: transcript.Part) -> wire.MessagePart:
    """A part of a message that still streams; none is left out, because deltas count them all.

    A block of an unknown kind stands as empty text.
    """
    if isinstance(part, transcript.ToolCallPart):
        return wire.ToolCallPart(
            id=mended(part.id),
            name=mended(part.name),
            arguments=json_value(part.arguments),
            state="streaming",
        )
    if isinstance(part, transcript.TextPart):
        return wire.TextPart(content=mended(part.text))
    return content_part(part) or wire.TextPart(content="")
