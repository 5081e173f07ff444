"""A server as ``app.py`` makes it, whose first look at the stored threads stops at a gate.

``python -m tests.e2e.filling_server GATE --port 0 …``: files that were last written before the year
2001 are looked at once somebody writes to the named pipe ``GATE``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from enso.cli import main
from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.session_host import SessionHost
from enso.host.session_look import RowFile, look_at
from enso.projects import Projects
from enso.server.application import EnsoServer
from enso.server.doors import Doors
from enso.settings import Settings

OLD = 978_307_200
"""The beginning of the year 2001, in seconds."""


class Gate:
    """A named pipe: whoever reads it waits for its writer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_open = False

    def look(self, path: str, earlier: RowFile | None) -> RowFile | None:
        """Look at a file when it may be."""
        if not self._is_open and Path(path).stat().st_mtime < OLD:
            self._path.read_bytes()
            self._is_open = True
        return look_at(path, earlier)


def build(settings: Settings, doors: Doors) -> EnsoServer:
    """The parts that ``enso.composition`` puts together, with the gate of the command line."""
    projects = Projects(settings.projects)
    host = SessionHost(
        agent_dir=settings.agent_dir,
        projects=projects,
        runtimes=BuiltinRuntimes(settings.agent_dir, settings.model),
        look=Gate(Path(sys.argv[1])).look,
    )
    return EnsoServer(host=host, projects=projects, doors=doors)


if __name__ == "__main__":
    sys.exit(main(build, sys.argv[2:]))
