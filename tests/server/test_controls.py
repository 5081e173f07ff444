"""What a person sets and sees waiting: queue, mode, model, status, output, completion, messages."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso import transcript, wire
from enso.server.frames import LIVE_CHARACTERS, LIVE_LINES, hrefs_under
from enso.server.messages import transcript_to_messages
from enso.server.render import Renderer, Streams
from enso.server.views import CommandsView, Deleted, FilesView, HistoryView
from tests.look.scenes import (
    ASK_RUN,
    FRESH,
    MODELS,
    MODES,
    QUEUE,
    RUNNING,
    WORK,
    agent,
    agent_pane,
    busy_with,
    composer,
    page,
    pane,
    refused,
    running,
    user,
)
from tests.server.drawn import HOSTILE, Page, assert_safe, pieces, snapshot, words

RENDER = Renderer()
BASE = "/threads/k"
HREFS = hrefs_under(BASE)
MODE = wire.PermissionMode(mode="plan", modes=list(MODES[:2]))


def draw(frame: wire.Frame, **options: Any) -> str:
    """A frame of the thread ``k``."""
    return RENDER.frame(frame, key="k", base=BASE, **options)


def driven(**fields: Any) -> str:
    """A pane of the thread ``k`` in which the agent can be driven."""
    return RENDER.pane(agent_pane(WORK, key="k", hrefs=HREFS, **fields))


# -- what can be done is offered, and nothing else ------------------------------------------------


def test_a_pane_without_links_offers_nothing() -> None:
    """A server that does not take a command shows no button for it."""
    html = RENDER.pane(pane(WORK))
    for word in ("Steer", "Queue", 'popovertarget="mode', "Fork", "Rename", "data-complete"):
        assert word not in html


def test_every_form_of_a_driven_pane_works_without_scripts() -> None:
    """What htmx posts, a plain form posts; what a button of its own address posts, too."""
    html = RENDER.page(page(agent_pane(WORK, dialogs=(ASK_RUN,), queue=QUEUE)))
    read = assert_safe(html)
    for form in read.all("form"):
        if "hx-post" in form:
            assert (form["method"], form["action"]) == ("post", form["hx-post"])
    own = {one["formaction"] for one in read.all("button") if "formaction" in one}
    assert own == {f"/threads/t1/{name}" for name in ("queue", "label", "tree")}


def test_the_composers_form_is_in_no_element_that_a_frame_replaces() -> None:
    """Everything a frame aims at leaves the draft alone."""
    html = driven(dialogs=(ASK_RUN,), queue=QUEUE)
    form = html[html.index('<form class="composer"') :]
    form = form[: form.index("</form>")]
    inside = set(Page(f"{form}</form>").ids())
    aims = {"mode-k", "model-k", "level-k", "context-k", "composer-error-k", "complete-k"}
    assert inside == {"composer-k", "prompt-k", *aims}
    before = html[: html.index('<form class="composer"')]
    assert before.count("<ol") == before.count("</ol>")
    assert before.count("<p") == before.count("</p>") + before.count("<path") + before.count("<pre")


# -- the queue ------------------------------------------------------------------------------------


def test_the_queue_shows_each_prompt_and_the_way_to_take_it_back() -> None:
    """In the order of delivery, the whole text, with when it is said."""
    ((target, swap, html),) = pieces(draw(wire.QueueFrame(queue=list(QUEUE))))
    assert (target, swap) == ("queue-k", "innerMorph")
    assert html.startswith(
        '<li id="q-k-q1"><span class="when">next</span><span class="words" dir="auto">'
        "And look at the tax of the second line too.</span>"
        '<form method="post" action="/threads/k/queue/q1/take-back" '
        'hx-post="/threads/k/queue/q1/take-back" hx-target="this" hx-swap="none" '
        'hx-sync="this:drop" hx-disable="findAll button" data-take-back>'
        '<button class="quiet">Take back</button></form></li>\n'
    )
    assert QUEUE[1].message in Page(html).text
    assert html in driven(queue=QUEUE)


def test_what_cannot_be_taken_back_offers_no_way_to() -> None:
    """Not every runtime lets a prompt go that it has."""
    fixed = [item.model_copy(update={"fixed": True}) for item in QUEUE]
    ((_, _, html),) = pieces(draw(wire.QueueFrame(queue=fixed)))
    assert QUEUE[1].message in Page(html).text
    assert "<form" not in html


def test_an_empty_queue_is_nothing() -> None:
    """No space is left where nothing waits."""
    assert pieces(draw(wire.QueueFrame(queue=[]))) == [("queue-k", "innerMorph", "")]
    assert '<ol class="queue" id="queue-k" aria-label="Waits to be said"></ol>' in driven()


# -- mode and model -------------------------------------------------------------------------------


def test_a_mode_changes_its_chip_and_its_menu() -> None:
    """The label, and what each mode does, the one in use pressed."""
    label, menu, about = pieces(draw(wire.ModeFrame(permission_mode=MODE)))
    assert label == ("mode-k", "innerHTML", "plan")
    assert menu == (
        "modes-k",
        "innerMorph",
        (
            '<button name="mode" value="plan" aria-pressed="true"><strong>plan</strong>'
            "<span>Reads, and changes nothing.</span></button>\n"
            '<button name="mode" value="ask" aria-pressed="false"><strong>ask</strong>'
            "<span>Asks before it runs a command or changes a file.</span></button>\n"
        ),
    )
    assert menu[2] in driven(mode="plan", modes=MODES[:2])
    told = "plan<small>Reads, and changes nothing.</small>"
    assert about == ("welcome-mode-k", "innerHTML", told)


def test_a_mode_that_is_not_known_is_shown_by_its_name() -> None:
    """It is treated as ask, and that is said."""
    html = driven(mode="yolo")
    assert '<span id="mode-k">yolo</span>' in html
    assert "This thread is in the mode “yolo”, which is not known here" in html
    assert "is not known here" not in driven(mode="ask")


def test_a_model_changes_its_chip_and_its_levels() -> None:
    """A model without levels has no chip for them."""
    told = wire.ModelInUse(provider="p", model="m", label="M", level="low", levels=["low"])
    assert pieces(draw(wire.ModelFrame(model=told))) == [
        ("model-k", "innerHTML", '<span data-provider="p" data-model="m">M</span>'),
        ("welcome-model-k", "innerHTML", "M"),
        ("level-k", "innerHTML", "thinking: low"),
        (
            "levels-k",
            "innerMorph",
            (
                '<input type="hidden" name="provider" value="p">'
                '<input type="hidden" name="model" value="m">\n'
                '<button name="thinkingLevel" value="low" aria-pressed="true">'
                "<strong>low</strong></button>\n"
            ),
        ),
    ]
    off = told.model_copy(update={"levels": ["off"], "level": "off"})
    assert pieces(draw(wire.ModelFrame(model=off)))[2] == ("level-k", "innerHTML", "")
    bare = told.model_copy(update={"levels": [], "level": "low"})
    assert [html for _, _, html in pieces(draw(wire.ModelFrame(model=bare)))[2:]] == ["", ""]
    assert draw(wire.ModelFrame(model=None)) == ""


def test_models_stand_under_their_providers_in_the_order_they_are_configured() -> None:
    """Each is a form of its own with provider and model; the one in use is pressed."""
    html = driven()
    menu = html[html.index("<section><h3>labserver") : html.rindex("</section>")] + "</section>"
    assert re.findall(r"<h3>(\w+)</h3>", menu) == ["labserver", "openai", "house"]
    read = Page(menu)
    posted = [(one["name"], one["value"]) for one in read.all("input") if "value" in one]
    assert posted[:4] == [
        ("provider", "labserver"),
        ("model", "lab-coder"),
        ("provider", "labserver"),
        ("model", "lab-mini"),
    ]
    pressed = [one for one in read.all("button") if one["aria-pressed"] == "true"]
    assert len(pressed) == 1


def test_a_model_that_is_gone_is_said_with_the_choice() -> None:
    """No composer that cannot send; the models that there are stand where it would be."""
    gone = composer(blocked="The model “lab-huge” is not configured any more.")
    html = driven(composer=gone, model=("", ""), models=MODELS[:2])
    assert "The model “lab-huge” is not configured any more." in html
    box = html[html.index('<div class="blocked"') :]
    assert '<button aria-pressed="false"><strong>Lab Mini</strong><span>8.2 k</span>' in box
    assert "<textarea" not in html


def test_no_model_is_offered_where_another_would_not_help() -> None:
    """Where a prompt has nowhere to run, only that is said."""
    nowhere = composer(blocked="None of this server's projects is a directory now.")
    html = driven(composer=nowhere, models=MODELS[:2])
    assert "is a directory now" in html
    assert "data-choose" not in html
    assert "data-choose" in driven(composer=nowhere, model=("", ""), models=MODELS[:2])


# -- the status line ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, said",
    [
        (busy_with("asking"), "Working · run 3 · asking the model"),
        (busy_with("asking", detail="lab-coder"), "Working · run 3 · asking lab-coder"),
        (busy_with("answering"), "Working · run 3 · answering"),
        (busy_with("tools"), "Working · run 3 · running tools"),
        (busy_with("tools", detail="bash\nread"), "Working · run 3 · running bash read"),
        (busy_with("compacting"), "Working · run 3 · summing up"),
        (busy_with("stopping"), "Stopping · run 3"),
        (busy_with("needs-you", "needs you"), "Needs you · run 3"),
    ],
)
def test_the_status_line_says_what_is_under_way(status: wire.Status, said: str) -> None:
    """Each activity in a few words, marked for what the page does with it."""
    ((target, swap, html),) = pieces(draw(wire.StatusFrame(**dict(status))))
    assert (target, swap, words(html)) == ("status-k", "innerHTML", said)
    assert status.activity is not None
    assert f'data-busy="{status.activity.kind}"' in html


def test_a_wait_is_counted_from_when_it_ends() -> None:
    """The time it ends is in the page, the count for those who see it, the attempt for all."""
    until = (datetime.now(UTC) + timedelta(seconds=60)).isoformat()
    status = busy_with("retry-wait", until=until, attempt=2, attempts=3)
    ((_, _, html),) = pieces(draw(wire.StatusFrame(**dict(status))))
    assert f'<time aria-hidden="true" datetime="{until}" data-until>in ' in html
    assert words(html).startswith("Working · run 3 · trying again in ")
    assert words(html).endswith(" s, attempt 2 of 3")
    fixed = busy_with("retry-wait", until=until, fixed=True)
    ((_, _, html),) = pieces(draw(wire.StatusFrame(**dict(fixed))))
    assert "data-until data-fixed>" in html
    over = busy_with("retry-wait", until="2020-01-01T00:00:00Z", attempt=1)
    ((_, _, html),) = pieces(draw(wire.StatusFrame(**dict(over))))
    assert words(html) == "Working · run 3 · trying again now, attempt 1"


def test_a_question_is_reached_from_the_status_line() -> None:
    """“Needs you” is a link to where the card is."""
    status = busy_with("needs-you", "needs you")
    ((_, _, html),) = pieces(draw(wire.StatusFrame(**dict(status))))
    assert '<a href="#dialogs-k" data-jump>' in html


# -- output as it comes ---------------------------------------------------------------------------


def test_a_running_call_has_a_place_for_its_output() -> None:
    """Open while it runs, in another element than a call that is done; a morph passes it over."""
    html = str(RENDER.messages(running(RUNNING), key="k"))
    assert '<div class="running-tool" id="p-k-a8-1"><details class="tool running" open>' in html
    assert '<code id="pr-k-a8-r1" hx-morph-skip></code>' in html
    assert_safe(html)


def test_a_call_that_tells_nothing_while_it_runs_is_not_opened() -> None:
    """A file that is written is one quiet line, as it will be."""
    arguments = {"path": "a", "content": "x\n" * 99}
    part = wire.ToolCallPart(id="c", name="write", arguments=arguments, state="running")
    message = wire.Message(id="m", role="assistant", parts=[part])
    html = str(RENDER.messages([message], key="k"))
    assert '<details class="tool running"><summary>' in html


def test_output_replaces_what_was_there_and_is_text() -> None:
    """Its end alone, exactly, whatever it is."""
    frame = wire.ToolProgressFrame(message_id="a", call_id="c.1", text="\n<b>&\n  x")
    ((target, swap, html),) = pieces(draw(frame))
    assert target.startswith("pr-k-a-x")
    assert (swap, html) == ("innerHTML", "\n&lt;b&gt;&amp;\n  x")
    long = "".join(f"{n}\n" for n in range(10_000)) + "y" * 5
    ((_, _, html),) = pieces(draw(frame.model_copy(update={"text": long})))
    assert html.endswith("9999\nyyyyy")
    assert html.count("\n") < LIVE_LINES
    ((_, _, html),) = pieces(draw(frame.model_copy(update={"text": "z" * 50_000})))
    assert len(html) == LIVE_CHARACTERS


def test_calls_of_one_id_have_one_place() -> None:
    """An id that a model gave twice in one message is no id twice on the page."""
    parts = [
        wire.ToolCallPart(id="c", name="bash", arguments={"command": "x"}, state="running")
        for _ in range(2)
    ]
    message = wire.Message(id="m", role="assistant", parts=list(parts))
    assert_safe(str(RENDER.messages([message], key="k")))


# -- refused attempts, as they come ---------------------------------------------------------------


def message_of(entry: transcript.TranscriptEntry) -> wire.Message:
    """An entry's message."""
    (message,) = transcript_to_messages([entry])
    return message


