"""Pages and frames: what is emitted, where it goes, and that no value breaks out of its text."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Sequence
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso import transcript, wire
from enso.server.looks import dom_token
from enso.server.messages import transcript_to_messages
from enso.server.render import Renderer, Streams
from enso.server.resources import template_dir
from enso.server.views import ErrorView, HistoryView
from tests.look.scenes import (
    EMPTY_RAIL,
    FRESH,
    SPENT,
    WORK,
    agent,
    agent_pane,
    call,
    composer,
    group,
    page,
    pane,
    png,
    rail,
    refused,
    result,
    row,
    scenes,
    user,
)

RENDER = Renderer()
VOID = {"meta", "link", "input", "img", "br", "hr", "path", "circle", "rect", "use"}
HOSTILE = (
    "</script></hx-partial><script>alert('x')</script>\"' onload=x <hx-partial hx-target='#pane'>"
)


class Page(HTMLParser):
    """What a browser would make of HTML: its elements, and whether they nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element of a drawing."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """An end must be that of the element which is open."""
        assert self._open
        assert self._open.pop() == tag, f"</{tag}> closes nothing that is open"

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def ids(self) -> list[str]:
        """Every id."""
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    def one(self, element_id: str) -> dict[str, str]:
        """The attributes of the element with an id."""
        (found,) = [a for _, a in self.elements if a.get("id") == element_id]
        return found


def assert_safe(html: str) -> Page:
    """No script but our files, no handler, no style, every id once, all elements nested."""
    read = Page(html)
    for tag, attributes in read.elements:
        assert tag not in {"style", "iframe", "object", "embed", "base"}
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        if tag == "script":
            assert attributes["src"].startswith("/static/")
        for name in ("href", "src", "action"):
            assert not attributes.get(name, "").lower().startswith(("javascript:", "vbscript:"))
    ids = read.ids()
    assert len(set(ids)) == len(ids)
    return read


PARTIAL = re.compile(
    r'<hx-partial hx-target="#([A-Za-z][A-Za-z0-9-]*(?: > :has\(> \.outcome\))?)" '
    r'hx-swap="(\w+)">(.*?)</hx-partial>',
    re.DOTALL,
)


def pieces(frame: str) -> list[tuple[str, str, str]]:
    """A frame's pieces as (target, swap, HTML); fails when there is anything else in it."""
    assert frame.startswith("<hx-partial")
    found = PARTIAL.findall(frame)
    again = "".join(
        f'<hx-partial hx-target="#{target}" hx-swap="{swap}">{html}</hx-partial>'
        for target, swap, html in found
    )
    assert again == frame
    return found


def words(html: str) -> str:
    """The text of some HTML, its white space as a reader sees it."""
    return " ".join(Page(html).text.split())


def drawn(*entries: transcript.TranscriptEntry) -> str:
    """Messages of a transcript as HTML."""
    return str(RENDER.messages(transcript_to_messages(entries), key="k"))


def draw(frame: wire.Frame, **options: Any) -> str:
    """A frame of the thread ``k``."""
    return RENDER.frame(frame, key="k", **options)


# -- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", scenes())
def test_every_page_is_whole_and_safe(name: str) -> None:
    """Each scene nests, has no id twice, and nothing that the content policy would refuse."""
    read = assert_safe(RENDER.page(scenes()[name]))
    assert {"rail", "pane", "rail-list", "rail-error", "rail-news"} <= set(read.ids())


def test_a_page_loads_its_scripts_as_one_and_tells_htmx_how_to_behave() -> None:
    """One deferred file: of several, htmx may begin before the next has told it of sockets."""
    read = Page(RENDER.page(page(pane())))
    [script] = read.all("script")
    assert script["src"] == "/static/scripts.js"
    assert set(script) == {"src", "defer"}
    assert {"name": "htmx-config", "content": "{}"} in read.all("meta")
    assert read.all("body") == [{"hx-sync:inherited": "this:replace"}]
    assert "hx-history-elt" in read.one("pane")


def test_static_files_are_named_by_the_one_who_serves_them() -> None:
    """The URL of every static file is asked for, so that it can carry a version."""
    renderer = Renderer(static_url=lambda name: f"/s/{name}?v=1")
    html = renderer.page(page(pane()))
    assert "/static/" not in html
    assert html.count("?v=1") == 3


