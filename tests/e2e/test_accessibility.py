"""Every kind of page, judged by axe-core: names, roles, headings, landmarks, contrast."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, CDPSession, Page

from tests.look.look import STATES, drawn_pages, served
from tests.npm_packages import installed_packages

SCENES = (
    "asks-edit", "kinds", "drive", "work", "fresh", "blocked", "refused", "tree", "request",
    "entries", "stats",
)  # fmt: skip
"""Those that differ in kind; the others show more of the same."""

_TOLD = """.then(found => JSON.stringify(found.violations.map(
    ({id, help, nodes}) => `${id}: ${help} (${nodes.map(node => node.target).join(", ")})`)))"""
EVERYTHING = f"axe.run({{resultTypes: ['violations'], preload: false}}){_TOLD}"
CONTRAST = EVERYTHING.replace("preload", "runOnly: ['color-contrast'], preload")


@pytest.fixture(scope="module")
def axe() -> str:
    """The program that judges, as npm has it."""
    packages = installed_packages(Path(__file__).parent / "axe", "axe")
    return (packages / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def scenes(browser: Browser) -> Iterator[Page]:
    """A page at the foot of the addresses of all scenes."""
    with served(drawn_pages()) as base:
        context = browser.new_context(base_url=base, viewport={"width": 1280, "height": 900})
        yield context.new_page()
        context.close()


def judged(session: CDPSession, program: str) -> list[str]:
    """What axe says against the page. The pages' policy lets no script in: the debugger does."""
    asked = {"expression": program, "awaitPromise": True, "returnByValue": True}
    return json.loads(session.send("Runtime.evaluate", asked)["result"]["value"])


def faults(page: Page, axe: str) -> list[str]:
    """What is wrong in the light, and what cannot be read in the dark."""
    session = page.context.new_cdp_session(page)
    page.emulate_media(color_scheme="light")
    session.send("Runtime.evaluate", {"expression": axe})
    light = judged(session, EVERYTHING)
    page.emulate_media(color_scheme="dark")
    return [*light, *(f"dark: {one}" for one in judged(session, CONTRAST))]


@pytest.mark.parametrize("name", SCENES)
def test_a_kind_of_page_is_accessible(name: str, scenes: Page, axe: str) -> None:
    """axe-core finds nothing against it, in light and in dark."""
    scenes.goto(f"/{name}")
    assert faults(scenes, axe) == []


def test_the_drawer_beside_a_thread_is_accessible(scenes: Page, axe: str) -> None:
    """What opens over a page is judged with it."""
    scenes.goto("/drive")
    scenes.evaluate(STATES["drive"]["drawer"])
    assert faults(scenes, axe) == []