def test_a_refusal_joins_the_one_before_it() -> None:
    """It leaves where it streamed, and the bubble of both takes the place of the first's."""
    streams = Streams()
    first, second, third = (message_of(refused(f"r{n}")) for n in (1, 2, 3))
    alone = pieces(draw(wire.MessageFrame(message=first), new=True, streams=streams))
    assert alone[0][:2] == ("tail-k", "beforeend")
    begun = wire.Message(id="r2", role="assistant", parts=[], streaming=True)
    draw(wire.MessageFrame(message=begun), new=True, streams=streams)
    gone, joined = pieces(draw(wire.MessageFrame(message=second), new=False, streams=streams))
    assert gone == ("m-k-r2", "delete", "")
    assert joined[:2] == ("m-k-r1", "outerMorph")
    assert joined[2].strip() == str(RENDER.messages([first, second], key="k")).strip()
    (more,) = pieces(draw(wire.MessageFrame(message=third), new=True, streams=streams))
    assert more[:2] == ("attempts-k-r1", "outerMorph")
    assert "3 attempts were refused" in more[2]
    labelled = wire.MessageFrame(message=first.model_copy(update={"label": "odd"}))
    (again,) = pieces(draw(labelled, new=False, streams=streams))
    assert again[:2] == ("m-k-r1", "outerMorph")


