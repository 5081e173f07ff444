"""The agent in a browser, end to end: a real server, real files and commands, a scripted model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.e2e.conftest import Shop, Start, Watched
from tests.e2e.pages import EnsoPage, until
from tests.e2e.places import Place
from tests.model_server import Gate, ModelServer, Reply, refused


def calls(*tools: tuple[str, dict[str, Any]]) -> Reply:
    """A message that calls these tools."""
    return Reply(tools=[{"name": name, "args": arguments} for name, arguments in tools])


def told(model_server: ModelServer) -> str:
    """All that the model was told in the newest request, as JSON."""
    return json.dumps(model_server.requests()[-1].body["messages"])


@pytest.fixture
def enso(page: Page, shop: Shop) -> EnsoPage:
    """A page on a new thread of the shared server."""
    opened = EnsoPage(page, shop.url)
    opened.open_fresh()
    return opened


def card(enso: EnsoPage) -> Locator:
    """The dialog that is open."""
    return enso.page.locator("#pane .dialog")


def press(enso: EnsoPage, name: str) -> None:
    """Answer the open dialog by the button of this name."""
    card(enso).get_by_role("button", name=name).click()


def set_mode(enso: EnsoPage, name: str) -> None:
    """Choose a permission mode in the pane."""
    enso.page.locator(".chip.mode").click()
    enso.page.locator(".menu.mode button").filter(has_text=name).first.click()
    expect(enso.page.locator(".chip.mode")).to_contain_text(name, ignore_case=True)


# -- permission and dialogs -----------------------------------------------------------------------


def test_a_command_is_asked_about_in_every_tab_and_the_first_answer_counts(
    context: BrowserContext, enso: EnsoPage, shop: Shop, model_server: ModelServer, watched: Watched
) -> None:
    """Two tabs ask; one allows, the command runs once, the other sees what was answered."""
    model_server.script(
        [calls(("bash", {"command": "echo ran >> ran.txt"})), Reply(text=["Done."])]
    )
    enso.prompt("Run it")
    expect(card(enso)).to_contain_text("echo ran >> ran.txt")
    other = EnsoPage(watched.watch(context.new_page()), shop.url)
    other.open(enso.thread_id)
    expect(card(other)).to_contain_text("echo ran >> ran.txt")
    expect(other.row(enso.thread_id).locator(".sign")).to_have_class(re.compile("needs"))
    expect(other.page).to_have_title(re.compile(r"^\(1\) "))
    press(other, "Allow once")
    for tab in (enso, other):
        expect(tab.replies.last).to_contain_text("Done.")
        expect(tab.page).not_to_have_title(re.compile(r"^\("))
    assert (shop.place.project / "ran.txt").read_text() == "ran\n"


def test_a_dialog_outlives_a_reload_and_a_denial_tells_the_model_why(
    enso: EnsoPage, model_server: ModelServer
) -> None:
    """Nothing runs while it is open; the reason is what the model reads."""
    model_server.script(
        [calls(("write", {"path": "a.txt", "content": "x"})), Reply(text=["As you say."])]
    )
    enso.prompt("Write a.txt")
    expect(card(enso)).to_contain_text("a.txt")
    enso.page.reload()
    expect(card(enso)).to_contain_text("a.txt")
    card(enso).get_by_role("textbox").fill("Not in this folder")
    press(enso, "Deny")
    expect(enso.replies.last).to_contain_text("As you say.")
    assert "Not in this folder" in told(model_server)


def test_what_was_allowed_for_the_thread_is_not_asked_again(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """One question, then the same command runs by itself; both calls run in order."""
    again = ("bash", {"command": "echo twice >> twice.txt"})
    model_server.script([calls(again), calls(again), Reply(text=["Both ran."])])
    enso.prompt("Twice")
    press(enso, "Allow in this thread")
    expect(enso.replies.last).to_contain_text("Both ran.")
    expect(card(enso)).to_have_count(0)
    assert (shop.place.project / "twice.txt").read_text() == "twice\ntwice\n"


def test_modes_decide_what_is_asked(
    enso: EnsoPage, shop: Shop, model_server: ModelServer, tmp_path: Path
) -> None:
    """Plan refuses, edit edits the project freely, auto still asks before it writes outside."""
    note = shop.place.project / "note.md"
    note.write_text("old words\n")
    edit = ("edit", {"path": "note.md", "edits": [{"oldText": "old", "newText": "new"}]})
    outside = ("write", {"path": str(tmp_path / "outside.txt"), "content": "out"})
    set_mode(enso, "Plan")
    model_server.script([calls(edit), Reply(text=["Planned."])])
    enso.prompt("Plan it")
    expect(enso.replies.last).to_contain_text("Planned.")
    assert note.read_text() == "old words\n"
    assert "plan" in told(model_server).lower()
    enso.expect_settled()
    set_mode(enso, "Edit")
    model_server.script([calls(edit), Reply(text=["Edited."])])
    enso.prompt("Now do it")
    expect(enso.replies.last).to_contain_text("Edited.")
    assert note.read_text() == "new words\n"
    enso.expect_settled()
    set_mode(enso, "Auto")
    model_server.script([calls(outside), Reply(text=["Outside."])])
    enso.prompt("And outside")
    expect(card(enso)).to_contain_text("outside.txt")
    press(enso, "Allow once")
    expect(enso.replies.last).to_contain_text("Outside.")
    assert (tmp_path / "outside.txt").read_text() == "out"
    kinds = [
        one["customType"]
        for one in shop.place.file_of(enso.thread_id).entries()
        if one["type"] == "custom"
    ]
    assert kinds == ["modes", "modes", "modes"]


def test_an_edit_shows_its_lines_and_a_reload_shows_the_same(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """The diff is in the pane, live and stored."""
    (shop.place.project / "total.py").write_text("a = 1\nb = 2\n")
    set_mode(enso, "Edit")
    edits = [{"oldText": "b = 2", "newText": "b = 3"}]
    model_server.script(
        [calls(("edit", {"path": "total.py", "edits": edits})), Reply(text=["Fixed."])]
    )
    enso.prompt("Fix it")
    expect(enso.replies.last).to_contain_text("Fixed.")
    for _ in range(2):
        tool = enso.page.locator("details.tool").filter(has_text="total.py")
        runs = enso.page.locator("details.run > summary")
        if runs.count():
            runs.first.click()
        tool.locator("summary").click()
        expect(tool.locator(".diff")).to_contain_text("b = 3")
        enso.page.reload()
        expect(enso.replies.last).to_contain_text("Fixed.")


def test_the_waiting_page_answers_for_any_thread(enso: EnsoPage, model_server: ModelServer) -> None:
    """A question can be answered without opening its thread."""
    model_server.script(
        [calls(("bash", {"command": "true # from afar"})), Reply(text=["Went on."])]
    )
    enso.prompt("Ask me from afar")
    expect(card(enso)).to_be_visible()
    thread_id = enso.thread_id
    enso.go("/waiting")
    asked = enso.page.locator(".dialog").filter(has_text="from afar")
    asked.get_by_role("button", name="Allow once").click()
    enso.open(thread_id)
    expect(enso.replies.last).to_contain_text("Went on.")


# -- while it runs --------------------------------------------------------------------------------


def test_a_steer_reaches_the_model_after_the_tool_and_a_queued_prompt_after_the_run(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """Both wait in sight; one that is taken back is never said."""
    gate = Gate()
    model_server.script(
        [
            Reply(text=["Looking. "], tools=[{"name": "ls", "args": {}}], gate=gate),
            Reply(text=["Steered."]),
            Reply(text=["And after."]),
        ]
    )
    enso.prompt("Begin")
    expect(enso.replies.last).to_contain_text("Looking.")
    queue = enso.page.locator("ol.queue li")
    enso.prompt("Steer me")
    expect(queue).to_have_count(1)
    enso.text.fill("After that")
    enso.text.press("Alt+Enter")
    expect(queue).to_have_count(2)
    enso.text.fill("Never said")
    enso.text.press("Alt+Enter")
    expect(queue).to_have_count(3)
    queue.filter(has_text="Never said").get_by_role("button", name="Take back").click()
    expect(queue).to_have_count(2)
    expect(enso.text).to_have_value("Never said")
    gate.open()
    expect(enso.replies.last).to_contain_text("And after.")
    enso.expect_settled()
    expect(queue).to_have_count(0)
    prompts = shop.place.file_of(enso.thread_id).messages("user")
    assert [one["content"][0]["text"] for one in prompts] == ["Begin", "Steer me", "After that"]


def test_stop_ends_a_command_and_all_it_started(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """Its output so far is seen while it runs; after the stop no process of it is left."""
    set_mode(enso, "Auto")
    command = "echo $$ > shell.pid; echo begun; sleep 600 & sleep 600"
    model_server.script([calls(("bash", {"command": command}))])
    enso.prompt("Run for ever")
    expect(enso.log.locator("pre.live")).to_contain_text("begun")
    enso.text.press("Escape")
    enso.expect_settled()
    expect(enso.log).to_contain_text("Command aborted")
    pid = int((shop.place.project / "shell.pid").read_text())
    until(enso.page, lambda: not group_lives(pid), "the command's processes ended")
    results = shop.place.file_of(enso.thread_id).messages("toolResult")
    assert [one["isError"] for one in results] == [True]


def group_lives(pid: int) -> bool:
    """Whether a process of this group runs."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == pid and fields[0] != "Z":
            return True
    return False


