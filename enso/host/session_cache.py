"""What was known of the session files when the server last ran, so that a start need not read them.

It is a cache: what it says of a file holds for that very state of it and no other, and it may be
deleted at any time. A cache that is broken, of another version or of another agent directory is as
none. It holds what the listing shows, and is readable by its owner alone.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import MsgspecError, msgpack

from enso.host.session_look import RowFile

log = logging.getLogger(__name__)

_VERSION: Final = 2
"""To be counted up whenever a row would be another one than before, or is stored otherwise."""


class RowCache:
    """The cache file of one sessions directory."""

    def __init__(self, path: Path, sessions_dir: Path) -> None:
        self._path = path
        self._refused = False
        self._begin = f"Enso listing {_VERSION} {sessions_dir.absolute()}\0".encode(
            "utf-8", "surrogateescape"
        )

    def load(self) -> dict[str, RowFile]:
        """What was known of each file by its path; nothing without a cache."""
        try:
            content = self._path.read_bytes()
            if not content.startswith(self._begin):
                return {}
            files = msgpack.decode(memoryview(content)[len(self._begin) :], type=list[RowFile])
        except (OSError, MsgspecError, RecursionError):
            return {}
        return {file.path: file for file in files}

    def save(self, files: Iterable[RowFile]) -> None:
        """Write what is known; what the disk refuses is logged once, and nothing is lost by it."""
        content = msgpack.encode(list(files))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._replace(content)
        except OSError as error:
            if not self._refused:
                log.warning(
                    "The list of threads could not be kept for the next start: %s: %s. "
                    "ENSO_CACHE_DIR names another place for caches.",
                    self._path.parent,
                    error.strerror or error,
                )
            self._refused = True

    def _replace(self, content: bytes) -> None:
        # Made for its owner alone, and seen under its name only when it is whole.
        descriptor, name = tempfile.mkstemp(prefix=".listing-", dir=self._path.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(self._begin)
                stream.write(content)
            Path(name).replace(self._path)
        except OSError:
            with suppress(OSError):
                Path(name).unlink()
            raise
