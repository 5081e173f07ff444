"""A server as ``app.py`` makes it, with limits that a test can reach.

``python -m tests.e2e.limited_server '{"follows": 3}' --port 0 …``: the fields of ``Limits`` as
JSON, then the options of ``app.py``.
"""

from __future__ import annotations

import json
import sys

from enso.cli import main
from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.session_host import SessionHost
from enso.projects import Projects
from enso.server.application import EnsoServer, Limits
from enso.server.doors import Doors
from enso.settings import Settings


def build(settings: Settings, doors: Doors) -> EnsoServer:
    """The parts that ``enso.composition`` puts together, under the limits of the command line."""
    projects = Projects(settings.projects)
    runtimes = BuiltinRuntimes(settings.agent_dir, settings.model)
    host = SessionHost(agent_dir=settings.agent_dir, projects=projects, runtimes=runtimes)
    limits = Limits(**json.loads(sys.argv[1]))
    return EnsoServer(host=host, projects=projects, doors=doors, limits=limits)


if __name__ == "__main__":
    sys.exit(main(build, sys.argv[2:]))
