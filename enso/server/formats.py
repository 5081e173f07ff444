"""The formats that a thread is exported as, apart from how each is written."""

from __future__ import annotations

from typing import Literal, get_args

Format = Literal["html", "md", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
MEDIA_TYPES: dict[str, str] = {
    "html": "text/html",
    "md": "text/markdown",
    "jsonl": "application/x-ndjson",
}
