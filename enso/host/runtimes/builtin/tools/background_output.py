"""Output that nobody waits for any more is still read, slowly, and dropped.

What a command left running in the background holds the pipe of its output: closed, it would kill a
development server with the first line it prints. One worker reads for all of them.
"""

from __future__ import annotations

import os
import selectors
import threading
import time
from typing import Final

_PIECE: Final = 64 * 1024
_PAUSE_SECONDS: Final = 0.05  # who writes without end waits for us, and not the other way round


def keep_reading(pipe: int) -> None:
    """Read the pipe until its other end is closed, then close it. Returns at once."""
    _reader.take(pipe)


class _Reader:
    """The worker and its pipes; it lives as long as there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: list[int] = []
        self._runs = False

    def take(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        if not _drop_output(pipe):
            os.close(pipe)
            return
        with self._lock:
            self._new.append(pipe)
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._run, name="enso-background-output", daemon=True).start()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            while self._goes_on(selector):
                for key, _ in selector.select(1.0):
                    if not _drop_output(key.fd):
                        selector.unregister(key.fd)
                        os.close(key.fd)
                time.sleep(_PAUSE_SECONDS)

    def _goes_on(self, selector: selectors.BaseSelector) -> bool:
        with self._lock:
            for pipe in self._new:
                selector.register(pipe, selectors.EVENT_READ)
            self._new.clear()
            self._runs = bool(selector.get_map())
            return self._runs


def _drop_output(pipe: int) -> bool:
    """Read once; whether there may be more."""
    try:
        return bool(os.read(pipe, _PIECE))
    except BlockingIOError:
        return True
    except OSError:
        return False


_reader = _Reader()
