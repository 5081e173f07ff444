"""Everything that is measured, one after the other, beside the real pi in the same run.

    python -m benchmarks [--store DIR] [--sessions 10000] [--plots DIR]

Makes the stores that are not there yet, prints the tables, and draws the rows that both were
measured in as SVG. Plots need ``pip install -e '.[benchmarks]'``. On a quiet machine of two cores
it takes half an hour.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.rows import ROWS, kept_rows

OF_LONG_THREADS = ("storage", "readings", "scrolling")
"""The measurements of the stores of one long thread."""
OTHERS = ("prompts", "follows", "pages", "pane")
"""The measurements that take no store."""


def measure(name: str, *arguments: str, rows: Path) -> None:
    """Run one of the measurements as a process of its own, and let it print."""
    print(f"\n## {name}\n", flush=True)
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    subprocess.run(command, env={**os.environ, ROWS: str(rows)}, check=True)


def main() -> None:
    """Measure, print and draw."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--store", type=Path, help="where the stores are kept")
    options.add_argument("--sessions", type=int, default=10_000, help="how many the rail lists")
    options.add_argument("--plots", type=Path, help="where the plots go")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = Path(name) / "rows"
        store: Path = chosen.store or Path(name)
        sessions = str(chosen.sessions)
        measure("listing", "--store", str(store), "--sessions", sessions, rows=rows)
        measure("finding", str(store / f"many-{sessions}"), rows=rows)
        for other in OF_LONG_THREADS:
            measure(other, "--store", str(store), rows=rows)
        for other in OTHERS:
            measure(other, rows=rows)
        if chosen.plots:
            from benchmarks.plots import draw  # noqa: PLC0415 - matplotlib is optional

            draw(kept_rows(rows), chosen.plots)


if __name__ == "__main__":
    main()
