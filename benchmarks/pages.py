"""What a page costs: a server's start to its first page, its idle memory, and a first visit.

    python -m benchmarks.pages [--times 5]

A real server process over an empty store and over one thread of 400 messages, and Chromium at a
quarter of its speed. A first start has no cache; the next one has. Times are also told in starts of
the real pi (``benchmarks/pi_start.py``).
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.chrome import Chrome, launched
from benchmarks.memory import children_of, sizes_of
from benchmarks.pi_start import in_starts, pi_start
from tests.server_process import ServerProcess

START_WANTED = 0.5
VISIT_WANTED = 0.3
SLOWED = 4
MESSAGES = 400
ROWS = 50
THREAD = "0190a000-0000-7000-8000-{:012}"
WINDOW = 1280, 800
SETTLED = 3.0
"""Seconds after which a visit is over, however slow the machine is."""
PAINTS = """new Promise((tell) => new PerformanceObserver((list) => tell([
  performance.getEntriesByName("first-contentful-paint")[0].startTime,
  list.getEntries().find((one) => one.element?.closest(".tail article:last-child"))?.startTime,
])).observe({ type: "largest-contentful-paint", buffered: true }))"""
"""Both paints. The last message is the largest text in view, so its paint is the largest one."""


def memory(server: ServerProcess) -> tuple[float, float, float]:
    """MiB of the watching process and of the serving one, resident, and of both, shared ones once.

    The last is the sum of the proportional set sizes: a page that both hold counts once.
    """
    pid = server.process.pid
    [child] = children_of(pid)
    watching, serving = sizes_of(pid), sizes_of(child)
    return watching["Rss"], serving["Rss"], watching["Pss"] + serving["Pss"]


def started(
    agent_dir: Path, project: Path, compiled: Path
) -> tuple[float, tuple[float, float, float]]:
    """Seconds from the start of a server to the end of its first page, and its memory then.

    ``compiled`` is where Python finds and keeps what it compiled, whatever is set here: as a wheel
    that is installed has it beside itself.
    """
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(compiled)}
    begun = time.perf_counter()
    with ServerProcess(agent_dir=agent_dir, projects=[project], environment=kept) as server:
        urllib.request.urlopen(f"{server.url}/").read()
        taken = time.perf_counter() - begun
        return taken, memory(server)


def starts(times: int, pi: float) -> None:
    """Print what first starts and next starts cost; ``pi``: seconds that a start of pi takes."""
    uncompiled, first, later, held = [], [], [], []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as name:
            agent_dir, project, compiled = Path(name) / "agent", Path(name), Path(name) / "compiled"
            uncompiled.append(started(agent_dir, project, compiled)[0])
            shutil.rmtree(f"{agent_dir}-cache")
            first.append(started(agent_dir, project, compiled)[0])
            seconds, sizes = started(agent_dir, project, compiled)
            later.append(seconds)
            held.append(sizes)
    for name, seconds in (("the first time", first), ("later", later)):
        taken = statistics.median(seconds)
        print(f"start to first page, {name}: {taken:.2f} s, {in_starts(taken, pi, START_WANTED)}")
    print(f"where nothing is compiled, of Python either: {statistics.median(uncompiled):.2f} s")
    watching, serving, both = (statistics.median(one) for one in zip(*held, strict=True))
    print(f"idle memory: {watching:.0f} MiB watching, {serving:.0f} MiB serving, ", end="")
    print(f"{both:.0f} MiB together, what both share counted once")


def stored_thread(agent_dir: Path, project: Path, which: int, messages: int) -> None:
    """A thread of questions and answers, in the agent directory. The last answer is the longest."""
    lines: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": THREAD.format(which), "cwd": str(project),
         "timestamp": "2026-01-01T00:00:00.000Z"}
    ]  # fmt: skip
    for number in range(messages):
        role = "assistant" if number % 2 else "user"
        text = f"Message {number}: **what** `parse_{number}` does, and why. "
        text *= 6 if number == messages - 1 else 1 + number % 4
        message: dict[str, object] = {"role": role, "content": [{"type": "text", "text": text}]}
        lines.append(
            {"type": "message", "id": f"{number:08x}", "timestamp": "2026-01-01T00:00:00.000Z",
             "parentId": f"{number - 1:08x}" if number else None, "message": message}
        )  # fmt: skip
    directory = agent_dir / "sessions" / f"--{str(project).strip('/').replace('/', '-')}--"
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"2026-01-01T00-00-00-000Z_{THREAD.format(which)}.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def visit(times: int, rows: int, pi: float) -> None:
    """Print what the first visit of a thread's page costs a browser that holds nothing yet.

    ``pi``: seconds that a start of pi takes.
    """
    with tempfile.TemporaryDirectory() as name, launched() as chrome:
        agent_dir, project = Path(name) / "agent", Path(name)
        for number in range(rows):
            stored_thread(agent_dir, project, number, MESSAGES if number == 0 else 2)
        with ServerProcess(agent_dir=agent_dir, projects=[project]) as server:
            url = f"{server.url}/threads/{THREAD.format(0)}"
            urllib.request.urlopen(url).read()
            requests, sent = loaded(chrome, url)
            seen = [visited(chrome, url) for _ in range(times)]
    painted, last = (statistics.median(one) for one in zip(*seen, strict=True))
    print(
        f"first visit of a thread, one of {rows}: {requests} requests, {sent / 1000:.0f} kB; ",
        end="",
    )
    print(f"at a CPU slowed {SLOWED}×:")
    for name, milliseconds in (("first paint", painted), ("its last message", last)):
        share = in_starts(milliseconds / 1000, pi, VISIT_WANTED)
        print(f"- {name} after {milliseconds:.0f} ms, {share}")


def loaded(chrome: Chrome, url: str) -> tuple[int, int]:
    """How many requests a first visit makes, the websocket's too, and the bytes it is sent."""
    asked: list[str] = []
    sent: list[int] = []

    def listen(method: str, told: dict[str, Any]) -> None:
        if method in {"Network.requestWillBeSent", "Network.webSocketCreated"}:
            asked.append(method)
        if method == "Network.loadingFinished":
            sent.append(round(told["encodedDataLength"]))

    chrome.listener = listen
    with chrome.page(*WINDOW) as session:
        chrome.send("Network.enable", session)
        chrome.send("Page.navigate", session, url=url)
        time.sleep(SETTLED)
        chrome.value(session, "document.readyState")
    return len(asked), sum(sent)


def visited(chrome: Chrome, url: str) -> tuple[float, float]:
    """Milliseconds to the first paint that has content, and to that of the last message.

    The browser keeps both itself, and is asked once all is over.
    """
    with chrome.page(*WINDOW) as session:
        chrome.send("Emulation.setCPUThrottlingRate", session, rate=SLOWED)
        chrome.send("Page.navigate", session, url=url)
        time.sleep(SETTLED)
        painted, last = chrome.value(session, PAINTS)
    assert last, "the last message is not what was painted largest"
    return painted, last


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--times", type=int, default=5, help="how often each is measured")
    chosen = options.parse_args()
    pi = pi_start()
    print(f"pi starts and answers in {pi:.2f} s")
    starts(chosen.times, pi)
    for rows in (1, ROWS):
        visit(chosen.times, rows, pi)


if __name__ == "__main__":
    main()
