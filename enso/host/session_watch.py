"""Telling who asks when a session file is made, grows, shrinks or goes.

Owns the watch of the sessions directory, which need not exist yet, and turns changed paths into
thread ids. It says that a thread changed, never what changed. Runs in a worker of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from watchfiles import watch

from enso.host.contract import ChangeListener
from enso.host.session_listing import SessionListing, linked_directories
from enso.host.session_write import FileStamp, stamp_of

_log = logging.getLogger(__name__)

_STEP_MS: Final = 25
_GATHER_MS: Final = 100
_LOOK_AGAIN_MS: Final = 250


class SessionWatch:
    """One watch for any number of listeners. It runs while there is a listener."""

    def __init__(self, sessions_dir: Path, listing: SessionListing) -> None:
        self._sessions_dir = sessions_dir
        self._listing = listing
        self._lock = threading.Lock()
        self._listeners: dict[object, ChangeListener] = {}
        self._worker: threading.Thread | None = None
        self._stop = threading.Event()
        self._known: dict[str, FileStamp] = {}
        self._ids: dict[str, frozenset[str]] = {}

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

    def close(self) -> None:
        """End the watch, and wait until it has ended."""
        with self._lock:
            worker, self._worker = self._worker, None
            self._listeners.clear()
            self._stop.set()
        if worker is not None and worker is not threading.current_thread():
            worker.join()

    def _start(self) -> None:
        self._known = self._listing.stamps()
        self._stop = threading.Event()
        self._worker = threading.Thread(
            target=self._run, args=(self._stop,), name="session-watch", daemon=True
        )
        self._worker.start()

    # -- in the worker ----------------------------------------------------------------------------

    def _run(self, stop: threading.Event) -> None:
        self._listing.rows()  # so that the id of a file that goes is known
        self._ids = {path: self._listing.ids_at(path) for path in self._known}
        while not stop.is_set():
            try:
                self._watch_once(stop)
            except (OSError, RuntimeError) as error:  # a directory that went, no more watches
                _log.warning("the watch of %s starts again: %s", self._sessions_dir, error)
                stop.wait(_LOOK_AGAIN_MS / 1000)

    def _watch_once(self, stop: threading.Event) -> None:
        """Watch until there is something else to watch.

        Comes by a few times a second also when nothing is told. The first time it compares all
        files: what happened before the watch stood is not told.
        """
        watched = self._to_watch()
        before = [_inode(path) for path in watched]
        inside = watched[0] == self._sessions_dir
        first = True
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
            if inside and (first or paths):
                self._tell_of(self._ids_of(paths) if not first else None)
            first = False
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

    def _ids_of(self, paths: frozenset[str]) -> frozenset[str] | None:
        """The ids at files that are known and only changed; ``None`` when there is more to it."""
        now = {path: stamp_of(Path(path)) for path in paths}
        if any(path not in self._known or stamp is None for path, stamp in now.items()):
            return None
        ids: set[str] = set()
        for path, stamp in now.items():
            if stamp is not None and stamp != self._known[path]:
                self._known[path] = stamp
                ids |= self._ids.get(path, frozenset()) | self._read_ids(path)
        return frozenset(ids)

    def _read_ids(self, path: str) -> frozenset[str]:
        self._ids[path] = self._listing.refresh(path)
        return self._ids[path]

    def _changed_ids(self) -> frozenset[str]:
        """The ids at every file that is not as it was when it was last told of."""
        now, before = self._listing.stamps(), self._known
        self._known = now
        changed = {path for path in now.keys() | before.keys() if now.get(path) != before.get(path)}
        if not changed:
            return frozenset()
        ids: set[str] = set()
        self._listing.rows()
        for path in changed:
            ids |= self._ids.pop(path, frozenset())
            if path in now:
                ids |= self._read_ids(path)
        return frozenset(ids)

    def _tell_of(self, ids: frozenset[str] | None) -> None:
        """Tell of these ids; of every change that there is, when they are not known."""
        told = self._changed_ids() if ids is None else ids
        if told:
            self._tell(told)

    def _tell(self, ids: frozenset[str]) -> None:
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
