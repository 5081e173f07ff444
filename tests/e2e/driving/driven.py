"""A pane in a real browser without a server: the renderer's pages and frames, in a test's order.

What a pane sends is taken down and answered as the test says. So every state of a run can be shown
that a server would pass in a moment, and what the page does with it is seen.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec.structs import replace
from playwright.sync_api import Error, Page, Route, WebSocketRoute, expect

from enso import transcript, wire
from enso.server.presenter import HTMX_CONFIG
from enso.server.render import Renderer, Streams
from enso.server.resources import static_dir
from enso.server.security import CONTENT_SECURITY_POLICY
from enso.server.static_files import JOINED, joined_scripts
from enso.server.views import PageView, RailView
from tests.e2e.pages import until
from tests.look.scenes import agent, busy_with, rail, user

TALK = (user("u1", "Make it build."), agent("a1", transcript.TextPart("I will.")))
NEEDS = busy_with("needs-you", "needs you")
BUSY = busy_with("answering")
HOSTILE = "</hx-partial><img src=x onerror=alert(1)><script>alert(1)</script>\"'"

# Loopback counts as secure, as where Enso is; nothing listens there, and nothing needs to.
HOME = "http://127.0.0.1:9"
BASE = "/threads/t1"


def status_frame(status: wire.Status) -> wire.StatusFrame:
    """A status as a frame."""
    return wire.StatusFrame(**dict(status))


def quiet_rail() -> RailView:
    """A rail in which nothing needs a person."""
    return rail(groups=(), waiting=0)


@dataclass(frozen=True)
class Sent:
    """A request that the page made: to where, with which fields, in which way."""

    method: str
    path: str
    fields: dict[str, str]
    headers: dict[str, str]


@dataclass(frozen=True)
class Answer:
    """What a request is answered with."""

    status: int = 202
    body: str = ""


def form_fields(route: Route) -> dict[str, str]:
    """The fields of a form, however it was encoded; a file is its name."""
    request = route.request
    body = request.post_data_buffer or b""
    kind = request.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data"):
        return dict(parse_qsl(body.decode(), keep_blank_values=True))
    fields: dict[str, str] = {}
    for piece in body.split(b"--" + kind.split("boundary=")[1].encode())[1:-1]:
        head, _, value = piece.partition(b"\r\n\r\n")
        words = dict(part.strip().split("=", 1) for part in head.decode().split(";") if "=" in part)
        name = words["name"].split("\r\n")[0].strip('"')
        file = words.get("filename", "").split("\r\n")[0].strip('"')
        fields[name] = file or value.decode("utf-8", "replace").removesuffix("\r\n")
    return fields


class Driven:
    """One tab on one page, its socket in the test's hand."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.sent: list[Sent] = []
        self.answers: dict[str, Answer | Callable[[Sent], Answer]] = {}
        self.socket: WebSocketRoute | None = None
        self._held: dict[str, list[Callable[[], None]]] = {}
        self._renderer = Renderer()
        self._streams = Streams()
        self._pages: dict[str, str] = {}
        page.route(f"{HOME}/**", self._serve)
        page.route_web_socket("**/follow*", self._follow)

    # -- what the page asks for -----------------------------------------------------------------

    def _serve(self, route: Route) -> None:
        request = route.request
        parts = urlsplit(request.url)
        if parts.path.startswith("/static/"):
            name = parts.path.removeprefix("/static/")
            joined = joined_scripts(static_dir()) if name == JOINED else None
            body = joined or (static_dir() / name).read_bytes()
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            route.fulfill(body=body, content_type=kind)
            return
        fields = form_fields(route) if request.method == "POST" else dict(parse_qsl(parts.query))
        sent = Sent(request.method, parts.path, fields, request.headers)
        if request.method == "GET" and request.is_navigation_request():
            self._page(route, self._pages[parts.path])
            return
        self.sent.append(sent)
        if parts.path in self._held:
            self._held[parts.path].append(lambda: self._answer(route, sent))
        else:
            self._answer(route, sent)

    def _answer(self, route: Route, sent: Sent) -> None:
        answer = self.answers.get(sent.path, Answer())
        answer = answer if isinstance(answer, Answer) else answer(sent)
        if route.request.is_navigation_request():
            route.fulfill(status=303, headers={"location": BASE})
        else:
            route.fulfill(status=answer.status, body=answer.body, content_type="text/html")

    def _page(self, route: Route, html: str) -> None:
        route.fulfill(
            body=html,
            content_type="text/html; charset=utf-8",
            headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY},
        )

    def _follow(self, socket: WebSocketRoute) -> None:
        self.socket = socket

    # -- what the test does -----------------------------------------------------------------------

    def show(self, view: PageView, *, scripts: bool = True) -> None:
        """Open the page of a view, and wait for its socket."""
        told = replace(view, htmx_config=HTMX_CONFIG)
        self.show_html(self._renderer.page(told), scripts=scripts)

    def show_html(self, html: str, *, path: str = BASE, scripts: bool = True) -> None:
        """Open a page that is rendered already."""
        self._pages[path] = html
        self.page.goto(HOME + path)
        if scripts:
            until(self.page, lambda: self.socket is not None, "a socket")

    def frame(self, frame: wire.Frame, *, new: bool = False) -> None:
        """Push a frame of the thread ``t1``, and wait until the page has taken it in."""
        html = self._renderer.frame(
            frame, key="t1", new=new, streams=self._streams, base=BASE, rail_href="/rail"
        )
        self.push(html)

    def push(self, html: str) -> None:
        """Push HTML as it is, and wait until the page has taken it in."""
        assert self.socket is not None
        self.page.evaluate(
            """() => {
              window.taken = false;
              const take = () => { window.taken = true; };
              document.addEventListener("htmx:ws:after:message:incoming", take, { once: true });
            }"""
        )
        self.socket.send(html)
        self.page.wait_for_function("window.taken")

    def hold(self, path: str) -> None:
        """Answer nothing to ``path`` from here on, until it is let go."""
        self._held[path] = []

    def wait_held(self, path: str, count: int = 1) -> None:
        """Wait until so many requests to ``path`` wait for their answer."""
        until(self.page, lambda: len(self._held[path]) >= count, f"{count} requests to {path}")

    def let_go(self, path: str) -> None:
        """Answer all that waited; those that the page gave up are passed over."""
        for answer in self._held.pop(path):
            with suppress(Error):
                answer()

    def posts(self) -> list[tuple[str, dict[str, str]]]:
        """What a person posted so far: the path below the thread's, and the fields."""
        posted = [one for one in self.sent if one.method == "POST" and one.path != "/prepare"]
        return [(one.path.removeprefix(BASE), one.fields) for one in posted]

    def expect_posted(self, path: str, **fields: str) -> None:
        """The next post is this one, with these fields among its own."""
        until(self.page, lambda: bool(self.posts()), f"a post to {path}")
        at, given = self.posts()[0]
        assert (at, {name: given.get(name) for name in fields}) == (path, fields)
        self.sent.clear()

    def expect_no_post(self) -> None:
        """Nothing was posted."""
        self.page.evaluate("() => new Promise((done) => setTimeout(done, 50))")
        assert self.posts() == []

    @property
    def text(self) -> Any:
        """The composer's box."""
        return self.page.locator("form[data-composer] textarea")

    @property
    def status(self) -> Any:
        """The status line."""
        return self.page.locator("#pane .status")

    def expect_title(self, title: str) -> None:
        """The window's title."""
        expect(self.page).to_have_title(title)
