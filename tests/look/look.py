"""Screenshots of every scene, for a person to look at: ``python -m tests.look.look DIRECTORY``.

Each scene at 1280 and 390 pixels, light and dark, in Debian's Chromium, under the pages' own
content policy. Says what a page would have scrolled sideways, and what the console said.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from enso.server.render import Renderer
from enso.server.resources import static_dir
from enso.server.security import CONTENT_SECURITY_POLICY
from enso.server.static_files import JOINED, joined_scripts
from enso.server.views import CommandsView
from tests.look.behind import behind_pages, in_drawer
from tests.look.scenes import ASK_EDIT, ASK_RUN, COMMANDS, KINDS, scenes, tree, used, waiting

OPEN = "document.querySelector('.menu.{}').showPopover()"
COMPLETIONS = Renderer().commands(
    CommandsView(key="t1", query="", commands=[*COMMANDS, *COMMANDS[:2]])
)
STATES: dict[str, dict[str, str]] = {
    "drive": {
        **{menu: OPEN.format(menu) for menu in ("mode", "model", "level", "thread")},
        "acts": (
            "document.querySelector('.acts').open = true;"
            "document.querySelector('.log').scrollTop = 0"
        ),
        "drawer": (
            f"document.querySelector('.drawer').innerHTML = {json.dumps(in_drawer(Renderer()))};"
            "document.querySelector('.drawer').showPopover()"
        ),
        "complete": (
            f"document.querySelector('[data-complete]').innerHTML = {json.dumps(COMPLETIONS)};"
            "document.querySelector('[role=option]').setAttribute('aria-selected', true)"
        ),
        "said": (
            "document.querySelector('.said').innerHTML = '<p><strong>Not now.</strong> '"
            "+ 'There is nothing to compact: the conversation is short.</p>'"
        ),
    },
    "tree": {
        "label": (
            "document.querySelectorAll('.relabel')[2].open = true;"
            "document.querySelectorAll('.relabel input[name=label]')[2].focus()"
        ),
    },
    "running": {
        "live": (
            "document.querySelector('.live code').textContent = "
            "Array.from({length: 60}, (_, n) => `tests/test_${n}.py .....  [${n} %]`).join('\\n');"
            "document.querySelector('[data-silence]').textContent = 'No event for 14 s'"
        ),
    },
    "asks": {
        "answered": (
            "document.querySelector('.answers').outerHTML = "
            '\'<p class="outcome" role="status">Allowed for this thread.</p>\''
        ),
    },
}
"""What a page looks like when something was pressed or came in: scripts that make it so."""

WIDTHS = {"wide": (1280, 900), "phone": (390, 844)}


@contextmanager
def served(pages: dict[str, str]) -> Iterator[str]:
    """Serve pages under their names, and the static files; gives the address."""

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/").split("?")[0]
            if name == f"static/{JOINED}":
                self._send("text/javascript", joined_scripts(static_dir()))
            elif name in pages:
                self._send("text/html; charset=utf-8", pages[name].encode())
            else:
                super().do_GET()

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Security-Policy", CONTENT_SECURITY_POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    root = str(static_dir().parent)
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: Handler(*given, directory=root))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def shoot(page: Page, base: str, name: str, target: Path) -> None:
    """One scene, as its reader first sees it, and once more from the top."""
    page.goto(f"{base}/{name}")
    page.wait_for_function("document.readyState === 'complete'")
    sideways = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    if sideways:
        print(f"{target.name}: the page scrolls sideways")
    page.screenshot(path=str(target.with_suffix(".png")))
    page.evaluate("document.querySelector('.log').scrollTop = 0")
    page.screenshot(path=str(target.with_name(f"{target.name}-top.png")))
    for state, script in STATES.get(name, {}).items():
        page.goto(f"{base}/{name}")
        page.evaluate(script)
        page.screenshot(path=str(target.with_name(f"{target.name}-{state}.png")))


def drawn_pages() -> dict[str, str]:
    """Every scene as a page's HTML, by name; no socket stands behind them."""
    renderer = Renderer()
    drawn = {
        **{name: renderer.page(view) for name, view in scenes().items()},
        "tree": renderer.tree(tree(), page=True),
        **behind_pages(renderer),
        "waiting": renderer.waiting(waiting(ASK_RUN, KINDS[0], ASK_EDIT), page=True),
        "waiting-none": renderer.waiting(waiting(), page=True),
        "stats": renderer.stats(used(), page=True),
        "stats-none": renderer.stats(used(turns=0), page=True),
    }
    # The line that says that no socket is there would be on every picture.
    return {name: html.replace("hx-ws:connect", "data-follow") for name, html in drawn.items()}


def main(directory: Path) -> None:
    """Render every scene and photograph it."""
    directory.mkdir(parents=True, exist_ok=True)
    pages = drawn_pages()
    with served(pages) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
        for width, (across, down) in WIDTHS.items():
            for scheme in ("light", "dark"):
                page = browser.new_page(
                    viewport={"width": across, "height": down}, color_scheme=scheme
                )
                page.on("console", lambda message: print(message.text))
                for name in pages:
                    shoot(page, base, name, directory / f"{name}-{width}-{scheme}")
                page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
