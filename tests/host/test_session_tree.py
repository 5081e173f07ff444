"""The whole tree of a session: every branch, whatever the file holds, and its labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso.host.contract import ThreadTree, first_line
from enso.host.session_log import branch_of, read_session
from enso.host.session_tree import labels_of, place_of, said_parts, tree_of
from enso.transcript import TextPart
from tests.host.corpus import ALL, CORPUS, Recorded, host_over, named, place

OPENED = [recorded for recorded in ALL if recorded.opened and recorded.says["size"]]

Entry = dict[str, Any]


def entry(entry_id: str, parent: str | None, kind: str = "message", **fields: Any) -> Entry:
    """A stored entry; a prompt unless it says otherwise."""
    if kind == "message" and "message" not in fields:
        fields["message"] = {"role": "user", "content": f"say {entry_id}"}
    return {"type": kind, "id": entry_id, "parentId": parent, **fields}


def reply(entry_id: str, parent: str | None, *content: Any, **fields: Any) -> Entry:
    """A stored reply."""
    message = {"role": "assistant", "content": list(content), "stopReason": "stop", **fields}
    return entry(entry_id, parent, message=message)


def answer(entry_id: str, parent: str, call_id: str, text: str = "done") -> Entry:
    """A stored tool result."""
    content = [{"type": "text", "text": text}]
    message = {"role": "toolResult", "toolCallId": call_id, "toolName": "read", "content": content}
    return entry(entry_id, parent, message=message)


def label(entry_id: str, parent: str | None, target: Any, words: Any = None) -> Entry:
    """A stored label."""
    fields = {} if words is None else {"label": words}
    return entry(entry_id, parent, "label", targetId=target, **fields)


def parents(tree: ThreadTree) -> dict[str, str | None]:
    """Each entry's parent."""
    return {one.id: one.parent_id for one in tree.entries}


def branch(tree: ThreadTree) -> list[str]:
    """The entries on the branch, from the root to the leaf, by walking up the tree."""
    above, line, at = parents(tree), list[str](), tree.leaf_id
    while at is not None:
        line.append(at)
        at = above[at]
    return line[::-1]


# -- the corpus -----------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", OPENED, ids=str)
def test_the_tree_is_the_one_that_pi_finds(recorded: Recorded) -> None:
    """As many entries, beginnings and ends as pi counts, its leaf, its labels, its branch."""
    log, says = read_session(recorded.path), recorded.opened
    assert log is not None
    tree = tree_of(log.entries, log.entries[-1]["id"] if log.entries else None)
    above = parents(tree)
    assert {
        "entries": len(log.entries),
        "roots": sum(parent is None for parent in above.values()),
        "leaves": len(above.keys() - set(above.values())),
        "labels": {one.id: one.label for one in tree.entries if one.label},
        "branch": len(branch(tree)),
    } == {
        "entries": says["entryCount"],
        "roots": says["roots"],
        "leaves": says["leaves"],
        "labels": says["labels"],
        "branch": says["branchEntryCount"],
    }
    assert {one.id for one in tree.entries if one.on_branch} == set(branch(tree))
    if recorded.opened["headerVersionAfterLoad"] == 3 and "v1-linear" not in recorded.name:
        assert tree.leaf_id == says["leafId"]


def test_the_tree_of_a_recorded_answer_is_ours(tmp_path: Path) -> None:
    """What pi answered to ``get_tree``: every entry under its parent, and the leaf."""
    recorded = next(one for one in ALL if one.says.get("scenario") == "branches-in-file")
    lines = (CORPUS / "rpc" / "branches-in-file.jsonl").read_text().splitlines()
    answers = [json.loads(line)["rec"] for line in lines if '"command": "get_tree"' in line]
    data = answers[-1]["data"]
    said: dict[str, str | None] = {}
    nodes = [(node, None) for node in data["tree"]]
    while nodes:
        node, parent = nodes.pop()
        said[node["entry"]["id"]] = parent
        nodes += [(child, node["entry"]["id"]) for child in node["children"]]
    log = read_session(recorded.path)
    assert log is not None
    tree = tree_of(log.entries, data["leafId"])
    assert parents(tree) == said
    assert (tree.leaf_id, branch(tree)[-1]) == (data["leafId"], data["leafId"])


def test_branches_that_were_left_are_in_the_tree(tmp_path: Path) -> None:
    """A thread with forks: more entries than its branch, and prompts with more than one reply."""
    recorded = next(one for one in ALL if one.says.get("scenario") == "branches-in-file")
    place(recorded, tmp_path)
    host = host_over(tmp_path)
    (row,) = host.list_sessions()
    tree = host.read_stored_thread_tree(row.id)
    cold = host.read_stored_thread(row.id)
    host.close()
    assert tree is not None
    assert cold is not None
    assert branch(tree) == [one.id for one in cold.entries]
    assert len(tree.entries) > len(cold.entries)
    above = list(parents(tree).values())
    assert max(above.count(one) for one in set(above)) > 1


