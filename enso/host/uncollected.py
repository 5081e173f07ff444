"""Work that makes many objects and drops them: Python looks for no cycles among them meanwhile."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Pauses:
    """How many workers are at such work, and whether there is a collector to go on."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    running: int = 0
    collects: bool = False


_pauses = _Pauses()


@contextmanager
def uncollected() -> Generator[None]:
    """Pause the collector of the process, until the last who does has done."""
    with _pauses.lock:
        if not _pauses.running:
            _pauses.collects = gc.isenabled()
            gc.disable()
        _pauses.running += 1
    try:
        yield
    finally:
        with _pauses.lock:
            _pauses.running -= 1
            if not _pauses.running and _pauses.collects:
                gc.enable()
