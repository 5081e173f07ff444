"""A session file that may not be read is still a thread: nothing is begun under its id."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.e2e.places import Place
from tests.rights import bound

OPENING = """
import sys
from pathlib import Path
from enso.host.contract import HostError
from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.session_host import SessionHost
from enso.projects import Projects

agent_dir, project = map(Path, sys.argv[1:])
host = SessionHost(
    agent_dir=agent_dir, projects=Projects([project]), runtimes=BuiltinRuntimes(agent_dir, None)
)
for thread_id in ("closed", "other"):
    try:
        host.create_session(thread_id, lambda: project)
        print("opened")
    except HostError as error:
        print(error.code, error)
host.close()
"""


def opened(place: Place) -> list[str]:
    """What comes of a prompt to the thread, and of one to a new one, where permissions bind."""
    command = [sys.executable, "-c", OPENING, str(place.agent_dir), str(place.project)]
    done = subprocess.run(bound(command), capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


def test_no_second_thread_begins_under_the_id_of_a_closed_file(tmp_path: Path) -> None:
    """The refusal names the file; once it may be read, the thread goes on."""
    place = Place.make(tmp_path)
    place.thread("closed", "Fix the tax", "Done.")
    [path] = place.agent_dir.glob("sessions/*/*_closed.jsonl")
    path.chmod(0)
    refused, other = opened(place)
    assert refused.startswith("session-unreadable A thread is stored under this id, but ")
    assert f"{path} cannot be read." in refused
    assert other == "opened"
    path.chmod(0o600)
    assert opened(place) == ["opened", "opened"]