def test_looking_at_a_tree_writes_nothing(tmp_path: Path) -> None:
    """The file stays as it was, byte and time."""
    path = place(named("cyclic-parents"), tmp_path)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    host = host_over(tmp_path)
    (row,) = host.list_sessions()
    assert host.read_stored_thread_tree(row.id) is not None
    assert host.read_stored_thread_tree("nowhere") is None
    assert host.read_stored_thread_tree("../../x") is None
    host.close()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


# -- damage ---------------------------------------------------------------------------------------


def test_a_missing_parent_is_a_beginning_and_a_cycle_is_cut_as_the_branch_cuts_it() -> None:
    """Nothing is lost, and every walk ends."""
    entries = [entry("a", "gone"), entry("b", "b"), entry("c", "e"), entry("d", "c")]
    entries += [entry("e", "d")]
    tree = tree_of(entries, "e")
    assert parents(tree) == {"a": None, "b": None, "c": None, "d": "c", "e": "d"}
    assert branch(tree) == [one["id"] for one in branch_of(entries, "e")]


def test_a_cycle_beside_the_branch_is_cut_where_its_first_entry_closes_it() -> None:
    """As going to that entry would read it."""
    entries = [entry("a", "c"), entry("b", "a"), entry("c", "b"), entry("z", None)]
    assert parents(tree_of(entries, "z")) == {"a": "c", "c": "b", "b": None, "z": None}


def test_of_two_entries_with_one_id_the_later_is_in_the_tree() -> None:
    """Once, as on the branch."""
    entries = [entry("a", None), entry("b", "a"), reply("b", "a", {"type": "text", "text": "2nd"})]
    tree = tree_of(entries, "b")
    assert [(one.id, one.kind, one.text) for one in tree.entries] == [
        ("a", "user", "say a"),
        ("b", "assistant", "2nd"),
    ]


def test_a_thread_before_everything_has_no_branch() -> None:
    """The tree is there, and nothing of it is the present branch."""
    tree = tree_of([entry("a", None)], None)
    assert (tree.leaf_id, [one.on_branch for one in tree.entries]) == (None, [False])
    assert tree_of([], None).entries == ()


def test_a_long_thread_needs_no_deep_stack() -> None:
    """48,000 entries behind one another, and a cycle as long."""
    line = [entry(f"e{n}", f"e{n - 1}" if n else None) for n in range(48_000)]
    tree = tree_of(line, "e47999")
    assert all(one.on_branch for one in tree.entries)
    line[0]["parentId"] = "e47999"
    assert sum(one.parent_id is None for one in tree_of(line, "e10").entries) == 1


KINDS = st.sampled_from(["message", "label", "custom", "usage", "compaction", "", "odd"])
NAMES = st.sampled_from("abcdefgh")
TREES = st.lists(st.builds(entry, NAMES, st.none() | NAMES | st.just("gone"), KINDS), max_size=14)


@given(TREES, st.none() | NAMES)
def test_any_tree_is_read_as_a_plain_walk_reads_it(entries: list[Entry], leaf: str | None) -> None:
    """Each id once; parents are the file's, but where one is missing or a cycle is cut."""
    by_id = {one["id"]: one for one in entries}
    leaf = leaf if leaf in by_id else None
    tree = tree_of(entries, leaf)
    above = parents(tree)
    assert list(above) == list(by_id)
    on_branch = _reference_branch(by_id, leaf)
    assert branch(tree) == on_branch
    assert {one.id for one in tree.entries if one.on_branch} == set(on_branch)
    for entry_id, parent in above.items():
        stored = by_id[entry_id]["parentId"]
        assert parent == stored or (parent is None and _ends(by_id, entry_id))
        assert entry_id not in _walk(above, parent)


def _reference_branch(by_id: dict[str, Entry], leaf: str | None) -> list[str]:
    line: list[str] = []
    while leaf in by_id and leaf not in line:
        line.insert(0, leaf)
        leaf = by_id[leaf]["parentId"]
    return line


def _ends(by_id: dict[str, Entry], entry_id: str) -> bool:
    """Whether the file's own parents lead nowhere, or back to the entry."""
    at = by_id[entry_id]["parentId"]
    return at not in by_id or entry_id in _walk({k: v["parentId"] for k, v in by_id.items()}, at)


def _walk(above: dict[str, str | None], at: str | None) -> Iterator[str]:
    passed: set[str] = set()
    while at in above and at not in passed:
        passed.add(at)
        yield at
        at = above[at]


# -- labels ---------------------------------------------------------------------------------------


def test_the_last_label_of_an_entry_holds_and_an_empty_one_none() -> None:
    """In file order, whichever branch it stands on; what is no label of an id is passed over."""
    entries = [entry("a", None), entry("b", "a"), label("c", "b", "a", "one")]
    entries += [label("d", "a", "b", "two"), label("e", "a", "a", "uno"), label("f", "e", "b")]
    entries += [label("g", "f", 7, "x"), label("h", "f", "b", 7), label("i", "f", "gone", "y")]
    assert labels_of(entries) == {"a": "uno", "gone": "y"}
    assert [one.label for one in tree_of(entries, "i").entries][:3] == ["uno", None, None]


