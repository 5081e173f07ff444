"""Where threads are stored and run: session files under an agent directory, and a runtime each.

Implements ``AgentHost`` (``enso.host.contract``). Owns the order in which a thread comes live:
nothing is built or written before everything that can be refused was asked. Which file a thread
is, and whether its directory may be served, is ``enso.host.open_sessions``'s; what runs a thread
is the factory's (``enso.host.runtime_factory``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from enso.host.cache_directory import CacheDirectory
from enso.host.contract import (
    BranchRequestDetail,
    ChangeListener,
    Command,
    Found,
    HostedThread,
    HostReadiness,
    HostReport,
    Listed,
    ModelChoice,
    PermissionModeState,
    RequestNumber,
    StoredBranch,
    StoredEntries,
    StoredLog,
    StoredThread,
    StoredThreadContext,
    StoredThreadPage,
    StoredThreadRead,
    StoredThreadStats,
    ThreadNotStored,
    ThreadTree,
)
from enso.host.decode import decode_entry
from enso.host.lines_before import Counters
from enso.host.modes import fresh_mode, stored_mode
from enso.host.open_sessions import OpenSessions
from enso.host.pages import page_of
from enso.host.project_files import fitting_files
from enso.host.runtime_factory import RuntimeFactory
from enso.host.search import Finder
from enso.host.session_cache import RowCache
from enso.host.session_checks import directory_checks
from enso.host.session_fill import Fill, LookAt
from enso.host.session_listing import SessionListing
from enso.host.session_log import SessionLog, open_sized
from enso.host.session_look import look_at
from enso.host.session_pages import NotTold, PageWanted, SessionPages
from enso.host.session_scans import SessionScans
from enso.host.session_trash import SessionTrash
from enso.host.session_watch import SessionWatch
from enso.projects import Projects
from enso.thread_ids import is_thread_id
from enso.transcript import ImagePart, TranscriptEntry, image_of

if TYPE_CHECKING:
    from enso.host.whole_readings import WholeReadings


class SessionHost:
    """An ``AgentHost`` over ``<agent_dir>/sessions``. Thread-safe."""

    def __init__(
        self,
        *,
        agent_dir: Path,
        projects: Projects,
        runtimes: RuntimeFactory,
        cache_dir: Path | None = None,
        look: LookAt = look_at,
    ) -> None:
        """``cache_dir``: where what is derived is kept; without one it goes with the host.

        ``look`` looks at a file when the listing is filled for the first time.
        """
        self._sessions_dir = agent_dir / "sessions"
        self._projects = projects
        self._runtimes = runtimes
        self._cache = CacheDirectory(cache_dir, agent_dir)
        rows = RowCache(self._cache.path / "listing.msgpack", self._sessions_dir)
        kept_rows = rows if cache_dir else None
        self._listing = SessionListing(
            self._sessions_dir, projects, kept_rows, partial(Fill, look=look)
        )
        self._watch = SessionWatch(self._sessions_dir, self._listing)
        self._scans = SessionScans()
        self._pages = SessionPages(runtimes.provider_name)
        self._trash = SessionTrash(agent_dir, projects)
        self._finder = Finder(
            self._cache.path / "search.sqlite", self._listing.rows, self._listing.listed
        )
        self._open = OpenSessions(self._sessions_dir, projects, self._listing, runtimes)

    @cached_property
    def _whole(self) -> WholeReadings:
        """Loaded by who reads a whole thread: a page does not."""
        from enso.host.whole_readings import WholeReadings  # noqa: PLC0415

        return WholeReadings(self._pages.counters, self._runtimes.provider_name)

    # -- live -------------------------------------------------------------------------------------

    def create_session(
        self, thread_id: str, new_session_directory: Callable[[], Path]
    ) -> HostedThread:
        """Open the file under this id in the directory it records, or create one under this id.

        Raises ``SessionDirectoryRefused`` or ``SessionUnreadable``; then nothing was built and
        nothing written. A created file is on disk only when its first answer begins.
        """
        session = self._open.session(thread_id, new_session_directory)
        from enso.host.hosted_thread import SessionThread  # noqa: PLC0415 - no page needs it

        runtime = self._runtimes.build(session)
        return SessionThread(session, runtime, self._runtimes.provider_name)

    # -- cold -------------------------------------------------------------------------------------

    def list_sessions(self) -> list[StoredThread]:
        """Every stored thread in a directory this host serves, newest first, each id once."""
        self._look_at_own_files()
        return self._listing.rows()

    def listed_sessions(self) -> Listed:
        """The same as far as it is known by now; see the contract."""
        self._look_at_own_files()
        return self._listing.listed()

    def wait_until_proven(self) -> None:
        """Return once every session file was looked at exactly: the first look may only glance."""
        self._listing.wait_until_proven()

    @property
    def is_told(self) -> bool:
        """Whether the watch stands, so that a listing asks for the state of no file."""
        return self._listing.is_told

    def _look_at_own_files(self) -> None:
        """What this process writes is seen at once, whenever the watch tells of it."""
        self._listing.look_at_paths(self._open.paths())

    def stored_thread(self, thread_id: str) -> StoredThread | None:
        """The listing's row of one thread; ``None`` when it would not be listed."""
        return self._listing.row(thread_id) if is_thread_id(thread_id) else None

    def stored_thread_directory(self, thread_id: str) -> Path | None:
        """The directory the file under this id records, served or not; ``None`` without a file."""
        stored = self._listing.find(thread_id) if is_thread_id(thread_id) else None
        return stored.cwd if stored is not None else None

    def empty_fork_directory(self, thread_id: str) -> Path | None:
        """Where a fork of which nothing is stored yet will run; ``None`` for any other thread."""
        return self._open.empty_fork_directory(thread_id)

    def read_stored_thread(self, thread_id: str) -> StoredThreadRead | None:
        """Read a thread cold: nothing is built or written. ``None``: no file, or not served."""
        stored = self.stored_thread(thread_id)
        return self._whole.thread(stored) if stored is not None else None

    def read_stored_page(
        self,
        thread_id: str,
        *,
        size: int,
        before: str | None = None,
        since: str | None = None,
        light: bool = False,
    ) -> StoredThreadPage | None:
        """A page from the end of the file, where that tells it; else from the whole file."""
        stored = self._listing.located(thread_id) if is_thread_id(thread_id) else None
        if stored is None:
            return None
        wanted = PageWanted(size, before, since, light)
        if self._watch.tells and self._scans.is_long(stored.path):
            with suppress(NotTold):
                page = self._pages.read_from_end(stored, wanted)
                told = frozenset((thread_id,))
                self._scans.begin(stored.path, lambda: self._watch.tell(told))
                return page
        file = self._scans.of(stored.path)
        if file is not None:
            with suppress(NotTold):
                return self._pages.read(stored, file, wanted)
        read = self.read_stored_thread(thread_id)
        if read is None:
            return None
        return page_of(read, size=size, before=before, since=since, light=light)

    def read_stored_image(self, thread_id: str, entry_id: str, number: int) -> ImagePart | None:
        """An image of an entry: its line is read, where the file's end tells where that is."""
        stored = self.stored_thread(thread_id)
        file = self._scans.of(stored.path) if stored is not None else None
        if file is not None:
            with suppress(NotTold):
                return self._pages.read_image(file, entry_id, number)
        found = self._read(thread_id)
        entries = found[1].entries if found is not None else []
        entry = next((one for one in reversed(entries) if one["id"] == entry_id), None)
        if entry is None:
            return None
        return image_of(decode_entry(entry, providers=self._runtimes.provider_name), number)

    @property
    def counters(self) -> Counters:
        """How much was read of files for pages."""
        return self._pages.counters

    def read_stored_entries(
        self, thread_id: str, *, size: int, behind: int = 0
    ) -> StoredEntries | None:
        """A stretch of the branch: no more than its entries is decoded."""
        stored = self.stored_thread(thread_id)
        return self._whole.entries(stored, behind=behind, size=size) if stored else None

    def open_stored_branch(self, thread_id: str) -> StoredBranch | None:
        """The branch, each entry read when it is asked for."""
        stored = self.stored_thread(thread_id)
        return self._whole.branch(stored) if stored is not None else None

    def read_stored_thread_context(self, thread_id: str) -> StoredThreadContext | None:
        """A stored thread's context, request by request; read cold."""
        stored = self.stored_thread(thread_id)
        branch = self._whole.context(stored) if stored is not None else None
        if stored is None or branch is None:
            return None
        return StoredThreadContext(id=stored.id, cwd=stored.cwd, branch=branch)

    def read_stored_request_detail(
        self, thread_id: str, request: RequestNumber
    ) -> BranchRequestDetail | None:
        """One request element by element; read cold."""
        stored = self.stored_thread(thread_id)
        return self._whole.request(stored, request) if stored is not None else None

    def read_stored_entry(self, thread_id: str, entry_id: str) -> str | None:
        """An entry as the file has it, as JSON to be looked at."""
        stored = self.stored_thread(thread_id)
        return self._whole.entry(stored, entry_id) if stored is not None else None

    def _read(self, thread_id: str) -> tuple[StoredThread, SessionLog] | None:
        """A thread's row and its file; ``None``: no file, or not served."""
        stored = self.stored_thread(thread_id)
        log = self._whole.log(stored) if stored is not None else None
        return (stored, log) if stored is not None and log is not None else None

    def read_stored_thread_stats(self, thread_id: str) -> StoredThreadStats | None:
        """What a stored thread used: its file is read once. ``None``: no file, or not served."""
        stored = self.stored_thread(thread_id)
        stats = self._whole.stats(stored) if stored is not None else None
        if stored is None or stats is None:
            return None
        return StoredThreadStats(id=stored.id, cwd=stored.cwd, stats=stats)

    def open_stored_log(self, thread_id: str) -> StoredLog | None:
        """The thread's file itself, open for reading; ``None``: no file, or not served."""
        stored = self.stored_thread(thread_id)
        if stored is None:
            return None
        live = self._open.of(stored)
        try:
            stream, size = live.open_whole() if live is not None else open_sized(stored.path)
        except OSError:
            return None
        return StoredLog(name=stored.path.name, size=size, stream=stream)

    def read_stored_thread_tree(self, thread_id: str) -> ThreadTree | None:
        """Read every branch of a thread cold; ``None``: no file, or not served."""
        stored = self.stored_thread(thread_id)
        return self._whole.tree(stored) if stored is not None else None

    def fresh_permission_mode(self) -> PermissionModeState:
        """What a new thread starts in."""
        return fresh_mode()

    def stored_permission_mode(self, transcript: Sequence[TranscriptEntry]) -> PermissionModeState:
        """The mode a transcript ends in, else the fresh state."""
        return stored_mode(transcript)

    # -- forks and the trash ----------------------------------------------------------------------

    def files(self, directory: Path, query: str, limit: int) -> tuple[str, ...]:
        """Files of a served directory that fit a query; none of any other."""
        if not self._projects.can_run_in(directory):
            return ()
        return fitting_files(directory, query, limit=limit)

    def fork(self, thread_id: str, entry_id: str | None, new_id: str) -> str:
        """Store a new thread that begins as a part of another; see the contract."""
        return self._open.fork(thread_id, entry_id, new_id)

    def delete(self, thread_id: str) -> None:
        """Move the thread's file to the trash; see the contract."""
        stored = self.stored_thread(thread_id)
        if stored is None:
            raise ThreadNotStored(thread_id)
        self._trash.throw_away(stored.path, thread_id)

    def deleted_thread(self, thread_id: str) -> StoredThread | None:
        """The row of a thread in the trash; ``None`` when it is not there."""
        return self._trash.row(thread_id) if is_thread_id(thread_id) else None

    def restore(self, thread_id: str) -> bool:
        """Take the thread's file back from the trash; False when it is not there."""
        return is_thread_id(thread_id) and self._trash.bring_back(thread_id)

    # -- the rest ---------------------------------------------------------------------------------

    def models(self) -> list[ModelChoice]:
        """Every model that a prompt could go to."""
        return self._runtimes.models()

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The slash commands of a thread of this directory."""
        return self._runtimes.commands(directory)

    def prepare(self) -> None:
        """Get ready for a prompt that is about to come, in the background."""
        self._runtimes.prepare()

    def readiness(self, transcript: Sequence[TranscriptEntry] = ()) -> HostReadiness:
        """Which model a prompt to the thread of this transcript would go to, without building."""
        return self._runtimes.readiness(transcript)

    def report(self) -> HostReport:
        """What is configured and what would not work: the directories, then the runtime."""
        found = self._runtimes.report()
        checks = (*directory_checks(self._sessions_dir), *found.checks)
        return replace(found, checks=checks)

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id; the id itself when it has none."""
        return self._runtimes.provider_name(provider)

    def find_passages(self, query: str, limit: int) -> Found:
        """Passages that hold a query's words; see the contract."""
        return self._finder.find(query, limit)

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Watch the store; returns what ends the watch. Who watches may soon search."""

        def tell(thread_ids: frozenset[str]) -> None:
            listener(thread_ids)
            self._finder.changed()

        end = self._watch.listen(tell)
        self._finder.start()
        return end

    def close(self) -> None:
        """End the watch, the search and every child process."""
        self._listing.close()  # first: the watch may wait for a long look
        self._watch.close()
        self._finder.close()
        self._cache.close()
        self._runtimes.close()
