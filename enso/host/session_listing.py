"""All session files under the agent directory: the rows of the rail, and which file an id is.

Owns when a file is looked at. The first time all are, the newest first, once the first page is
there or somebody asks for rows; who asks meanwhile is told what is known by then, and what was only
glanced at is proven in the background. From then on a request costs what changed: while a watch
tells what happens to the files (``is_told``), a request asks for the state of the directories
alone; without one, for that of every file. An id is looked up here and never joined into a path.
Reads the sessions; writes nothing but its cache.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from enso.host.contract import Listed, StoredThread
from enso.host.file_stamp import FileStamp, stamp_of
from enso.host.precedence import Precedence, answers
from enso.host.session_cache import RowCache
from enso.host.session_files import FoundFile, Look, SessionFiles, is_unreadable
from enso.host.session_fill import FIRST_FILES, Fill, MakeFill, ToLook
from enso.host.session_look import RowFile, look_at
from enso.host.session_order import RowOrder
from enso.host.session_proof import Proof, compare
from enso.host.session_unread import UnreadFiles, beginning_of
from enso.projects import Projects

log = logging.getLogger(__name__)

_MOMENT: Final = 0.25
"""Seconds that a rail waits at most for its first rows."""


@dataclass(slots=True)
class ListingCounters:
    """How much was read of session files for their rows."""

    files_read: int = 0
    bytes_read: int = 0


class _Before(NamedTuple):
    """When somebody began to listen, and which files there were."""

    paths: frozenset[str]
    at_ns: int


class SessionListing:
    """The stored threads of one sessions directory. Usable from any worker."""

    def __init__(
        self,
        sessions_dir: Path,
        projects: Projects,
        cache: RowCache | None = None,
        make_fill: MakeFill = Fill,
        precedence: Precedence = answers,
    ) -> None:
        """``precedence``: of whom the first look waits until it is quiet."""
        self.counters = ListingCounters()
        self.is_told = False
        """Whether somebody tells of every change of a file that is known: ``look_at_paths``."""
        self._cache = cache
        self._make_fill = make_fill
        self._found = SessionFiles(sessions_dir)
        self.look_counters = self._found.counters
        self._lock = threading.Lock()  # held for moments
        self._looking = threading.Lock()  # held while files are looked at
        self._looks_begun = 0
        self._order = RowOrder(projects)
        self._unread = UnreadFiles()
        self._rowless: set[str] = set()
        self._changed: set[str] = set()
        self._before = _Before(frozenset(), 0)
        self._precedence = precedence
        self._asked = threading.Event()  # for rows
        self._filling: threading.Thread | None = None
        self._fill: Fill | None = None
        self._proof: Proof | None = None
        self._first_rows = threading.Event()
        self._filled = False
        self._closed = False
        self._unsaved = False

    # -- asking -----------------------------------------------------------------------------------

    def rows(self) -> list[StoredThread]:
        """Every thread of a served directory, newest first, each id once; looks at what changed,
        and waits for that."""
        self._asked.set()
        self._look(everything=not self.is_told)
        with self._lock:
            return list(self._order.newest_first())

    def listed(self) -> Listed:
        """The same as far as it is known now: waits for no first look at every file, but a moment
        for the rows that a rail begins with."""
        self._asked.set()
        if self._filling is not None and not self._filled:
            self.wait_for_first_rows()
        else:
            told = self.is_told or self._filling is not None
            self._look(everything=not told, seconds=_MOMENT)
        with self._lock:
            known = len(self._order.files)
            threads = self._order.newest_first()
            return Listed(threads=threads, looked_at=known, waiting=len(self._unread))

    def row(self, thread_id: str) -> StoredThread | None:
        """The row of one thread; ``None`` when it would not be listed."""
        thread = self.find(thread_id)
        with self._lock:
            return thread if thread is not None and self._order.serves(thread.cwd) else None

    def located(self, thread_id: str) -> StoredThread | None:
        """The same; of a file that was not looked at yet, and by its name is the thread, no more
        than its beginning is read: the row then says where it is, and nothing else."""
        if self._filling is not None and not self._filled:
            for path in self._unread.named(thread_id):
                row = beginning_of(path)
                if row is not None and row.id == thread_id and self._serves(row.cwd):
                    return row
        return self.row(thread_id)

    def _serves(self, cwd: Path) -> bool:
        with self._lock:
            return self._order.serves(cwd)

    def find(self, thread_id: str) -> StoredThread | None:
        """The thread of this id, served or not, and with it the file to read; ``None`` without one.

        Looks at the one file while it is known; only an unknown id, or a file that is gone or now
        holds something else, has others looked at.
        """
        known = self._known(thread_id)
        if known is None and self._filling is not None and not self._filled:
            return self._unread_thread(thread_id)
        if known is None:
            self._look(everything=not self.is_told)
            known = self._known(thread_id)
        return known

    def unreadable(self, thread_id: str) -> str | None:
        """A file that is this thread by its name, and may not be read; ``None`` without one."""
        ending = f"_{thread_id}.jsonl"
        with self._lock:
            named = [path for path in self._rowless if path.endswith(ending)]
        return next((path for path in named if is_unreadable(path)), None)

    # -- being told -------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to look at every file, in the background; ``take_changes`` tells of what changes
        from now on."""
        if self._filled:
            self._look(everything=True)
            self.take_changes()
        elif self._filling is None:
            self._before = _Before(self._found.paths(), time.time_ns())
            self._unread = UnreadFiles(self._before.paths)
            self._filling = threading.Thread(target=self._fill_in, name="enso-listing", daemon=True)
            self._filling.start()

    def _fill_in(self) -> None:
        self._precedence.wait_for_quiet(self._asked)
        try:
            self._look(everything=True)
        except Exception:  # whoever asks looks at everything then
            log.exception("the first look at the session files came to no end")
            self._filling = None
            self._first_rows.set()

    @property
    def is_filled(self) -> bool:
        """Whether every file was looked at."""
        return self._filled

    def wait_for_first_rows(self) -> None:
        """Wait a moment at most for the rows that a rail begins with."""
        self._first_rows.wait(_MOMENT)

    def wait_until_filled(self) -> None:
        """Return once every file was looked at, or this was closed."""
        self._asked.set()
        filling = self._filling
        if filling is not None:
            filling.join()

    def wait_until_proven(self) -> None:
        """Return once every file was looked at exactly, or this was closed."""
        self.wait_until_filled()
        if self._proof is not None:
            self._proof.wait()

    def look_at_paths(self, paths: Iterable[str]) -> None:
        """Look at files that something may have happened to."""
        for path in paths:
            with self._lock:
                file, first = self._order.files.get(path), not self._filled
            if file is not None:
                self._refresh(file)
            elif first:
                self._look_now(path)
            else:
                self._look(everything=False)

    def look_at_directories(self) -> None:
        """Look for files that were made or went, once every file was looked at."""
        if self._filled:
            self._look(everything=False)

    def look_at_everything(self) -> None:
        """Look at the state of every file."""
        self._look(everything=True)
        self._save()

    def take_changes(self) -> frozenset[str]:
        """The ids of threads whose files changed since this was last asked."""
        with self._lock:
            changed, self._changed = frozenset(self._changed), set()
        return changed

    def close(self) -> None:
        """End the first look and its proof; keep for the next start what is known."""
        self._closed = True
        if self._fill is not None:
            self._fill.stop()
        self.wait_until_filled()
        if self._proof is not None:
            self._proof.close()
        self._save()

    def _save(self) -> None:
        if self._cache is None or not self._filled:
            return
        with self._lock:
            unsaved, self._unsaved = self._unsaved, False
            files = [one for one in self._order.files.values() if one.proven] if unsaved else []
        if unsaved:
            self._cache.save(files)

    # -- one file ---------------------------------------------------------------------------------

    def _known(self, thread_id: str) -> StoredThread | None:
        """The thread by what is known, its files looked at again; ``None`` when others are due."""
        with self._lock:
            files = self._order.files_of(thread_id)
        for file in files:
            self._refresh(file)
        with self._lock:
            now = {file.path for file in self._order.files_of(thread_id)}
            if not now or now != {file.path for file in files}:
                return None
            return self._order.chosen(thread_id)

    def _refresh(self, file: RowFile) -> bool:
        """Bring one file up to date; whether it is still there."""
        if stamp_of(Path(file.path)) == file.stamp:
            return True
        looked = self._read(ToLook(file.path, file, 0, file.stamp))
        with self._lock:
            if self._order.files.get(file.path) is file:  # else another worker was sooner
                self._put([looked] if looked is not None else [], [file.path])
        return looked is not None

    def _unread_thread(self, thread_id: str) -> StoredThread | None:
        """A thread whose file is still to be looked at: now, before the others."""
        unread = self._unread
        for paths_of in (unread.named, unread.headed):
            for path in paths_of(thread_id):
                self._look_now(path)
            with self._lock:
                found = self._order.chosen(thread_id)
            if found is not None:
                return found
        return None

    def _look_now(self, path: str) -> None:
        """Look at a file that is not known yet, before its turn comes."""
        stamp = stamp_of(Path(path))
        looked = self._read(ToLook(path, None, 0, stamp)) if stamp is not None else None
        with self._lock:
            self._unread.take(path)
            if looked is not None and path not in self._order.files:
                self._put([looked])

    # -- many files -------------------------------------------------------------------------------

    def _look(self, everything: bool, seconds: float = -1) -> None:
        """Bring everything up to date; workers that wait meanwhile share the next look.

        ``seconds``: how long to wait at most for another look.
        """
        asked = self._looks_begun
        if not self._looking.acquire(timeout=seconds):
            return
        try:
            if self._looks_begun == asked:
                self._looks_begun += 1
                self._look_alone(everything)
        finally:
            self._looking.release()

    def _look_alone(self, everything: bool) -> None:
        if self._closed:
            return
        first = not self._filled
        look = self._found.look() if everything or first else self._found.look_again()
        if look is not None:
            cached = self._cache.load() if first and self._cache is not None else {}
            self._fill = self._make_fill(self._take)
            self._fill.run(self._compare(look, cached), glance=first)
        if everything and not first:
            with self._lock:
                self._order.serve_anew()
        if first:
            self._end_first_look()

    def _end_first_look(self) -> None:
        fill = self._fill
        self._filled = fill is not None and not fill.is_stopped
        self._first_rows.set()
        if fill is not None and self._filled and not fill.is_proven:
            self._proof = Proof(fill, self._take_proven, self._save)
        else:
            self._save()

    def _compare(self, look: Look, cached: dict[str, RowFile]) -> list[ToLook]:
        """The files that are not as they are known, the newest first."""
        with self._lock:
            known, first = self._order.files, not self._filled
            gone = [path for path in known if path not in look.files]
            kept: list[RowFile] = []
            due: list[ToLook] = []
            for path, file in look.files.items():
                earlier = known.get(path)
                if earlier is None:
                    earlier = cached.get(path)
                    if earlier is not None and earlier.stamp == file.stamp:
                        kept.append(earlier)
                        continue
                elif earlier.stamp == file.stamp or not _is_fresh(file, look):
                    continue
                due.append(_to_look(file, earlier, self._is_news(file)))
            unsaved = self._unsaved or bool(gone) or len(cached) != len(kept)
            self._put(kept, gone, news=not first)
            self._unsaved = unsaved  # what was kept is what is saved
            due.sort(key=_newest, reverse=True)
            self._unread = UnreadFiles(one.path for one in due)
            if len(known) >= FIRST_FILES:
                self._first_rows.set()
        return due

    def _is_news(self, file: FoundFile) -> bool:
        """Whether a file changed since somebody listens."""
        before = self._before
        changed = file.path not in before.paths or file.changed_ns >= before.at_ns
        return self._filled or changed

    def _take(self, asked: Sequence[ToLook], looked: Sequence[RowFile | None]) -> None:
        """Take files of a look, but those that somebody else has looked at meanwhile."""
        news: list[RowFile] = []
        known: list[RowFile] = []
        gone: list[str] = []
        with self._lock:
            for one, file in zip(asked, looked, strict=True):
                self.counters.files_read += 1
                self.counters.bytes_read += one.size
                if not self._unread.take(one.path):
                    continue
                if file is None:
                    gone.append(one.path)
                    self._rowless.add(one.path)
                else:
                    self._rowless.discard(one.path)
                    (news if one.news or file.stamp != one.stamp else known).append(file)
            self._put(known, news=False)
            self._put(news, gone)
            if len(self._order.files) >= FIRST_FILES:
                self._first_rows.set()

    def _take_proven(self, asked: Sequence[ToLook], looked: Sequence[RowFile | None]) -> None:
        """Take files that were only glanced at as they are; who listens is told what differs."""
        with self._lock:
            self.counters.files_read += len(asked)
            self.counters.bytes_read += sum(one.size for one in asked)
            proven = compare(self._order.files, asked, looked)
            self._put(proven.same, news=False)
            self._put(proven.other, proven.gone)

    def _read(self, file: ToLook) -> RowFile | None:
        looked = look_at(file.path, file.earlier)
        with self._lock:
            self.counters.files_read += 1
            if looked is None:
                self._rowless.add(file.path)
            else:
                self._rowless.discard(file.path)
                self.counters.bytes_read += _bytes_due(looked.stamp, file.earlier)
        return looked

    def _put(
        self, files: Sequence[RowFile], gone: Sequence[str] = (), *, news: bool = True
    ) -> None:
        """Take what is known now; the lock is held."""
        if files or gone:
            self._unsaved = True
            ids = self._order.put(files, gone)
            self._changed |= ids if news else set()


def _is_fresh(file: FoundFile, look: Look) -> bool:
    return look.fresh is None or file.path in look.fresh


def _newest(file: ToLook) -> tuple[int, str]:
    return file.stamp.mtime_ns, file.path


def _to_look(file: FoundFile, earlier: RowFile | None, news: bool) -> ToLook:
    return ToLook(file.path, earlier, _bytes_due(file.stamp, earlier), file.stamp, news)


def _bytes_due(stamp: FileStamp, earlier: RowFile | None) -> int:
    """How many bytes are to be read of a file."""
    read = earlier.read if earlier is not None and stamp.grown_from(earlier.stamp) else None
    return stamp.size - read.consumed if read is not None else stamp.size