def test_a_label_with_half_a_surrogate_pair_can_be_encoded() -> None:
    """As every text that leaves the host."""
    (words,) = labels_of([label("a", None, "b", "x\ud83d")]).values()
    assert words == "x\ufffd"


# -- what an entry is -----------------------------------------------------------------------------


def test_entries_say_what_they_are_in_one_line() -> None:
    """Kinds, names and lines of everything that a file holds."""
    entries = [
        entry("u", None, message={"role": "user", "content": "\n\n  first words\nmore"}),
        reply("r", "u", {"type": "thinking", "thinking": "hm"}, stopReason="aborted"),
        reply("e", "r", stopReason="error", errorMessage="503 busy"),
        entry("s", "e", message={"role": "bashExecution", "command": "make", "output": "ok"}),
        entry("c", "s", "compaction", summary="all", tokensBefore=7000),
        entry("m", "c", "model_change", provider="p", modelId="m"),
        entry("n", "m", "session_info", name="A name"),
        entry("x", "n", "custom", customType="modes", data={}),
        entry("d", "x", "custom_message", customType="note", content="told", display=True),
        entry("h", "d", "custom_message", customType="note", content="told", display=False),
        entry("y", "h", message={"role": "system", "content": ""}),
        entry("z", "y", message=7),
        label("l", "z", "u", "start"),
    ]
    told = {one.id: (one.kind, one.name, one.text) for one in tree_of(entries, "l").entries}
    assert told == {
        "u": ("user", "", "first words"),
        "r": ("assistant", "", ""),
        "e": ("assistant", "", "503 busy"),
        "s": ("marker", "shell", "make"),
        "c": (
            "marker",
            "compaction",
            "Earlier messages were summed up for the model, 7,000 tokens",
        ),
        "m": ("setting", "model_change", "p/m"),
        "n": ("setting", "session_info", "A name"),
        "x": ("setting", "custom", "modes"),
        "d": ("marker", "custom", "told"),
        "h": ("setting", "custom_message", ""),
        "y": ("setting", "message:system", ""),
        "z": ("setting", "message:unknown", ""),
        "l": ("label", "label", "start"),
    }


def test_a_tool_result_names_the_call_of_the_reply_above_it() -> None:
    """Also where ids repeat in every turn; long arguments are cut, and nested ones left out."""
    call = {"type": "toolCall", "id": "1", "name": "read"}
    entries = [
        reply("a", None, {**call, "arguments": {"path": "one", "deep": [1], "x": "y" * 9999}}),
        answer("b", "a", "1"),
        reply("c", "b", {**call, "arguments": {"path": "two"}}),
        answer("d", "c", "1"),
        answer("e", "d", "2"),
        entry("f", "e"),
        answer("g", "f", "1"),
    ]
    calls = {one.id: one.call for one in tree_of(entries, "g").entries if one.kind == "tool-result"}
    first, second = calls["b"], calls["d"]
    assert first is not None
    assert second is not None
    assert first.arguments == {"path": "one", "x": "y" * 500}
    assert second.arguments == {"path": "two"}
    assert (calls["e"], calls["g"]) == (None, None)


@given(st.text(alphabet=st.sampled_from("ab \n\t")))
def test_a_line_is_the_first_that_says_something(text: str) -> None:
    """Without the blanks around it."""
    lines = [line.strip() for line in text.split("\n")]
    assert first_line(text) == next((line for line in lines if line), "")


def test_a_long_line_is_cut() -> None:
    """With a sign that it was."""
    assert first_line("x" * 200) == "x" * 200
    assert first_line("x" * 201) == "x" * 199 + "…"


# -- going there ----------------------------------------------------------------------------------


def test_going_to_a_prompt_is_going_before_it() -> None:
    """Its parent where that is there, else before everything; any other entry is itself."""
    entries = [entry("a", "gone"), reply("b", "a"), entry("c", "b"), entry("d", "d")]
    places = {one: place_of(entries, one) for one in "abcdz"}
    assert places == {"a": (None,), "b": ("b",), "c": ("b",), "d": (None,), "z": None}


def test_a_prompt_and_an_extensions_message_give_their_words_back() -> None:
    """And nothing else does."""
    entries = [
        entry("a", None),
        entry("b", "a", "custom_message", customType="x", content="told", display=True),
        reply("c", "b", {"type": "text", "text": "no"}),
        entry("d", "c", message={"role": "user", "content": None}),
    ]
    given_back = {one: said_parts(entries, one) for one in "abcdz"}
    assert given_back == {
        "a": (TextPart("say a"),),
        "b": (TextPart("told"),),
        "c": None,
        "d": (),
        "z": None,
    }


def test_every_text_of_a_tree_can_be_encoded() -> None:
    """Whatever a recorded session holds."""
    for recorded in OPENED:
        log = read_session(recorded.path)
        assert log is not None
        for one in tree_of(log.entries, None).entries:
            assert f"{one.id}{one.text}{one.name}{one.label}".encode()
