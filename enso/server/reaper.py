"""The reaper: a worker that looks at idle threads when the next one's time may be over."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)


class Reaper:
    """Calls ``reap``, which returns the seconds until it should be called again, or ``None``."""

    def __init__(self, reap: Callable[[], float | None]) -> None:
        self._reap = reap
        self._wake = threading.Condition()
        self._noticed = False
        self._closed = False
        threading.Thread(target=self._run, name="enso-idle", daemon=True).start()

    def notice(self) -> None:
        """A time was set that may come before the one that is waited for."""
        with self._wake:
            self._noticed = True
            self._wake.notify()

    def close(self) -> None:
        """Reap nothing more."""
        with self._wake:
            self._closed = True
            self._wake.notify()

    def _run(self) -> None:
        due: float | None = None
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._noticed or self._closed, due)
                if self._closed:
                    return
                self._noticed = False
            try:
                due = self._reap()
            except Exception:
                log.exception("idle threads could not be looked at")
                due = 1.0