def test_a_pane_begins_with_its_title_and_follows_its_thread() -> None:
    """A fragment brings the page's title, and one socket that swaps nothing by itself."""
    html = RENDER.pane(pane())
    assert html.lstrip().startswith("<title>Totals are off by one cent · Enso</title>")
    read = assert_safe(html)
    assert read.one("follow-t1") == {
        "id": "follow-t1",
        "hx-ws:connect": "/threads/t1/follow",
        "hx-swap": "none",
        "hidden": "",
    }
    assert {"log-t1", "tail-t1", "earlier-t1", "status-t1", "usage-t1", "notice-t1"} <= set(
        read.ids()
    )
    assert read.one("title-t1")["tabindex"] == "-1"


def test_the_composer_stands_outside_everything_that_frames_replace() -> None:
    """No frame's target holds the form, so a draft survives whatever is pushed."""
    html = RENDER.pane(pane())
    inside = html[html.index('id="log-t1"') : html.index("</section>")]
    assert "<form" not in inside
    status = html[html.index('id="status-t1"') : html.index("</p>", html.index('id="status-t1"'))]
    assert "<form" not in status
    form = Page(html).one("composer-t1")
    assert {name: form[name] for name in form if name.startswith("hx-")} == {
        "hx-post": "/threads/t1/prompt",
        "hx-target": "this",
        "hx-swap": "none",
        "hx-sync": "this:drop",
        "hx-disable": "findAll .sends button",
        "hx-status:4xx": "target:#composer-error-t1 swap:innerHTML",
        "hx-status:5xx": "target:#composer-error-t1 swap:innerHTML",
    }
    assert (form["method"], form["action"]) == ("post", "/threads/t1/prompt")
    assert form["enctype"] == "multipart/form-data"


def test_a_draft_comes_back_as_it_was_typed() -> None:
    """A refused plain form keeps its text, first blank line and all, with the reason."""
    html = RENDER.pane(pane(composer=composer(draft="\nTwo\nlines", error="Busy.")))
    assert "\n\nTwo\nlines</textarea>" in html  # HTML drops the newline behind the tag
    assert '<div class="refused-prompt" id="composer-error-t1" role="alert">Busy.</div>' in html


def test_without_a_model_the_composer_says_what_to_do() -> None:
    """No dead form: the reason stands where it would be."""
    html = RENDER.pane(pane(composer=composer(blocked="Put a provider into models.json.")))
    assert "Put a provider into models.json." in html
    assert "<textarea" not in html


def test_a_choice_of_projects_is_offered_where_there_is_one() -> None:
    """A fresh thread chooses its project; with one project there is nothing to choose."""
    many = composer(projects=(("/a", "api"), ("/b", "web")), project_id="/b")
    html = RENDER.pane(pane(**FRESH, composer=many))
    assert '<option value="/b" title="/b" selected>web</option>' in html
    assert 'name="projectId" form="composer-t1"' in html
    one = composer(projects=(("/a", "api"),), project_id="/a")
    html = RENDER.pane(pane(**FRESH, composer=one))
    assert "<option" not in html
    assert '<input type="hidden" name="projectId" value="/a">' in html


def test_an_empty_page_says_once_that_it_is_new_and_with_what_it_would_run() -> None:
    """The heading names it; under it stand project, model, mode and its meaning, what to type."""
    one = composer(projects=(("/home/dev/api", "api"),), project_id="/home/dev/api")
    html = RENDER.pane(agent_pane(**FRESH, composer=one))
    said = words(html[html.index("<header") :])
    assert said.count("New thread") == 1
    assert "Projectapi ModelLab Coder 30BModeaskAsks before it runs a command" in said
    assert "/ commands@ files of the project" in said
    assert "welcome" not in RENDER.pane(agent_pane(WORK))


def test_everything_a_page_does_works_without_scripts() -> None:
    """Every swap stands on a link or a form that says the same to a plain browser."""
    read = Page(RENDER.page(page(pane(WORK, earlier_href="/threads/t1/history?before=u1"))))
    for tag, attributes in read.elements:
        if "hx-get" in attributes and "hidden" not in attributes:
            assert attributes["hx-get"] == attributes["action" if tag == "form" else "href"]
        if "hx-post" in attributes:
            assert (attributes["method"], attributes["action"]) == ("post", attributes["hx-post"])


