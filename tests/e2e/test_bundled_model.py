"""No key, no network, nothing configured: the bundled model answers, also after a restart."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Start, Watched
from tests.e2e.pages import EnsoPage
from tests.e2e.places import Place


@pytest.mark.timeout(300)
def test_two_prompts_and_a_restart_between_them(
    page: Page, place: Place, start: Start, watched: Watched
) -> None:
    """A first prompt streams its answer; a restarted server lists the thread and goes on in it."""
    for words in ("WebSocket connection to", "htmx:ws:error", "Failed to"):
        watched.allow(words)
    server = start()
    enso = EnsoPage(page, server.url)
    enso.open_fresh()
    expect(enso.page.locator(".composer .chips")).to_contain_text("SmolLM2")
    enso.prompt("Say hello in one short sentence.")
    thread_id = enso.thread_id
    _wait_for_answer(enso, 1)
    enso.expect_thread(thread_id, "Say hello in one short sentence.")
    first = enso.texts()
    pieces = [frame for frame in enso.sockets.frames() if "beforeend" in frame]
    assert len(pieces) > 2, "it did not stream"

    server.stop()
    expect(enso.status).to_contain_text("Connection lost")
    start(port=server.port)
    expect(enso.status).to_have_text(re.compile("Not running"))
    assert enso.texts() == first
    enso.expect_thread(thread_id, "Say hello in one short sentence.")

    enso.prompt("And now say goodbye.")
    _wait_for_answer(enso, 2)
    assert enso.texts()[:2] == first
    assert enso.texts()[2] == "And now say goodbye."
    file = place.file_of(thread_id)
    prompts = [one["content"][0]["text"] for one in file.messages("user")]
    assert prompts == ["Say hello in one short sentence.", "And now say goodbye."]
    replies = file.messages("assistant")
    assert len(replies) == 2
    for reply in replies:
        assert reply["content"][-1]["text"].strip()
        assert reply["usage"]["output"] > 0
        assert reply["usage"]["cost"]["total"] == 0
    page.reload()
    expect(enso.messages).to_have_count(4)
    enso.expect_thread(thread_id, "Say hello in one short sentence.")


def _wait_for_answer(enso: EnsoPage, replies: int) -> None:
    """The model starts with its first prompt, and this machine may be busy: give it its time."""
    expect(enso.replies).to_have_count(replies, timeout=120_000)
    expect(enso.replies.last.locator(".text")).to_have_text(re.compile(r"\w"), timeout=120_000)
    expect(enso.status).to_have_text(re.compile("Ready"), timeout=120_000)
