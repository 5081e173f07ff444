"""What Enso adds to a prompt, and what a held thread weighs.

    python -m benchmarks.prompts [--prompts 30] [--held 200] [--long 200]

A real server process and a model endpoint on loopback, and one client that follows the thread as
the pane does. The endpoint holds each answer until it is let go, so that the provider's own time
is left out: what is measured is POST to request at the provider, and the provider's first byte to
the frame that brings the first word. Where a time is wanted, it is also told in starts of the real
pi, which is started for a prompt (``benchmarks/pi_start.py``).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simple_websocket import Client

from benchmarks.pi_start import in_starts, pi_start
from tests.model_server import Gate, ModelServer, Reply, configure, serve
from tests.server_process import ServerProcess

MILLISECONDS = 1000
TYPING_SECONDS = 4
CODER = {"api": "openai-completions", "provider": "labserver", "model": "lab-coder"}
STORED_ENTRIES = 200
"""Messages of a stored thread that is prompted: 100 kB."""
SENTENCES = 8
"""Sentences of one message of it."""
LONG_SENTENCES = 110
"""The same of a thread of 1 MB."""
WINDOW = 1_000_000
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Prompted:
    """One prompt's way, in milliseconds: to the provider, and from its first byte to the client."""

    to_provider: float
    to_client: float

    @property
    def added(self) -> float:
        """What Enso adds to the provider's own time."""
        return self.to_provider + self.to_client


@dataclass(frozen=True, slots=True)
class Told:
    """What a row stands beside, in seconds: a start of pi, and what is wanted."""

    pi: float
    wanted: float


def stored_thread(directory: Path, sentences: int = SENTENCES) -> str:
    """Store a thread of ``STORED_ENTRIES`` messages, as another program would; its id."""
    thread_id, project = new_id(), directory / "project"
    at = "2026-01-01T00:00:00.000Z"
    lines: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": thread_id, "cwd": str(project), "timestamp": at}
    ]
    for number in range(STORED_ENTRIES):
        text = f"Message {number} says what was done and why. " * sentences
        message = {"role": ("user", "assistant")[number % 2], "timestamp": 0, **CODER}
        lines.append(
            {
                "type": "message",
                "id": f"{number:08x}",
                "parentId": f"{number - 1:08x}" if number else None,
                "timestamp": at,
                "message": {**message, "content": [{"type": "text", "text": text}]},
            }
        )
    name = f"--{str(project).strip('/').replace('/', '-')}--"
    sessions = directory / "agent" / "sessions" / name
    sessions.mkdir(parents=True, exist_ok=True)
    file = sessions / f"2026-01-01T00-00-00-000Z_{thread_id}.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return thread_id


@contextmanager
def running(directory: Path) -> Iterator[tuple[ServerProcess, ModelServer]]:
    """A server with an empty store, whose only providers are an endpoint of this process."""
    project = directory / "project"
    project.mkdir()
    model = serve()
    configure(directory / "agent", model.url)
    widen(directory / "agent" / "models.json")
    chosen = {"ENSO_MODEL": "labserver/lab-coder"}
    try:
        with ServerProcess(
            agent_dir=directory / "agent", projects=[project], environment=chosen
        ) as server:
            yield server, model
    finally:
        model.close()


def widen(models: Path) -> None:
    """Give every model a window that a long thread fits into: summing up is no part of this."""
    stored = json.loads(models.read_text())
    for provider in stored["providers"].values():
        for one in provider["models"]:
            one["contextWindow"] = WINDOW
    models.write_text(json.dumps(stored))


def post(server: ServerProcess, thread_id: str) -> None:
    """Send a prompt; raises on any refusal."""
    url = f"{server.url}/api/threads/{thread_id}/prompt"
    body = json.dumps({"message": "How long does this take?"}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, data=body, headers=headers)
    with urllib.request.urlopen(request) as answer:
        answer.read()


@contextmanager
def following(server: ServerProcess, thread_id: str) -> Iterator[Client]:
    """A follow of the thread, its snapshot taken."""
    at = server.url.replace("http", "ws", 1)
    client = Client.connect(f"{at}/api/threads/{thread_id}/follow")
    try:
        wait_for(client, lambda frame: frame["type"] == "snapshot")
        yield client
    finally:
        client.close()


def wait_for(client: Client, holds: Callable[[dict[str, object]], bool]) -> None:
    """Read frames until one is as wanted."""
    while True:
        data = client.receive(timeout=60)
        if data is None:
            raise TimeoutError
        if holds(json.loads(data)):
            return


def settled(frame: dict[str, object]) -> bool:
    """Whether this frame says that the run is over."""
    return frame["type"] == "status" and frame["busy"] is False


class TimedGate(Gate):
    """A gate that knows when it was reached: the answer to the POST may come later than that."""

    def wait(self) -> None:
        """Take the time down and wait."""
        self.at = time.perf_counter()
        super().wait()