def test_refused_attempts_are_counted_and_tried_again_at_once_when_asked(
    page: Page, place: Place, start: Start, model_server: ModelServer
) -> None:
    """The wait is shown with its button; the series is one bubble; the answer ends it."""
    place.use_models(model_server)
    place.set(retry={"enabled": True, "maxRetries": 3, "baseDelayMs": 60_000})
    enso = EnsoPage(page, start().url)
    enso.open_fresh()
    model_server.script([refused("503"), refused("503"), Reply(text=["At last."])])
    enso.prompt("Try")
    try_now = enso.page.get_by_role("button", name="Try now")
    for attempt in (1, 2):
        expect(enso.status).to_contain_text(f"{attempt} of 3")
        try_now.click()
    expect(enso.replies.last).to_contain_text("At last.")
    enso.expect_settled()
    expect(enso.page.locator(".attempts")).to_have_count(1)
    expect(enso.page.locator(".attempts > details summary")).to_contain_text("2")


# -- the thread -----------------------------------------------------------------------------------


def test_a_conversation_is_summed_up_on_demand(
    page: Page, place: Place, start: Start, model_server: ModelServer
) -> None:
    """A marker opens to the summary; the next request is made from it."""
    place.use_models(model_server)
    place.set(compaction={"keepRecentTokens": 100})
    enso = EnsoPage(page, start().url)
    enso.open_fresh()
    words = "Words of the first answer. " * 40
    short = "And of the second. " * 30
    model_server.script([Reply(text=[one]) for one in (words, short, "## Goal\nSum of it")])
    enso.ask("Say much")
    enso.ask("Say little", replies=2)
    enso.page.locator("button.manage").click()
    enso.page.get_by_role("button", name="Compact", exact=True).click()
    marker = enso.page.locator("article.marker.compaction")
    marker.locator("summary").click()
    expect(marker).to_contain_text("Sum of it")
    enso.expect_settled()
    enso.prompt("Go on")
    expect(enso.prompts).to_have_count(3)
    enso.expect_settled()
    assert "Sum of it" in told(model_server)
    assert words not in told(model_server)


