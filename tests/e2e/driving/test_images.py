"""Images in the composer: every way in, what is said before sending, and that the rest stays."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from enso import wire
from enso.images import MAX_IMAGE_BYTES
from tests.e2e.driving.driven import TALK, Driven, quiet_rail
from tests.look.scenes import agent_pane, png
from tests.look.scenes import page as page_of

File = dict[str, Any]
WAYS = ("paste", "drop", "choose")
GIVE = """([way, files]) => {
  const transfer = new DataTransfer();
  for (const { name, type, data } of files) {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    transfer.items.add(new File([bytes], name, { type }));
  }
  const text = document.querySelector("form[data-composer] textarea");
  const made = { bubbles: true, cancelable: true };
  if (way === "paste")
    text.dispatchEvent(new ClipboardEvent("paste", { ...made, clipboardData: transfer }));
  else if (way === "drop")
    document.querySelector("[data-log]").dispatchEvent(
      new DragEvent("drop", { ...made, dataTransfer: transfer }));
  else {
    const input = document.querySelector("input[data-files]");
    input.files = transfer.files;
    input.dispatchEvent(new Event("change", made));
  }
}"""
SIZE = "(image) => [image.naturalWidth, image.naturalHeight]"


def a_file(name: str, content: bytes, kind: str = "image/png") -> File:
    """A file as the page's script takes it."""
    return {"name": name, "type": kind, "data": base64.b64encode(content).decode()}


def picture(name: str, width: int = 4, height: int = 4, *, more: int = 0) -> File:
    """A PNG, with so many bytes behind its end."""
    return a_file(name, base64.b64decode(png(width, height).data) + bytes(more))


def give(tab: Driven, way: str, *files: File) -> None:
    """Paste, drop or choose files."""
    tab.page.evaluate(GIVE, [way, files])


def names(tab: Driven) -> list[str]:
    """The names of the images that would go out."""
    script = "(input) => [...input.files].map((file) => file.name)"
    return tab.page.locator("input[data-files]").evaluate(script)


def expect_shown(tab: Driven, *shown: str) -> None:
    """These images stand in the composer, in this order, and would go out."""
    previews = tab.page.locator("[data-previews] img")
    expect(previews).to_have_count(len(shown))
    assert [one.get_attribute("alt") for one in previews.all()] == list(shown)
    assert names(tab) == list(shown)


@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_sent_is_said_by_name_and_the_rest_stays(held: Driven, way: str) -> None:
    """Whichever way it came: a text, a picture of too many bytes, one that is damaged."""
    give(
        held,
        way,
        picture("first.png"),
        a_file("notes.txt", b"words", "text/plain"),
        a_file("scan.png", bytes(MAX_IMAGE_BYTES + 1)),
        a_file("torn.png", b"no picture"),
        a_file("photo.heic", b"ftypheic", "image/heic"),
        picture("last.png"),
    )
    expect_shown(held, "first.png", "last.png")
    expect(held.page.locator("[data-left-out] span")).to_have_text(
        [
            "“notes.txt” is no image. Name a file of the project with @, or paste its text.",
            "“scan.png” has 3.6 MB; an image may have at most 3.5 MB. Make it smaller.",
            re.compile("“torn.png” cannot be read as an image: .* Save it anew."),
            "“photo.heic” is no PNG, JPEG, GIF or WebP image. Save it as one of them.",
        ]
    )
    held.expect_no_post()
    held.page.get_by_role("button", name="Dismiss").first.click()
    expect(held.page.locator("[data-left-out] span")).to_have_count(3)
    held.text.fill("Compare them")
    held.text.press("Enter")
    held.expect_posted("/prompt", message="Compare them", images="last.png")
    expect(held.page.locator("[data-left-out] p")).to_have_count(0)
    expect_shown(held)


@pytest.mark.parametrize("way", WAYS)
def test_too_many_pixels_are_said_and_made_fewer(held: Driven, way: str) -> None:
    """One press scales the picture down, and it stands among the others."""
    give(held, way, picture("wide.png", 9000, 2), picture("small.png"))
    expect_shown(held, "small.png")
    said = held.page.locator("[data-left-out]")
    expect(said).to_contain_text("“wide.png” is 9,000 × 2 pixels; a side may have at most 8,000.")
    said.get_by_role("button", name="Make it smaller").click()
    expect_shown(held, "small.png", "wide.png")
    assert held.page.get_by_alt_text("wide.png").evaluate(SIZE) == [2000, 1]
    expect(said.locator("p")).to_have_count(0)


