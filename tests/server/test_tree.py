"""A thread's tree as it is served: its order, its windows, going to a place, and labels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from enso import wire
from enso.host.contract import ThreadTree, ThreadTreeEntry, TreeKind
from enso.server.application import EnsoServer
from enso.server.render import Renderer
from enso.server.tree import FILTERS, PAGE_ENTRIES, arranged, is_shown, window
from enso.transcript import ImagePart, TextPart, ToolCallPart, TranscriptMessage
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.look.scenes import tree as tree_scene
from tests.look.scenes import twig
from tests.server.conftest import Listening, Socket, prompt, settled
from tests.server.drawn import HOSTILE, assert_safe
from tests.server.test_agent import PARTIAL

PANE = {"to": "pane"}


def grown(*rows: tuple[str, str | None, TreeKind], leaf: str | None = None) -> ThreadTree:
    """A tree whose branch ends in ``leaf``, else in its last entry."""
    above = {name: parent for name, parent, _ in rows}
    at = leaf = leaf or rows[-1][0]
    branch: set[str] = set()
    while at is not None:
        branch.add(at)
        at = above[at]
    entries = (
        ThreadTreeEntry(id=name, parent_id=up, kind=kind, text=name, on_branch=name in branch)
        for name, up, kind in rows
    )
    return ThreadTree(entries=tuple(entries), leaf_id=leaf)


def listed(tree: ThreadTree, wanted: wire.TreeFilter = "default") -> list[str]:
    """The list as text: an entry a line, indented."""
    return [f"{'  ' * one.depth}{one.entry.id}" for one in arranged(tree, wanted)]


FORKS = grown(
    ("a", None, "user"),
    ("b", "a", "assistant"),
    ("c", "b", "user"),
    ("d", "c", "assistant"),
    ("e", "d", "user"),
    ("f", "d", "user"),
    ("g", "b", "user"),
    ("h", "g", "assistant"),
    ("i", None, "user"),
    leaf="h",
)


# -- the list -------------------------------------------------------------------------------------


def test_only_forks_indent_and_the_present_branch_stays_flush() -> None:
    """Branches that were left stand where they fork off, before the line goes on."""
    assert listed(FORKS) == ["  i", "a", "b", "  c", "  d", "    e", "  f", "g", "h"]


def test_what_lies_behind_the_present_place_goes_on_in_line() -> None:
    """Nothing indents because the thread went back; it is not on the branch any more."""
    tree = grown(("a", None, "user"), ("b", "a", "assistant"), ("c", "b", "user"), leaf="b")
    assert listed(tree) == ["a", "b", "c"]
    assert [one.entry.on_branch for one in arranged(tree, "default")] == [True, True, False]


def test_each_filter_shows_what_pis_shows() -> None:
    """Settings, results, replies of nothing but calls, labels: by each filter."""
    at: dict[str, Any] = {"parent_id": None, "text": ""}
    entries = [
        ThreadTreeEntry(id="prompt", kind="user", **at),
        ThreadTreeEntry(id="calls", kind="assistant", stop_reason="tool-use", **at),
        ThreadTreeEntry(id="result", kind="tool-result", **at),
        ThreadTreeEntry(id="words", kind="assistant", parent_id=None, text="x", label="here"),
        ThreadTreeEntry(id="refused", kind="assistant", stop_reason="error", **at),
        ThreadTreeEntry(id="stopped", kind="assistant", stop_reason="aborted", **at),
        ThreadTreeEntry(id="summary", kind="marker", **at),
        ThreadTreeEntry(id="model", kind="setting", label="odd", **at),
        ThreadTreeEntry(id="label", kind="label", **at),
    ]
    shown = {name: [one.id for one in entries if is_shown(one, name, "model")] for name in FILTERS}
    spoken = ["words", "refused", "stopped", "summary"]
    assert shown == {
        "default": ["prompt", "result", *spoken],
        "no-tools": ["prompt", *spoken],
        "user-only": ["prompt"],
        "labeled-only": ["words", "model"],
        "all": [one.id for one in entries],
    }
    assert is_shown(entries[1], "default", "calls")


def test_what_is_hidden_is_passed_over_in_the_tree() -> None:
    """An entry stands under its nearest shown ancestor, and indents by the forks that are seen."""
    tree = grown(
        ("a", None, "setting"),
        ("b", "a", "user"),
        ("c", "b", "label"),
        ("d", "c", "user"),
        ("e", "b", "user"),
    )
    placed = arranged(tree, "default")
    assert [(one.entry.id, one.parent_id, one.depth) for one in placed] == [
        ("b", None, 0),
        ("d", "b", 1),
        ("e", "b", 0),
    ]


KINDS: st.SearchStrategy[TreeKind] = st.sampled_from(["user", "label", "setting", "tool-result"])


@st.composite
def trees(draw: st.DrawFn) -> ThreadTree:
    """Any tree: each entry below an earlier one or at the top, shuffled; any leaf."""
    names = [f"e{n}" for n in range(draw(st.integers(1, 12)))]
    rows: list[tuple[str, str | None, TreeKind]] = [
        (name, draw(st.none() | st.sampled_from(names[:n])) if n else None, draw(KINDS))
        for n, name in enumerate(names)
    ]
    return grown(*draw(st.permutations(rows)), leaf=draw(st.sampled_from(names)))


@given(trees(), st.sampled_from(list(FILTERS)))
def test_the_list_is_what_a_plain_walk_gives(tree: ThreadTree, wanted: wire.TreeFilter) -> None:
    """Entry for entry: order, parent and depth."""
    by_id = {one.id: one for one in tree.entries}
    shown = [one for one in tree.entries if is_shown(one, wanted, tree.leaf_id)]

    def above(entry_id: str) -> str | None:
        up = by_id[entry_id].parent_id
        return up if up is None or by_id[up] in shown else above(up)

    def walk(parent: str | None, depth: int) -> list[tuple[str, str | None, int]]:
        below = [one for one in shown if above(one.id) == parent]
        ahead = next((one for one in below if one.on_branch), below[-1] if below else None)
        found: list[tuple[str, str | None, int]] = []
        for one in [*(one for one in below if one is not ahead), *([ahead] if ahead else [])]:
            at = depth if one is ahead else depth + 1
            found += [(one.id, parent, at), *walk(one.id, at)]
        return found

    placed = [(one.entry.id, one.parent_id, one.depth) for one in arranged(tree, wanted)]
    assert placed == walk(None, 0)


def test_a_window_holds_the_present_place_and_no_more_than_a_page() -> None:
    """48,000 entries: one page, with the place in it; another page where it is asked for."""
    names = [f"e{n}" for n in range(48_000)]
    rows = zip(names, [None, *names[:-1]], strict=True)
    tree = grown(*((name, up, "user") for name, up in rows), leaf="e30000")
    shown = window("t", tree, "default")
    assert (shown.total, len(shown.entries)) == (48_000, PAGE_ENTRIES)
    assert [one.id for one in shown.entries if one.here and one.leaf] == ["e30000"]
    assert window("t", tree, "default", 47_990).entries[-1].id == "e47999"
    assert window("t", tree, "default", 10**6).start == 47_999
    assert {one.depth for one in shown.entries} == {0}


def test_the_place_is_said_where_the_leaf_itself_is_hidden() -> None:
    """A label was stored last: the thread is at what stands before it."""
    tree = grown(("a", None, "user"), ("b", "a", "label"))
    (only,) = window("t", tree, "default").entries
    assert (only.here, only.leaf) == (True, False)
    assert window("t", tree, "labeled-only").entries == []


def test_a_tool_result_is_told_by_its_call() -> None:
    """Its name and what it was about."""
    call = ToolCallPart("1", "bash", {"command": "make\nit"})
    row = ThreadTreeEntry(id="r", parent_id=None, kind="tool-result", name="bash", call=call)
    (entry,) = window("t", ThreadTree(entries=(row,), leaf_id=None), "all").entries
    assert entry.name == "bash"
    assert entry.text.startswith("make")


# -- pages and JSON -------------------------------------------------------------------------------


@pytest.fixture
def forked(host: FakeHost, server: EnsoServer, client: FlaskClient) -> FakeHost:
    """A cold thread ``t1``: One, 1, then Two, 2 that were left for Other, 3."""
    host.store("t1", user("One", id="u1"), assistant("1", id="a1"), user("Two", id="u2"))
    host.grow("t1", assistant("2", id="a2"))
    host.script.add(Reply(deltas=("3",)))
    assert client.post("/api/threads/t1/tree", json={"entryId": "u2"}).status_code == 202
    prompt(client, "t1", "Other")
    settled(server, "t1")
    server.registry.without("t1", lambda: None)
    host.asked.clear()
    host.built.clear()
    return host


def entries_of(client: FlaskClient, query: str = "") -> list[dict[str, Any]]:
    """The tree's entries as JSON, checked against their shape."""
    answer = client.get(f"/api/threads/t1/tree{query}")
    assert answer.status_code == 200
    return wire.ThreadTree.model_validate_json(answer.text).model_dump(by_alias=True)["entries"]