def prompted(server: ServerProcess, model: ModelServer, thread_id: str) -> Prompted:
    """Send one prompt and time its way."""
    gate = TimedGate()
    model.script([Reply(text=("Not long.",), first_gate=gate)])
    with following(server, thread_id) as client:
        begun = time.perf_counter()
        post(server, thread_id)
        gate.reached.wait(60)
        opened = time.perf_counter()
        gate.open()
        wait_for(client, brings_words)
        shown = time.perf_counter()
        wait_for(client, settled)
    return Prompted((gate.at - begun) * MILLISECONDS, (shown - opened) * MILLISECONDS)


def brings_words(frame: dict[str, object]) -> bool:
    """Whether this frame brings the first words of the answer."""
    return frame["type"] in {"part", "part-delta", "message"} and "Not long." in json.dumps(frame)


def memory(server: ServerProcess) -> float:
    """The resident memory of the server's processes that are its own, in MiB."""
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pages = [Path(f"/proc/{one}/statm").read_text().split()[1] for one in (str(pid), *children)]
    return sum(map(int, pages)) * 4096 / 2**20


def processor(server: ServerProcess) -> float:
    """Seconds of processor time that the server's processes used so far."""
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    used = 0
    for one in (str(pid), *children):
        fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        used += int(fields[11]) + int(fields[12])
    return used / TICK


def row(name: str, values: list[Prompted]) -> None:
    """Print one row: medians, and the 95th percentile of the sum."""
    sums = sorted(one.added for one in values)
    late = sums[min(len(sums) - 1, round(len(sums) * 0.95))]
    to_provider = statistics.median(one.to_provider for one in values)
    to_client = statistics.median(one.to_client for one in values)
    added = statistics.median(sums)
    print(f"{name:28} {to_provider:12.1f} {to_client:12.1f} {added:12.1f} {late:12.1f}")


def new_id() -> str:
    """An id for a new thread."""
    return str(uuid.uuid4())


def first_prompt(name: str, *, typed: bool) -> None:
    """The first prompt of a server's life; ``typed``: its page said that somebody types."""
    with tempfile.TemporaryDirectory() as directory, running(Path(directory)) as (server, model):
        if typed:
            before = memory(server)
            urllib.request.urlopen(urllib.request.Request(f"{server.url}/prepare", method="POST"))
            time.sleep(TYPING_SECONDS)
            print(f"memory: {before:.0f} MiB idle, {memory(server):.0f} MiB prepared")
        row(name, [prompted(server, model, new_id())])


def prompted_each(
    name: str, server: ServerProcess, model: ModelServer, threads: list[str], told: Told
) -> None:
    """Prompt each of these threads, and print the row and the processor time of a prompt."""
    used = processor(server)
    prompts = [prompted(server, model, one) for one in threads]
    row(name, prompts)
    taken = statistics.median(one.to_provider for one in prompts)
    print(f"{'':28} {in_starts(taken / MILLISECONDS, told.pi, told.wanted)}")
    each = (processor(server) - used) / len(threads) * MILLISECONDS
    print(f"{'':28} {each:.1f} ms of processor time for each, from its follow to its end")


def held(what: str, server: ServerProcess, model: ModelServer, threads: list[str]) -> None:
    """Prompt each of these threads, all of which are then held, and print what they weigh."""
    before = memory(server)
    for thread_id in threads:
        prompted(server, model, thread_id)
    after = memory(server)
    each = (after - before) / max(1, len(threads))
    print(
        f"memory: {before:.0f} MiB before, {after:.0f} MiB with {len(threads)} more {what} held: "
    )
    print(f"{each:.3f} MiB each")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--prompts", type=int, default=30, help="prompts of each kind")
    options.add_argument("--held", type=int, default=200, help="threads that are held")
    options.add_argument("--long", type=int, default=200, help="the same with 1 MB of transcript")
    chosen = options.parse_args()
    pi = pi_start()
    print(f"pi starts and answers in {pi:.2f} s")
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as (server, model):
        stored = [stored_thread(Path(name)) for _ in range(chosen.prompts)]
        long = [stored_thread(Path(name), LONG_SENTENCES) for _ in range(chosen.long)]
        print(f"{'milliseconds, medians':28} {'to provider':>12} {'to client':>12} ", end="")
        print(f"{'added':>12} {'added, 95 %':>12}")
        first_prompt("the first prompt of all", typed=False)
        first_prompt("the same, after typing", typed=True)
        prompted(server, model, new_id())
        new = [new_id() for _ in range(chosen.prompts)]
        prompted_each("a new thread", server, model, new, Told(pi, 0.010))
        prompted_each("a held thread", server, model, [new_id()] * chosen.prompts, Told(pi, 0.005))
        known = f"a stored thread of {STORED_ENTRIES}"
        prompted_each(known, server, model, stored, Told(pi, 0.015))
        held("short threads", server, model, [new_id() for _ in range(chosen.held)])
        held("threads of 1 MB", server, model, long)


if __name__ == "__main__":
    main()
