"""What it costs to find threads by what was said in them.

    python -m benchmarks.finding <agent directory>

Over a copy's session files, with an index of its own that is thrown away: the first question before
anything is indexed, the fill from nothing without rests, the questions after it, and the first
question of a new start over the same index.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from benchmarks.memory import own_peak
from enso.host.contract import StoredThread
from enso.host.search import Finder
from enso.host.session_listing import SessionListing
from enso.projects import Projects

QUERIES = ("zebra", '"rate limit"', "orders queue", "total", "the a")
MILLISECONDS = 1000


def listed(agent_dir: Path) -> list[StoredThread]:
    """Every thread of the store, whatever directory it is of."""
    first_lines = (path.open() for path in agent_dir.glob("sessions/*/*.jsonl"))
    directories: set[Path] = set()
    for file in first_lines:
        with file:
            directories.add(Path(json.loads(file.readline())["cwd"]))
    return SessionListing(agent_dir / "sessions", Projects(sorted(directories))).rows()


def ask(finder: Finder, query: str) -> str:
    """One question's row: how long it took, and what came of it."""
    begun = time.perf_counter()
    found = finder.find(query, 20)
    took = (time.perf_counter() - begun) * MILLISECONDS
    return (
        f"{query:16} {took:8.0f} ms, {len(found.passages):3} passages, {found.searched:6} searched"
    )


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("agent_dir", type=Path)
    begun = time.perf_counter()
    rows = listed(options.parse_args().agent_dir)
    print(f"{len(rows)} threads listed in {time.perf_counter() - begun:.1f} s")
    with tempfile.TemporaryDirectory() as cache:
        path = Path(cache) / "search.sqlite"
        finder = Finder(path, lambda: rows)
        print("before anything is indexed:", ask(finder, "orders"))
        begun, work = time.perf_counter(), time.process_time()
        finder.fill()
        spent = f"{time.perf_counter() - begun:.0f} s, {time.process_time() - work:.0f} s of CPU"
        print(f"filled from nothing: {spent}, {path.stat().st_size / 2**20:.0f} MiB")
        for query in QUERIES:
            print(ask(finder, query))
        finder.close()
        again = Finder(path, lambda: rows)
        print("after a restart:", ask(again, "orders"))
        again.close()
    print(f"peak memory {own_peak():.0f} MiB")


if __name__ == "__main__":
    main()