def test_the_tree_is_read_cold_and_builds_nothing(forked: FakeHost, client: FlaskClient) -> None:
    """As JSON, as a page and as a fragment: the branch that was left is there."""
    told = [(one["text"], one["depth"], one["onBranch"]) for one in entries_of(client)]
    assert told == [
        ("One", 0, True),
        ("1", 0, True),
        ("Two", 1, False),
        ("2", 1, False),
        ("Other", 0, True),
        ("3", 0, True),
    ]
    page = client.get("/threads/t1/tree").text
    assert_safe(page)
    assert 'id="rail"' in page
    assert page.count('class="twig ') == 6
    fragment = client.get("/threads/t1/tree", headers=PARTIAL)
    assert "<nav id" not in fragment.text
    assert fragment.text.startswith("<title>Tree of One")
    assert "HX-Request" in fragment.headers["Vary"]
    assert forked.built == []
    assert {what.split()[0] for what in forked.asked} <= {"tree", "list"}


def test_a_live_thread_answers_with_what_it_holds(forked: FakeHost, client: FlaskClient) -> None:
    """The place that it was taken to, which is stored nowhere yet."""
    left = entries_of(client)[3]["id"]
    answer = client.post("/api/threads/t1/tree", json={"entryId": left})
    assert answer.json == {"id": left}
    here = [one["text"] for one in entries_of(client) if one.get("here") and one.get("leaf")]
    assert here == ["2"]
    page = client.get("/threads/t1/tree").text
    assert page.count('aria-current="location"') == 1
    assert page.count("Go here</button>") == 5


