"""What the beginning and the end of a long file tell before the rest of it was read.

Owns what may be said of such a file at once: its leaf, and what it is headed by. It is not known
whether the file is regular: a walk from the leaf that meets no parent says that it is not.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import BinaryIO, Final

from enso.host.decode import decode_parts
from enso.host.lines_before import Counters, FileChanged, lines_before
from enso.host.pages import heading_of
from enso.host.session_beginning import read_beginning
from enso.host.session_branch import BranchFacts, Told
from enso.host.session_facts import scan_line, value_of
from enso.host.session_images import without_images
from enso.host.session_log import CURRENT_VERSION, open_regular
from enso.host.session_scan import KnownEnd
from enso.transcript import Usage

_FIRST_LINES: Final = 20
"""Lines in which a first prompt is looked for."""
_BLOCK: Final = 1 << 14


def end_of_file(path: Path, counters: Counters) -> KnownEnd | None:
    """The end of a file of this version that ends in a whole entry; ``None`` for any other."""
    try:
        with open_regular(path) as stream:
            beginning = read_beginning(stream)
            if beginning is None or beginning.header.version != CURRENT_VERSION:
                return None
            heading = _first_prompt(stream)
            size = stream.seek(0, 2)
            _, last = next(lines_before(stream.fileno(), size, counters, _BLOCK))
    except (OSError, ValueError, FileChanged, StopIteration):
        return None
    counters.lines_parsed += 1
    entry, _ = scan_line(last)
    if entry is None or not isinstance(entry.id, str) or not last.endswith(b"\n"):
        return None
    branch = BranchFacts(told=Told(heading=heading))
    return KnownEnd(entry.id, size, branch, Usage(cost_known=False), {}, 0, whole=False)


def _first_prompt(stream: BinaryIO) -> str:
    """The text of the first prompt of a file whose header was read, where it is near."""
    for raw in itertools.islice(stream, _FIRST_LINES):
        entry, _ = scan_line(without_images(raw).text)
        message = entry.message if entry is not None and entry.type == "message" else None
        if message is not None and message.role == "user":
            return heading_of(decode_parts(value_of(message.content)))
    return ""
