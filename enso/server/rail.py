"""The rail: the host's listing with this server's marks.

Rows are the listing, newest first; busy is a run in flight on this server.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from enso import wire
from enso.host import contract
from enso.projects import Projects
from enso.server.messages import mended
from enso.server.registry import ThreadRegistry


def matches(thread: contract.StoredThread, words: Sequence[str], project_name: str) -> bool:
    """Whether every word stands in the thread's title, its name or its project's name."""
    text = f"{thread.name or ''}\n{thread.first_message}\n{project_name}".casefold()
    return all(word in text for word in words)


class Rail:
    """The listing as rows. Usable from any worker."""

    def __init__(
        self, *, host: contract.AgentHost, registry: ThreadRegistry, projects: Projects
    ) -> None:
        self._host = host
        self._registry = registry
        self._projects = projects
        self._began = f"{time.time_ns():x}"
        self._tellings = 0

    @property
    def version(self) -> str:
        """Changes with every telling of news, and with every start of the server.

        A rail that was drawn under a version has missed nothing for as long as it is the same.
        """
        return f"{self._began}-{self._tellings}"

    def count_telling(self) -> None:
        """News are about to be told; called by the one worker that tells them."""
        self._tellings += 1

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
        """The news of some threads: their rows as they now are, and those that are gone."""
        rows: list[wire.StoredThread] = []
        gone: list[str] = []
        for thread_id in sorted(thread_ids):
            thread = self._host.stored_thread(thread_id)
            if thread is not None:
                rows.append(self.row(thread))
            elif not self._registry.is_live(thread_id):
                # A live thread without a log has not gone: its answer has not begun.
                gone.append(thread_id)
        return wire.RailFrame(threads=rows, gone=gone)
