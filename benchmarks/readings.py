"""What reading the whole of a thread of 100 MB costs, beside the real pi opening it.

    python -m benchmarks.readings [--store DIR] [--without-pi]

Every number is the median of five runs in turn, each in a process of its own that has listed the
thread and read nothing else of it; memory is the peak of that process, and where one helps it, of
both together, looked at in other runs. The file is warm. pi's work is ``SessionManager.open``,
``getBranch`` and ``buildSessionContext``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from benchmarks.memory import Peak, own_peak, peak
from benchmarks.rows import HEAD, Row, tell
from benchmarks.storage import PI, Pi, Run, installed_pi, kept_at, made, measured, of_pi
from benchmarks.stores import PROJECTS, long_session
from enso.host.runtimes.builtin.factory import BuiltinRuntimes
from enso.host.session_host import SessionHost
from enso.projects import Projects
from enso.server.application import EnsoServer
from enso.server.doors import Doors

WORKS = {
    "stats": "what a thread of 100 MiB used (stats)",
    "again": "what it used, asked again",
    "context": "the context of its every request",
    "context-again": "its context, asked again",
    "request": "one request in full, once its context was measured",
    "tree": "the tree of its branches",
    "tree-again": "its tree, asked again",
    "entries": "a page of its entries",
    "thread": "its whole transcript (JSON history)",
    "first": "it as Markdown, to the first piece",
    "document": "it as Markdown, all of it",
    "bundle": "what a bug report of it would hold",
}
BEFORE = {"again": "stats", "context-again": "context", "request": "context", "tree-again": "tree"}
"""What was asked before."""

HELPED = {"stats"}
"""What another process helps with: their memory is that of both together."""

OURS_ALONE = {"first", "document", "bundle"}
"""What has no like in pi."""


def ours(work: str, agent_dir: Path, looked_at: bool) -> None:
    """Do the work in this process, and print what it cost.

    ``looked_at``: its memory is looked at meanwhile, with that of its helpers.
    """
    projects = Projects(PROJECTS)
    with tempfile.TemporaryDirectory() as cache:
        host = SessionHost(
            agent_dir=agent_dir,
            projects=projects,
            runtimes=BuiltinRuntimes(agent_dir, None),
            cache_dir=Path(cache),
        )
        thread_id = host.list_sessions()[0].id
        host.wait_until_proven()
        before = BEFORE.get(work)
        if before is not None:
            asked = _reading(host, thread_id, before)
            if asked is not None:
                asked()
        run = _reading(host, thread_id, work) or _request(host, projects, thread_id, work)
        with peak() if looked_at else nullcontext(Peak()) as held:
            begun = time.perf_counter()
            run()
            seconds = time.perf_counter() - begun
    mebibytes = held.mebibytes if looked_at else own_peak()
    print(json.dumps({"seconds": seconds, "mebibytes": mebibytes}))


def _reading(host: SessionHost, thread_id: str, work: str) -> Callable[[], object] | None:
    """A reading of the host alone."""
    readings: dict[str, Callable[[], object]] = {
        "stats": lambda: host.read_stored_thread_stats(thread_id),
        "again": lambda: host.read_stored_thread_stats(thread_id),
        "context": lambda: host.read_stored_thread_context(thread_id),
        "context-again": lambda: host.read_stored_thread_context(thread_id),
        "request": lambda: host.read_stored_request_detail(thread_id, 1000),
        "tree": lambda: host.read_stored_thread_tree(thread_id),
        "tree-again": lambda: host.read_stored_thread_tree(thread_id),
        "entries": lambda: host.read_stored_entries(thread_id, size=100),
        "thread": lambda: host.read_stored_thread(thread_id),
    }
    return readings.get(work)


def _request(
    host: SessionHost, projects: Projects, thread_id: str, work: str
) -> Callable[[], object]:
    """A request to a server."""
    server = EnsoServer(host=host, projects=projects, doors=Doors.of(host="127.0.0.1", token=None))
    path = "bundle" if work == "bundle" else "export?format=md"
    client = server.app.test_client()

    def run() -> None:
        answer = client.get(f"/threads/{thread_id}/{path}")
        pieces: Iterable[bytes] = answer.response
        deque((next(iter(pieces)),) if work == "first" else pieces, maxlen=0)

    return run


def of_enso(work: str, agent_dir: Path) -> Run:
    """What it costs Enso."""
    return Run(
        [sys.executable, "-m", "benchmarks.readings", "--work", work, "--store", str(agent_dir)]
    )


def compare(store: Path, pi: Pi | None) -> None:
    """Measure every row and print the table."""
    long = made(store / "long", lambda at: long_session(at, 100))
    runs = {work: of_enso(work, long) for work in WORKS} | of_pi("open", long, pi)
    costs = measured(runs)
    looked = {work: Run([*runs[work].command, "--looked-at"]) for work in HELPED}
    for work, cost in measured(looked).items():
        costs[work] = replace(costs[work], mebibytes=cost.mebibytes)
    print(HEAD)
    for work, name in WORKS.items():
        beside = None if work in OURS_ALONE else costs.get(PI)
        tell(Row(work=name, enso=costs[work], pi=beside))


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--store", type=Path, help="where the store is kept")
    options.add_argument("--without-pi", action="store_true", help="measure Enso alone")
    options.add_argument("--work", choices=WORKS, help=argparse.SUPPRESS)
    options.add_argument("--looked-at", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.work:
        ours(chosen.work, chosen.store, chosen.looked_at)
        return
    with kept_at(chosen.store) as store:
        compare(store, None if chosen.without_pi else installed_pi())


if __name__ == "__main__":
    main()
