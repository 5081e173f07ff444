"""What opening stored threads costs, beside the real pi in the same run.

    python -m benchmarks.storage [--store DIR] [--without-pi]

Makes its stores where they are not there yet. Every number is the median of five runs, each in a
process of its own: nothing is known from an earlier one. Memory is the peak of such a process. The
files are warm. pi 1.6.0, installed as the tests install it, is asked through its own
``SessionManager``, by Node.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memory import own_peak
from benchmarks.rows import HEAD, Cost, Row, tell
from benchmarks.stores import PROJECTS, long_session, session_of_images
from enso.host.runtimes.builtin.factory import BuiltinRuntimes
from enso.host.session_host import SessionHost
from enso.projects import Projects
from tests.interop.real_pi import node, real_pi

RUNS = 5
PAGE = 60
PI = "pi"
"""What runs of pi are measured under."""
_PI = """
const [work, path, pi] = process.argv.slice(1);
const { SessionManager } = await import(pi);
const begun = performance.now();
if (work === "list") await SessionManager.listAll();
else {
  const session = SessionManager.open(path);
  session.getBranch();
  session.buildSessionContext();
}
const seconds = (performance.now() - begun) / 1000;
console.log(JSON.stringify({ seconds, mebibytes: process.resourceUsage().maxRSS / 1024 }));
process.exit(0);
"""


@dataclass(frozen=True, slots=True)
class Pi:
    """The Node that runs pi, and pi's module."""

    node: str
    module: str


def installed_pi() -> Pi:
    """The pi to measure beside. Raises ``NoPi`` when it cannot be installed."""
    return Pi(node(), str(real_pi("1.6.0").package / "dist" / "index.js"))


def ours(agent_dir: Path) -> None:
    """Read the last page in this process, and print what it cost.

    As in a server that has just started, of a thread that is not listed yet.
    """
    with tempfile.TemporaryDirectory() as cache:
        host = SessionHost(
            agent_dir=agent_dir,
            projects=Projects(PROJECTS),
            runtimes=BuiltinRuntimes(agent_dir, None),
            cache_dir=Path(cache),
        )
        (path,) = agent_dir.glob("sessions/*/*.jsonl")
        thread_id = path.stem.rpartition("_")[2]
        host.on_change(queue.Queue[frozenset[str]]().put)
        begun = time.perf_counter()
        host.read_stored_page(thread_id, size=PAGE, light=True)
        seconds = time.perf_counter() - begun
        print(json.dumps({"seconds": seconds, "mebibytes": own_peak()}))
        host.close()


@dataclass(frozen=True, slots=True)
class Run:
    """A command that does one kind of work and prints what it cost, and its environment."""

    command: list[str]
    environment: dict[str, str] | None = None

    def cost(self) -> Cost:
        """What it cost this time. Raises ``CalledProcessError``."""
        done = subprocess.run(
            self.command, env=self.environment, capture_output=True, text=True, check=True
        )
        return Cost(**json.loads(done.stdout.splitlines()[-1]))


def measured(runs: Mapping[str, Run]) -> dict[str, Cost]:
    """The medians of five rounds, in each of which every work is done once.

    In turn, as the speed of a machine is another one some minutes later.
    """
    costs = [{name: run.cost() for name, run in runs.items()} for _ in range(RUNS)]
    return {name: _median([one[name] for one in costs]) for name in runs}


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.mebibytes or 0 for cost in costs),
    )


def of_enso(agent_dir: Path) -> Run:
    """What the last page of a store's one thread costs Enso."""
    return Run([sys.executable, "-m", "benchmarks.storage", "--page-of", str(agent_dir)])


def of_pi(work: str, agent_dir: Path, pi: Pi | None) -> dict[str, Run]:
    """What it costs pi; nothing without one."""
    if pi is None:
        return {}
    path = next((agent_dir / "sessions").glob("*/*.jsonl"))
    command = [pi.node, "--input-type=module", "-e", _PI, work, str(path), pi.module]
    return {PI: Run(command, {**os.environ, "PI_CODING_AGENT_DIR": str(agent_dir)})}


@contextmanager
def kept_at(store: Path | None) -> Iterator[Path]:
    """Where stores are kept: the directory that is named, else one that goes again."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def made(directory: Path, make: Callable[[Path], None]) -> Path:
    """The store, made when it is not there."""
    if not (directory / "sessions").is_dir():
        make(directory)
    return directory


def compare(store: Path, pi: Pi | None) -> None:
    """Measure every row and print the table."""
    long = made(store / "long", lambda at: long_session(at, 100))
    images = made(store / "images", lambda at: session_of_images(at, 30))
    print(HEAD)
    for name, agent_dir in (
        ("last page of a thread of 100 MiB, the first time", long),
        ("last page of a thread of 30 MiB of images", images),
    ):
        costs = measured({name: of_enso(agent_dir)} | of_pi("open", agent_dir, pi))
        tell(Row(work=name, enso=costs[name], pi=costs.get(PI)))


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--store", type=Path, help="where the stores are kept")
    options.add_argument("--without-pi", action="store_true", help="measure Enso alone")
    options.add_argument("--page-of", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.page_of:
        ours(chosen.page_of)
        return
    with kept_at(chosen.store) as store:
        compare(store, None if chosen.without_pi else installed_pi())


if __name__ == "__main__":
    main()
