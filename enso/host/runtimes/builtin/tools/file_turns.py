"""Changes of one file take turns, in the order of their calls.

Several calls of one answer run at once, and two of them may name the same file, also by two names.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from enso.host.runtimes.builtin.tools.paths import real_path

_lock = threading.Lock()
_last: dict[Path, threading.Event] = {}


class FileTurn:
    """A place in the line of those who change one file; taken when it is made.

    Who takes a place must use it: everybody behind waits until it has been.
    """

    def __init__(self, path: Path) -> None:
        self._key = real_path(path)
        self._over = threading.Event()
        with _lock:
            self._before = _last.get(self._key)
            _last[self._key] = self._over

    @contextmanager
    def use(self) -> Generator[None]:
        """Wait until those before have changed the file, and let the next one after the block."""
        try:
            if self._before is not None:
                self._before.wait()
            yield
        finally:
            with _lock:
                if _last.get(self._key) is self._over:
                    del _last[self._key]
            self._over.set()