def test_a_label_on_an_older_refusal_is_no_other_attempt() -> None:
    """Its message changes where it stands, and the row at the end stays as it is."""
    streams = Streams()
    old, last = message_of(refused("r1")), message_of(refused("r9"))
    draw(snapshot([old, message_of(user("u", "x")), last]), streams=streams)
    labelled = wire.MessageFrame(message=old.model_copy(update={"label": "odd"}))
    (only,) = pieces(draw(labelled, new=False, streams=streams))
    assert only[:2] == ("m-k-r1", "outerMorph")
    answer = wire.MessageFrame(message=message_of(agent("a0", transcript.TextPart("x"))))
    draw(answer, new=False, streams=streams)
    frame = draw(wire.MessageFrame(message=message_of(refused("r10"))), new=True, streams=streams)
    assert "2 attempts were refused" in frame


def test_what_comes_between_refusals_keeps_them_apart() -> None:
    """A prompt or an answer ends the row; a message that streams does not yet."""
    streams = Streams()
    draw(wire.MessageFrame(message=message_of(refused("r1"))), new=True, streams=streams)
    begun = wire.Message(id="r2", role="assistant", parts=[], streaming=True)
    draw(wire.MessageFrame(message=begun), new=True, streams=streams)
    frame = draw(wire.MessageFrame(message=message_of(refused("r2"))), new=False, streams=streams)
    assert "attempts-k-r1" in frame
    draw(wire.MessageFrame(message=message_of(user("u", "x"))), new=True, streams=streams)
    frame = draw(wire.MessageFrame(message=message_of(refused("r3"))), new=True, streams=streams)
    assert pieces(frame)[0][:2] == ("tail-k", "beforeend")