def test_filters_and_windows_are_asked_for_by_the_url(
    forked: FakeHost, client: FlaskClient
) -> None:
    """And the page links to them, other parameters kept."""
    assert [one["text"] for one in entries_of(client, "?filter=user-only")] == [
        "One",
        "Two",
        "Other",
    ]
    assert len(entries_of(client, "?filter=all&start=5")) == 1
    page = client.get("/threads/t1/tree?filter=labeled-only&desk=left").text
    assert "No entry has a label yet." in page
    assert 'href="/threads/t1/tree?desk=left&amp;filter=all"' in page
    assert 'href="/threads/t1/tree?desk=left"' in page
    late = client.get("/threads/t1/tree?start=3").text
    assert "Show what stands above (3)" in late
    assert 'href="/threads/t1/tree?start=0"' in late


@pytest.mark.parametrize(
    "path,status",
    [
        ("t1/tree?filter=odd", 400),
        ("t1/tree?start=-1", 400),
        ("t1/tree?start=x", 400),
        ("t1/tree?start=99999999999999999999", 400),
        ("nobody/tree", 404),
        ("elsewhere/tree", 403),
        ("-/tree", 400),
    ],
)
def test_what_cannot_be_read_is_said(
    forked: FakeHost, client: FlaskClient, path: str, status: int
) -> None:
    """As a page and as JSON."""
    forked.store("elsewhere", user("x"), directory=Path("/somewhere/else"))
    answer = client.get(f"/api/threads/{path}")
    assert answer.status_code == status
    wire.Error.model_validate_json(answer.text)
    assert client.get(f"/threads/{path}").status_code == status


def test_hostile_text_is_text_in_a_tree() -> None:
    """Names, lines, labels and titles."""
    kinds: tuple[TreeKind, ...] = ("user", "assistant", "tool-result", "marker", "setting", "label")
    rows = [twig(n, kind, HOSTILE, name=HOSTILE, label=HOSTILE) for n, kind in enumerate(kinds)]
    rows.append(twig(9, "user", HOSTILE).model_copy(update={"id": HOSTILE}))
    html = Renderer().tree(tree_scene(rows, title=HOSTILE), page=True)
    assert_safe(html)


# -- going to a place -----------------------------------------------------------------------------


def test_a_prompts_words_come_back_from_the_json_interface(
    forked: FakeHost, client: FlaskClient
) -> None:
    """With its images; anything else gives nothing back."""
    image = ImagePart("image/png", "aGk=")
    parts = (TextPart("Look\n"), TextPart("here"), image, ImagePart("image/svg+xml", "aGk="))
    forked.store(
        "t2", TranscriptMessage(id="u1", role="user", parts=parts), assistant("1", id="a1")
    )
    answer = client.post("/api/threads/t2/tree", json={"entryId": "u1"})
    draft = {"message": "Look\nhere", "images": [{"mimeType": "image/png", "data": "aGk="}]}
    assert answer.json == {"id": "u1", "draft": draft}
    assert client.post("/api/threads/t2/tree", json={"entryId": "a1"}).json == {"id": "a1"}
    assert client.post("/api/threads/t2/tree", json={}).json == {}
    refused = client.post("/api/threads/t2/tree", json={"entryId": "nobody"})
    assert refused.json["error"]["code"] == "unknown-entry"


