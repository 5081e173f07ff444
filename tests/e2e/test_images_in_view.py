"""Images in a browser: they come when they are looked at, and nothing moves when they come."""

from __future__ import annotations

import base64
import random
import re
import struct
import zlib

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from enso.host.contract import WINDOW_MESSAGES
from tests.e2e.conftest import Shop
from tests.e2e.pages import EnsoPage, Held, until
from tests.e2e.places import user

COUNT = WINDOW_MESSAGES // 2
WIDTH, HEIGHT = 400, 300
DRAWN = "(image) => image.complete && image.naturalWidth"
TOP = "(one) => one.getBoundingClientRect().top"


def noise(seed: int) -> str:
    """A PNG as base64 that is no small one, of an own colour in every pixel."""
    chance = random.Random(seed)
    rows = b"".join(b"\0" + chance.randbytes(WIDTH // 8) for _ in range(HEIGHT))
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 1, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    made = b"\x89PNG\r\n\x1a\n"
    for name, data in chunks:
        made += struct.pack(">I", len(data)) + name + data
        made += struct.pack(">I", zlib.crc32(name + data))
    return base64.b64encode(made).decode()


def thread_of_images(shop: Shop, thread_id: str) -> None:
    """Store a thread whose prompts are images."""
    turns = []
    for number in range(COUNT):
        prompt = user(f"Picture {number}", at=1_767_225_600_000 + number)
        image = {"type": "image", "data": noise(number), "mimeType": "image/png"}
        turns += [{**prompt, "content": [*prompt["content"], image]}, f"Answer {number}"]
    shop.place.thread(thread_id, *turns)


class Asked:
    """The images that a page asked for, in order."""

    def __init__(self, page: Page) -> None:
        self.paths: list[str] = []
        page.on("request", self._take)

    def _take(self, request: Request) -> None:
        found = re.search(r"/images/[^?]*", request.url)
        if found:
            self.paths.append(found[0])


@pytest.fixture
def enso(page: Page, shop: Shop) -> EnsoPage:
    """A page on the shared server."""
    return EnsoPage(page, shop.url)


def test_images_come_when_they_are_scrolled_to(enso: EnsoPage, shop: Shop) -> None:
    """The last ones at once, each asked for once; none of those far above before it is near. What
    a reader looks at stays in its place while they come."""
    thread_of_images(shop, "images-in-view")
    asked = Asked(enso.page)
    enso.open("images-in-view")
    shown = enso.prompts.locator("img")
    until(enso.page, lambda: shown.count() and shown.last.evaluate(DRAWN) == WIDTH, "the last")
    assert 0 < len(asked.paths) < COUNT
    assert enso.log.evaluate("(box) => box.scrollHeight - box.scrollTop - box.clientHeight") <= 1
    height = enso.log.evaluate("(box) => box.scrollHeight")
    held = Held(enso.page, "**/images/**")
    enso.log.evaluate("(box) => { box.scrollTop = 0; }")
    held.wait()
    first = enso.prompts.first
    expect(first.get_by_text(f"PNG, {WIDTH} × {HEIGHT}")).to_be_visible()
    places = [enso.prompts.nth(number).evaluate(TOP) for number in range(COUNT)]
    held.let_go()
    expect(first.locator("img")).to_be_visible()
    until(enso.page, lambda: first.locator("img").evaluate(DRAWN) == WIDTH, "the first")
    assert [enso.prompts.nth(number).evaluate(TOP) for number in range(COUNT)] == places
    assert enso.log.evaluate("(box) => box.scrollHeight") == height
    assert len(asked.paths) == len(set(asked.paths))


def test_images_that_came_stay_when_the_thread_is_told_anew(enso: EnsoPage, shop: Shop) -> None:
    """What another program writes brings the whole state anew, and asks for no image again."""
    thread_of_images(shop, "images-stay")
    enso.open("images-stay")
    last = enso.prompts.last.locator("img")
    until(enso.page, lambda: last.count() and last.evaluate(DRAWN) == WIDTH, "the last")
    asked = Asked(enso.page)
    element = last.element_handle()
    shop.place.file_of("images-stay").say("One more", "Yes")
    expect(enso.replies.last).to_contain_text("Yes")
    assert element.evaluate("(one) => one.isConnected")
    assert asked.paths == []


def test_an_image_has_a_page_of_its_own_without_scripts(browser: Browser, shop: Shop) -> None:
    """What is told of it is the link there; the page shows it as large as it is."""
    thread_of_images(shop, "images-plain")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{shop.url}/threads/images-plain")
    told = page.get_by_role("link", name=f"An image (PNG, {WIDTH} × {HEIGHT}")
    expect(told).to_have_count(COUNT)
    with page.expect_popup() as opened:
        told.last.click()
    image = opened.value.locator("#pane img")
    expect(image).to_have_js_property("naturalWidth", WIDTH)
    expect(opened.value.locator("#pane .meta")).to_have_text("Picture 0")
    context.close()
