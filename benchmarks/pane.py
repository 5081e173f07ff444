"""What Enso adds between the button and the first word that a person sees.

    python -m benchmarks.pane [--prompts 20]

A real server, a model endpoint on loopback that holds its answer until it is let go, and Chromium.
Added is the way from the press of the button to the request at the provider, and from the
provider's first byte to the first word in the pane, as the browser's own clock sees it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.prompts import MILLISECONDS, Prompted, row, running
from tests.model_server import Gate, ModelServer, Reply

WATCH = """(word) => {
  window.shown = new Promise((done) => {
    const look = () => {
      const reply = [...document.querySelectorAll("#pane article")].at(-1);
      if (!reply?.textContent.includes(word)) return;
      watch.disconnect();
      requestAnimationFrame(() => done(performance.timeOrigin + performance.now()));
    };
    const watch = new MutationObserver(look);
    watch.observe(document.body, { childList: true, subtree: true, characterData: true });
  });
}"""
SEND = """() => {
  document.querySelector("form[data-composer]").requestSubmit();
  return performance.timeOrigin + performance.now();
}"""


def prompted(page: Page, model: ModelServer, word: str) -> Prompted:
    """Send one prompt from the page, and time when its answer's first word is there."""
    gate = Gate()
    model.script([Reply(text=(f"{word} it is.",), first_gate=gate)])
    page.locator("form[data-composer] textarea").fill("How long does this take?")
    page.evaluate(WATCH, word)
    sent = page.evaluate(SEND)
    gate.reached.wait(60)
    asked = time.time() * MILLISECONDS
    gate.open()
    shown = page.evaluate("() => window.shown")
    page.locator(".sends .primary").wait_for(state="visible")
    return Prompted(asked - sent, shown - asked)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--prompts", type=int, default=20, help="prompts to the thread")
    count: int = options.parse_args().prompts
    with (
        tempfile.TemporaryDirectory() as name,
        running(Path(name)) as (server, model),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
        page = browser.new_page()
        page.goto(server.url)
        prompted(page, model, "First")
        values = [prompted(page, model, f"Answer{number}") for number in range(count)]
        print(f"{'milliseconds, medians':28} {'to provider':>12} {'to the eye':>12} ", end="")
        print(f"{'added':>12} {'added, 95 %':>12}")
        row("a held thread, in Chromium", values)
        print(f"least {min(one.added for one in values):.1f}", end=", ")
        print(f"mean {statistics.mean(one.added for one in values):.1f}")
        browser.close()


if __name__ == "__main__":
    main()
