"""What a run is doing, for the status line: one activity at a time, told when it changes.

Owns which of several true things is said: that it is stopping, else that it needs a person, else
what it is at.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from enso.host.contract import Activity, ActivityChanged, Dialog


class Activities:
    """The activity of one thread. Thread-safe."""

    def __init__(self, tell: Callable[[ActivityChanged], None]) -> None:
        self._tell = tell
        self._lock = threading.RLock()
        self._at: Activity | None = None
        self._asked: Dialog | None = None
        self._stopping = False
        self._told: Activity | None = None

    @property
    def current(self) -> Activity | None:
        """What was told last of the run in flight."""
        return self._told

    @property
    def doing(self) -> Activity | None:
        """What the run is at, whatever is said of it."""
        return self._at

    def at(self, activity: Activity) -> None:
        """The run does this now."""
        with self._lock:
            self._at = activity
            self._say()

    def asked(self, dialog: Dialog | None) -> None:
        """The oldest question that waits for a person, or that none does any more."""
        with self._lock:
            self._asked = dialog
            self._say()

    def stopping(self) -> None:
        """A stop was asked for: nothing else is said until the run is settled."""
        with self._lock:
            self._stopping = True
            self._say()

    def settled(self) -> None:
        """No run is in flight any more."""
        with self._lock:
            self._at, self._asked, self._stopping, self._told = None, None, False, None

    def _say(self) -> None:
        activity = self._true_now()
        if activity is not None and activity != self._told:
            self._told = activity
            self._tell(ActivityChanged(activity))

    def _true_now(self) -> Activity | None:
        if self._stopping:
            return Activity(kind="stopping")
        if self._asked is not None:
            return Activity(kind="needs-you", detail=self._asked.title)
        return self._at
