"""Changes of one file take turns, in the order of their calls.

Several calls of one answer run at once, and two of them may name the same file, also by two names.
"""

from __future__ import annotations

import threading
from pathlib import Path

from enso.host.runtimes.paths import real_path

_lock = threading.Lock()
_last: dict[Path, threading.Event] = {}


class FileTurn:
    """A place in the line of those who change one file, from when it is made to the block's end.

    The change itself begins with ``wait``, on a worker.
    """

    def __init__(self, path: Path) -> None:
        key = real_path(path)
        self._over = threading.Event()
        with _lock:
            self._before = _last.get(key)
            _last[key] = self._over
        self._key = key

    def wait(self) -> None:
        """Wait until those before have changed the file."""
        if self._before is not None:
            self._before.wait()

    def __enter__(self) -> FileTurn:
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            if _last.get(self._key) is self._over:
                del _last[self._key]
        self._over.set()
