"""The context of a branch, request by request: as pi assembles it, and by a plain walk of its own.

``tests/data/pi_contexts.json`` holds what pi 1.6.0 says for every request of the corpus: the roles,
the tokens that it takes each message for, a digest of each message's text, and the tokens of all.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enso.host.context import branch_context, request_detail
from enso.host.context_elements import BEGINNING
from enso.host.context_walk import ContextWalk
from enso.host.contract import BranchRequestDetail, ContextSize
from enso.host.session_context import blocks_of, projection
from enso.host.session_log import branch_of, read_session
from tests.host.corpus import ALL, CORPUS, Recorded

PI: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "pi_contexts.json").read_text()
)
SAID = [recorded for recorded in ALL if recorded.name in PI and recorded.says["size"]]

ANSWER_WITHOUT_A_PARENT = "raw-cr-in-string"
"""Its parent is a line that is no JSON. Pi, asked for a leaf that is not there, takes the last."""


def branch_in(recorded: Recorded) -> list[dict[str, Any]]:
    """The branch of a recorded file."""
    log = read_session(recorded.path)
    assert log is not None
    return log.branch()


def detail(branch: list[dict[str, Any]], request: Any) -> BranchRequestDetail:
    """A request that is there."""
    found = request_detail(branch, request)
    assert found is not None
    return found


def compare(branch: list[dict[str, Any]], request: Any, size: ContextSize, says: Any) -> None:
    """A request in sizes and in full, with what pi says of it."""
    shown = detail(branch, request)
    estimates = [(element.role, element.tokens) for element in shown.elements]
    assert estimates == [(role, tokens or 0) for role, tokens, _ in says["elements"]]
    assert size.elements == len(says["elements"])
    if says["tokens"] is not None:  # pi fails over content that is a number
        assert size.tokens == shown.tokens == says["tokens"]


@pytest.mark.parametrize("recorded", SAID, ids=str)
def test_every_request_is_assembled_and_measured_as_pi_does_it(recorded: Recorded) -> None:
    """As many requests, and in each the same roles, the same estimates, and the same sum."""
    branch, says = branch_in(recorded), PI[recorded.name]
    context = branch_context(branch)
    if Path(recorded.name).stem != ANSWER_WITHOUT_A_PARENT:
        assert len(context.requests) == len(says["requests"])
    for request, said in zip(context.requests, says["requests"], strict=False):
        compare(branch, request.index, request.size, said)
    compare(branch, "next", context.next, says["next"])


@pytest.mark.parametrize("recorded", SAID, ids=str)
def test_the_next_context_says_what_pis_says(recorded: Recorded) -> None:
    """The texts of the messages are pi's, by their digests."""
    branch = branch_in(recorded)
    messages = [message for member in projection(branch) for message in member.messages]
    digests = [digest for _, _, digest in PI[recorded.name]["next"]["elements"]]
    assert [_digest(message) for message in messages] == digests


def _digest(message: Any) -> str:
    if message.get("role") in ("compactionSummary", "branchSummary"):
        text = message.get("summary") or ""
    elif message.get("role") == "bashExecution":
        text = f"{message['command']}\n{message['output']}"
    else:
        blocks = blocks_of(message.get("content"))
        text = "\n".join(str(block.get("text") or block.get("thinking") or "") for block in blocks)
    mended = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return hashlib.sha256(mended.encode()).hexdigest()[:12]


@pytest.mark.parametrize("recorded", [r for r in ALL if r.opened and r.says["size"]], ids=str)
def test_the_next_context_has_the_roles_that_pi_lists(recorded: Recorded) -> None:
    """One element for each message of pi's own context."""
    said = recorded.opened["context"]
    shown = detail(branch_in(recorded), "next")
    assert [element.role for element in shown.elements] == said["roles"]


# -- by a plain walk ------------------------------------------------------------------------------

