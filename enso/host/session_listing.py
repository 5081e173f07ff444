"""All session files under the agent directory: the rows of the rail, and which file an id is.

Owns the cache that makes a listing cost what has changed, the choice among files that hold one id,
and the rule that only served directories are listed. An id is looked up here and never joined into
a path. Reads; never writes.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from enso.host.contract import StoredThread
from enso.host.session_scan import ScannedFile, scan_file
from enso.host.session_write import FileStamp, stamp_of
from enso.projects import Projects

_Candidates = tuple[ScannedFile, ...]


class SessionListing:
    """The stored threads of one sessions directory. Thread-safe: one scan at a time."""

    def __init__(self, sessions_dir: Path, projects: Projects) -> None:
        self._sessions_dir = sessions_dir
        self._projects = projects
        self._lock = threading.Lock()
        self._scans_begun = 0
        self._files: dict[str, ScannedFile] = {}
        self._by_id: dict[str, _Candidates] = {}
        self._rows: tuple[StoredThread, ...] = ()
        self._served: dict[Path, bool] = {}

    def rows(self) -> list[StoredThread]:
        """Every thread of a served directory, newest first, each id once."""
        self._scan()
        return list(self._rows)

    def row(self, thread_id: str) -> StoredThread | None:
        """The row of one thread; ``None`` when it would not be listed."""
        thread = self.find(thread_id)
        return thread if thread is not None and self._projects.serves(thread.cwd) else None

    def find(self, thread_id: str) -> StoredThread | None:
        """The thread of this id, served or not, and with it the file to read; ``None`` without one.

        Looks at the one file while it is known; only an unknown id, or a file that is gone or now
        holds something else, costs a scan.
        """
        with self._lock:
            known = self._known(thread_id)
        if known is None:
            self._scan()
            with self._lock:
                known = self._known(thread_id)
        return known

    def scanned(self, thread: StoredThread) -> ScannedFile | None:
        """What is known of the file of a row that ``row`` or ``find`` just gave."""
        with self._lock:
            return self._files.get(str(thread.path))

    def ids_at(self, path: str) -> frozenset[str]:
        """The id of the thread in the file at ``path``, as of when it was last looked at."""
        with self._lock:
            thread_id = _id_of(self._files.get(path))
        return frozenset(() if thread_id is None else (thread_id,))

    def refresh(self, path: str) -> frozenset[str]:
        """Look at one file again; the ids that it holds and that it held."""
        with self._lock:
            earlier = self._files.get(path)
            known = earlier is not None
            before = _id_of(earlier)
            after = _id_of(self._refreshed(earlier)) if earlier is not None else None
        if not known or before != after:
            self._scan()
        ids = self.ids_at(path)
        return ids | {before} if before is not None else ids

    def stamps(self) -> dict[str, FileStamp]:
        """The state of every file there is now, by path; reads no file."""
        return dict(_session_files(self._sessions_dir))

    # -- scanning ---------------------------------------------------------------------------------

    def _scan(self) -> None:
        """Bring everything up to date. Workers that wait while a scan runs share the next one."""
        asked = self._scans_begun
        with self._lock:
            if self._scans_begun == asked:
                self._scans_begun += 1
                self._scan_all()

    def _scan_all(self) -> None:
        found: dict[str, ScannedFile] = {}
        for path, stamp in _session_files(self._sessions_dir):
            earlier = self._files.get(path)
            if earlier is not None and earlier.stamp == stamp:
                found[path] = earlier
            elif (scanned := scan_file(Path(path), earlier)) is not None:
                found[path] = scanned
        changed = found.keys() != self._files.keys() or any(
            self._files[path] is not file for path, file in found.items()
        )
        self._files = found
        threads = [file.thread for file in found.values() if file.thread is not None]
        served = {cwd: self._projects.serves(cwd) for cwd in {thread.cwd for thread in threads}}
        if changed or served != self._served:
            self._served = served
            self._index()

    def _index(self) -> None:
        by_id: dict[str, _Candidates] = {}
        for file in self._files.values():
            if file.thread is not None:
                by_id[file.thread.id] = (*by_id.get(file.thread.id, ()), file)
        chosen = (self._chosen(candidates) for candidates in by_id.values())
        rows = [thread for thread in chosen if thread is not None and self._served[thread.cwd]]
        rows.sort(key=lambda thread: (thread.modified, str(thread.path)), reverse=True)
        self._by_id, self._rows = by_id, tuple(rows)

    def _chosen(self, candidates: Iterable[ScannedFile]) -> StoredThread | None:
        """The file that an id stands for: a served one, the newest, the last by path."""
        threads = (file.thread for file in candidates if file.thread is not None)
        return max(
            threads,
            key=lambda thread: (
                self._projects.serves(thread.cwd),
                thread.modified,
                str(thread.path),
            ),
            default=None,
        )

    def _known(self, thread_id: str) -> StoredThread | None:
        """The thread by what is known, its files looked at again; ``None`` when a scan is due."""
        candidates = self._by_id.get(thread_id)
        if candidates is None:
            return None
        refreshed = tuple(self._refreshed(file) for file in candidates)
        if any(_id_of(file) != thread_id for file in refreshed):
            return None
        kept = tuple(file for file in refreshed if file is not None)
        self._by_id[thread_id] = kept
        return self._chosen(kept)

    def _refreshed(self, file: ScannedFile) -> ScannedFile | None:
        if stamp_of(file.path) == file.stamp:
            return file
        scanned = scan_file(file.path, file)
        if scanned is not None:
            self._files[str(file.path)] = scanned
            self._served = {}  # the rows are to be made anew by the next listing
        return scanned


def _id_of(file: ScannedFile | None) -> str | None:
    return file.thread.id if file is not None and file.thread is not None else None


def _session_files(sessions_dir: Path) -> Iterator[tuple[str, FileStamp]]:
    """Every session file in the direct subdirectories, each real file once, by its first path."""
    seen: set[tuple[int, int]] = set()
    for directory in sorted(entry.path for entry in _entries(sessions_dir) if _is_dir(entry)):
        files = (entry for entry in _entries(directory) if entry.name.endswith(".jsonl"))
        for entry in sorted(files, key=lambda entry: entry.name):
            try:
                status = entry.stat()
            except OSError:
                continue
            identity = status.st_dev, status.st_ino
            if stat.S_ISREG(status.st_mode) and identity not in seen:
                seen.add(identity)
                yield entry.path, FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)


def linked_directories(sessions_dir: Path) -> list[Path]:
    """The directories of session files that are symbolic links: a watch does not follow them."""
    found = _entries(sessions_dir)
    return sorted(Path(entry.path) for entry in found if entry.is_symlink() and _is_dir(entry))


def _entries(directory: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