def test_refusals_of_a_snapshot_are_joined_by_the_next() -> None:
    """Who joins between two attempts sees them join, too."""
    streams = Streams()
    draw(snapshot([message_of(user("u", "x")), message_of(refused("r1"))]), streams=streams)
    frame = draw(wire.MessageFrame(message=message_of(refused("r2"))), new=True, streams=streams)
    assert pieces(frame)[0][:2] == ("m-k-r1", "outerMorph")


# -- messages and the thread ----------------------------------------------------------------------


def test_each_prompt_can_be_edited_forked_from_and_labelled_and_no_reply() -> None:
    """One form a prompt, by its entry; on a page, in a frame and in earlier messages alike."""
    messages = transcript_to_messages([user("u1", "x"), agent("a1", transcript.TextPart("y"))])
    html = str(RENDER.messages(messages, key="k", hrefs=HREFS))
    read = assert_safe(html)
    (form,) = read.all("form")
    assert form["action"] == "/threads/k/fork"
    assert {"type": "hidden", "name": "entryId", "value": "u1"} in read.all("input")
    acts = html[html.index('<details class="acts">') : html.index("</form>")]
    framed = draw(wire.MessageFrame(message=messages[0]), new=True)
    earlier = RENDER.history(
        HistoryView(key="k", messages=messages, earlier_href=None, earlier_count=0, hrefs=HREFS)
    )
    assert acts in framed
    assert acts in earlier
    assert "<form" not in str(RENDER.messages(messages, key="k"))


