"""The rail: the host's listing with this server's marks.

Rows are the listing, newest first; busy is a run in flight on this server.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from enso import wire
from enso.host import contract
from enso.projects import Projects
from enso.server.registry import ThreadRegistry
from enso.server.shapes import mended


class _Texts:
    """What each thread is found by, kept as long as its row is the same."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[contract.StoredThread, str]] = {}

    def of(self, thread: contract.StoredThread) -> str:
        """The thread's title and its name, without their case."""
        kept = self._kept.get(thread.id)
        if kept is not None and kept[0] is thread:
            return kept[1]
        text = f"{thread.name or ''}\n{thread.first_message}".casefold()
        self._kept[thread.id] = thread, text
        return text

    def forget_others(self, threads: Sequence[contract.StoredThread]) -> None:
        """Forget threads that are no more, when there are many."""
        if len(self._kept) > 2 * len(threads) + 100:
            self._kept = {}


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
        self._texts = _Texts()

    @property
    def version(self) -> str:
        """Changes with every telling of news, and with every start of the server.

        A rail that was drawn under a version has missed nothing for as long as it is the same.
        """
        return f"{self._began}-{self._tellings}"

    def count_telling(self) -> None:
        """News are about to be told; called by the one worker that tells them."""
        self._tellings += 1

    def threads(self, query: str = "") -> Sequence[contract.StoredThread]:
        """All stored threads, newest first; of those that a query's words fit, when it has any."""
        return self._fitting(self._host.list_sessions(), query)

    def listed(self, query: str = "") -> contract.Listed:
        """The same as far as they are known by now."""
        listed = self._host.listed_sessions()
        return replace(listed, threads=self._fitting(listed.threads, query))

    def _fitting(
        self, threads: Sequence[contract.StoredThread], query: str
    ) -> Sequence[contract.StoredThread]:
        """Those in whose title, name or project's name every word stands."""
        words = query.casefold().split()
        if not words:
            return threads
        self._texts.forget_others(threads)
        names = {
            one.cwd: self.project_name(one).casefold()
            for one in {t.cwd: t for t in threads}.values()
        }
        return [one for one in threads if self._fits(one, words, names[one.cwd])]

    def _fits(self, thread: contract.StoredThread, words: Sequence[str], project_name: str) -> bool:
        text = self._texts.of(thread)
        return all(word in text or word in project_name for word in words)

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