def test_errors_of_the_rail_go_to_its_own_line() -> None:
    """A row whose file is gone leaves URL and pane alone."""
    read = Page(RENDER.page(page(pane())))
    for kind in ("4xx", "5xx"):
        assert read.one("rail")[f"hx-status:{kind}:inherited"] == "target:#rail-error push:false"
    assert read.one("rail-error") == {"id": "rail-error", "role": "alert"}


def test_a_row_says_its_title_count_age_and_state() -> None:
    """A sign is drawn, and said for those who do not see it; the open thread's row is marked."""
    html = RENDER.rail_rows(
        rail(groups=(group("g", "shop-api", [row(1, "Fix it", "4 min", "cut")]),))
    )
    read = Page(html)
    (link,) = [one for one in read.all("a") if "data-thread" in one]
    assert link["href"] == "/threads/t1"
    assert link["aria-current"] == "page"
    assert {"href": "#s-cut"} in read.all("use")
    assert "Fix it, interrupted, 7 messages · 4 min" in words(html)
    assert "<title>Interrupted: the last run ended before it was done</title>" in html


def test_an_untitled_thread_says_so_and_an_empty_rail_says_what_to_do() -> None:
    """Nothing is left blank."""
    assert "Untitled" in RENDER.rail_rows(rail(groups=(group("g", "x", [row(2, "", "now")]),)))
    assert "No threads yet." in RENDER.rail(rail(**EMPTY_RAIL))
    searched = {**EMPTY_RAIL, "serves_nothing_yet": False, "query": "<b>"}
    assert "No title fits “&lt;b&gt;”." in RENDER.rail_rows(rail(**searched))


def test_earlier_messages_come_behind_the_way_to_more() -> None:
    """A page of history replaces the link that asked for it, by the same id, messages after it."""
    messages = transcript_to_messages([user("u9", "long ago")])
    html = RENDER.history(
        HistoryView(key="t1", messages=messages, earlier_href="/more", earlier_count=7)
    )
    assert_safe(html)
    assert html.lstrip().startswith('<div class="earlier" id="earlier-t1"><a href="/more"')
    assert html.index("/more") < html.index("long ago")
    again = RENDER.history(
        HistoryView(
            key="t1", messages=messages, earlier_href="/more", earlier_count=7, href="/this"
        )
    )
    assert_safe(again)
    assert '<div class="page" id="page-t1-u9" data-page><button type="button"' in again
    assert 'hx-get="/this"' in again
    last = RENDER.history(HistoryView(key="t1", messages=[], earlier_href=None, earlier_count=0))
    assert last.strip() == '<div class="earlier" id="earlier-t1"></div>'


def test_earlier_messages_that_cannot_be_had_leave_the_way_to_them() -> None:
    """An error is said above the log; the link stays, to be tried again."""
    read = Page(RENDER.pane(pane(WORK, earlier_href="/more", earlier_count=3)))
    (link,) = [one for one in read.all("a") if "data-earlier" in one]
    for kind in ("4xx", "5xx"):
        assert link[f"hx-status:{kind}"] == "target:#notice-t1 swap:innerHTML"
    assert "notice-t1" in read.ids()


def test_an_error_page_holds_the_pane_and_an_error_line_only_the_sentence() -> None:
    """Going back to an error works like going back to a page; a line fits where it is swapped."""
    view = ErrorView(status=500, heading="Something went wrong", sentence="Its <log>.", rail=rail())
    whole = assert_safe(RENDER.error(view, page=True))
    assert "hx-history-elt" in whole.one("pane")
    assert RENDER.error(view, page=False) == (
        "<p><strong>Something went wrong.</strong> Its &lt;log&gt;.</p>"
    )
    gone = ErrorView(status=404, heading="Not found", sentence="It is gone.", rail=None)
    assert words(RENDER.error(gone, page=False)) == "Could not open the thread. It is gone."
    assert_safe(RENDER.error(gone, page=True))


# -- messages -----------------------------------------------------------------------------------