def draft_in(html: str) -> str:
    """What stands in the composer."""
    return html.split("<textarea", 1)[1].split(">\n", 1)[1].split("</textarea>", 1)[0]


def test_without_scripts_a_prompt_is_edited_on_the_page_that_is_answered(
    forked: FakeHost, client: FlaskClient
) -> None:
    """The thread before it, and its words in the composer; another place is a plain 303."""
    answer = client.post("/threads/t1/tree", data={"entryId": "u2"})
    assert answer.status_code == 200
    assert draft_in(answer.text) == "Two"
    assert_safe(answer.text)
    assert "Other" not in answer.text.split('class="log"')[1].split("</section>")[0]
    answer = client.post("/threads/t1/tree", data={"entryId": "a2"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/threads/t1")


def test_from_the_tree_the_pane_comes_back_with_the_draft(
    forked: FakeHost, client: FlaskClient
) -> None:
    """htmx gets the inside of ``#pane`` and the thread's address; from the log nothing comes."""
    answer = client.post("/threads/t1/tree", data={"entryId": "u2", **PANE}, headers=PARTIAL)
    assert (answer.status_code, answer.headers["HX-Push-Url"]) == (200, "/threads/t1")
    assert draft_in(answer.text) == "Two"
    assert "<nav id" not in answer.text
    answer = client.post("/threads/t1/tree", data={"entryId": "a2", **PANE}, headers=PARTIAL)
    assert (answer.status_code, draft_in(answer.text)) == (200, "")
    answer = client.post("/threads/t1/tree", data={"entryId": "u2"}, headers=PARTIAL)
    assert (answer.status_code, answer.text) == (202, "")


def test_images_that_are_not_in_the_composer_are_said(
    forked: FakeHost, client: FlaskClient
) -> None:
    """A page cannot put files into a form."""
    images = (ImagePart("image/png", "aGk="), ImagePart("image/png", "aGk="))
    forked.store("t2", TranscriptMessage(id="u1", role="user", parts=images))
    page = client.post("/threads/t2/tree", data={"entryId": "u1"}).text
    assert "Its 2 images are not in the composer: add them again." in page


def test_a_busy_thread_stays_where_it_is(
    forked: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """Going is refused with the reason, to a form and to a program."""
    held = Reply.held("Slow")
    forked.script.add(held)
    prompt(client, "t1", "Go")
    held.wait_until_held()
    for answer in (
        client.post("/api/threads/t1/tree", json={"entryId": "u1"}),
        client.post("/threads/t1/tree", data={"entryId": "u1", **PANE}, headers=PARTIAL),
    ):
        assert answer.status_code == 409
    held.release()
    settled(server, "t1")


def test_a_queued_prompt_that_is_taken_back_is_in_the_composer_without_scripts(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """The page that answers holds its words; with htmx the page already has them."""
    held = Reply.held("Slow")
    host.script.add(held)
    prompt(client, "t1", "Go")
    held.wait_until_held()
    url = "/api/threads/t1/queue"
    first, second = (
        client.post(url, json={"message": text, "when": "after"}).json["id"]
        for text in ("<b>One</b>\nmore", "Two")
    )
    answer = client.post(f"/threads/t1/queue/{first}/take-back")
    assert answer.status_code == 200
    assert draft_in(answer.text) == "&lt;b&gt;One&lt;/b&gt;\nmore"
    answer = client.post(f"/threads/t1/queue/{second}/take-back", headers=PARTIAL)
    assert (answer.status_code, answer.text) == (202, "")
    held.release()
    settled(server, "t1")


def test_what_was_queued_when_a_run_is_stopped_is_in_the_composer_without_scripts(
    host: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """Nobody's words are lost by a stop; the page that answers says them no more as queued."""
    held = Reply.held("Slow")
    host.script.add(held)
    prompt(client, "t1", "Go")
    held.wait_until_held()
    for text in ("<b>One</b>", "Two"):
        client.post("/api/threads/t1/queue", json={"message": text, "when": "after"})
    answer = client.post("/threads/t1/abort")
    assert answer.status_code == 200
    assert draft_in(answer.text) == "&lt;b&gt;One&lt;/b&gt;\n\nTwo"
    assert 'class="words"' not in answer.text
    settled(server, "t1")


def test_the_tree_is_a_slash_command(forked: FakeHost, client: FlaskClient) -> None:
    """It leads to the page; where nothing is stored it says so."""
    answer = client.post("/threads/t1/prompt", data={"message": "/tree"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/threads/t1/tree")
    answer = client.post("/threads/t1/prompt", data={"message": "/tree"}, headers=PARTIAL)
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (202, "/threads/t1/tree")
    answer = client.post("/api/threads/fresh/prompt", json={"message": "/tree"})
    assert answer.json["error"]["code"] == "no-tree"
    assert forked.built == []


# -- labels ---------------------------------------------------------------------------------------


def labels_in(history: Any) -> list[str | None]:
    """The label of each message."""
    return [message.get("label") for message in history["messages"]]


def test_a_label_is_on_its_message_cold_and_live(
    forked: FakeHost, server: EnsoServer, client: FlaskClient
) -> None:
    """In the history, on the page and in the tree; the last one holds; an empty one takes it."""
    history = "/api/threads/t1/history"
    post = "/api/threads/t1/label"
    assert client.post(post, json={"entryId": "u1", "label": "start"}).status_code == 202
    assert client.post(post, json={"entryId": "u2", "label": "left"}).status_code == 202
    assert labels_in(client.get(history).json) == ["start", None, None, None]
    client.post(post, json={"entryId": "u1", "label": "beginning"})
    for _ in ("live", "cold"):
        assert labels_in(client.get(history).json) == ["beginning", None, None, None]
        page = client.get("/threads/t1").text
        assert 'title="beginning"><span class="visually-hidden">Label: </span>beginning' in page
        told = {one["text"]: one["label"] for one in entries_of(client) if one.get("label")}
        assert told == {"One": "beginning", "Two": "left"}
        server.registry.without("t1", lambda: None)
    client.post("/threads/t1/label", data={"entryId": "u1", "label": ""})
    assert labels_in(client.get(history).json) == [None] * 4


def label_told(eye: Socket, message_id: str) -> str | None:
    """What the next frame that holds a message says of its label.

    The label is a line of the file, and the file's news may bring a snapshot in the frame's place.
    """
    while True:
        frame = eye.frame()
        for message in [frame["message"]] if "message" in frame else frame.get("messages", ()):
            if isinstance(message, dict) and message["id"] == message_id:
                return message.get("label")


def test_a_label_reaches_every_follow_as_it_is_set(
    forked: FakeHost,
    server: EnsoServer,
    client: FlaskClient,
    listen: Callable[[EnsoServer], Listening],
) -> None:
    """The message with its label as JSON; its element as HTML; and without it when it is gone."""
    listening = listen(server)
    with listening.follow("t1") as json_eye, listening.follow("t1", html=True) as html_eye:
        json_eye.until("snapshot")
        html_eye.text()
        client.post("/api/threads/t1/label", json={"entryId": "a1", "label": "<here>"})
        while label_told(json_eye, "a1") != "<here>":
            pass
        while 'title="&lt;here&gt;"' not in html_eye.text():
            pass
        client.post("/api/threads/t1/label", json={"entryId": "a1"})
        while label_told(json_eye, "a1") is not None:
            pass
        forked.grow("t1", assistant("elsewhere"))
        json_eye.until("snapshot")


def test_the_trees_own_form_comes_back_to_the_tree(forked: FakeHost, client: FlaskClient) -> None:
    """A plain one to the same filter and window; with htmx the list as it is now."""
    form = {"entryId": "u2", "label": "left", "to": "tree", "filter": "all", "start": "2"}
    answer = client.post("/threads/t1/label", data=form)
    target = "/threads/t1/tree?filter=all&start=2"
    assert (answer.status_code, answer.headers["Location"]) == (303, target)
    form = {**form, "label": "right", "filter": "labeled-only", "start": "0"}
    answer = client.post("/threads/t1/label", data=form, headers=PARTIAL)
    assert answer.status_code == 200
    assert answer.text.strip().startswith('<div id="tree-list"')
    assert answer.text.count('class="twig ') == 1
    assert "Label: </span>right" in answer.text
    answer = client.post("/threads/t1/label", data={"entryId": "u2", "label": "x"}, headers=PARTIAL)
    assert (answer.status_code, answer.text) == (202, "")


def test_depths_are_drawn_by_class_and_never_beyond_eight() -> None:
    """No style stands in a page; a deep tree stays on the screen."""
    rows = [twig(n, "user", "x", depth=n) for n in range(12)]
    html = Renderer().tree(tree_scene(rows), page=True)
    steps = [html.index(f" d{n}") for n in range(9)]
    assert all(one < other for one, other in pairwise(steps))
    assert html.count(" d8") == 4
