"""The scans of files whose pages were read: some are kept, each going on from where it ended."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from enso.host.session_scan import ScannedFile, scan_file
from enso.host.session_write import stamp_of

KEPT_SCANS: Final = 64


@dataclass(slots=True)
class _Kept:
    scan: ScannedFile | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class SessionScans:
    """What whole files tell. Usable from any worker; one scan of a file at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, _Kept] = OrderedDict()

    def of(self, path: Path) -> ScannedFile | None:
        """The scan of a file as it now is; ``None`` when it is gone or unreadable."""
        with self._lock:
            kept = self._kept[path] = self._kept.pop(path, None) or _Kept()
            while len(self._kept) > KEPT_SCANS:
                self._kept.popitem(last=False)
        with kept.lock:
            if kept.scan is None or stamp_of(path) != kept.scan.stamp:
                kept.scan = scan_file(path, kept.scan)
            return kept.scan
