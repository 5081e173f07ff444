"""A real browser on a real server: Chromium against ``python app.py`` under gunicorn.

Every page is watched: a console error, an error of a script or a breach of the content policy fails
the test that it happened in.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from tests.e2e.pages import WAIT, EnsoPage
from tests.e2e.places import Place
from tests.model_server import ModelServer, serve
from tests.server_process import ServerProcess

CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """The system's Chromium; the tests need it and say so."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "Install Chromium (on Debian: apt-get install chromium) to run the browser tests."
    return found


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What drives browsers."""
    expect.set_options(timeout=1000 * WAIT)
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """One Chromium for all tests."""
    launched = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_OPTIONS)
    yield launched
    launched.close()


@dataclass
class Watched:
    """What went wrong on pages, as their browsers told it."""

    faults: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> Page:
        """Take down every error of a page from here on."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        return page

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(f"{message.type}: {message.text} ({message.location})")

    def allow(self, text: str) -> None:
        """Say that faults with this text belong to the test."""
        self.expected.append(text)

    def unexpected(self) -> list[str]:
        """What nobody expected."""
        return [fault for fault in self.faults if not any(text in fault for text in self.expected)]


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Faults of this test's pages; any that is not expected fails it."""
    watch = Watched()
    yield watch
    assert watch.unexpected() == []


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    """The scripted model endpoint."""
    server = serve()
    yield server
    server.close()


@dataclass(frozen=True)
class Shop:
    """One server that many tests share, each with threads of its own."""

    place: Place
    server: ServerProcess

    @property
    def url(self) -> str:
        """Where it is."""
        return self.server.url


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory, model_server: ModelServer) -> Iterator[Shop]:
    """The shared server, with the scripted models. Whoever stops one starts their own."""
    # Its stored threads are as new as those that the tests begin: the rail shows the newest alone.
    place = Place.make(tmp_path_factory.mktemp("shared"), now=time.time_ns() // 1_000_000)
    place.use_models(model_server)
    with ServerProcess(agent_dir=place.agent_dir, projects=[place.project]) as server:
        yield Shop(place, server)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty agent directory and an empty project."""
    return Place.make(tmp_path)


Start = Callable[..., ServerProcess]


@pytest.fixture
def start(place: Place) -> Iterator[Start]:
    """Starts servers on the test's place; they end with the test."""
    started: list[ServerProcess] = []

    def start_one(*, port: int = 0, **environment: str) -> ServerProcess:
        process = ServerProcess(
            agent_dir=place.agent_dir,
            projects=[place.project],
            port=port,
            environment=environment,
        )
        started.append(process)
        return process

    yield start_one
    for process in started:
        if process.process.poll() is None:
            process.stop()


@pytest.fixture
def context(browser: Browser, start: Start) -> Iterator[BrowserContext]:
    """A fresh browser profile, 1280 × 800. It ends before the servers, which wait for idle ones."""
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    made.set_default_timeout(1000 * WAIT)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, watched: Watched) -> Page:
    """A fresh, watched page."""
    return watched.watch(context.new_page())


@pytest.fixture
def enso(page: Page, shop: Shop) -> EnsoPage:
    """A tab on the shared server."""
    return EnsoPage(page, shop.url)
