"""What a person sets and does: mode, model, level, the thread itself, and its messages."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from enso import wire
from tests.e2e.conftest import Watched
from tests.e2e.driving.driven import (
    TALK,
    Answer,
    Driven,
    quiet_rail,
)
from tests.look.scenes import (
    FRESH,
    MODES,
    agent_pane,
    composer,
    png,
    user,
)
from tests.look.scenes import (
    page as page_of,
)


def test_the_mode_is_chosen_by_keys_and_told_to_every_tab(busy: Driven) -> None:
    """The chip opens what each mode does; arrows walk; a frame changes the chip; Escape closes."""
    chip = busy.page.get_by_role("button", name="Permission mode: ask")
    chip.press("Enter")
    expect(busy.page.get_by_role("button", name="ask Asks before")).to_be_focused()
    busy.page.keyboard.press("ArrowUp")
    busy.page.keyboard.press("Enter")
    busy.expect_posted("/mode", mode="plan")
    expect(busy.page.locator(".menu.mode")).to_be_hidden()
    mode = wire.PermissionMode(mode="plan", modes=list(MODES))
    busy.frame(wire.ModeFrame(permission_mode=mode))
    chip = busy.page.get_by_role("button", name="Permission mode: plan")
    chip.click()
    expect(busy.page.get_by_role("button", name="plan Reads")).to_have_attribute(
        "aria-pressed", "true"
    )
    busy.page.keyboard.press("Escape")
    expect(busy.page.locator(".menu.mode")).to_be_hidden()
    busy.expect_no_post()
    busy.page.keyboard.press("Escape")
    busy.expect_posted("/abort")


def test_what_is_set_in_a_new_thread_begins_it_in_its_project(tab: Driven) -> None:
    """The chosen project goes with it and with the prompt, and is said from then on."""
    many = composer(projects=(("/a", "api"), ("/b", "web")), project_id="/a")
    tab.show(page_of(agent_pane(**FRESH, composer=many), quiet_rail()))
    choice = tab.page.get_by_label("Project")
    choice.select_option("/b")
    tab.page.locator("button.chip.mode").click()
    tab.page.get_by_role("button", name="plan Reads").click()
    tab.expect_posted("/mode", mode="plan", projectId="/b")
    expect(choice).to_have_count(0)
    expect(tab.page.locator("#pane .meta")).to_contain_text("web")
    tab.text.fill("Go")
    tab.text.press("Enter")
    tab.expect_posted("/prompt", message="Go", projectId="/b")


def test_a_mode_that_is_not_known_is_said(held: Driven) -> None:
    """Its own name is on the chip, and what it does is said."""
    held.frame(
        wire.ModeFrame(permission_mode=wire.PermissionMode(mode="<yolo>", modes=list(MODES)))
    )
    held.page.get_by_role("button", name="Permission mode: <yolo>").click()
    expect(held.page.locator(".menu.mode p")).to_contain_text("“<yolo>”, which is not known here")


def test_model_and_level_are_chosen_from_what_is_configured(held: Driven) -> None:
    """Many are found by a word; the one in use is marked; levels are those of the model in use."""
    held.page.get_by_role("button", name="Model: Lab Coder 30B").click()
    menu = held.page.locator(".menu.model")
    expect(menu.locator("[aria-pressed=true]")).to_have_text(re.compile("Lab Coder 30B"))
    menu.get_by_role("searchbox").fill("gpt")
    expect(menu.locator("form:visible")).to_have_count(1)
    menu.get_by_role("button", name="GPT-5.2").click()
    held.expect_posted("/model", provider="openai", model="gpt-5.2")
    expect(menu).to_be_hidden()
    held.frame(
        wire.ModelFrame(
            model=wire.ModelInUse(
                provider="openai",
                model="gpt-5.2",
                label="GPT-5.2",
                level="high",
                levels=["low", "high"],
            )
        )
    )
    held.page.get_by_role("button", name="thinking: high").click()
    held.page.locator(".menu.level").get_by_role("button", name="low").click()
    held.expect_posted("/model", provider="openai", model="gpt-5.2", thinkingLevel="low")
    held.page.get_by_role("button", name="Model: GPT-5.2").click()
    menu.get_by_role("searchbox").fill("")
    expect(menu.locator("[aria-pressed=true]")).to_have_text(re.compile("GPT-5.2"))
    held.page.keyboard.press("Escape")
    plain = wire.ModelInUse(provider="labserver", model="lab-mini", label="Lab Mini")
    held.frame(wire.ModelFrame(model=plain))
    expect(held.page.locator(".chip.level")).to_be_hidden()


def test_a_setting_that_is_refused_says_why(held: Driven, watched: Watched) -> None:
    """The sentence stands above the composer until something else is done."""
    watched.allow("409")
    held.answers["/threads/t1/compact"] = Answer(409, "<p>There is nothing to compact.</p>")
    held.page.get_by_role("button", name="Name, compact, fork or delete this thread").click()
    held.page.get_by_role("button", name="Compact", exact=True).click()
    expect(held.page.locator("#said-t1")).to_have_text("There is nothing to compact.")
    held.page.get_by_role("button", name="Fork", exact=True).last.click()
    expect(held.page.locator("#said-t1")).to_be_empty()


def test_a_thread_is_named_summed_up_forked_and_deleted(held: Driven) -> None:
    """Two clicks on the title open its name; each command is a form of its own."""
    held.page.locator("#pane h1").dblclick()
    name = held.page.get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    expect(name).to_have_value("Totals are off by one cent")
    name.fill("Cents")
    name.press("Enter")
    held.expect_posted("/name", name="Cents")
    menu = held.page.locator(".menu.thread")
    for button, path, fields in (
        ("Compact", "/compact", {"instructions": "keep the totals"}),
        ("Fork", "/fork", {}),
        ("Delete", "/delete", {}),
    ):
        expect(menu).to_be_hidden()
        held.page.get_by_role("button", name="Name, compact, fork or delete this thread").click()
        menu.get_by_label("Sum up, to make room").fill("keep the totals")
        menu.get_by_role("button", name=button).click()
        held.expect_posted(path, **fields)


def test_a_message_is_edited_and_resent_from_before_it(tab: Driven) -> None:
    """The text returns as it was written, the part that was folded away and the image too."""
    text = "First\n\n" + "".join(f"line {n}\n" for n in range(80)) + "  last"
    tab.show(page_of(agent_pane((user("u1", text, png(4, 4)), *TALK[1:])), quiet_rail()))
    acts = tab.page.locator("#m-t1-u1 .acts")
    acts.locator("summary").press("Enter")
    acts.get_by_role("button", name="Edit and resend").click()
    tab.expect_posted("/tree", entryId="u1")
    expect(tab.text).to_have_value(text)
    expect(tab.text).to_be_focused()
    expect(tab.page.locator("[data-previews] img")).to_have_count(1)
    tab.text.press("Enter")
    tab.expect_posted("/prompt", message=text.replace("\n", "\r\n"), images="image-1")


def test_a_message_is_forked_from_and_labelled(held: Driven) -> None:
    """Both name the message; Enter in the label's box labels."""
    held.page.locator("#m-t1-u1").hover()
    acts = held.page.locator("#m-t1-u1 .acts")
    acts.locator("summary").click()
    label = acts.get_by_role("textbox", name="Label")
    label.fill("the start")
    label.press("Enter")
    held.expect_posted("/label", entryId="u1", label="the start")
    expect(label).to_be_hidden()
    acts.locator("summary").click()
    acts.get_by_role("button", name="Fork").click()
    held.expect_posted("/fork", entryId="u1")


def test_what_is_told_stands_beside_the_composer_until_it_is_put_away(held: Driven) -> None:
    """A command's answer has its lines, is text, and goes with one press."""
    held.frame(wire.NoticeFrame(message="/help: <b>List</b>\n/mode: Choose"))
    told = held.page.locator("#told-t1")
    expect(told).to_contain_text("/help: <b>List</b>")
    told.get_by_role("button", name="Dismiss").click()
    expect(told).to_be_empty()