def test_a_refusal_reads_exactly_as_its_sentence() -> None:
    """The bubble is the sentence, the provider and the model in bold."""
    entry = refused("r1")
    assert entry.refusal is not None
    html = drawn(entry)
    bubble = html[html.index('<p class="refusal"') : html.index("</p>")] + "</p>"
    assert Page(bubble).text == entry.refusal.sentence
    assert "<strong>OpenAI · gpt-5.2</strong> refused: rate limit (429) — Rate limit" in bubble


def test_refused_attempts_of_one_prompt_fold_into_one_bubble() -> None:
    """The last is read, the others are counted and open; another prompt's stay apart."""
    html = drawn(user("u", "x"), refused("r1"), refused("r2"), refused("r3"), user("v", "y"),
                 refused("r4"))  # fmt: skip
    read = assert_safe(html)
    assert html.count('<section class="attempts"') == 1
    assert "3 attempts were refused" in html
    folded = html[html.index("<section") : html.index("</section>")]
    assert folded.index("m-k-r3") < folded.index("<details>") < folded.index("m-k-r1")
    assert "m-k-r4" not in folded
    assert {"m-k-r1", "m-k-r2", "m-k-r3", "m-k-r4"} <= set(read.ids())


def test_many_tool_calls_in_a_row_fold_to_a_count() -> None:
    """A run over many messages is one line that opens, and says what failed."""
    entries: list[transcript.TranscriptEntry] = [user("u", "go")]
    for n in range(7):
        entries += [agent(f"a{n}", call(f"c{n}", "read", path=f"f{n}")),
                    result(f"c{n}", "x", is_error=n == 3)]  # fmt: skip
    html = drawn(*entries, agent("end", transcript.TextPart("Done.")))
    assert_safe(html)
    assert '<details class="run" id="run-k-a0"><summary><span>7 tool calls: 7 read</span>' in html
    assert "1 failed" in html
    assert html.index("</details>\n<article") < html.index("Done.")
    few = drawn(*entries[:9])
    assert "run-k" not in few


def test_a_run_that_goes_on_is_watched_and_not_folded() -> None:
    """The call that runs now is in view, with those before it."""
    calls = [
        wire.ToolCallPart(id=f"c{n}", name="read", arguments={"path": f"f{n}"}, state=state)
        for n in range(8)
        for state in ["running" if n == 7 else "done"]
    ]
    messages = [
        wire.Message(id=f"a{n}", role="assistant", parts=[one]) for n, one in enumerate(calls)
    ]
    assert 'class="run"' not in RENDER.messages(messages, key="k")


def test_parallel_calls_of_one_message_fold_too() -> None:
    """Eight calls of one message are one line as well, between its text and what follows."""
    calls = [call(f"c{n}", "read", path=f"f{n}") for n in range(8)]
    html = drawn(
        agent("a", transcript.TextPart("All at once."), *calls, transcript.TextPart("So."))
    )
    assert "8 tool calls: 8 read" in html
    assert html.index("All at once.") < html.index('class="run"') < html.index("So.")
    assert {f"p-k-a-{n}" for n in range(10)} <= set(assert_safe(html).ids())


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"stop_reason": "aborted"}, "Stopped."),
        ({"stop_reason": "length"}, "Cut off at the model’s output limit."),
        ({"stop_reason": "stop"}, "An empty reply."),
    ],
)
def test_a_reply_that_ended_otherwise_says_how(fields: dict[str, Any], said: str) -> None:
    """Stopped, cut off, or empty: in words."""
    assert said in words(drawn(agent("a", **fields)))


@pytest.mark.parametrize(
    "tail, said",
    [
        ("unanswered-prompt", "This prompt was never answered."),
        ("tool-call-without-result", "The run ended while a tool was at work"),
        ("tool-result-without-reply", "The run ended before the model answered"),
    ],
)
def test_an_interrupted_tail_is_said_in_words_with_what_to_do(tail: str, said: str) -> None:
    """A torn end of a branch says what happened, and that the next prompt goes on from there."""
    html = RENDER.pane(pane(interrupted=tail))
    told = words(html[html.index('id="interrupted-t1">') + len('id="interrupted-t1">') :
                      html.index('<div class="dialogs"')].removesuffix("</div>\n"))  # fmt: skip
    assert told.startswith(said)
    assert told.endswith("The next prompt continues from here.")


