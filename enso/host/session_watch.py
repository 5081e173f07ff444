"""Telling who asks when a session file is made, grows, shrinks or goes.

Owns the watch of the sessions directory, which need not exist yet, and has the listing look at what
it is told of. It says that a thread changed, never what changed. Runs in a worker of its own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from enso.host.contract import ChangeListener
from enso.host.file_stamp import stamp_of
from enso.host.precedence import answers
from enso.host.session_files import linked_directories
from enso.host.session_listing import SessionListing

_log = logging.getLogger(__name__)

_STEP_MS: Final = 25
_GATHER_MS: Final = 100
_LOOK_AGAIN_MS: Final = 250
_LOOK_AT_ALL_SECONDS: Final = 60.0


class SessionWatch:
    """One watch for any number of listeners. It runs while there is a listener."""

    def __init__(self, sessions_dir: Path, listing: SessionListing) -> None:
        self._sessions_dir = sessions_dir
        self._listing = listing
        self._lock = threading.Lock()
        self._listeners: dict[object, ChangeListener] = {}
        self._worker: threading.Thread | None = None
        self._stop = threading.Event()

    def listen(self, listener: ChangeListener) -> Callable[[], None]:
        """Tell ``listener`` of every change from now on; returns what ends that."""
        key = object()
        with self._lock:
            self._listeners[key] = listener
            if self._worker is None:
                self._start()

        def end() -> None:
            with self._lock:
                self._listeners.pop(key, None)
                last = not self._listeners
            if last:
                self.close()

        return end

    @property
    def tells(self) -> bool:
        """Whether somebody listens."""
        return bool(self._listeners)

    def close(self) -> None:
        """End the watch, and wait until it has ended."""
        with self._lock:
            worker, self._worker = self._worker, None
            self._listeners.clear()
            self._stop.set()
        if worker is not None and worker is not threading.current_thread():
            worker.join()

    def _start(self) -> None:
        self._listing.start()
        self._stop = threading.Event()
        self._worker = threading.Thread(
            target=self._run, args=(self._stop,), name="session-watch", daemon=True
        )
        self._worker.start()

    # -- in the worker ----------------------------------------------------------------------------

    def _run(self, stop: threading.Event) -> None:
        # What happens meanwhile is seen by the first comparison.
        answers.wait_for_quiet(stop)
        self._listing.wait_for_first_rows()
        while not stop.is_set():
            try:
                self._watch_once(stop)
            except (OSError, RuntimeError) as error:  # a directory that went, no more watches
                _log.warning("the watch of %s starts again: %s", self._sessions_dir, error)
                self._look_and_tell(everything=self._listing.is_filled)
                stop.wait(_LOOK_AGAIN_MS / 1000)
            finally:
                self._listing.is_told = False

    def _watch_once(self, stop: threading.Event) -> None:
        """Watch until there is something else to watch.

        Comes by a few times a second also when nothing is told. Once the watch stands all files are
        compared: what happened before is not told. So they are now and then, as a watch may miss
        something.
        """
        from watchfiles import watch  # noqa: PLC0415 - in its own worker: no page waits for it

        watched = self._to_watch()
        before = [_inode(path) for path in watched]
        inside = watched[0] == self._sessions_dir
        due = 0.0
        for changes in watch(
            *watched,
            watch_filter=None,
            recursive=inside,
            step=_STEP_MS,
            debounce=_GATHER_MS,
            rust_timeout=_LOOK_AGAIN_MS,
            yield_on_timeout=True,
            stop_event=stop,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            paths = frozenset(path for _, path in changes)
            if inside:
                look_at_all = self._listing.is_filled and time.monotonic() >= due
                self._look_and_tell(paths, everything=look_at_all)
                if look_at_all:
                    due = time.monotonic() + _LOOK_AT_ALL_SECONDS
                    self._listing.is_told = True
            # A directory that was removed and made again may have its inode again, but no watch.
            gone = any(str(path) in paths for path in watched)
            if gone or self._to_watch() != watched or [_inode(path) for path in watched] != before:
                return

    def _to_watch(self) -> list[Path]:
        """The sessions directory and the directories that are only linked into it; or the nearest
        directory above that exists."""
        if not self._sessions_dir.is_dir():
            return [_nearest_existing(self._sessions_dir)]
        return [self._sessions_dir, *linked_directories(self._sessions_dir)]

    def _look_and_tell(
        self, paths: frozenset[str] = frozenset(), *, everything: bool = False
    ) -> None:
        """Look at what may have changed, and tell of what did, whoever saw it first."""
        if everything:
            self._listing.look_at_everything()
        elif paths:
            self._listing.look_at_paths(path for path in paths if path.endswith(".jsonl"))
            if any(not path.endswith(".jsonl") for path in paths):
                self._listing.look_at_directories()
        told = self._listing.take_changes()
        if told:
            self.tell(told)

    def tell(self, ids: frozenset[str]) -> None:
        """Tell every listener of these threads; from any worker."""
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            try:
                listener(ids)
            except Exception:  # noqa: BLE001 - one listener's fault must not end the watch for the others
                _log.exception("a listener of changed threads failed")


def _inode(path: Path) -> int | None:
    stamp = stamp_of(path)
    return stamp.inode if stamp is not None else None


def _nearest_existing(directory: Path) -> Path:
    while not directory.is_dir() and directory.parent != directory:
        directory = directory.parent
    return directory
