"""What it costs to be watched: many follows of one thread, and of many threads.

    python -m benchmarks.follows [--eyes 50] [--seconds 20] [--follows 500] [--threads 200]

A real server process, a model endpoint on loopback that lets its tokens go at a given rate and
takes down when, and follows that speak HTML and JSON in turns. Late is a token from the endpoint's
write to the client's read; both are in this process, so both ends share one clock. The processor
time is that of the server's processes alone, user and system.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.eyes import Eye, Eyes, Paced, wait_until
from benchmarks.prompts import (
    MILLISECONDS,
    following,
    new_id,
    post,
    processor,
    running,
    settled,
    wait_for,
)
from tests.model_server import ModelServer, Reply
from tests.server_process import ServerProcess

TENTHS = 10


def stored_text(server: ServerProcess, thread_id: str) -> str:
    """The last message of a thread as it is stored."""
    with urllib.request.urlopen(f"{server.url}/api/threads/{thread_id}/history") as answer:
        history = json.load(answer)
    return "".join(part["content"] for part in history["messages"][-1]["parts"])


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of them are."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def whole(eye: Eye, count: int, stored: str) -> bool:
    """Whether this eye saw every token, and, in JSON, joined exactly what is stored."""
    every = len(eye.seen) == count
    return every and (eye.html or eye.text == stored)


class ByTenths:
    """Processor time at each tenth of a reply."""

    def __init__(self, server: ServerProcess, paced: Paced) -> None:
        self._server = server
        self._paced = paced
        self.marks: list[tuple[float, float]] = []

    def watch(self) -> None:
        """Take the times down until the reply has ended."""
        for tenth in range(TENTHS + 1):
            wait_until(lambda at=tenth: len(self._paced.sent) * TENTHS >= len(self._paced) * at)
            self.marks.append((time.perf_counter(), processor(self._server)))

    def shares(self) -> list[float]:
        """The share of one core in each tenth, in percent."""
        pairs = zip(self.marks, self.marks[1:], strict=False)
        return [100 * (b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs]


def one_thread(server: ServerProcess, model: ModelServer, paced: Paced, count: int) -> None:
    """Stream one reply to ``count`` follows of its thread, and print what it cost."""
    thread_id, eyes = new_id(), Eyes()
    for number in range(count):
        eyes.add(Eye(server.url, thread_id, html=number % 2 == 0))
    eyes.wait_for_snapshots()
    model.script([Reply(text=paced)])
    post(server, thread_id)
    wait_until(lambda: len(paced.sent) > 0)
    tenths = ByTenths(server, paced)
    tenths.watch()
    wait_until(lambda: all(len(eye.seen) == len(paced) for eye in eyes.all))
    wait_until(lambda: all(eye.settled for eye in eyes.all if not eye.html))
    stored = stored_text(server, thread_id)
    late = [
        (eye.seen[number] - sent) * MILLISECONDS
        for eye in eyes.all
        for number, sent in enumerate(paced.sent)
    ]
    shares = tenths.shares()
    good = sum(whole(eye, len(paced), stored) for eye in eyes.all)
    print(
        f"{count} eyes, {len(stored) / 1000:.0f} kB in {len(paced)} tokens: "
        f"processor {statistics.mean(shares):.0f} % of a core "
        f"(first tenth {shares[0]:.0f} %, last {shares[-1]:.0f} %); "
        f"late {statistics.median(late):.0f} ms, 95 % {percentile(late, 0.95):.0f} ms, "
        f"99 % {percentile(late, 0.99):.0f} ms; whole for {good} of {count}; "
        f"{statistics.mean(eye.frames for eye in eyes.all):.0f} frames, "
        f"{statistics.mean(eye.bytes for eye in eyes.all) / 1000:.0f} kB an eye"
    )
    eyes.close()


def plain_requests(server: ServerProcess, ids: Sequence[str], stop: threading.Event) -> list[float]:
    """Ask for rail, pages and histories in turns until told to stop; milliseconds of each."""
    took: list[float] = []
    paths = [
        f"/threads/{ids[0]}",
        "/rail",
        f"/api/threads/{ids[-1]}/history",
        f"/threads/{ids[-1]}",
    ]
    number = 0
    while not stop.wait(0.05):
        begun = time.perf_counter()
        with urllib.request.urlopen(f"{server.url}{paths[number % len(paths)]}") as answer:
            answer.read()
        took.append((time.perf_counter() - begun) * MILLISECONDS)
        number += 1
    return took


def prompt_and_settle(server: ServerProcess, thread_id: str) -> None:
    """Run one prompt to its end."""
    with following(server, thread_id) as client:
        post(server, thread_id)
        wait_for(client, ended)


def ended(frame: dict[str, Any]) -> bool:
    """Whether this frame says that a run is over, and not that none began yet."""
    return settled(frame) and frame["generation"] > 0


def many_threads(server: ServerProcess, model: ModelServer, options: Any) -> None:
    """Follow many threads while some of them run, and print what came and what requests took."""
    ids = [new_id() for _ in range(options.threads)]
    for thread_id in ids:
        prompt_and_settle(server, thread_id)
    eyes = Eyes()
    for number in range(options.follows):
        thread_id = ids[number % len(ids)]
        eyes.add(Eye(server.url, thread_id, html=(number // len(ids)) % 2 == 0))
    eyes.wait_for_snapshots()
    tokens = int(options.rate * options.seconds)
    paced = [Paced(tokens, rate=options.rate) for _ in range(options.running)]
    model.script([Reply(text=one) for one in paced])
    run = ids[: options.running]
    stop = threading.Event()
    with ThreadPoolExecutor() as pool:
        asking = pool.submit(plain_requests, server, ids, stop)
        begun, used = time.perf_counter(), processor(server)
        list(pool.map(lambda thread_id: post(server, thread_id), run))
        watchers = [eye for eye in eyes.all if eye.thread_id in run]
        wait_until(lambda: all(len(eye.seen) == tokens for eye in watchers))
        wait_until(lambda: all(eye.settled for eye in watchers if not eye.html))
        share = 100 * (processor(server) - used) / (time.perf_counter() - begun)
        stop.set()
        took = asking.result()
    stored = {thread_id: stored_text(server, thread_id) for thread_id in run}
    good = sum(whole(eye, tokens, stored[eye.thread_id]) for eye in watchers)
    print(
        f"{options.follows} follows of {len(ids)} threads, {len(run)} running at "
        f"{options.rate:.0f} tokens/s: whole for {good} of {len(watchers)} watchers, "
        f"{sum(eye.lost for eye in eyes.all)} connections lost; plain requests "
        f"{statistics.median(took):.1f} ms, 95 % {percentile(took, 0.95):.1f} ms "
        f"of {len(took)}; processor {share:.0f} % of a core"
    )
    eyes.close()


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--eyes", type=int, default=50, help="follows of one thread")
    options.add_argument("--rate", type=float, default=100, help="tokens a second")
    options.add_argument("--seconds", type=float, default=20, help="how long a reply streams")
    options.add_argument("--follows", type=int, default=500, help="follows of many threads")
    options.add_argument("--threads", type=int, default=200, help="threads that they follow")
    options.add_argument("--running", type=int, default=20, help="how many of them run")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as (server, model):
        prompt_and_settle(server, new_id())
        tokens = int(chosen.rate * chosen.seconds)
        one_thread(server, model, Paced(tokens, rate=chosen.rate), chosen.eyes)
        one_thread(server, model, Paced(tokens, rate=chosen.rate, size=100), chosen.eyes)
        chosen.rate = 25
        many_threads(server, model, chosen)


if __name__ == "__main__":
    main()