TEXTS = st.sampled_from(["", "short", "words " * 9, "größer 🧩", "x" * 41])


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The entries of a file: any tree, with compactions, and edits also of what comes later."""
    count = draw(st.integers(1, 30))
    entries: list[dict[str, Any]] = []
    for number in range(count):
        entry = draw(st.sampled_from(MAKERS))(draw, count)
        parent = draw(st.integers(0, number) | st.just(number))
        entry |= {"id": f"e{number}", "parentId": f"e{parent - 1}" if parent else None}
        entries.append(entry)
    return entries


def _any_id(draw: st.DrawFn, count: int) -> str:
    return f"e{draw(st.integers(0, count))}"


def _message(draw: st.DrawFn, _count: int) -> dict[str, Any]:
    role = draw(st.sampled_from(["user", "assistant", "assistant", "toolResult", "odd"]))
    message = {"role": role, "content": [{"type": "text", "text": draw(TEXTS)}]}
    if role == "assistant":
        counted = draw(st.sampled_from([0, 0, 100, 1000]))
        message |= {
            "usage": {"input": counted},
            "stopReason": draw(st.sampled_from(["stop", "error"])),
        }
    return {"type": "message", "message": message}


def _system(draw: st.DrawFn, _count: int) -> dict[str, Any]:
    name = draw(st.sampled_from(["a", "b"]))
    message: dict[str, Any] = {
        "role": "system",
        "content": draw(TEXTS),
        "sections": {name: draw(st.none() | TEXTS)},
        "toolsAdded": [{"name": draw(st.sampled_from(["t", "u"])), "description": draw(TEXTS)}],
        "toolsRemoved": [{"name": draw(st.sampled_from(["t", "u", "v"]))}],
    }
    return {"type": "message", "message": message}


def _compaction(draw: st.DrawFn, count: int) -> dict[str, Any]:
    entry = {"type": "compaction", "summary": draw(TEXTS), "firstKeptEntryId": _any_id(draw, count)}
    if draw(st.booleans()):
        entry["systemMessage"] = _system(draw, count)["message"]
    return entry


def _edit(draw: st.DrawFn, count: int) -> dict[str, Any]:
    replacement = draw(st.none() | st.fixed_dictionaries({"content": TEXTS}))
    return {
        "type": "context_edit", "targetId": _any_id(draw, count), "replacement": replacement
    }  # fmt: skip


def _other(draw: st.DrawFn, _count: int) -> dict[str, Any]:
    text = draw(TEXTS)
    return draw(
        st.sampled_from(
            [
                {"type": "custom_message", "customType": "note", "content": text},
                {"type": "branch_summary", "summary": text},
                {
                    "type": "message",
                    "message": {"role": "bashExecution", "command": "ls", "output": text},
                },
                {"type": "custom", "customType": "modes", "data": {"mode": "ask"}},
                {"type": "label", "targetId": "e1", "label": "here"},
            ]
        )
    )


MAKERS = [_message, _message, _message, _system, _compaction, _edit, _edit, _other]


class Plain:
    """The context of a branch, worked out in the plainest way: no incremental sum anywhere."""

    def __init__(self, branch: list[dict[str, Any]]) -> None:
        newest = max((i for i, e in enumerate(branch) if e["type"] == "compaction"), default=None)
        head = [] if newest is None else [branch[newest]]
        before = [] if newest is None else self._kept(branch[:newest], branch[newest])
        rest = branch if newest is None else branch[newest + 1 :]
        self.entries = [*head, *before, *rest]
        self.messages: list[dict[str, Any]] = []
        self.left_out = 0
        for index, entry in enumerate(self.entries):
            if entry["type"] != "compaction" or index == 0:
                self._take(entry)

    @staticmethod
    def _kept(before: list[dict[str, Any]], compaction: dict[str, Any]) -> list[dict[str, Any]]:
        ids = [entry["id"] for entry in before]
        if compaction["firstKeptEntryId"] not in ids:
            return []
        kept = before[ids.index(compaction["firstKeptEntryId"]) :]
        return [e for e in kept if e.get("message", {}).get("role") != "system"]

    def _take(self, entry: dict[str, Any]) -> None:
        edits = [e for e in self.entries if e["type"] == "context_edit"]
        edit = next((e for e in reversed(edits) if e["targetId"] == entry["id"]), None)
        for message in self._messages(entry):
            if edit is None:
                self.messages.append(message)
            elif edit["replacement"] is None:
                self.left_out += 1
            elif message["role"] in ("user", "assistant", "toolResult", "custom"):
                self.messages.append({**message, **edit["replacement"]})
            else:
                self.messages.append(message)

    @staticmethod
    def _messages(entry: dict[str, Any]) -> list[dict[str, Any]]:
        match entry["type"]:
            case "message":
                return [entry["message"]]
            case "custom_message":
                return [{"role": "custom", "content": entry["content"]}]
            case "branch_summary" if entry["summary"]:
                return [{"role": "branchSummary", "summary": entry["summary"]}]
            case "compaction":
                system = [entry["systemMessage"]] if "systemMessage" in entry else []
                return [*system, {"role": "compactionSummary", "summary": entry["summary"]}]
            case _:
                return []


@settings(max_examples=300, deadline=None)
@given(entries=trees(), leaf=st.integers(0, 29))
def test_the_walk_agrees_with_a_plain_one_at_every_request(
    entries: list[dict[str, Any]], leaf: int
) -> None:
    """On any branch of any tree: the messages, what is left out, and every sum."""
    branch = branch_of(entries, entries[min(leaf, len(entries) - 1)]["id"])
    context = branch_context(branch)
    answers = [i for i, e in enumerate(branch) if e.get("message", {}).get("role") == "assistant"]
    assert [request.entry_id for request in context.requests] == [branch[i]["id"] for i in answers]
    asked: list[tuple[Any, int, ContextSize]] = [("next", len(branch), context.next)]
    asked += [(r.index, end, r.size) for r, end in zip(context.requests, answers, strict=True)]
    for request, end, size in asked:
        plain, shown = Plain(branch[:end]), detail(branch, request)
        assert [element.role for element in shown.elements] == [m["role"] for m in plain.messages]
        assert len(shown.left_out) == size.left_out == plain.left_out
        assert size.elements == len(plain.messages)
        assert size.characters == sum(element.characters for element in shown.elements)
        assert size.tokens == shown.tokens
        assert sum(share.tokens for share in size.shares) == sum(e.tokens for e in shown.elements)
        assert sum(share.elements for share in size.shares) == size.elements


@settings(max_examples=50, deadline=None)
@given(entries=trees(), cut=st.integers(0, 30))
def test_a_walk_that_goes_on_is_the_walk_from_the_beginning(
    entries: list[dict[str, Any]], cut: int
) -> None:
    """Measuring a branch in two parts gives what measuring it at once gives."""
    branch = branch_of(entries)
    walk = ContextWalk()
    walk.extend(branch[:cut])
    walk.context()
    walk.extend(branch[cut:])
    assert walk.context() == branch_context(branch)


# -- single facts ---------------------------------------------------------------------------------


def message(entry_id: str, role: str, text: str, **fields: Any) -> dict[str, Any]:
    """An entry of one message."""
    content = [{"type": "text", "text": text}]
    return {
        "type": "message",
        "id": entry_id,
        "message": {"role": role, "content": content, **fields},
    }


def test_a_request_says_who_answered_and_what_the_provider_counted() -> None:
    """Provider, model, how it ended, and the tokens that were read anew, cached or not."""
    usage = {"input": 10, "output": 99, "cacheRead": 5, "cacheWrite": 1}
    answer = {"provider": "p", "model": "m", "stopReason": "length", "usage": usage}
    branch = [message("1", "user", "hello"), message("2", "assistant", "hi", **answer)]
    (request,) = branch_context(branch).requests
    assert (request.index, request.entry_id) == (1, "2")
    assert (request.provider, request.model, request.stop_reason) == ("p", "m", "length")
    assert request.counted == 16


def test_a_compaction_is_marked_at_the_request_after_it() -> None:
    """The request that is made with the summary is the one that is marked, and only that."""
    summed = {"type": "compaction", "id": "c", "summary": "So far.", "firstKeptEntryId": "c"}
    branch = [
        message("1", "assistant", "a"),
        summed,
        message("2", "assistant", "b"),
        message("3", "assistant", "c"),
    ]
    context = branch_context(branch)
    assert [request.compacted for request in context.requests] == [False, True, False]
    assert not context.compacted
    assert branch_context(branch[:2]).compacted


def test_an_edited_element_says_so_and_shows_what_the_model_is_told() -> None:
    """The new content, its size, and that it is not the stored one; what is out is listed."""
    branch = [
        message("1", "user", "the stored words"),
        message("2", "toolResult", "a secret", toolName="read"),
        {"type": "context_edit", "id": "3", "targetId": "1", "replacement": {"content": "other"}},
        {"type": "context_edit", "id": "4", "targetId": "2", "replacement": None},
    ]
    shown = detail(branch, "next")
    (element,) = shown.elements
    assert (element.entry_id, element.text, element.characters) == ("1", "other", 5)
    assert element.edited
    (dropped,) = shown.left_out
    assert (dropped.entry_id, dropped.name, dropped.text) == ("2", "read", "a secret")


def test_a_system_message_is_taken_apart_into_sections_and_tools() -> None:
    """Each section and each tool by its name, with its size, and what was taken away."""
    system = message(
        "1", "system", "", sections={"cwd": "/home", "old": None},
        toolsAdded=[{"name": "read"}], toolsRemoved=[{"name": "bash"}],
    )  # fmt: skip
    pieces = [(p.kind, p.name, p.characters) for p in detail([system], "next").elements[0].pieces]
    assert pieces == [
        ("section", "cwd", 5),
        ("removed", "old", 0),
        ("tool", "read", len('{"name":"read"}')),
        ("removed", "bash", 0),
    ]


def test_no_element_holds_more_than_the_beginning_of_its_text() -> None:
    """A long text is cut, and its size is the whole one's."""
    shown = detail([message("1", "user", "x" * 1_000_000)], "next")
    assert len(shown.elements[0].text) == BEGINNING
    assert shown.elements[0].characters == 1_000_000


@pytest.mark.parametrize("request_number", [0, -1, 2, 10**30])
def test_a_request_that_is_not_there_is_none(request_number: int) -> None:
    """Requests count from 1 up to the last answer."""
    assert request_detail([message("1", "assistant", "a")], request_number) is None


def test_the_corpus_is_whole() -> None:
    """What pi said was recorded of files that are there."""
    assert len(SAID) > 100
    assert all((CORPUS / name).exists() for name in PI)
