"""The beginning of a long line, as pi writes it: which message it is, without reading the rest.

A line of many megabytes (an image) is passed over by its first bytes. That they say what the line
says was seen when the file was scanned (``enso.host.session_scan``); it holds for no other line.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

LONG: Final = 1 << 15
"""Bytes beyond which a line is told by its beginning."""

_MESSAGE = re.compile(
    rb'\{"type":"message","id":"([0-9A-Za-z_-]+)","parentId":(?:null|"([0-9A-Za-z_-]+)")'
    rb',"timestamp":"[0-9A-Za-z.:+-]*","message":\{"role":"([A-Za-z]+)"'
)


class Prefix(NamedTuple):
    """What the beginning of a message's line says."""

    id: str
    parent_id: str | None
    role: str


def prefix_of(raw: bytes) -> Prefix | None:
    """What a line begins with; ``None`` when it is no message laid out as pi does."""
    found = _MESSAGE.match(raw)
    if found is None:
        return None
    entry_id, parent_id, role = found.groups()
    return Prefix(entry_id.decode(), parent_id.decode() if parent_id else None, role.decode())
