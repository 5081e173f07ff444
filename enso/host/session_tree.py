"""The whole tree of a session: every entry a row, whatever its parents say, and the labels.

Owns how damaged parents are read (the same way as a branch is, ``branch_of``), what each stored
entry is to a person, and which entries give their words back. Walks with loops, never by recursion,
and looks at each entry a bounded number of times. Source of the labels' rule: pi 1.6.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from enso.host.contract import ThreadTree, ThreadTreeEntry, TreeKind, first_line
from enso.host.decode import decode_entry, decode_parts, entry_time, stop_reason_of
from enso.host.json_lines import clean_text, plain
from enso.host.session_log import Entry, branch_of
from enso.host.stored_values import NOTHING, Stored, object_of, text_of
from enso.transcript import Part, ToolCallPart, TranscriptMarker

_ARGUMENTS: Final = 20
_ARGUMENT_CHARACTERS: Final = 500
"""How much of a call's arguments is kept: enough to name what it was about."""


def labels_of(entries: Iterable[Stored]) -> dict[str, str]:
    """The labels of a whole file by the entries they are on: the last one holds, an empty one none.

    Labels on entries that are not there are among them.
    """
    return labels_after({}, entries)


def labels_after(before: Mapping[str, str], entries: Iterable[Stored]) -> dict[str, str]:
    """The labels ``before``, and what more entries of the file make of them."""
    labels = dict(before)
    for entry in entries:
        target = entry.get("targetId") if entry.get("type") == "label" else None
        if not isinstance(target, str):
            continue
        words = text_of(entry.get("label"))
        if words:
            labels[clean_text(target)] = words
        else:
            labels.pop(clean_text(target), None)
    return labels


def is_said(entry: Stored) -> bool:
    """Whether going to this entry is going before it, so that it can be said differently."""
    message = object_of(entry.get("message")) if entry.get("type") == "message" else NOTHING
    return message.get("role") == "user" or entry.get("type") == "custom_message"


def said_parts(entries: Sequence[Entry], entry_id: str) -> tuple[Part, ...] | None:
    """What going to the entry gives back to say differently; ``None`` when it gives nothing."""
    entry = _newest(entries, entry_id)
    if entry is None or not is_said(entry):
        return None
    return decode_parts(object_of(entry.get("message")).get("content", entry.get("content")))


def place_of(entries: Sequence[Entry], entry_id: str) -> tuple[str | None] | None:
    """The leaf that going to an entry makes, in a tuple; ``None`` when there is no such entry."""
    entry = _newest(entries, entry_id)
    if entry is None:
        return None
    if not is_said(entry):
        return (entry_id,)
    before = branch_of(entries, entry_id)[:-1]
    return (before[-1]["id"] if before else None,)


def _newest(entries: Sequence[Entry], entry_id: str) -> Entry | None:
    return next((entry for entry in reversed(entries) if entry["id"] == entry_id), None)


def tree_of(entries: Sequence[Entry], leaf_id: str | None) -> ThreadTree:
    """The tree of a file whose next entry follows ``leaf_id``. Time and size grow with the file."""
    by_id = {entry["id"]: entry for entry in entries}
    branch = [entry["id"] for entry in branch_of(entries, leaf_id)] if leaf_id is not None else []
    parents = _parents(by_id, branch)
    labels = labels_of(entries)
    on_branch = set(branch)
    calls = _Calls(parents)
    rows = tuple(
        _row(entry, parents[entry_id], labels.get(entry_id), entry_id in on_branch, calls)
        for entry_id, entry in by_id.items()
    )
    return ThreadTree(entries=rows, leaf_id=leaf_id if branch else None)


def _parents(by_id: Mapping[str, Entry], branch: Sequence[str]) -> dict[str, str | None]:
    """Every entry's parent, none of them missing, and no walk along them without an end.

    A cycle is cut where the branch cuts it, else where the walk from its first entry closes.
    """
    parents: dict[str, str | None] = dict.fromkeys(branch)
    parents.update(zip(branch[1:], branch, strict=False))
    for start in by_id:
        walked: set[str] = set()
        entry_id: str | None = start
        while entry_id is not None and entry_id not in parents:
            walked.add(entry_id)
            parent = by_id[entry_id]["parentId"]
            known = parent in by_id and parent not in walked
            parents[entry_id] = parent if known else None
            entry_id = parents[entry_id]
    return parents


