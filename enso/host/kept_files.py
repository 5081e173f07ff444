"""What was made of files and is kept for the next who asks, within a bound over all of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """Something that is kept."""

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        ...


SizedT = TypeVar("SizedT", bound=Sized)


class KeptFiles(Generic[SizedT]):
    """One thing for each file and kind, the last used ones. Usable from any worker.

    ``make`` makes one that knows nothing yet. Who uses one guards it from others.
    """

    def __init__(self, make: Callable[[], SizedT], *, most_bytes: int, most_files: int) -> None:
        self._make = make
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Path, int], SizedT] = OrderedDict()

    @contextmanager
    def of(self, path: Path, kind: object) -> Generator[SizedT]:
        """What is kept of a file in one kind, which lives as long as the server."""
        key = path, id(kind)
        with self._lock:
            kept = self._kept[key] = self._kept.pop(key, None) or self._make()
        try:
            yield kept
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Keep no more than is to be kept, the last used first."""
        with self._lock:
            size = sum(kept.size for kept in self._kept.values())
            while self._kept and (size > self._most_bytes or len(self._kept) > self._most_files):
                _, kept = self._kept.popitem(last=False)
                size -= kept.size
