"""What Enso adds to a prompt, and what a held thread weighs.

    python -m benchmarks.prompts [--prompts 30] [--held 200]

A real server process and a model endpoint on loopback, and one client that follows the thread as
the pane does. The endpoint holds each answer until it is let go, so that the provider's own time
is left out: what is measured is POST to request at the provider, and the provider's first byte to
the frame that brings the first word.
"""

from __future__ import annotations

import argparse
import json
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

from tests.model_server import Gate, ModelServer, Reply, configure, serve
from tests.server_process import ServerProcess

MILLISECONDS = 1000
TYPING_SECONDS = 4
CODER = {"api": "openai-completions", "provider": "labserver", "model": "lab-coder"}
STORED_ENTRIES = 200
"""Messages of a stored thread that is prompted: 100 kB."""


@dataclass(frozen=True, slots=True)
class Prompted:
    """One prompt's way, in milliseconds: to the provider, and from its first byte to the client."""

    to_provider: float
    to_client: float

    @property
    def added(self) -> float:
        """What Enso adds to the provider's own time."""
        return self.to_provider + self.to_client


def stored_thread(directory: Path) -> str:
    """Store a thread of ``STORED_ENTRIES`` messages, as another program would; its id."""
    thread_id, project = new_id(), directory / "project"
    at = "2026-01-01T00:00:00.000Z"
    lines: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": thread_id, "cwd": str(project), "timestamp": at}
    ]
    for number in range(STORED_ENTRIES):
        text = f"Message {number} says what was done and why. " * 8
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
    chosen = {"ENSO_MODEL": "labserver/lab-coder"}
    try:
        with ServerProcess(
            agent_dir=directory / "agent", projects=[project], environment=chosen
        ) as server:
            yield server, model
    finally:
        model.close()


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


def prompted(server: ServerProcess, model: ModelServer, thread_id: str) -> Prompted:
    """Send one prompt and time its way."""
    gate = Gate()
    model.script([Reply(text=("Not long.",), first_gate=gate)])
    with following(server, thread_id) as client:
        begun = time.perf_counter()
        post(server, thread_id)
        gate.reached.wait(60)
        asked = time.perf_counter()
        gate.open()
        wait_for(client, brings_words)
        shown = time.perf_counter()
        wait_for(client, settled)
    return Prompted((asked - begun) * MILLISECONDS, (shown - asked) * MILLISECONDS)


def brings_words(frame: dict[str, object]) -> bool:
    """Whether this frame brings the first words of the answer."""
    return frame["type"] in {"part", "part-delta", "message"} and "Not long." in json.dumps(frame)


def memory(server: ServerProcess) -> float:
    """The resident memory of the server's processes that are its own, in MiB."""
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pages = [Path(f"/proc/{one}/statm").read_text().split()[1] for one in (str(pid), *children)]
    return sum(map(int, pages)) * 4096 / 2**20


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


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--prompts", type=int, default=30, help="prompts of each kind")
    options.add_argument("--held", type=int, default=200, help="threads that are held")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as (server, model):
        stored = [stored_thread(Path(name)) for _ in range(chosen.prompts)]
        idle = memory(server)
        print(f"{'milliseconds, medians':28} {'to provider':>12} {'to client':>12} ", end="")
        print(f"{'added':>12} {'added, 95 %':>12}")
        first_prompt("the first prompt of all", typed=False)
        first_prompt("the same, after typing", typed=True)
        prompted(server, model, new_id())
        row("a new thread", [prompted(server, model, new_id()) for _ in range(chosen.prompts)])
        thread_id = new_id()
        row("a held thread", [prompted(server, model, thread_id) for _ in range(chosen.prompts)])
        kind = f"a stored thread of {STORED_ENTRIES}"
        row(kind, [prompted(server, model, one) for one in stored])
        before = memory(server)
        for _ in range(chosen.held):
            prompted(server, model, new_id())
        after = memory(server)
        each = (after - before) / chosen.held
        print(f"memory: {idle:.0f} MiB idle, {before:.0f} MiB after the first prompts, ", end="")
        print(f"{after:.0f} MiB with {chosen.held} more threads held: {each:.3f} MiB each")


if __name__ == "__main__":
    main()
