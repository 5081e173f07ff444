"""A process that looks at session files for the first fill, and imports no more than that takes.

Glances at them first, and proves what it saw when it is asked to: as the least urgent there is.
Speaks over its standard streams: a batch comes in, its rows go out, each behind its length. Ends
with its standard input, so that it does not outlive the server.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Final, Literal, Never

from msgspec import Struct, msgpack

from enso.host.session_glance import Glance
from enso.host.session_look import RowFile, look_at

_LENGTH: Final = 4
_LEAST_URGENT: Final = 19

Way = Literal["look", "glance", "prove"]
"""How to look at files: exactly; at first sight where nothing is known of them; exactly, and with
no hurry."""


class Batch(Struct, frozen=True):
    """Paths to look at, each with what was known of the file."""

    paths: list[str]
    earlier: list[RowFile | None]
    way: Way = "look"


class Looked(Struct, frozen=True):
    """The rows of a batch, in its order; ``None`` for a file that is gone."""

    files: list[RowFile | None]


def write_message(stream: IO[bytes], message: Batch | Looked) -> None:
    """Write a message behind its length. Raises ``OSError``."""
    content = msgpack.encode(message)
    stream.write(len(content).to_bytes(_LENGTH) + content)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes | None:
    """The next message; ``None`` at the end of the stream. Raises ``OSError``."""
    length = stream.read(_LENGTH)
    if len(length) < _LENGTH:
        return None
    content = stream.read(int.from_bytes(length))
    return content if len(content) == int.from_bytes(length) else None


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Answer batches until there are no more."""
    glance, hurried = Glance(), True
    while (content := read_message(source)) is not None:
        batch = msgpack.decode(content, type=Batch)
        if batch.way == "prove" and hurried:
            hurried = False
            os.nice(_LEAST_URGENT)
        read_ahead(batch.paths)
        glances = batch.way == "glance"
        looked = [
            (glance.at(path) if glances and known is None else None) or look_at(path, known)
            for path, known in zip(batch.paths, batch.earlier, strict=True)
        ]
        write_message(target, Looked(looked))


def read_ahead(paths: Sequence[str]) -> bool:
    """Have the system read these files while the first ones are parsed; whether it was asked to.

    It is not where the first of them is in memory, as all of them then mostly are: asking takes
    time too. Nor where a system cannot tell.
    """
    if not paths or not hasattr(os, "RWF_NOWAIT") or _is_in_memory(paths[0]):
        return False
    for path in paths:
        with suppress(OSError), _opened(path) as descriptor:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)
    return True


def _is_in_memory(path: str) -> bool:
    try:
        with _opened(path) as descriptor:
            os.preadv(descriptor, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    except OSError:  # it is gone, or its file system cannot tell
        return True
    return True


@contextmanager
def _opened(path: str) -> Generator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def main() -> Never:
    """Serve on the standard streams, and end."""
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (OSError, KeyboardInterrupt):
        os._exit(1)  # whoever asked is gone: there is nobody to tell
    os._exit(0)  # who waits for the end need not wait for the interpreter's