def test_too_many_bytes_are_made_fewer(held: Driven) -> None:
    """What can be decoded can be made smaller; it fits then."""
    give(held, "choose", picture("big.png", 300, 200, more=MAX_IMAGE_BYTES))
    held.page.get_by_role("button", name="Make it smaller").click()
    expect_shown(held, "big.png")
    script = "(input) => input.files[0].size"
    assert held.page.locator("input[data-files]").evaluate(script) < MAX_IMAGE_BYTES


def test_a_drawing_is_converted(held: Driven) -> None:
    """No provider takes SVG; it becomes a PNG on a press."""
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><path d="M0 0h9"/></svg>'
    )
    give(held, "drop", a_file("plan.svg", drawing.encode(), "image/svg+xml"))
    held.page.get_by_role("button", name="Convert it").click()
    expect_shown(held, "plan.png")
    assert held.page.get_by_alt_text("plan.png").evaluate(SIZE) == [40, 30]


def test_a_second_choice_adds_and_the_seventeenth_is_left_out(held: Driven) -> None:
    """Ten, ten more with one that is there already: sixteen stand, the others are named."""
    give(held, "choose", *(picture(f"{n}.png") for n in range(10)))
    give(held, "choose", *(picture(f"{n}.png", 5) for n in range(10, 18)))
    expect_shown(held, *(f"{n}.png" for n in range(16)))
    expect(held.page.locator("[data-left-out] span")).to_have_text(
        [
            f"“{n}.png” is left out: one prompt takes at most 16 images. Send it with the next."
            for n in (16, 17)
        ]
    )
    held.page.get_by_role("button", name="Remove 3.png").click()
    expect(held.page.get_by_role("button", name="Remove 4.png")).to_be_focused()


def test_a_prompt_waits_for_the_images_that_are_looked_at(held: Driven) -> None:
    """Enter right behind a drop sends both."""
    held.text.fill("This one")
    held.page.evaluate(
        f"(given) => {{ ({GIVE})(given);"
        " document.querySelector('form[data-composer] .primary').click(); }",
        ["drop", [picture("late.png")]],
    )
    held.expect_posted("/prompt", message="This one", images="late.png")


def test_cells_of_a_table_are_pasted_as_text(held: Driven) -> None:
    """A clipboard that holds text and its picture gives the text to the box, not the picture."""
    taken = held.page.evaluate(
        """() => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", "a\tb");
          clipboardData.items.add(new File(["x"], "cells.png", { type: "image/png" }));
          const made = { clipboardData, bubbles: true, cancelable: true };
          const text = document.querySelector("form[data-composer] textarea");
          return !text.dispatchEvent(new ClipboardEvent("paste", made));
        }"""
    )
    assert taken is False
    expect_shown(held)


def test_images_go_with_what_steers_a_run(busy: Driven) -> None:
    """They are posted to the queue as to a prompt."""
    give(busy, "paste", picture("now.png"))
    expect_shown(busy, "now.png")
    busy.text.fill("Like this")
    busy.text.press("Enter")
    busy.expect_posted("/queue", message="Like this", when="steer", images="now.png")


def test_what_was_queued_comes_back_with_its_images(busy: Driven) -> None:
    """Taken back, it is what it was before it was sent, beside what was added meanwhile."""
    give(busy, "paste", picture("a.png"))
    expect_shown(busy, "a.png")
    busy.text.fill("Like this ")
    busy.text.press("Alt+Enter")
    expect_shown(busy)
    queued = wire.QueuedPrompt(id="q1", message="Like this", when="after")
    busy.frame(wire.QueueFrame(queue=[queued]))
    give(busy, "paste", picture("b.png", 5, 5))
    busy.page.get_by_role("button", name="Take back").click()
    expect(busy.text).to_have_value("Like this")
    expect_shown(busy, "b.png", "a.png")


def test_without_scripts_the_field_is_a_plain_one(plain: Driven) -> None:
    """It is seen, takes files, and they go out with the form."""
    plain.show(page_of(agent_pane(TALK), quiet_rail()), scripts=False)
    field = plain.page.locator("input[data-files]")
    expect(field).to_be_visible()
    field.set_input_files(
        [{"name": "dot.png", "mimeType": "image/png", "buffer": base64.b64decode(png(2, 2).data)}]
    )
    plain.text.fill("And this?")
    plain.page.get_by_role("button", name="Send", exact=True).click()
    plain.expect_posted("/prompt", message="And this?", images="dot.png")
