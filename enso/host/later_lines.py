"""The later lines of a long file, added up by another process while this one adds up the others.

Owns where such a file is parted, when that pays, and that a process which fails costs no more than
its time: whoever asked then reads on.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from msgspec import DecodeError, MsgspecError, msgpack

from enso.host.helper_process import processors, start_helper
from enso.host.session_rows import Shape
from enso.host.sums_in_order import LaterPart

if TYPE_CHECKING:
    from enso.host.helper_process import HelperProcess

PAYS_BYTES: Final = 32 << 20
"""Bytes of a file from on which another process is sooner done than it has started."""

_EARLIER: Final = 0.56
"""What is added up here of a file: the other process also has to start."""

_LINES_LOOKED_AT: Final = 20


def pays_from() -> int | None:
    """The bytes of a file from on which another process pays here; ``None``: never."""
    return PAYS_BYTES if processors() > 1 else None


class LaterLines:
    """The lines from ``start`` on, which another process adds up."""

    def __init__(self, start: int, process: HelperProcess) -> None:
        self.start = start
        self._process = process

    def told(self) -> LaterPart | None:
        """What they came to; waits for it. ``None``: the process is of no use, or they are gone."""
        content, _ = self._process.communicate()
        if self._process.returncode:
            return None
        try:
            part = msgpack.decode(content, type=LaterPart)
        except MsgspecError:
            return None
        return part if part.ids else None

    def end(self) -> None:
        """End the process, if it has not ended."""
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.kill()
        self._process.wait()


@contextmanager
def later_lines(
    path: Path, stream: BinaryIO, shape: Shape[Any, Any], module: str, pays_bytes: int | None
) -> Generator[LaterLines | None]:
    """Have the later lines of an open file added up by a process that runs this module.

    The stream stands where it stood. ``None``: it does not pay, or it cannot be.
    """
    later, place = None, stream.tell()
    status = os.fstat(stream.fileno())
    if pays_bytes is not None and status.st_size >= pays_bytes:
        start = _parted_at(stream, int(status.st_size * _EARLIER), shape)
        stream.seek(place)
        if start is not None:
            with suppress(OSError):
                arguments = str(path), str(status.st_ino), str(start)
                later = LaterLines(start, start_helper(module, *arguments, asked=False))
    try:
        yield later
    finally:
        if later is not None:
            later.end()


def _parted_at(stream: BinaryIO, place: int, shape: Shape[Any, Any]) -> int | None:
    """Where a line begins, some way behind a place, that has an id as it is to be.

    Lines behind it that have none are given one by where they stand, and follow one that has.
    """
    stream.seek(place)
    stream.readline()
    for _ in range(_LINES_LOOKED_AT):
        start, raw = stream.tell(), stream.readline()
        with suppress(DecodeError, RecursionError):
            if raw and shape.decode(raw).id:
                return start
    return None