def test_the_bytes_of_an_image_are_inline_and_other_kinds_are_named() -> None:
    """A picture is never fetched; one of another kind says which."""
    html = drawn(user("u", "x", png(2, 2), transcript.ImagePart("image/svg+xml", "AAAA")))
    assert '<img src="data:image/png;base64,' in html
    assert "An image of the kind “image/svg+xml” is not shown." in html


def test_a_long_prompt_shows_its_start_and_opens_to_the_rest() -> None:
    """Nothing of what was written is lost."""
    text = "".join(f"line {n}\n" for n in range(200))
    html = drawn(user("u", text))
    assert "Show the other 176 lines" in html
    said = re.findall(r"line (\d+)", Page(html).text)
    assert said == [str(n) for n in range(200)]


def test_spend_says_what_is_not_known() -> None:
    """An unknown price is said, never hidden in a sum."""
    unknown = SPENT.model_copy(update={"cost_known": False})
    assert "943 k tokens · at least $0.31" in RENDER.pane(pane(usage=unknown))
    free = unknown.model_copy(update={"cost": 0.0})
    assert "943 k tokens · price unknown" in RENDER.pane(pane(usage=free))


# -- ids ----------------------------------------------------------------------------------------


@given(st.text(st.characters(), max_size=60))
def test_any_id_makes_a_token_that_is_safe_in_a_selector(text: str) -> None:
    """A DOM id needs no escape, whatever stood in the file; a plain one stays itself."""
    assert re.fullmatch(r"[A-Za-z0-9-]{1,40}", dom_token(text))
    assert dom_token("0e8c4700") == "0e8c4700"
    assert dom_token("a.b") != dom_token("a_b")


# -- frames -------------------------------------------------------------------------------------

STATUS = wire.StatusFrame(live=True, busy=True, generation=2, word="busy")
MODE = wire.PermissionMode(mode="ask", modes=[])


def streaming(*parts: wire.MessagePart, message_id: str = "s") -> wire.Message:
    """A message that streams."""
    return wire.Message(id=message_id, role="assistant", parts=list(parts), streaming=True)


def snapshot(messages: Sequence[wire.Message], **fields: Any) -> wire.SnapshotFrame:
    """A snapshot of the thread ``k``."""
    status = wire.Status(live=False, busy=False, generation=0, word="cold")
    return wire.SnapshotFrame(
        thread_id="k",
        project_id="p",
        messages=list(messages),
        permission_mode=MODE,
        status=status,
        usage=SPENT,
        **fields,
    )


def test_a_snapshot_says_everything_that_can_change() -> None:
    """Messages, the torn tail, dialogs, status, spend, context, queue, mode: each has its place."""
    frame = draw(snapshot(transcript_to_messages(WORK), interrupted="unanswered-prompt"))
    assert [(target, swap) for target, swap, _ in pieces(frame)] == [
        ("tail-k", "innerMorph"),
        ("interrupted-k", "innerMorph"),
        ("dialogs-k", "innerMorph"),
        ("status-k", "innerMorph"),
        ("usage-k", "innerMorph"),
        ("context-k", "innerMorph"),
        ("queue-k", "innerMorph"),
        ("surface-k", "innerMorph"),
        ("mode-k", "innerHTML"),
        ("modes-k", "innerMorph"),
        ("welcome-mode-k", "innerHTML"),
    ]
    assert pieces(frame)[0][2] == drawn(*WORK)


def test_an_empty_snapshot_empties() -> None:
    """A thread that is not stored has no messages and no torn tail."""
    assert [html.strip() for _, _, html in pieces(draw(snapshot([])))[:2]] == ["", ""]


def test_a_new_message_is_appended_and_a_changed_one_is_morphed() -> None:
    """A new one also takes back what was said of a torn tail, and of what was answered."""
    (message,) = transcript_to_messages([user("u1", "hello")])
    html = drawn(user("u1", "hello")).strip()
    (added, settled, answered) = pieces(draw(wire.MessageFrame(message=message), new=True))
    assert (added[0], added[1], added[2].strip()) == ("tail-k", "beforeend", html)
    assert settled == ("interrupted-k", "innerHTML", "")
    assert answered == ("dialogs-k > :has(> .outcome)", "delete", "")
    ((target, swap, again),) = pieces(draw(wire.MessageFrame(message=message), new=False))
    assert (target, swap, again.strip()) == ("m-k-u1", "outerMorph", html)


