"""Threads taken away: the page opens offline without scripts, and the pane offers every file."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from enso.composition import build_readings
from enso.server.readings import Readings
from enso.settings import Settings
from tests.e2e.conftest import Shop
from tests.e2e.pages import EnsoPage
from tests.e2e.places import CORPUS, Place, assistant, tool_call, tool_result
from tests.e2e.test_hostile_text import ATTACKS, HACK, hostile_thread
from tests.host.corpus import ALL

ODDITIES = [recorded for recorded in ALL if recorded.listed and "oddities" in recorded.name]
# Whatever a browser would act on, in a page that holds nothing but what it shows.
ACTIVE = """() => [...document.querySelectorAll("*")].filter((element) =>
  ["script", "iframe", "object", "embed", "base", "link", "form", "button", "input", "audio",
   "video", "template"].includes(element.localName) ||
  [...element.attributes].some(({ name, value }) => name.startsWith("on") || name === "style" ||
    (name === "src" && !value.startsWith("data:image/")) ||
    (name === "href" && !/^(https?:|mailto:|#)/.test(value)))
).map((element) => element.outerHTML.slice(0, 200))"""


@dataclass
class Offline:
    """A page without network and without scripts, with every request that it made."""

    page: Page
    requests: list[str] = field(default_factory=list)

    def open(self, file: Path) -> None:
        """Open a file of the disk."""
        self.page.goto(file.as_uri())
        self.requests.clear()

    def expect_harmless(self) -> None:
        """Nothing was asked for, nothing ran, nothing could act."""
        wanted = [url for url in self.requests if not url.startswith("data:image/")]
        assert wanted == []
        assert self.page.evaluate("() => window.__hacked") is None
        assert self.page.evaluate(ACTIVE) == []


@pytest.fixture
def offline(browser: Browser) -> Iterator[Offline]:
    """A profile that can reach nothing."""
    made = browser.new_context(java_script_enabled=False, offline=True)
    page = made.new_page()
    seen = Offline(page)
    page.on("request", lambda request: seen.requests.append(request.url))
    yield seen
    made.close()


def readings(agent_dir: Path, *projects: Path) -> Readings:
    """The store of an agent directory, without a server."""
    return build_readings(Settings(agent_dir=agent_dir, projects=projects))


def exported(store: Readings, thread_id: str, target: Path) -> Path:
    """A thread's page on disk."""
    target.write_bytes(b"".join(store.export(thread_id, "html").pieces))
    return target


def test_a_hostile_thread_does_nothing_offline(
    place: Place, tmp_path: Path, offline: Offline
) -> None:
    """No request, no script, no handler; every attack stands there as text."""
    thread_id = hostile_thread(place)
    store = readings(place.agent_dir, place.project)
    offline.open(exported(store, thread_id, tmp_path / "page.html"))
    store.close()
    offline.expect_harmless()
    text = offline.page.locator("main").evaluate("(main) => main.textContent")
    for attack in (f"<script>{HACK}</script>", "javascript:", "{{ 7*7 }}", "end of the attacks"):
        assert attack in text
    assert text.count("end of the attacks") >= ATTACKS.count("end of the attacks") * 8


@pytest.mark.parametrize("recorded", ODDITIES, ids=str)
def test_a_damaged_thread_opens_offline(recorded: object, tmp_path: Path, offline: Offline) -> None:
    """Whatever a file holds, its page is one page that does nothing."""
    assert isinstance(recorded, type(ODDITIES[0]))
    sessions = tmp_path / "agent" / "sessions" / "--x--"
    sessions.mkdir(parents=True)
    (sessions / recorded.path.name).write_bytes((CORPUS / recorded.name).read_bytes())
    store = readings(tmp_path / "agent", Path(recorded.listed["cwd"]))
    offline.open(exported(store, recorded.listed["id"], tmp_path / "page.html"))
    store.close()
    offline.expect_harmless()
    expect(offline.page.locator("h1")).to_be_visible()


def worked(place: Place, thread_id: str = "worked") -> str:
    """A thread with thinking, a tool's result and code; its id."""
    place.thread(
        thread_id,
        "Why is the total off by one?",
        assistant(
            {"type": "thinking", "thinking": "Perhaps it rounds twice."},
            "I will look.\n\n```python\nassert total == 17\n```",
            tool_call("c1", "bash", command="make test"),
            at=1_790_000_100_000,
            stopReason="toolUse",
        ),
        tool_result("c1", "bash", "1 failed, 213 passed", at=1_790_000_110_000),
        assistant("It rounds twice.", at=1_790_000_120_000),
    )
    return thread_id


def test_what_is_folded_opens_without_scripts_and_is_all_in_print(
    place: Place, tmp_path: Path, offline: Offline
) -> None:
    """Thoughts and results are folded on the screen, open on a click, and stand open on paper."""
    store = readings(place.agent_dir, place.project)
    offline.open(exported(store, worked(place), tmp_path / "page.html"))
    store.close()
    page = offline.page
    result = page.get_by_text("1 failed, 213 passed")
    thought = page.get_by_text("Perhaps it rounds twice.")
    expect(page.locator("code .z-k")).to_have_text("assert")
    expect(result).to_be_hidden()
    page.locator("details.tool summary").click()
    expect(result).to_be_visible()
    expect(thought).to_be_hidden()
    page.emulate_media(media="print")
    expect(thought).to_be_visible()


@pytest.mark.parametrize("scheme,is_dark", [("light", False), ("dark", True)])
def test_the_page_is_light_or_dark_as_its_reader(
    browser: Browser, place: Place, tmp_path: Path, scheme: str, is_dark: bool
) -> None:
    """Its style is there, allowed by its own policy, in both schemes; it fits a phone."""
    store = readings(place.agent_dir, place.project)
    file = exported(store, worked(place), tmp_path / "page.html")
    store.close()
    context = browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": 390, "height": 844},
        java_script_enabled=False,
        offline=True,
    )
    page = context.new_page()
    page.goto(file.as_uri())
    colour = page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
    shades = [int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
    assert (max(shades) < 80) == is_dark
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_the_panes_menu_gives_every_file(enso: EnsoPage, shop: Shop) -> None:
    """HTML, Markdown and the log come as downloads; the page stays where it is."""
    thread_id = worked(shop.place, "menu-export")
    page = enso.page
    page.goto(f"{shop.url}/threads/{thread_id}")
    page.locator(".manage").click()
    begins = {"HTML": b"<!doctype html>", "Markdown": b"# Why is", "JSONL": b'{"type":"session"'}
    for label, beginning in begins.items():
        with page.expect_download() as told:
            page.locator(".menu.thread").get_by_role("link", name=label, exact=True).click()
        assert Path(told.value.path()).read_bytes().lstrip().startswith(beginning)
    assert page.url == f"{shop.url}/threads/{thread_id}"
    expect(page.locator(".menu.thread")).to_be_visible()


def test_the_slash_command_offers_the_files_in_the_pane(enso: EnsoPage, shop: Shop) -> None:
    """Typed and sent, it is answered beside the composer; nothing is added to the thread."""
    thread_id = worked(shop.place, "slash-export")
    before = shop.place.file_of(thread_id).path.read_bytes()
    page = enso.page
    page.goto(f"{shop.url}/threads/{thread_id}")
    enso.sockets.wait_for_one_open()
    enso.text.fill("/exp")
    expect(page.locator("[role=option]").first).to_contain_text("/export")
    enso.prompt("/export md")
    with page.expect_download() as told:
        page.locator(".told:not(.gone)").get_by_role("link", name="Markdown").click()
    assert told.value.suggested_filename == "why-is-the-total-off-by-one.md"
    assert shop.place.file_of(thread_id).path.read_bytes() == before


def test_a_bug_report_is_looked_at_before_it_is_taken(context: BrowserContext, shop: Shop) -> None:
    """The page says what would be in it and what was found; the zip is without it."""
    secret = "ghp_" + "a1B2" * 9
    shop.place.thread("report", f"my token is {secret}", "I will not repeat it.")
    page = context.new_page()
    page.goto(f"{shop.url}/threads/report")
    page.locator(".manage").click()
    page.get_by_role("link", name="Bug report").click()
    expect(page.locator(".found")).to_contain_text("GitHub token: 2")
    expect(page.locator("dl")).to_contain_text("configuration.json")
    with page.expect_download() as told:
        page.get_by_role("button", name="Download").click()
    data = Path(told.value.path()).read_bytes()
    assert secret.encode() not in data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        lines = archive.read("thread.jsonl").decode().splitlines()
    assert json.loads(lines[1])["message"]["content"][0]["text"] == (
        "my token is [redacted GitHub token]"
    )
