"""Telling a thread's one listener what happens, whichever runtime it happens in."""

from __future__ import annotations

import logging
import threading

from enso.host.contract import EventListener, ThreadEvent

log = logging.getLogger(__name__)


class Teller:
    """Tells one listener, in order; ``_lock`` orders what a subclass stores and tells."""

    def __init__(self, thread_id: str) -> None:
        self._thread_id = thread_id
        self._lock = threading.RLock()
        self._listener: EventListener | None = None

    def listen(self, listener: EventListener | None) -> None:
        """Set who is told, or that nobody is any more."""
        self._listener = listener

    def tell(self, event: ThreadEvent) -> None:
        """Tell the listener; a fault of its own harms nobody else."""
        with self._lock:
            if (listener := self._listener) is None:
                return
            try:
                listener(event)
            except Exception:
                log.exception("The listener of thread %s failed", self._thread_id)