def test_a_status_line_is_replaced_as_a_whole() -> None:
    """A line that is read aloud changes as one; it draws the sign and says the word."""
    ((target, swap, html),) = pieces(draw(STATUS))
    assert (target, swap) == ("status-k", "innerHTML")
    assert '<use href="#s-busy"/>' in html
    assert words(html) == "Working · run 2"


def test_the_smaller_frames_reach_their_elements() -> None:
    """Spend, a notice, a dropped message, the rail's news."""
    context = wire.Context(tokens=34_000, window=128_000)
    usage = pieces(draw(wire.UsageFrame(usage=SPENT, context=context)))
    assert usage[0] == ("usage-k", "innerHTML", "943 k tokens · $0.31")
    assert (usage[1][0], words(usage[1][2])) == ("context-k", "27 %")
    assert pieces(draw(wire.NoticeFrame(message="a < b"))) == [
        (
            "told-k",
            "innerHTML",
            '<p>a &lt; b</p><button type="button" class="quiet" data-dismiss>Dismiss</button>',
        )
    ]
    assert pieces(draw(wire.MessageDroppedFrame(message_id="s"))) == [("m-k-s", "delete", "")]


def test_news_of_the_rail_make_the_page_ask_for_its_own_rows() -> None:
    """The rows are asked for with the page's filter, apart from any navigation."""
    frame = draw(wire.RailFrame(threads=[], gone=[]), rail_href="/rail?x=1&y=2")
    ((target, swap, html),) = pieces(frame)
    assert (target, swap) == ("rail-news", "innerHTML")
    (asks,) = Page(html).all("div")
    assert asks == {
        "hx-get": "/rail?x=1&y=2",
        "hx-trigger": "load",
        "hx-target": "#rail-list",
        "hx-swap": "innerMorph",
        "hx-sync": "#rail-news:queue last",
        "hx-include": "#find, #rail-shown",
    }
    shown = set(Page(RENDER.rail(rail())).ids())
    assert {"rail-news", "rail-list", "find", "rail-shown"} <= shown


def test_a_heartbeat_says_nothing_on_a_page() -> None:
    """It is empty, so that nothing is sent."""
    assert draw(wire.HeartbeatFrame(at="2026-01-01T00:00:00Z")) == ""


def test_every_kind_of_frame_is_drawn() -> None:
    """A frame that is added to the wire shapes must be drawn, or said to draw nothing."""
    drawn_here = {
        "snapshot", "status", "message", "message-dropped", "part-delta", "part", "usage", "mode",
        "model", "dialog", "queue", "tool-progress", "rail", "notice", "heartbeat",
        "surface", "draft",
    }  # fmt: skip
    union = typing.get_args(typing.get_args(wire.Frame)[0])
    assert {shape.model_fields["type"].default for shape in union} == drawn_here


def grown(frames: Iterable[wire.Frame], streams: Streams) -> dict[str, str]:
    """What a browser holds of a streaming text after frames: each target's last HTML."""
    held: dict[str, str] = {}
    for frame in frames:
        for target, swap, html in pieces(draw(frame, streams=streams, new=True)):
            held[f"{target} {swap}"] = html
    return held


def test_deltas_are_drawn_as_growing_markdown() -> None:
    """A streaming part is its finished blocks, then one open element that is redrawn."""
    streams = Streams()
    held = grown(
        [
            wire.MessageFrame(message=streaming()),
            wire.PartFrame(message_id="s", index=0, part=wire.TextPart(content="")),
            wire.PartDeltaFrame(message_id="s", index=0, delta="One *two*\n\n"),
            wire.PartDeltaFrame(message_id="s", index=0, delta="Three **fo"),
            wire.PartDeltaFrame(message_id="s", index=0, delta="ur**\n\nFive\n"),
        ],
        streams,
    )
    assert held["mp-k-s beforeend"].strip() == (
        '<div class="text" id="p-k-s-0"><div class="open" id="o-k-s-0"></div></div>'
    )
    assert held["o-k-s-0 beforebegin"] == (
        '<p dir="auto">One <em>two</em></p>\n<p dir="auto">Three <strong>four</strong></p>\n'
    )
    assert held["o-k-s-0 innerMorph"].strip() == '<p dir="auto">Five</p>'


