"""Tabs on panes whose every page and frame a test chooses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.driving.driven import BUSY, TALK, Driven, quiet_rail
from tests.look.scenes import agent_pane
from tests.look.scenes import page as page_of


@pytest.fixture
def tab(page: Page) -> Driven:
    """A tab without a page yet."""
    return Driven(page)


@pytest.fixture
def held(tab: Driven) -> Driven:
    """A tab on a thread that is held."""
    tab.show(page_of(agent_pane(TALK), quiet_rail()))
    return tab


@pytest.fixture
def busy(tab: Driven) -> Driven:
    """A tab on a thread in which a run is in flight."""
    tab.show(page_of(agent_pane(TALK, status=BUSY, word="busy"), quiet_rail()))
    return tab


@pytest.fixture
def plain(browser: Browser) -> Iterator[Driven]:
    """A tab that runs no script."""
    made = browser.new_context(java_script_enabled=False)
    yield Driven(made.new_page())
    made.close()