def test_model_and_level_are_entries_of_the_thread(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """What is chosen in the pane is what is asked, and what the file says."""
    enso.ask("First")
    enso.page.locator(".chip.model").click()
    enso.page.locator(".menu.model").get_by_role("button", name=re.compile("Lab Sonnet")).click()
    expect(enso.page.locator(".chip.model")).to_contain_text("Lab Sonnet")
    enso.page.locator(".chip.level").click()
    enso.page.locator(".menu.level").get_by_role("button", name="high", exact=True).click()
    expect(enso.page.locator(".chip.level")).to_contain_text("high")
    enso.ask("Second", replies=2)
    assert model_server.requests()[-1].api == "anthropic-messages"
    entries = shop.place.file_of(enso.thread_id).entries()
    assert ("labclaude", "lab-sonnet") in [
        (one["provider"], one["modelId"]) for one in entries if one["type"] == "model_change"
    ]
    levels = [one["thinkingLevel"] for one in entries if one["type"] == "thinking_level_change"]
    assert levels[-1] == "high"


def test_a_thread_that_only_ran_slash_commands_leaves_no_file(enso: EnsoPage, shop: Shop) -> None:
    """Commands answer beside the composer, and nothing is stored."""
    enso.prompt("/mode plan")
    expect(enso.page.locator(".chip.mode")).to_contain_text("Plan", ignore_case=True)
    enso.prompt("/help")
    expect(enso.page.locator(".told:not(.gone)")).to_contain_text("/compact")
    thread_id = enso.thread_id
    assert not list(shop.place.agent_dir.glob(f"sessions/*/*{thread_id}*"))
    expect(enso.row(thread_id)).to_have_count(0)


def test_a_prompt_is_said_differently_and_both_ways_are_kept(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """Edit and resend branches in the file; a fork is a thread of its own with the way up to it."""
    model_server.script([Reply(text=["One."]), Reply(text=["Two."]), Reply(text=["Two again."])])
    enso.ask("First")
    enso.ask("Second", replies=2)
    last = enso.prompts.last
    last.hover()
    last.locator(".acts summary").click()
    last.get_by_role("button", name="Edit and resend").click()
    expect(enso.text).to_have_value("Second")
    expect(enso.prompts).to_have_count(1)
    enso.ask("Second, rephrased", replies=2)
    entries = shop.place.file_of(enso.thread_id).entries()
    messages = [one for one in entries if one["type"] == "message"]
    parents = {text(one): one["parentId"] for one in messages}
    assert parents["Second"] == parents["Second, rephrased"]
    first, thread_id = enso.prompts.last, enso.thread_id
    first.hover()
    first.locator(".acts summary").click()
    first.get_by_role("button", name="Fork").click()
    expect(enso.page).not_to_have_url(re.compile(thread_id))
    expect(enso.text).to_have_value("Second, rephrased")
    expect(enso.replies).to_have_count(1)


def text(entry: dict[str, Any]) -> str:
    """The text of a message's entry."""
    content = entry["message"]["content"]
    return "".join(one.get("text", "") for one in content) if isinstance(content, list) else content


def test_a_deleted_thread_is_taken_back(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """Undo puts the file where it was."""
    enso.ask("Keep me")
    thread_id = enso.thread_id
    before = shop.place.file_of(thread_id).path.read_bytes()
    enso.page.locator("button.manage").click()
    enso.page.locator(".menu.thread").get_by_role("button", name="Delete").click()
    expect(enso.row(thread_id)).to_have_count(0)
    enso.page.get_by_role("button", name="Undo").click()
    expect(enso.row(thread_id)).to_have_count(1)
    assert shop.place.file_of(thread_id).path.read_bytes() == before


def test_a_server_killed_in_a_dialog_says_so_and_goes_on(
    page: Page, place: Place, start: Start, model_server: ModelServer, watched: Watched
) -> None:
    """The question is gone with the server; the thread tells where it broke off, and continues."""
    for fault in (
        "ERR_CONNECTION_REFUSED",
        "ERR_CONNECTION_RESET",
        "WebSocket",
        "ws:error",
        "Failed to fetch",
    ):
        watched.allow(fault)
    place.use_models(model_server)
    server = start()
    enso = EnsoPage(page, server.url)
    enso.open_fresh()
    model_server.script([calls(("bash", {"command": "echo never > never.txt"}))])
    enso.prompt("Ask first")
    expect(card(enso)).to_be_visible()
    thread_id, port = enso.thread_id, server.port
    server.kill()
    start(port=port)
    enso.go(f"/threads/{thread_id}")
    expect(card(enso)).to_have_count(0)
    expect(enso.page.locator("div.interrupted")).to_contain_text(
        re.compile("tool|call", re.IGNORECASE)
    )
    model_server.script([Reply(text=["Continued."])])
    enso.prompt("Go on")
    expect(enso.replies.last).to_contain_text("Continued.")
    expect(enso.page.locator("div.interrupted")).to_be_empty()
    assert not (place.project / "never.txt").exists()


def test_a_spend_limit_stops_before_the_next_request_and_asks(
    page: Page, place: Place, start: Start, model_server: ModelServer
) -> None:
    """What it cost and the limit are in the question; no request is made until a yes."""
    place.use_models(model_server)
    enso = EnsoPage(page, start(ENSO_SPEND_LIMIT="0.00001").url)
    enso.open_fresh()
    model_server.script([Reply(text=["Cheap."]), Reply(text=["Dear."])])
    enso.ask("First")
    made = len(model_server.requests())
    enso.prompt("Second")
    expect(card(enso)).to_contain_text("spend limit")
    assert len(model_server.requests()) == made
    press(enso, "Go on")
    expect(enso.replies.last).to_contain_text("Dear.")
