"""What a page costs: a server's start to its first page, its idle memory, and a first visit.

    python -m benchmarks.pages [--times 5]

A real server process over an empty store and over one thread of 400 messages, and Chromium at a
quarter of its speed. A first start has no cache; the next one has.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.e2e.conftest import CHROMIUM_OPTIONS, chromium
from tests.server_process import ServerProcess

MEBIBYTE = 1024
SLOWED = 4
MESSAGES = 400
THREAD = "0190a000-0000-7000-8000-000000000001"
LAST = """new MutationObserver((_, watch) => {
  if (!document.querySelector(".dialogs")) return; // what stands behind the messages
  watch.disconnect();
  new IntersectionObserver(([seen]) => { if (seen.isIntersecting) window.lastSeen ??= seen.time; })
    .observe([...document.querySelectorAll(".tail article")].at(-1));
}).observe(document, { childList: true, subtree: true });"""


def memory(server: ServerProcess) -> tuple[float, float, float]:
    """MiB of the watching process and of the serving one, resident, and of both, shared ones once.

    The last is the sum of the proportional set sizes: a page that both hold counts once.
    """
    pid = server.process.pid
    [child] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    sizes = []
    for one in (str(pid), child):
        lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()[1:]
        sizes.append({line.split(":")[0]: int(line.split()[1]) / MEBIBYTE for line in lines})
    return sizes[0]["Rss"], sizes[1]["Rss"], sizes[0]["Pss"] + sizes[1]["Pss"]


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


def starts(times: int) -> None:
    """Print what first starts and next starts cost."""
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
    print(f"start to first page: {statistics.median(first):.2f} s the first time, ", end="")
    print(
        f"{statistics.median(later):.2f} s later; where nothing is compiled, of Python either, ",
        end="",
    )
    print(f"{statistics.median(uncompiled):.2f} s")
    watching, serving, both = (statistics.median(one) for one in zip(*held, strict=True))
    print(f"idle memory: {watching:.0f} MiB watching, {serving:.0f} MiB serving, ", end="")
    print(f"{both:.0f} MiB together, what both share counted once")


def stored_thread(agent_dir: Path, project: Path) -> None:
    """A thread of questions and answers, in the agent directory."""
    lines: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": THREAD, "cwd": str(project),
         "timestamp": "2026-01-01T00:00:00.000Z"}
    ]  # fmt: skip
    for number in range(MESSAGES):
        role = "assistant" if number % 2 else "user"
        text = f"Message {number}: **what** `parse_{number}` does, and why. " * (1 + number % 4)
        message: dict[str, object] = {"role": role, "content": [{"type": "text", "text": text}]}
        lines.append(
            {"type": "message", "id": f"{number:08x}", "timestamp": "2026-01-01T00:00:00.000Z",
             "parentId": f"{number - 1:08x}" if number else None, "message": message}
        )  # fmt: skip
    directory = agent_dir / "sessions" / f"--{str(project).strip('/').replace('/', '-')}--"
    directory.mkdir(parents=True)
    file = directory / f"2026-01-01T00-00-00-000Z_{THREAD}.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def visit(times: int) -> None:
    """Print what the first visit of a thread's page costs a browser that holds nothing yet."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        agent_dir, project = Path(name) / "agent", Path(name)
        stored_thread(agent_dir, project)
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_OPTIONS)
        with ServerProcess(agent_dir=agent_dir, projects=[project]) as server:
            urllib.request.urlopen(f"{server.url}/threads/{THREAD}").read()
            seen = [visited(browser, f"{server.url}/threads/{THREAD}") for _ in range(times)]
        browser.close()
    requests, sent, painted, last = (statistics.median(one) for one in zip(*seen, strict=True))
    print(f"first visit of a thread: {requests:.0f} requests, {sent / 1000:.0f} kB, ", end="")
    print(f"visible after {painted:.0f} ms, its last message after {last:.0f} ms, ", end="")
    print(f"at a CPU slowed {SLOWED}×")


def visited(browser: Browser, url: str) -> Sequence[float]:
    """Requests, bytes sent, and milliseconds to the first paint that has content, and to the first
    frame with the last message in view."""
    page = browser.new_page()
    page.add_init_script(LAST)
    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    asked: list[str] = []
    sent: list[float] = []
    wire.on("Network.requestWillBeSent", lambda event: asked.append(event["request"]["url"]))
    wire.on("Network.webSocketCreated", lambda event: asked.append(event["url"]))
    wire.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.wait_for_function(
        "performance.getEntriesByName('first-contentful-paint').length && window.lastSeen"
    )
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    last = page.evaluate("window.lastSeen")
    page.close()
    return len(asked), sum(sent), painted, last


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--times", type=int, default=5, help="how often each is measured")
    chosen = options.parse_args()
    starts(chosen.times)
    visit(chosen.times)


if __name__ == "__main__":
    main()
