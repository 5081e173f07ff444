"""The tool ``read``: lines of a text file, or an image. Source of results: pi 1.6.0.

A file that is neither is said to be so: its bytes as text would tell a model nothing.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Any, Final

from enso.host.runtimes.builtin.tools.images import why_not_shown
from enso.host.runtimes.builtin.tools.line_window import LineWindow
from enso.host.runtimes.builtin.tools.tool import (
    BuiltinTool,
    ToolContext,
    ToolFailed,
    ToolOutcome,
    success,
    system_failure,
    text_block,
)
from enso.host.runtimes.builtin.tools.truncation import MAX_BYTES, MAX_LINES
from enso.host.runtimes.builtin.tools.workers import Cancellation, in_worker
from enso.host.runtimes.paths import resolve_path_to_read
from enso.host.runtimes.sizes import size_text
from enso.images import MAX_IMAGE_BYTES, SNIFF_BYTES, image_type

_PIECE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    path: Path
    start: int
    limit: int | None


_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {"type": "string", "description": "The file, relative or absolute"},
        "offset": {"type": "number", "description": "The first line to show, from 1"},
        "limit": {"type": "number", "description": "How many lines to show"},
    },
}


class ReadTool(BuiltinTool):
    """Shows a file."""

    name: str = "read"
    description: str = (
        "Read a text file, or look at an image (png, jpeg, gif, webp). At most "
        f"{MAX_LINES} lines or {MAX_BYTES // 1024}KB are shown; offset and limit choose the lines."
    )
    parameters: Mapping[str, Any] = _PARAMETERS

    async def perform(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Read the file. Raises ``ToolFailed``."""
        limit = int(given["limit"]) if "limit" in given else None
        start = max(0, int(given.get("offset", 1)) - 1)

        def work(cancellation: Cancellation) -> ToolOutcome:
            path = resolve_path_to_read(given["path"], context.cwd)
            limited = None if limit is None or limit < 0 else limit
            return _read(_Wanted(given["path"], path, start, limited), cancellation)

        return await in_worker(work)


def _read(wanted: _Wanted, cancellation: Cancellation) -> ToolOutcome:
    with _open(wanted.path) as file:
        try:
            head = _read_head(file)
            kind = image_type(head)
            if kind is not None:
                return _read_image(kind, head, file)
            if b"\0" in head:
                raise _binary(wanted, file)
            return _read_text(wanted, head, file, cancellation)
        except OSError as error:
            raise system_failure(error, "read") from error


def _open(path: Path) -> RawIOBase:
    try:  # not blocking: who opens a pipe would wait for its other end
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise system_failure(error, "access", path) from error
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb", buffering=0)
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise ToolFailed(
            f"EISDIR: illegal operation on a directory, read. {path} is a directory: use ls."
        )
    raise ToolFailed(f"{path} is no regular file and cannot be read.")


def _read_head(file: RawIOBase) -> bytes:
    head = b""
    while len(head) < SNIFF_BYTES and (piece := file.read(SNIFF_BYTES - len(head))):
        head += piece
    return head


def _binary(wanted: _Wanted, file: RawIOBase) -> ToolFailed:
    size = size_text(os.fstat(file.fileno()).st_size)
    return ToolFailed(
        f"{wanted.name} is a binary file ({size}), which read does not show. "
        "Use bash to look into it, for example with file, strings or xxd."
    )


def _read_image(kind: str, head: bytes, file: RawIOBase) -> ToolOutcome:
    data = head
    while len(data) <= MAX_IMAGE_BYTES and (piece := file.read(_PIECE)):
        data += piece
    note = f"Read image file [{kind}]"
    if why := why_not_shown(kind, data):
        return success(f"{note}\n{why}")
    image = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": kind}
    return ToolOutcome([text_block(note), image])


def _read_text(
    wanted: _Wanted, head: bytes, file: RawIOBase, cancellation: Cancellation
) -> ToolOutcome:
    window = LineWindow(wanted.start, wanted.limit)
    window.feed(head)
    while piece := file.read(_PIECE):
        cancellation.check()
        window.feed(piece)
    window.feed(b"", last=True)
    if wanted.start >= window.total_lines:
        raise ToolFailed(
            f"Offset {wanted.start + 1} is beyond end of file ({window.total_lines} lines total)"
        )
    return _shown(wanted, window)


def _shown(wanted: _Wanted, window: LineWindow) -> ToolOutcome:
    cut = window.cut()
    first, total = wanted.start + 1, window.total_lines
    if cut.first_line_exceeds_limit:
        return success(_line_too_long(wanted, window.first_line_size), {"truncation": cut.record()})
    if cut.truncated_by is not None:
        last = first + cut.output_lines - 1
        why = "" if cut.truncated_by == "lines" else f" ({size_text(MAX_BYTES)} limit)"
        notice = f"Showing lines {first}-{last} of {total}{why}. Use offset={last + 1} to continue."
        return success(f"{cut.content}\n\n[{notice}]", {"truncation": cut.record()})
    after = total if wanted.limit is None else min(wanted.start + wanted.limit, total)
    if after < total:
        notice = f"{total - after} more lines in file. Use offset={after + 1} to continue."
        return success(f"{cut.content}\n\n[{notice}]")
    return success(cut.content)


def _line_too_long(wanted: _Wanted, size: int) -> str:
    number = wanted.start + 1
    return (
        f"[Line {number} is {size_text(size)}, exceeds {size_text(MAX_BYTES)} limit. "
        f"Use bash: sed -n '{number}p' {wanted.name} | head -c {MAX_BYTES}]"
    )
