"""The beginning of a session file: everything up to and with its header.

Owns which value of a file is its header: the first one, whatever blank or damaged lines stand
before it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO, NamedTuple

from enso.host.json_lines import MalformedLine, is_blank, parse_line
from enso.host.session_log import Header, read_header
from enso.host.stored_values import milliseconds


class Beginning(NamedTuple):
    """A header without its raw object, and what was read to find it.

    ``consumed`` is where the header's line ends; 0 when that lacks its newline, and what comes next
    may still be fused with it. ``skipped`` counts damaged lines before it. ``created_ms`` is the
    time that the header records.
    """

    header: Header
    consumed: int
    skipped: int
    created_ms: int | None


def read_beginning(stream: BinaryIO) -> Beginning | None:
    """Read a file from its start; ``None`` when it is no session."""
    stream.seek(0)
    consumed = skipped = 0
    for raw in stream:
        consumed += len(raw)
        try:
            value = parse_line(raw)
        except MalformedLine:
            skipped += not is_blank(raw)
            continue
        if not isinstance(value, (dict, list)) and not value:
            skipped += 1
            continue
        header = read_header(value)
        if header is None:
            return None
        stored = header.raw.get("timestamp")
        created_ms = milliseconds(stored) if isinstance(stored, str) else None
        small = replace(header, raw={})  # the object may be large, and is not needed any more
        return Beginning(small, consumed if raw.endswith(b"\n") else 0, skipped, created_ms)
    return None