def test_who_joins_while_a_message_streams_sees_what_who_watched_sees() -> None:
    """A snapshot holds the stream so far under the ids that the next deltas aim at."""
    streams = Streams()
    draw(wire.MessageFrame(message=streaming(wire.TextPart(content=""))), streams=streams)
    text = "# A\n\n```py\nx = 1\n"
    draw(wire.PartDeltaFrame(message_id="s", index=0, delta=text), streams=streams)
    frame = draw(snapshot([streaming(wire.TextPart(content=text))]), streams=streams)
    tail = pieces(frame)[0][2]
    assert '<h1 dir="auto">A</h1>' in tail
    assert '<code id="c-k-s-0">x = 1\n</code>' in tail
    delta = wire.PartDeltaFrame(message_id="s", index=0, delta="y = 2\n")
    assert pieces(draw(delta, streams=streams)) == [("c-k-s-0", "beforeend", "y = 2\n")]


def test_a_stream_that_nobody_watched_starts_again_from_the_snapshot() -> None:
    """Deltas that were never drawn are in the snapshot's text, and later ones follow on it."""
    streams = Streams()
    draw(wire.MessageFrame(message=streaming(wire.TextPart(content="a"))), streams=streams)
    frame = draw(snapshot([streaming(wire.TextPart(content="abc"))]), streams=streams)
    assert '<p dir="auto">abc</p>' in pieces(frame)[0][2]
    delta = wire.PartDeltaFrame(message_id="s", index=0, delta="d")
    ((_, _, html),) = pieces(draw(delta, streams=streams))
    assert html.strip() == '<p dir="auto">abcd</p>'


def test_a_message_that_ended_is_drawn_whole_and_its_stream_is_forgotten() -> None:
    """The final message replaces what streamed; the same id later starts from nothing."""
    streams = Streams()
    draw(wire.MessageFrame(message=streaming(wire.TextPart(content="old"))), streams=streams)
    (ended,) = transcript_to_messages([agent("s", transcript.TextPart("```py\nx = 1"))])
    html = draw(wire.MessageFrame(message=ended), new=False, streams=streams)
    assert '<span class="z-mi">1</span>' in html
    assert 'class="open"' not in html
    delta = wire.PartDeltaFrame(message_id="s", index=0, delta="new")
    ((_, _, again),) = pieces(draw(delta, streams=streams))
    assert again.strip() == '<p dir="auto">new</p>'


def test_a_tool_call_that_streams_becomes_a_line_that_is_morphed() -> None:
    """Its line appears with its name, and changes in place when its arguments are whole."""
    part = wire.ToolCallPart(id="1", name="bash", arguments={}, state="streaming")
    frame = wire.PartFrame(message_id="s", index=1, part=part)
    ((target, swap, html),) = pieces(draw(frame, new=True))
    assert (target, swap, words(html)) == ("mp-k-s", "beforeend", "bash writing")
    whole = part.model_copy(update={"arguments": {"command": "ls"}, "state": "running"})
    frame = wire.PartFrame(message_id="s", index=1, part=whole)
    ((target, swap, html),) = pieces(draw(frame, new=False))
    assert (target, swap, words(html)) == ("p-k-s-1", "outerMorph", "bash ls running")


# -- hostile values -------------------------------------------------------------------------------


def hostile_entries(text: str) -> list[transcript.TranscriptEntry]:
    """A transcript with ``text`` in every field that a file could put it in."""
    return [
        user(f"u{text}", text, transcript.ImagePart(text, text)),
        transcript.TranscriptMarker(id=f"k{text}", kind="custom", title=text, text=text),
        agent(
            f"a{text}",
            transcript.ThinkingPart(text),
            transcript.TextPart(text),
            *(
                transcript.ToolCallPart(f"{name}{text}", name, arguments)
                for name in ("read", "bash", "edit", "write", "grep", text)
                for arguments in [{"path": text, "command": text, "pattern": text, text: text}]
            ),
            provider=text,
            model=text,
        ),
        result(f"edit{text}", text, details={"diff": f"+{text}\n-{text}"}),
        result(f"bash{text}", text, transcript.ImagePart(text, text), is_error=True),
        agent(f"b{text}", transcript.TextPart(text), stop_reason="length", model=text),
        refused(f"r{text}", provider=text, model=text, reason=text),
    ]


