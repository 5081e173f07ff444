"""The rail: the host's listing with this server's marks, and the news of it.

Rows are the listing, newest first; busy is a run in flight on this server. Every follow is told
when rows change, a few times a second at most.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence

from enso import wire
from enso.host import contract
from enso.projects import Projects
from enso.server.messages import mended
from enso.server.registry import ThreadRegistry

log = logging.getLogger(__name__)

NEWS_INTERVAL = 0.25
"""Seconds in which changes of the rail are gathered into one frame."""


def matches(thread: contract.StoredThread, words: Sequence[str], project_name: str) -> bool:
    """Whether every word stands in the thread's title, its name or its project's name."""
    text = f"{thread.name or ''}\n{thread.first_message}\n{project_name}".casefold()
    return all(word in text for word in words)


Tell = Callable[[frozenset[str]], None]
"""Told the ids of threads whose rows may have changed."""


class Rail:
    """The listing as rows. Usable from any worker."""

    def __init__(
        self, *, host: contract.AgentHost, registry: ThreadRegistry, projects: Projects
    ) -> None:
        self._host = host
        self._registry = registry
        self._projects = projects

    def threads(self, query: str = "") -> list[contract.StoredThread]:
        """The stored threads, newest first; of those that a query's words fit, when it has any."""
        words = query.casefold().split()
        listed = self._host.list_sessions()
        if not words:
            return listed
        return [one for one in listed if matches(one, words, self.project_name(one))]

    def project_name(self, thread: contract.StoredThread) -> str:
        """The display name of a thread's project."""
        project = self._projects.of(thread.cwd)
        return project.name if project is not None else thread.cwd.name

    def row(self, thread: contract.StoredThread) -> wire.StoredThread:
        """A row as it is sent. A first message without text is no title."""
        project = self._projects.of(thread.cwd)
        return wire.StoredThread(
            thread_id=thread.id,
            project_id=project.id if project is not None else str(thread.cwd),
            title=mended(thread.first_message) if thread.first_message.strip() else None,
            name=mended(thread.name) if thread.name else None,
            last_activity_at=thread.modified.isoformat(timespec="milliseconds").replace(
                "+00:00", "Z"
            ),
            message_count=thread.message_count,
            busy=self._registry.is_busy(thread.id),
        )

    def frame(self, thread_ids: Iterable[str]) -> wire.RailFrame:
        """The news of some threads: their rows as they now are, and those that have none."""
        rows: list[wire.StoredThread] = []
        gone: list[str] = []
        for thread_id in sorted(thread_ids):
            thread = self._host.stored_thread(thread_id)
            if thread is None:
                gone.append(thread_id)
            else:
                rows.append(self.row(thread))
        return wire.RailFrame(threads=rows, gone=gone)


class RailNews:
    """Gathers which rows changed and tells every follow, on one worker."""

    def __init__(self, *, interval: float = NEWS_INTERVAL) -> None:
        self._interval = interval
        self._changed: set[str] = set()
        self._wake = threading.Condition()
        self._closed = False
        self._worker: threading.Thread | None = None

    def changed(self, thread_ids: frozenset[str]) -> None:
        """Some rows may have changed; never waits."""
        with self._wake:
            self._changed |= thread_ids
            self._wake.notify()

    def start(self, tell: Tell) -> None:
        """Begin to tell."""
        self._worker = threading.Thread(
            target=self._run, args=(tell,), name="enso-rail", daemon=True
        )
        self._worker.start()

    def close(self) -> None:
        """Tell nothing more."""
        with self._wake:
            self._closed = True
            self._wake.notify()

    def _run(self, tell: Tell) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._changed or self._closed)
                # What comes right behind goes into the same frame.
                if self._wake.wait_for(lambda: self._closed, self._interval):
                    return
                changed, self._changed = frozenset(self._changed), set()
            try:
                tell(changed)
            except Exception:
                log.exception("the rail's news could not be told")