def _row(
    entry: Entry, parent_id: str | None, label: str | None, on_branch: bool, calls: _Calls
) -> ThreadTreeEntry:
    message = object_of(entry.get("message")) if entry.get("type") == "message" else NOTHING
    role = message.get("role")
    calls.pass_by(entry, message)
    common: dict[str, Any] = {
        "id": entry["id"],
        "parent_id": parent_id,
        "created_at": entry_time(entry, message),
        "label": label,
        "on_branch": on_branch,
    }
    if role == "user":
        return ThreadTreeEntry(**common, kind="user", text=_line(message.get("content")))
    if role == "assistant":
        words = _line(message.get("content")) or first_line(text_of(message.get("errorMessage")))
        stop = stop_reason_of(message.get("stopReason"))
        return ThreadTreeEntry(**common, kind="assistant", text=words, stop_reason=stop)
    if role == "toolResult":
        return ThreadTreeEntry(
            **common,
            kind="tool-result",
            name=text_of(message.get("toolName")),
            text=_line(message.get("content")),
            is_error=message.get("isError") is True,
            call=calls.answered(entry, message),
        )
    kind, name, text = _other(entry)
    return ThreadTreeEntry(**common, kind=kind, name=name, text=text)


def _line(content: Any) -> str:
    """The first line of a stored ``content``; only as much is looked at as that takes."""
    blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
    for block in blocks:
        text = block if isinstance(block, str) else object_of(block).get("text")
        line = first_line(text) if isinstance(text, str) else ""
        if line:
            return clean_text(line)
    return ""


def _other(entry: Entry) -> tuple[TreeKind, str, str]:
    """Kind, name and line of an entry that is no message of a person, a model or a tool."""
    kind = text_of(entry.get("type")) or "unknown"
    if kind == "label":
        return "label", kind, first_line(text_of(entry.get("label")))
    if kind in _SETTINGS:
        words = [text_of(entry.get(name)) for name in _SETTINGS[kind]]
        return "setting", kind, first_line("/".join(filter(None, words)))
    decoded = decode_entry(entry, providers=str)
    if isinstance(decoded, TranscriptMarker):
        words = decoded.text if decoded.kind == "custom" else decoded.title
        return "marker", decoded.kind, first_line(words or decoded.title)
    return "setting", getattr(decoded, "kind", kind), ""


_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "model_change": ("provider", "modelId"),
    "thinking_level_change": ("thinkingLevel",),
    "session_info": ("name",),
    "custom": ("customType",),
    "context_edit": ("targetId",),
    "usage": ("kind",),
}
"""What is kept for the runtime, and which fields say it."""


class _Calls:
    """Which call each tool result answers: one of the reply above it. Fed in file order."""

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        self._parents = parents
        self._reply_above: dict[str, Entry | None] = {}
        self._calls: dict[str, dict[str, Stored]] = {}

    def pass_by(self, entry: Entry, message: Stored) -> None:
        """Take in an entry: a reply is above what follows it, until somebody else speaks."""
        parent_id, role = self._parents[entry["id"]], message.get("role")
        above = self._reply_above.get(parent_id) if parent_id is not None else None
        if role == "assistant":
            above = entry
        self._reply_above[entry["id"]] = None if role == "user" else above

    def answered(self, entry: Entry, message: Stored) -> ToolCallPart | None:
        """The call that a tool result answers; ``None`` when the reply above has no such call."""
        reply = self._reply_above[entry["id"]]
        block = self._of(reply).get(text_of(message.get("toolCallId"))) if reply else None
        if block is None:
            return None
        return ToolCallPart(
            text_of(block.get("id")),
            text_of(block.get("name")),
            _short(block.get("arguments")),
        )

    def _of(self, reply: Entry) -> dict[str, Stored]:
        if reply["id"] not in self._calls:
            content = object_of(reply.get("message")).get("content")
            blocks = cast("list[Any]", content) if isinstance(content, list) else []
            self._calls[reply["id"]] = {
                text_of(block.get("id")): block
                for block in map(object_of, blocks)
                if block.get("type") == "toolCall"
            }
        return self._calls[reply["id"]]


def _short(arguments: Any) -> dict[str, Any]:
    """The first arguments of a call that are no lists or objects, long texts cut."""
    short: dict[str, Any] = {}
    for name, value in islice(object_of(arguments).items(), _ARGUMENTS):
        if not isinstance(value, (dict, list)):
            shorter = value[:_ARGUMENT_CHARACTERS] if isinstance(value, str) else value
            short[clean_text(name)] = plain(shorter)
    return short
