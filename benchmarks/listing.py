"""What the rail of many stored threads costs, beside the real pi's list in the same run.

    python -m benchmarks.listing [--sessions 10000] [--store DIR] [--agent-dir DIR] [--without-pi]

Every number is the median of five runs, each in a process of its own, all works in turn. Cold: the
files' data was put out of the page cache before (their names and states were not). Memory is the
peak of such a process, then that of it and its helpers together, what they share counted once.
``--agent-dir`` measures over a store that is there; the row of changed files writes to it and takes
that back.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import os
import queue
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.memory import children_of, own_peak, peak
from benchmarks.rows import HEAD, Cost, Row, tell
from benchmarks.storage import PI, Pi, Run, installed_pi, kept_at, made, measured, of_pi
from benchmarks.stores import many_sessions
from enso.host.contract import StoredThread
from enso.host.runtimes.builtin.factory import BuiltinRuntimes
from enso.host.session_host import SessionHost
from enso.projects import Projects
from enso.server.application import EnsoServer
from enso.server.doors import Doors

SHOWN = 50
REQUESTS = 50
LABEL = b'{"type":"label","id":"bench","parentId":null,"targetId":"a","label":"x"}\n'


def projects_of(agent_dir: Path) -> Projects:
    """The directories that the sessions of a store were made in."""
    firsts = [next(one.glob("*.jsonl")) for one in (agent_dir / "sessions").iterdir()]
    headers = [json.loads(first.open("rb").readline()) for first in firsts]
    return Projects([Path(header["cwd"]) for header in headers])


def host_over(agent_dir: Path, cache: Path) -> SessionHost:
    """The host that a server has."""
    return SessionHost(
        agent_dir=agent_dir,
        projects=projects_of(agent_dir),
        runtimes=BuiltinRuntimes(agent_dir, None),
        cache_dir=cache,
    )


def evict(agent_dir: Path) -> None:
    """Put the data of every file out of the page cache."""
    for path in agent_dir.glob("sessions/*/*.jsonl"):
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def first_rows(host: SessionHost) -> None:
    """As many rows as a rail shows, while a server starts."""
    host.on_change(queue.Queue[frozenset[str]]().put)
    while len(host.listed_sessions().threads[:SHOWN]) < SHOWN:
        time.sleep(0.001)


@contextmanager
def grown(host: SessionHost) -> Iterator[set[str]]:
    """One file in a hundred grew; the ids of their threads. Taken back in the end."""
    rows = listed(host)[::100]
    states = {row.path: row.path.stat() for row in rows}
    try:
        for path in states:
            with path.open("ab") as stream:
                stream.write(LABEL)
        yield {row.id for row in rows}
    finally:
        for path, state in states.items():
            os.truncate(path, state.st_size)
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def changed(host: SessionHost) -> float:
    """A list after one file in a hundred grew."""
    with grown(host):
        return took(lambda: shown(host))


def told(host: SessionHost) -> float:
    """The same while the store is watched: until all that changed was told and is listed."""
    news = watched(host)

    def seen() -> None:
        while missing:
            missing.difference_update(news.get())
        shown(host)

    with grown(host) as missing:
        return took(seen)


def again(host: SessionHost) -> float:
    """A list while the store is watched and nothing changed."""
    watched(host)
    return took(host.list_sessions)


def listed(host: SessionHost) -> list[StoredThread]:
    """Every thread, when the first look and its proof are over."""
    host.list_sessions()
    host.wait_until_proven()
    return host.list_sessions()


def watched(host: SessionHost) -> queue.Queue[frozenset[str]]:
    """Who listens to the store, once its watch stands."""
    news: queue.Queue[frozenset[str]] = queue.Queue()
    host.on_change(news.put)
    listed(host)
    while not host.is_told:
        time.sleep(0.01)
    return news


def shown(host: SessionHost) -> None:
    """The whole list as a rail is given it: every thread in its place, and the rows it shows."""
    now = host.listed_sessions()
    assert not now.waiting
    assert len(now.threads[:SHOWN]) == SHOWN


def took(work: Callable[[], object]) -> float:
    """How many seconds it takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def prepared(agent_dir: Path, cache: Path) -> None:
    """A server that ran before, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.listing", "--work", "prepare"]
    where = ["--cache", str(cache), "--agent-dir", str(agent_dir)]
    subprocess.run([*command, *where], check=True)


def seconds_of(work: str, agent_dir: Path, cache: Path) -> float:
    """Do what is timed, with everything before it done."""
    if work == "restart":
        prepared(agent_dir, cache)
    if work.startswith("cold"):
        evict(agent_dir)
    host = host_over(agent_dir, cache)
    gc.collect()
    gc.freeze()  # as a server does once it is loaded
    do: dict[str, Callable[[], float]] = {
        "changed": lambda: changed(host),
        "told": lambda: told(host),
        "again": lambda: again(host),
        "restart": lambda: took(lambda: shown(host)),
        "proven": lambda: took(lambda: listed(host)),
        "cold proven": lambda: took(lambda: listed(host)),
    }
    usual = first_rows if work.endswith("first") else SessionHost.list_sessions
    return do.get(work, lambda: took(lambda: usual(host)))()


def ours(work: str, agent_dir: Path) -> None:
    """Do the work in this process, and print what it cost."""
    with tempfile.TemporaryDirectory() as cache:
        seconds = seconds_of(work, agent_dir, Path(cache))
        print(json.dumps({"seconds": seconds, "mebibytes": own_peak()}), flush=True)
        for helper in children_of(os.getpid()):  # a fill that goes on is not waited for
            os.kill(helper, signal.SIGKILL)
        os._exit(0)


def held(agent_dir: Path) -> None:
    """Print MiB of all processes together: while all is first listed, and while it is proven."""
    with tempfile.TemporaryDirectory() as cache:
        host = host_over(agent_dir, Path(cache))
        with peak() as listing:
            host.list_sessions()
        with peak() as proving:
            host.wait_until_proven()
        host.close()
    print(f"all processes together: {listing.mebibytes:.0f} MiB listing, ", end="")
    print(f"{proving.mebibytes:.0f} MiB proving")


def request(agent_dir: Path) -> tuple[Cost, int]:
    """What a rail costs the server once everything is listed, and how many bytes it sends."""
    with tempfile.TemporaryDirectory() as cache:
        host = host_over(agent_dir, Path(cache))
        doors = Doors.of(host="127.0.0.1", token=None)
        server = EnsoServer(host=host, projects=projects_of(agent_dir), doors=doors)
        listed(host)
        client = server.app.test_client()
        headers = {"HX-Request": "true", "HX-Request-Type": "partial", "Accept-Encoding": "gzip"}
        times: list[float] = []
        size = 0
        for _ in range(REQUESTS):
            begun = time.perf_counter()
            answer = client.get("/rail", headers=headers)
            times.append(time.perf_counter() - begun)
            size = len(answer.data)
            assert answer.status_code == 200
        if answer.headers.get("Content-Encoding") != "gzip":
            size = len(gzip.compress(answer.data))
        server.close()
    return Cost(statistics.median(times)), size


ROWS = [
    ("first", "the first 50 rows, first time ever", "100×"),
    ("whole", "the whole list, first time ever", "12×, 100 MiB"),
    ("proven", "the same, and every row proven", ""),
    ("cold first", "the first 50 rows, cold files", "50×"),
    ("cold whole", "the whole list, cold files", "6×"),
    ("cold proven", "the whole list, cold files, and every row proven", ""),
    ("restart", "the whole list after a restart, 50 of its rows made", "0.1 s"),
    ("again", "the whole list again, nothing changed", "300×"),
    ("changed", "the whole list again, 1 % changed, without a watch", "300×"),
    ("told", "the same while it is watched: told and listed", "300×"),
]


def compare(agent_dir: Path, pi: Pi | None) -> None:
    """Measure every row and tell it."""
    command = [sys.executable, "-m", "benchmarks.listing", "--agent-dir", str(agent_dir), "--work"]
    runs = {work: Run([*command, work]) for work, _, _ in ROWS} | of_pi("list", agent_dir, pi)
    costs = measured(runs)
    print(HEAD)
    for work, name, wanted in ROWS:
        tell(Row(work=name, enso=costs[work], pi=costs.get(PI), wanted=wanted))
    subprocess.run([*command, "held"], check=True)
    cost, size = request(agent_dir)
    name = f"a rail of 50 rows, in the server; {size / 1000:.1f} kB sent"
    tell(Row(work=name, enso=cost, wanted="5 ms, 20 kB"))


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sessions", type=int, default=10_000, help="how many the rail lists")
    options.add_argument("--store", type=Path, help="where the store is kept")
    options.add_argument("--agent-dir", type=Path, help="a store that is there")
    options.add_argument("--without-pi", action="store_true", help="measure Enso alone")
    options.add_argument("--work", help=argparse.SUPPRESS)
    options.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.work == "prepare":
        before = host_over(chosen.agent_dir, chosen.cache)
        listed(before)
        before.close()
        return
    if chosen.work == "held":
        held(chosen.agent_dir)
        return
    if chosen.work:
        ours(chosen.work, chosen.agent_dir)
        return
    pi = None if chosen.without_pi else installed_pi()
    if chosen.agent_dir:
        compare(chosen.agent_dir, pi)
        return
    with kept_at(chosen.store) as store:
        many = store / f"many-{chosen.sessions}"
        compare(made(many, lambda at: many_sessions(at, chosen.sessions)), pi)


if __name__ == "__main__":
    main()
