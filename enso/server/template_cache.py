"""Compiled templates on disk: a start reads them, where compiling them takes a fifth of a second.

Only a cache: it is keyed by each template's text, and may be deleted, or not be writable, at any
time. What cannot be read or kept is compiled as ever.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from jinja2.bccache import Bucket, BytecodeCache


class TemplateCache(BytecodeCache):
    """Compiled templates below one directory, which it makes with its first one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take the compiled template if there is one for this very text."""
        with contextlib.suppress(OSError), self._file(bucket).open("rb") as kept:
            bucket.load_bytecode(kept)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template: written aside and moved, so that nobody meets half of one."""
        with contextlib.suppress(OSError):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, aside = tempfile.mkstemp(dir=self._directory)
            with os.fdopen(descriptor, "wb") as kept:
                bucket.write_bytecode(kept)
            Path(aside).replace(self._file(bucket))

    def _file(self, bucket: Bucket) -> Path:
        return self._directory / f"{bucket.key}.template"