def test_a_label_is_shown_on_its_message() -> None:
    """And stands in the box where it is changed."""
    (message,) = transcript_to_messages([user("u1", "x")])
    labelled = message.model_copy(update={"label": "the <start>"})
    html = str(RENDER.messages([labelled], key="k", hrefs=HREFS))
    assert 'title="the &lt;start&gt;"><span class="visually-hidden">Label: </span>the &lt;' in html
    assert '<input name="label" value="the &lt;start&gt;"' in html


def test_what_was_folded_away_of_a_prompt_can_be_put_together_again() -> None:
    """The line break between start and rest is told, where it is not drawn."""
    text = "".join(f"line {n}\n" for n in range(200))
    html = str(RENDER.messages(transcript_to_messages([user("u", text)]), key="k"))
    assert '<div data-behind="&#10;">line 24\n' in html


def test_a_thread_is_renamed_compacted_forked_and_deleted_from_its_head() -> None:
    """Four forms behind one button; each says what it does."""
    html = driven()
    menu = html[html.index('<div class="menu thread"') : html.index('<div id="follow-k"')]
    actions = [form["action"] for form in Page(menu.removesuffix("</footer>\n")).all("form")]
    assert actions == [f"/threads/k/{name}" for name in ("name", "compact", "fork", "delete")]


def test_a_deleted_thread_is_said_with_the_way_back() -> None:
    """The notice is a form that undoes it."""
    gone = Deleted(title="A <b>", restore_href="/threads/x/restore")
    html = RENDER.pane(pane(**FRESH, deleted=gone))
    notice = html[html.index('<div class="notice"') : html.index('<div class="before"')]
    assert words(notice) == "“A <b>” is deleted. Undo"
    (form,) = Page(notice).all("form")
    assert form["action"] == form["hx-post"] == "/threads/x/restore"


