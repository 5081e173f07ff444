"""Threads that the real pi runs, in a browser."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Start, Watched
from tests.e2e.pages import EnsoPage
from tests.e2e.places import Place
from tests.interop.real_pi import real_pi
from tests.model_server import Gate, ModelServer, Reply
from tests.npm_packages import INSTALL_SECONDS

pytestmark = pytest.mark.timeout(INSTALL_SECONDS + 180)

EXTENSION = """
export default function (pi) {
  pi.registerCommand("show", {
    description: "Show what an extension can",
    handler: async (_args, ctx) => {
      ctx.ui.setStatus("step", "Step 1 of 2");
      ctx.ui.setWidget("todo", ["[ ] <b>first</b>", "[ ] second"]);
      ctx.ui.setTitle("Deploying");
      const branch = await ctx.ui.input("Which branch?", "main");
      ctx.ui.setStatus("step", undefined);
      ctx.ui.setWidget("todo", undefined);
      ctx.ui.setEditorText(`Deploy ${branch}`);
      const late = await ctx.ui.confirm("Really?", "It takes a while.", { timeout: 1500 });
      ctx.ui.setTitle("");
      ctx.ui.notify(late ? "yes" : "nobody said so", "warning");
    },
  });
}
"""


@pytest.fixture
def with_pi(
    place: Place, start: Start, model_server: ModelServer, page: Page, tmp_path: Path
) -> EnsoPage:
    """A tab on a server whose threads pi runs: the one that is found on its PATH."""
    place.use_models(model_server)
    extensions = place.agent_dir / "extensions"
    extensions.mkdir()
    (extensions / "show.ts").write_text(EXTENSION)
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "pi"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(real_pi("1.6.0").command)} "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    return EnsoPage(page, start(ENSO_RUNTIME="pi", PATH=path).url)


def test_a_stored_thread_is_continued_asked_about_stopped_and_continued(
    with_pi: EnsoPage, place: Place, model_server: ModelServer
) -> None:
    """As with the built-in runtime; what streamed stays the element that it was."""
    stored = place.thread("t1", "What is here?", "A shop.")
    enso = with_pi
    enso.open(stored.thread_id)
    gate = Gate()
    call = {"name": "bash", "args": {"command": "echo from-the-shell"}}
    model_server.script(
        [Reply(text=["I look ", "at it."], gate=gate, tools=[call]), Reply(text=["Done."])]
    )
    enso.prompt("Look again")
    expect(enso.replies.last).to_contain_text("I look at it.")
    streaming = enso.replies.last.element_handle()
    gate.open()
    card = enso.page.locator(".dialog")
    expect(card).to_contain_text("echo from-the-shell")
    assert streaming is not None
    assert streaming.evaluate("(one) => one.isConnected")
    assert re.search(r"-[0-9a-f]{8}$", str(streaming.get_attribute("id")))
    enso.page.reload()
    expect(card).to_contain_text("echo from-the-shell")
    card.get_by_role("button", name="Allow once").click()
    enso.expect_settled()
    expect(enso.replies.last).to_contain_text("Done.")
    expect(enso.replies).to_have_count(3)
    held = Gate()
    model_server.script([Reply(text=["As far as this"], gate=held)])
    enso.prompt("And now slowly")
    expect(enso.replies.last).to_contain_text("As far as this")
    enso.page.get_by_role("button", name="Stop").click()
    enso.expect_settled()
    held.open()
    enso.ask("Go on", replies=5)
    live = enso.texts()
    enso.page.reload()
    enso.sockets.wait_for_snapshot()
    assert enso.texts() == live


def test_what_an_extension_shows_and_asks_is_where_a_person_looks(
    with_pi: EnsoPage, place: Place
) -> None:
    """State, widget, title, question, a text for the composer, a notice; and a time limit."""
    enso, page = with_pi, with_pi.page
    enso.open(place.thread("t1", "What is here?", "A shop.").thread_id)
    enso.prompt("/show")
    surface = page.locator(".surface")
    expect(surface).to_contain_text("Step 1 of 2")
    expect(surface).to_contain_text("[ ] <b>first</b>")
    expect(page).to_have_title(re.compile("Deploying"))
    question = page.locator(".dialog", has_text="Which branch?")
    expect(question.get_by_role("textbox")).to_have_attribute("placeholder", "main")
    question.get_by_role("textbox").fill("release")
    question.get_by_role("button", name="Answer").click()
    expect(surface).to_be_empty()
    expect(page.locator("form[data-composer] textarea")).to_have_value("Deploy release")
    expect(page.locator(".dialog", has_text="Really?")).to_contain_text("Nobody answered in time")
    expect(page.locator(".told:not(.gone)")).to_contain_text("Warning: nobody said so")
    enso.expect_settled()
    expect(page).not_to_have_title(re.compile("Deploying"))


def test_a_live_thread_is_forked_and_both_go_on_by_themselves(
    with_pi: EnsoPage, place: Place, model_server: ModelServer
) -> None:
    """A message's fork comes into the composer of a new thread; the first stays live as it was."""
    enso = with_pi
    stored = place.thread("t1", "What is here?", "A shop.")
    enso.open(stored.thread_id)
    model_server.script([Reply(text=[f"{number}."]) for number in ("Two", "Three", "Two again")])
    enso.ask("Second", replies=2)
    enso.ask("Third", replies=3)
    second = enso.prompts.nth(1)
    second.hover()
    second.locator(".acts summary").click()
    second.get_by_role("button", name="Fork").click()
    expect(enso.page).not_to_have_url(re.compile(f"{stored.thread_id}$"))
    expect(enso.text).to_have_value("Second")
    expect(enso.replies).to_have_count(1)
    forked_id = enso.thread_id
    enso.ask("Second, rephrased", replies=2)
    expect(enso.replies.last).to_contain_text("Two again.")
    sent = json.dumps(model_server.requests()[-1].body["messages"])
    assert all(said in sent for said in ("What is here?", "A shop.", "Second, rephrased"))
    assert "Third" not in sent
    assert '"Second"' not in sent
    assert place.file_of(forked_id).path != stored.path
    enso.row(stored.thread_id).click()
    expect(enso.replies).to_have_count(3)
    expect(enso.replies.last).to_contain_text("Three.")
    assert "rephrased" not in stored.path.read_text()


def test_a_pi_that_cannot_start_is_said_and_the_prompt_is_kept(
    with_pi: EnsoPage, place: Place, watched: Watched
) -> None:
    """With the cause, beside the composer that still holds the words."""
    watched.allow("409")
    enso = with_pi
    enso.open(place.thread("t1", "What is here?", "A shop.").thread_id)
    extension = place.agent_dir / "extensions" / "show.ts"
    extension.write_text("process.stderr.write('Error: the disk is on fire\\\n'); process.exit(7);")
    enso.page.locator("form[data-composer] textarea").fill("Go on")
    enso.page.get_by_role("button", name="Send").click()
    expect(enso.page.locator(".refused-prompt")).to_contain_text("the disk is on fire")
    expect(enso.page.locator("form[data-composer] textarea")).to_have_value("Go on")
