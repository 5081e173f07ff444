"""The readings of a store without a server: what the command line shows, in the server's shapes.

The same reader, listing and writers as behind the routes; nothing is live here, nothing is built,
watched or written.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from enso import wire
from enso.host.contract import AgentHost, Check
from enso.projects import Projects
from enso.server.exports import Download, export_thread, export_view, read_document
from enso.server.live_state import Change
from enso.server.markdown_document import markdown_document
from enso.server.rail import Rail
from enso.server.reading import Reader
from enso.server.registry import ThreadRegistry
from enso.server.render import Renderer
from enso.server.slots import Slot

__all__ = ["Check", "Readings"]


def _nobody_follows(_slot: Slot, _changes: Sequence[Change]) -> None:
    """Nothing changes, and nobody is told."""


def _nobody_lists(_thread_ids: frozenset[str]) -> None:
    """No rail is open."""


class Readings:
    """Reads one store. Raises ``Refused`` for a thread that is not there, or not served."""

    def __init__(self, *, host: AgentHost, projects: Projects) -> None:
        self._host = host
        self._projects = projects
        self._registry = ThreadRegistry(
            host=host, idle_seconds=60, publish=_nobody_follows, rail_changed=_nobody_lists
        )
        self._reader = Reader(host=host, registry=self._registry, projects=projects)
        self._rail = Rail(host=host, registry=self._registry, projects=projects)

    def threads(self, query: str = "") -> wire.StoredThreads:
        """The stored threads that a query's words fit, newest first."""
        rows = [self._rail.row(thread) for thread in self._rail.threads(query)]
        return wire.StoredThreads(threads=rows)

    def project_name(self, project_id: str) -> str:
        """The display name of a project; its id where it is none of this store's."""
        project = self._projects.by_id(project_id)
        return project.name if project is not None else project_id

    def projects(self) -> list[tuple[str, str, bool, int]]:
        """Each project: its name, its directory, whether that is there, how many threads it has."""
        counts: dict[str, int] = {}
        for row in self.threads().threads:
            counts[row.project_id] = counts.get(row.project_id, 0) + 1
        return [
            (one.name, str(one.directory), one.directory.is_dir(), counts.get(one.id, 0))
            for one in self._projects.all
        ]

    def history(self, thread_id: str) -> wire.History:
        """A thread's messages."""
        return self._reader.require(thread_id).history()

    def document(self, thread_id: str) -> str:
        """A thread as Markdown, for reading."""
        with closing(read_document(self._reader, self._host, thread_id)) as document:
            return "".join(markdown_document(export_view(document)))

    def export(self, thread_id: str, format_name: str) -> Download:
        """A thread as a file."""
        return export_thread(self._reader, self._host, Renderer(), thread_id, format_name)

    def checks(self) -> tuple[Check, ...]:
        """What the host finds configured, and what would not work."""
        return self._host.report().checks

    def close(self) -> None:
        """Let go of the store."""
        self._registry.close()
        self._host.close()