# -- completion -----------------------------------------------------------------------------------


def test_commands_are_options_that_say_what_they_insert() -> None:
    """The name, what it takes, what it does, and whose it is when it is not Enso's."""
    commands = [
        wire.Command(name="compact", description="Sum up.", source="enso", argument_hint="[what]"),
        wire.Command(name="review", description="Looks.", source="skill"),
    ]
    html = RENDER.commands(CommandsView(key="k", query="", commands=commands))
    assert html.strip() == (
        '<div role="option" id="option-k-1" aria-selected="false" data-insert="/compact ">'
        '<b>/compact</b> <code>[what]</code> <span dir="auto">Sum up.</span></div>\n'
        '<div role="option" id="option-k-2" aria-selected="false" data-insert="/review ">'
        '<b>/review</b> <span dir="auto">Looks.</span> <small>skill</small></div>'
    )
    assert RENDER.commands(CommandsView(key="k", query="x", commands=())).strip() == ""


def test_files_are_options_by_name_with_their_folder() -> None:
    """A folder goes on being completed; a name with a space is quoted; more is said."""
    paths = ("shop/a.py", "docs/", "my notes.md")
    html = RENDER.files(FilesView(key="k", query="", paths=paths, more=True))
    inserts = [one.get("data-insert") for one in Page(html).all("div")]
    assert inserts == ["@shop/a.py ", "@docs/", '@"my notes.md" ', None]
    assert words(html) == "a.py shop/ docs/ my notes.md More files fit: type on."


# -- hostile values -------------------------------------------------------------------------------


@given(st.text(st.sampled_from("<>\"'&/={}% \n\0ax\ud83d\u202e]`-"), max_size=40))
def test_no_text_breaks_out_of_what_is_set_and_queued(text: str) -> None:
    """Queue, mode, model, activity, output and completion are text in every frame."""
    mode = wire.PermissionMode(
        mode=text, modes=[wire.PermissionModeChoice(id=text, label=text, description=text)]
    )
    model = wire.ModelInUse(provider=text, model=text, label=text, level=text, levels=[text])
    frames: list[wire.Frame] = [
        wire.QueueFrame(queue=[wire.QueuedPrompt(id=text, message=text, when="after")]),
        wire.ModeFrame(permission_mode=mode),
        wire.ModeFrame(permission_mode=mode.model_copy(update={"modes": []})),
        wire.ModelFrame(model=model),
        wire.StatusFrame(**dict(busy_with("tools", detail=text))),
        wire.ToolProgressFrame(message_id=text, call_id=text, text=text),
        wire.DialogFrame(closed=text, outcome=text),
    ]
    for frame in frames:
        for _, _, html in pieces(draw(frame)):
            assert_safe(html)
    command = wire.Command(name=text, description=text, source="prompt", argument_hint=text)
    assert_safe(RENDER.commands(CommandsView(key="k", query=text, commands=[command])))
    assert_safe(RENDER.files(FilesView(key="k", query=text, paths=[text])))


def test_no_hostile_setting_breaks_out_of_a_page() -> None:
    """Models, modes, levels and links of any text are text."""
    one = wire.ModelChoice(provider=HOSTILE, model=HOSTILE, label=HOSTILE, levels=[HOSTILE])
    models = [one, one.model_copy(update={"provider": "p", "provider_name": HOSTILE})]
    modes = [wire.PermissionModeChoice(id=HOSTILE, label=HOSTILE, description=HOSTILE)]
    shown = agent_pane(
        WORK,
        models=models,
        model=(HOSTILE, HOSTILE),
        level=HOSTILE,
        modes=modes,
        mode=HOSTILE,
        hrefs={name: f"/threads/{HOSTILE}/{name}" for name in HREFS},
        deleted=Deleted(title=HOSTILE, restore_href=HOSTILE),
        queue=[wire.QueuedPrompt(id=HOSTILE, message=HOSTILE, when="steer")],
    )
    html = RENDER.page(page(shown))
    assert_safe(html)
    assert "<script>alert" not in html
    assert "<hx-partial" not in html
