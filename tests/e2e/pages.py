"""Enso's page as a person uses it: threads, prompts, rows, and what the network did meanwhile.

Every wait is for something seen on the page or on the wire, with a limit; nothing sleeps.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, Request, Route, WebSocket, expect

WAIT = 30.0

Pattern = str | re.Pattern[str]


def until(page: Page, condition: Callable[[], Any], what: str, *, seconds: float = WAIT) -> None:
    """Let the page go on until a condition holds that no locator can tell; fails with ``what``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"within {seconds} seconds: {what}"
        # A turn of the driver's loop, in which the page's events are delivered here too: also of a
        # page that runs no scripts, whose own timers never fire.
        page.wait_for_timeout(10)


class Sockets:
    """Every websocket that a page opened, with the frames it got."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.opened: list[WebSocket] = []
        self._frames: dict[int, list[str]] = {}
        self._left = 0
        page.on("websocket", self._take)
        page.on("request", self._leave)

    def _take(self, socket: WebSocket) -> None:
        frames: list[str] = []
        self._frames[len(self.opened)] = frames
        self.opened.append(socket)
        socket.on("framereceived", lambda frame: frames.append(str(frame)))

    def _leave(self, request: Request) -> None:
        # The sockets of a document that is left end with it, and nothing tells.
        if request.is_navigation_request():
            self._left = len(self.opened)

    def open_now(self) -> list[WebSocket]:
        """The sockets of this document that are not closed."""
        return [socket for socket in self.opened[self._left :] if not socket.is_closed()]

    def wait_for_one_open(self) -> None:
        """Wait until exactly one socket is open."""
        until(self._page, lambda: len(self.open_now()) == 1, "one open socket")

    def frames(self, number: int = -1) -> list[str]:
        """What one socket got so far, oldest first; the newest socket's, unless one is named."""
        if not self.opened:
            return []
        return self._frames[number % len(self.opened)]

    def wait_for_snapshot(self, *, opened: int | None = None) -> None:
        """Wait until the newest socket has its snapshot, and ``opened`` sockets were opened."""
        until(
            self._page,
            lambda: (
                (opened is None or len(self.opened) >= opened)
                and any("hx-target" in frame and "#tail-" in frame for frame in self.frames())
            ),
            f"a socket with a snapshot ({len(self.opened)} sockets were opened)",
        )


class Held:
    """Requests that a page makes, kept back until the test lets them go."""

    def __init__(self, page: Page, pattern: Pattern, *, method: str = "GET") -> None:
        self._page = page
        self._method = method
        self._passing = False
        self._routes: list[Route] = []
        page.route(pattern, self._take)

    def _take(self, route: Route, request: Request) -> None:
        if self._passing or request.method != self._method or request.resource_type == "document":
            route.continue_()
        else:
            self._routes.append(route)

    def wait(self, count: int = 1) -> None:
        """Wait until so many requests are kept back."""
        until(self._page, lambda: len(self._routes) >= count, f"{count} requests were made")

    @property
    def count(self) -> int:
        """How many are kept back."""
        return len(self._routes)

    def let_go(self, *, newest_first: bool = False) -> None:
        """Send on all that were kept back, and keep back no more."""
        self._passing = True
        for route in reversed(self._routes) if newest_first else self._routes:
            route.continue_()
        self._routes.clear()


class EnsoPage:
    """One tab on one server."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.sockets = Sockets(page)
        self.heading = page.locator("#pane h1")
        self.log = page.locator("[data-log]")
        self.messages = page.locator("[data-log] article.message")
        self.replies = page.locator("[data-log] article.message.assistant")
        self.prompts = page.locator("[data-log] article.message.user")
        self.status = page.locator("#pane .status")
        self.text = page.locator("form[data-composer] textarea")
        self.send_button = page.locator("form[data-composer] button.primary")
        self.refusal = page.locator("form[data-composer] .refused-prompt")
        self.rows = page.locator("#rail-list .group li")
        self.rail_error = page.locator("#rail-error")
        self.marked = page.locator("#rail-list a[aria-current=page]")
        self.find = page.locator("#find-q")

    # -- where it is ----------------------------------------------------------------------------

    def go(self, path: str) -> None:
        """Type a URL of this server."""
        self.page.goto(self.url + path)

    def open(self, thread_id: str) -> None:
        """Type a thread's URL, and wait until its follow said how it is now."""
        opened = len(self.sockets.opened)
        self.go(f"/threads/{thread_id}")
        self.sockets.wait_for_snapshot(opened=opened + 1)

    def open_fresh(self) -> None:
        """Type the URL of a new thread."""
        opened = len(self.sockets.opened)
        self.go("/")
        self.sockets.wait_for_snapshot(opened=opened + 1)

    @property
    def thread_id(self) -> str:
        """The thread that the pane shows."""
        return self.log.get_attribute("data-thread") or ""

    def expect_thread(self, thread_id: str, title: str) -> None:
        """Address bar, heading, window title, marked row and messages all are this thread's."""
        expect(self.heading).to_have_text(title)
        expect(self.page).to_have_url(re.compile(rf"/threads/{re.escape(thread_id)}(\?|$)"))
        expect(self.page).to_have_title(f"{title} · Enso")
        expect(self.log).to_have_attribute("data-thread", thread_id)
        expect(self.marked).to_have_count(1)
        expect(self.marked).to_have_attribute("data-thread", thread_id)

    def expect_fresh(self) -> None:
        """The pane is a new thread, and no row is marked."""
        expect(self.heading).to_have_text("New thread")
        expect(self.page).to_have_title("New thread · Enso")
        expect(self.messages).to_have_count(0)
        expect(self.marked).to_have_count(0)

    # -- the rail -------------------------------------------------------------------------------

    def row(self, thread_id: str) -> Locator:
        """The link of a thread's row."""
        return self.page.locator(f'#rail-list a[data-thread="{thread_id}"]')

    def titles(self) -> list[str]:
        """The titles of the rows, from the top."""
        return self.page.locator("#rail-list .title").all_inner_texts()

    def expect_sign(self, thread_id: str, sign: str) -> None:
        """A row is marked with a sign: cold, held, busy, refused or cut."""
        expect(self.row(thread_id).locator(".sign")).to_have_class(f"sign {sign}")

    def new_thread(self) -> None:
        """Press the button for a new thread."""
        self.page.locator("#new-thread").click()

    # -- prompts --------------------------------------------------------------------------------

    def prompt(self, text: str) -> None:
        """Type a prompt and press Enter."""
        self.text.fill(text)
        self.text.press("Enter")

    def ask(self, text: str, *, replies: int = 1) -> None:
        """Prompt, and wait until the run is over with so many replies on the page."""
        self.prompt(text)
        expect(self.text).to_have_value("")
        expect(self.replies).to_have_count(replies)
        self.expect_settled()

    def expect_settled(self) -> None:
        """No run is in flight and nothing streams any more."""
        expect(self.status).not_to_contain_text("Working")
        expect(self.page.locator("article[aria-busy]")).to_have_count(0)

    def texts(self) -> list[str]:
        """The visible text of every message, from the top."""
        return self.messages.locator(".parts").all_inner_texts()

    def scroll_top(self) -> float:
        """How far the log is scrolled, in pixels."""
        return float(self.log.evaluate("(box) => box.scrollTop"))
