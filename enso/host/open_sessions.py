"""Which session file a thread is that comes live: one that is stored, a fork, or a new one.

Owns which directory may be served, and what of the store is open: the files that this process
writes, and forks that have nothing to store yet. Nothing is built here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from enso.host.contract import (
    PromptRefused,
    SessionDirectoryRefused,
    SessionNotWritten,
    SessionUnreadable,
    StoredThread,
    ThreadNotStored,
)
from enso.host.runtime_factory import Forking, RuntimeFactory
from enso.host.session_file import SessionFile
from enso.host.session_fork import forked_entries, is_conversation
from enso.host.session_listing import SessionListing
from enso.projects import Projects
from enso.thread_ids import is_thread_id, refused_id_sentence

_NOT_READ: Final = (
    "A thread is stored under this id, but {} cannot be read. Give the user that runs Enso the "
    "right to it, or begin a new thread."
)


class OpenSessions:
    """The session files of live threads. Thread-safe."""

    def __init__(
        self,
        sessions_dir: Path,
        projects: Projects,
        listing: SessionListing,
        runtimes: RuntimeFactory,
    ) -> None:
        self._sessions_dir = sessions_dir
        self._projects = projects
        self._listing = listing
        self._runtimes = runtimes
        self._open: WeakValueDictionary[str, SessionFile] = WeakValueDictionary()
        self._unstored_forks: dict[str, SessionFile] = {}

    def session(self, thread_id: str, new_session_directory: Callable[[], Path]) -> SessionFile:
        """The file under this id, in the directory it records, or a new one; it counts as open.

        Raises ``SessionDirectoryRefused`` or ``SessionUnreadable``; then nothing was written. A new
        file is on disk only once it begins.
        """
        if not is_thread_id(thread_id):
            raise SessionUnreadable(thread_id, refused_id_sentence(thread_id))
        stored = self._listing.find(thread_id)
        if stored is not None:
            session = self._read(stored)
            self._unstored_forks.pop(thread_id, None)
        elif thread_id in self._unstored_forks:
            session = self._unstored_forks[thread_id]
            self._require_served(session.cwd)
        else:
            if (path := self._listing.unreadable(thread_id)) is not None:
                raise SessionUnreadable(thread_id, _NOT_READ.format(path))
            directory = new_session_directory()
            self._require_served(directory)
            session = SessionFile.create(self._sessions_dir, thread_id, directory)
        self._open[thread_id] = session
        return session

    def of(self, stored: StoredThread) -> SessionFile | None:
        """The file of this thread as it is open; ``None`` when it is not, or is another by now."""
        session = self._open.get(stored.id)
        return session if session is not None and session.path == stored.path else None

    def empty_fork_directory(self, thread_id: str) -> Path | None:
        """The directory of a fork that was not stored, because it holds nothing yet."""
        fork = self._unstored_forks.get(thread_id)
        return fork.cwd if fork is not None else None

    def paths(self) -> list[str]:
        """Where the open files are."""
        return [str(session.path) for session in list(self._open.values())]

    def fork(self, thread_id: str, entry_id: str | None, new_id: str) -> str:
        """Store a new thread that begins as a part of another; as ``AgentHost`` says."""
        if not is_thread_id(new_id):
            raise SessionUnreadable(new_id, refused_id_sentence(new_id))
        if self._listing.find(new_id) is not None:
            raise SessionNotWritten(new_id, "A thread is stored under this id already.")
        source = self._source_of_fork(thread_id)
        entries = source.read(lambda entries, leaf: forked_entries(entries, entry_id, leaf))
        if entries is None:
            raise PromptRefused("unknown-entry", "This thread has no such message to fork from.")
        runtimes = self._runtimes
        session = runtimes.fork(source, entry_id) if isinstance(runtimes, Forking) else None
        if session is None:
            session = SessionFile.create(
                self._sessions_dir, new_id, source.cwd, str(source.path), entries
            )
            if any(is_conversation(entry) for entry in entries):
                session.begin()
        if not session.exists():
            self._unstored_forks[session.thread_id] = session
        return session.thread_id

    def _source_of_fork(self, thread_id: str) -> SessionFile:
        """The session as it is live, which may stand at another leaf, else as it is stored."""
        stored = self._listing.find(thread_id)
        if stored is None:
            raise ThreadNotStored(thread_id)
        self._require_served(stored.cwd)
        return self.of(stored) or self._read(stored)

    def _read(self, stored: StoredThread) -> SessionFile:
        self._require_served(stored.cwd)
        session = SessionFile.open(stored.path)
        if session.thread_id != stored.id or session.cwd != stored.cwd:
            raise SessionUnreadable(
                stored.id, "The session file was replaced while it was opened. Try again."
            )
        return session

    def _require_served(self, directory: Path) -> None:
        if not directory.is_absolute():
            raise SessionDirectoryRefused(directory, "the thread records no whole path.")
        if not self._projects.serves(directory):
            raise SessionDirectoryRefused(directory, "this directory is not one Enso serves.")
        if not self._projects.can_run_in(directory):
            raise SessionDirectoryRefused(
                directory, "this directory is gone. The thread can be read, not continued."
            )
