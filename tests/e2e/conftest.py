"""A real browser on a real server: Chromium against ``python app.py`` under gunicorn.

Every page is watched: a console error, an error of a script or a breach of the content policy fails
the test that it happened in.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.model_server import ModelServer, serve
from tests.server_process import ServerProcess

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
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
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with sync_playwright() as playwright:
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
        return [
            fault for fault in self.faults if not any(text in fault for text in self.expected)
        ]


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Faults of this test's pages; any that is not expected fails it."""
    watch = Watched()
    yield watch
    assert watch.unexpected() == []


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser profile, 1280 × 800."""
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    made.set_default_timeout(15_000)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, watched: Watched) -> Page:
    """A fresh, watched page."""
    return watched.watch(context.new_page())


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    """The scripted model endpoint."""
    server = serve()
    yield server
    server.close()


@dataclass
class Place:
    """An agent directory and a project of its own, with what a test puts there."""

    agent_dir: Path
    project: Path

    def store(self, name: str, *, thread_id: str, cwd: Path | str | None = None) -> Path:
        """Copy a corpus session whose file name ends in ``name``, under an id, into the project."""
        source = next((CORPUS / "sessions").glob(f"*/*{name}.jsonl"))
        lines = source.read_text(encoding="utf-8", newline="").split("\n")
        header = json.loads(lines[0])
        header.update(id=thread_id, cwd=str(cwd or self.project))
        lines[0] = json.dumps(header, separators=(",", ":"))
        directory = self.agent_dir / "sessions" / "--project--"
        directory.mkdir(parents=True, exist_ok=True)
        target = directory / f"{source.name.split('_')[0]}_{thread_id}.jsonl"
        target.write_text("\n".join(lines), encoding="utf-8", newline="")
        return target

    def use_models(self, server: ModelServer) -> None:
        """Configure the scripted endpoint as the provider ``labserver``."""
        configuration = {
            "providers": {
                "labserver": {
                    "name": "Lab server",
                    "baseUrl": f"{server.url}/v1",
                    "api": "openai-completions",
                    "apiKey": "sk-lab",
                    "models": [
                        {
                            "id": "lab-coder",
                            "name": "Lab Coder",
                            "contextWindow": 128000,
                            "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0},
                        }
                    ],
                }
            }
        }
        (self.agent_dir / "models.json").write_text(json.dumps(configuration))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty agent directory and an empty project."""
    made = Place(tmp_path / "agent", tmp_path / "shop")
    made.agent_dir.mkdir()
    made.project.mkdir()
    return made


@pytest.fixture
def start(place: Place) -> Iterator[Callable[..., ServerProcess]]:
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