def hostile_pane(text: str) -> Any:
    """A page with ``text`` in every field of its views."""
    shown = pane(
        hostile_entries(text),
        title=text,
        project_name=text,
        project_detail=text,
        earlier_href=f"/threads/x?{text}",
        earlier_count=3,
        notice=text,
        follow_href=f"/follow?{text}",
        composer=composer(
            draft=text,
            error=text,
            model_label=text,
            mode_label=text,
            prompt_id=text,
            projects=((text, text), ("b", "b")),
        ),
    )
    rows = [row(1, text, text, message_count=3, last_activity_at=text, sign_word=text)]
    return page(shown, rail(groups=(group("g", text, rows),), query=text))


@pytest.mark.parametrize("text", [HOSTILE, "javascript:alert(1)", "{{ 7*7 }}{% raw %}", "&lt;b>"])
def test_no_value_breaks_out_of_a_page(text: str) -> None:
    """Hostile text in every field is text on the page, and nothing else."""
    html = RENDER.page(hostile_pane(text))
    assert_safe(html)
    assert "<script>alert" not in html
    assert "<hx-partial" not in html
    assert unescape(html).count(text) > 20


@given(st.text(st.sampled_from("<>\"'&/={}% \n\0ax\ud83d\u202e]`-"), max_size=40))
def test_no_text_breaks_out_of_a_frame(text: str) -> None:
    """Whatever a thread holds, a snapshot of it is its pieces and nothing more."""
    messages = transcript_to_messages(hostile_entries(text))
    for _, _, html in pieces(draw(snapshot(messages))):
        assert_safe(html)
    (_, _, html), *_ = pieces(draw(wire.NoticeFrame(message=text)))
    assert_safe(html)


@given(
    st.lists(
        st.sampled_from(["<script>", "</hx-partial>", "a", "\n\n", "```", "`", "<"]), max_size=9
    )
)
def test_no_delta_breaks_out_of_its_frame(deltas: list[str]) -> None:
    """Text that streams is escaped in every way it is drawn."""
    streams = Streams()
    for delta in deltas:
        frame = draw(wire.PartDeltaFrame(message_id=HOSTILE, index=0, delta=delta), streams=streams)
        for _, _, html in pieces(frame) if frame else []:
            assert_safe(html)


# -- the templates themselves ---------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(template_dir().glob("*.html")), ids=lambda path: path.name)
def test_a_template_trusts_nothing_by_itself(path: Path) -> None:
    """No template marks a value safe, nor holds a style, a handler or a script of its own."""
    source = path.read_text()
    assert "|safe" not in source.replace(" ", "")
    assert not re.search(r"\son\w+=|\sstyle=|<style|<script(?! src=)|hx-on|hx-vals='?js:", source)


def test_a_message_takes_the_place_of_the_one_it_replaces() -> None:
    """Its element is aimed at by the id that it had; no other is added."""
    message = wire.Message(id="a1", role="assistant", parts=[wire.TextPart(content="Hello")])
    frame = wire.MessageFrame(message=message, replaces="live-1")
    drawn = draw(frame, new=False)
    aims = '<hx-partial hx-target="#m-k-a1" hx-swap="outerMorph"'
    assert drawn.startswith(f'{aims} data-was="k-live-1" data-now="k-a1">')
    assert 'id="m-k-a1"' in drawn


def test_what_extensions_show_is_drawn_as_text() -> None:
    """States, widgets and a title, escaped; nothing when nothing is shown."""
    surface = wire.Surface(
        statuses=["<b>1"], widgets=[wire.Widget(key="w", lines=["<i>", "two"])], title='"T"'
    )
    ((target, swap, html),) = pieces(draw(wire.SurfaceFrame(surface=surface)))
    assert (target, swap) == ("surface-k", "innerMorph")
    assert "&lt;b&gt;1" in html
    assert "&lt;i&gt;\ntwo" in html
    assert 'data-page-title="&#34;T&#34;"' in html
    assert pieces(draw(wire.SurfaceFrame(surface=wire.Surface())))[0][2].strip() == ""


def test_a_draft_is_text_for_the_composer() -> None:
    """Escaped, into its own place."""
    assert pieces(draw(wire.DraftFrame(text="<b>"))) == [("draft-k", "innerHTML", "&lt;b&gt;")]
