"""The scans of files whose pages were read: some are kept, each going on from where it ended.

A scan that would take long is made in the background, and told of when it is there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from enso.host.file_stamp import stamp_of
from enso.host.precedence import answers
from enso.host.session_scan import ScannedFile, scan_file

KEPT_SCANS: Final = 64
LONG_BYTES: Final = 2 << 20
"""Bytes that take too long to be scanned while somebody waits: some ten milliseconds."""


@dataclass(slots=True)
class _Kept:
    scan: ScannedFile | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    in_background: bool = False


class SessionScans:
    """What whole files tell. Usable from any worker; one scan of a file at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, _Kept] = OrderedDict()

    def of(self, path: Path) -> ScannedFile | None:
        """The scan of a file as it now is; ``None`` when it is gone or unreadable."""
        kept = self._kept_of(path)
        with kept.lock:
            if kept.scan is None or stamp_of(path) != kept.scan.stamp:
                kept.scan = scan_file(path, kept.scan)
            return kept.scan

    def is_long(self, path: Path) -> bool:
        """Whether the scan of the file as it now is would take long."""
        stamp, scan = stamp_of(path), self._kept_of(path).scan
        if stamp is None or (scan is not None and scan.stamp == stamp):
            return False
        grown = scan is not None and stamp.grown_from(scan.stamp)
        progress = scan.progress if scan is not None and grown else None
        read = progress.consumed if progress is not None else 0
        return stamp.size - read > LONG_BYTES

    def begin(self, path: Path, then: Callable[[], None]) -> None:
        """Scan a file in the background, once at a time, and call ``then`` when that is done."""
        kept = self._kept_of(path)
        with self._lock:
            if kept.in_background:
                return
            kept.in_background = True

        def scan() -> None:
            answers.wait_for_quiet()
            self.of(path)
            kept.in_background = False
            then()

        threading.Thread(target=scan, name="enso-scan", daemon=True).start()

    def _kept_of(self, path: Path) -> _Kept:
        with self._lock:
            kept = self._kept[path] = self._kept.pop(path, None) or _Kept()
            while len(self._kept) > KEPT_SCANS:
                self._kept.popitem(last=False)
            return kept
