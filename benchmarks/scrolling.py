"""What a browser carries: of a page of images, and of a long thread that is read upwards.

    python -m benchmarks.scrolling [--pages 40] [--store DIR]

A real server process and Chromium, over the stores of ``benchmarks.storage``, made where they are
not there yet.
"""

from __future__ import annotations

import argparse
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.storage import made
from benchmarks.stores import PROJECTS, long_session, session_of_images
from tests.e2e.conftest import CHROMIUM_OPTIONS, chromium
from tests.server_process import ServerProcess

NODES = "() => document.getElementsByTagName('*').length"
UP = """async (wanted) => {
  const box = document.querySelector("[data-log]");
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const top = () => [...box.querySelectorAll("article")].find(
    (one) => one.getBoundingClientRect().bottom > box.getBoundingClientRect().top);
  const seen = { pages: 0, nodes: 0, moved: 0 };
  while (seen.pages < wanted && box.querySelector("[data-earlier]")) {
    box.scrollTop = 0;
    await frame();
    const first = top();
    const place = first.getBoundingClientRect().top;
    while (box.querySelectorAll("[data-page]").length === seen.pages) await frame();
    for (let frames = 0; frames < 3; frames += 1) {
      await frame();
      seen.nodes = Math.max(seen.nodes, document.getElementsByTagName("*").length);
      seen.moved = Math.max(seen.moved, Math.abs(first.getBoundingClientRect().top - place));
    }
    seen.pages = box.querySelectorAll("[data-page]").length;
  }
  return seen;
}"""


@contextmanager
def served(agent_dir: Path) -> Iterator[str]:
    """The URL of the one thread of a store, on a server of its own."""
    (path,) = (agent_dir / "sessions").glob("*/*.jsonl")
    thread_id = path.stem.partition("_")[2]
    with ServerProcess(agent_dir=agent_dir, projects=PROJECTS) as server:
        yield f"{server.url}/threads/{thread_id}"


def images(agent_dir: Path, page: Page) -> None:
    """Print what a page of a thread of images weighs, and what comes with it into a window."""
    with served(agent_dir) as url:
        html = urllib.request.urlopen(url).read()
        came: list[int] = []
        page.on("response", lambda one: came.append("/images/" in one.url))
        page.goto(url)
        page.wait_for_load_state("networkidle")
        print(f"a page of images: {len(html) / 1000:.0f} kB, {sum(came)} images come with it")


def scrolled(agent_dir: Path, page: Page, pages: int) -> None:
    """Print how many elements there are on the way up through a long thread."""
    with served(agent_dir) as url:
        page.goto(url)
        begun: int = page.evaluate(NODES)
        seen: dict[str, float] = page.evaluate(UP, pages)
        print(f"a long thread: {begun:,} elements at first; {seen['pages']:.0f} pages up ", end="")
        print(f"{seen['nodes']:,.0f} at most, moved by {seen['moved']:.1f} pixels at most")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pages", type=int, default=40, help="how far up the long thread is read")
    options.add_argument("--store", type=Path, help="where the stores are kept")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        store: Path = chosen.store or Path(name)
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_OPTIONS)
        images(made(store / "images", lambda at: session_of_images(at, 30)), browser.new_page())
        long = made(store / "long", lambda at: long_session(at, 100))
        scrolled(long, browser.new_page(), chosen.pages)
        browser.close()


if __name__ == "__main__":
    main()
