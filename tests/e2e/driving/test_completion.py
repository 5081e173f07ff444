"""Completion in the composer: slash commands and files, by keys and by tap."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from enso import wire
from enso.server.render import Renderer
from enso.server.views import CommandsView, FilesView
from tests.e2e.driving.driven import (
    Answer,
    Driven,
)

COMMANDS = (
    wire.Command(name="compact", description="Sum up.", source="enso", argument_hint="[what]"),
    wire.Command(name="commit", description="<b>Commits</b>", source="prompt"),
    wire.Command(name="model", description="Choose.", source="enso"),
)
LIST = "/threads/t1/commands"
PATHS = ("shop/orders.py", "shop/order lines.py", "docs/<b>.md")


def complete(tab: Driven) -> None:
    """Answer completions with what fits."""
    renderer = Renderer()

    def commands(sent: Any) -> Answer:
        fit = [one for one in COMMANDS if one.name.startswith(sent.fields.get("q", ""))]
        return Answer(200, renderer.commands(CommandsView(key="t1", query="", commands=fit)))

    def files(sent: Any) -> Answer:
        fit = [one for one in PATHS if sent.fields.get("q", "") in one]
        return Answer(200, renderer.files(FilesView(key="t1", query="", paths=fit)))

    tab.answers[LIST] = commands
    tab.answers["/threads/t1/files"] = files


def test_slash_commands_complete_by_keys(busy: Driven) -> None:
    """Arrows choose, Enter and Tab take, Escape puts away and stops nothing; Enter then sends."""
    complete(busy)
    box = busy.page.get_by_role("listbox", name="Completions")
    busy.text.press_sequentially("/com")
    expect(box.get_by_role("option")).to_have_text(
        [re.compile(r"/compact.*Sum up\."), re.compile(r"/commit.*<b>Commits</b>.*prompt")]
    )
    expect(busy.text).to_have_attribute("aria-controls", "complete-t1")
    expect(busy.text).to_have_role("textbox")
    expect(busy.text).to_have_attribute("aria-activedescendant", "option-t1-1")
    busy.text.press("ArrowDown")
    expect(box.locator("[aria-selected=true]")).to_contain_text("/commit")
    busy.text.press("Tab")
    expect(busy.text).to_have_value("/commit ")
    expect(busy.text).to_be_focused()
    expect(box).to_be_hidden()
    assert busy.text.get_attribute("aria-controls") is None
    busy.text.fill("/m")
    expect(box).to_be_visible()
    busy.text.press("Escape")
    expect(box).to_be_hidden()
    busy.expect_no_post()
    busy.text.press_sequentially("odel")
    expect(box).to_be_visible()
    busy.text.press("Enter")
    busy.expect_posted("/queue", message="/model")
    expect(box).to_be_hidden()


def test_files_complete_behind_an_at(held: Driven) -> None:
    """Anywhere in the text, by what was typed behind it; a tap takes one and keeps the keyboard."""
    complete(held)
    box = held.page.get_by_role("listbox", name="Completions")
    held.text.press_sequentially("Look at @or")
    expect(box.get_by_role("option")).to_have_count(2)
    box.get_by_role("option").first.click()
    expect(held.text).to_have_value("Look at @shop/orders.py ")
    expect(held.text).to_be_focused()
    held.text.press_sequentially("and @nothing")
    expect(box).to_be_hidden()
    held.text.press("Enter")
    held.expect_posted("/prompt", message="Look at @shop/orders.py and @nothing")


def test_a_late_list_does_not_open(held: Driven) -> None:
    """What was asked for a text that is gone by now is not shown."""
    complete(held)
    held.hold(LIST)
    held.text.press_sequentially("/com")
    held.wait_held(LIST, 4)
    held.text.fill("never mind")
    held.let_go(LIST)
    held.text.press("Enter")
    held.expect_posted("/prompt", message="never mind")
    expect(held.page.get_by_role("option")).to_have_count(0)


def test_keys_do_not_take_from_a_list_of_what_was_typed_before(held: Driven) -> None:
    """Enter sends what stands there while the list for it is still on its way."""
    complete(held)
    held.text.press_sequentially("/")
    expect(held.page.get_by_role("option").first).to_be_visible()
    held.hold(LIST)
    held.text.fill("/model now")
    held.text.press("Backspace")
    for _ in "now":
        held.text.press("Backspace")
    held.wait_held(LIST)
    held.text.press("Enter")
    held.expect_posted("/prompt", message="/model")
    held.let_go(LIST)
    expect(held.page.get_by_role("option")).to_have_count(0)
    expect(held.text).to_have_value("")
