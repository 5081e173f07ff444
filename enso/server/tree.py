"""A thread's tree as a list: which entries a filter shows, their order, and how far they indent.

The line that a thread goes straight along stays flush: at a fork it goes on with the present
branch, else with the branch begun last; the others stand before it, indented by one. So a long
conversation with a few forks stays a list that a phone can show. Everything is a loop over the
entries: depth and size of a tree are whatever a file holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from enso import transcript, wire
from enso.host import contract
from enso.server.shapes import iso_time, json_value, mended
from enso.server.tool_lines import tool_look

PAGE_ENTRIES: Final = 200
"""How many entries of a tree are sent at once."""

FILTERS: Final[Mapping[wire.TreeFilter, str]] = {
    "default": "Conversation",
    "no-tools": "Without tools",
    "user-only": "Prompts",
    "labeled-only": "Labelled",
    "all": "Everything",
}
"""The filters, and what a person reads for each."""

_FAILED = ("error", "aborted", "length", "other")


class Placed(NamedTuple):
    """An entry in the list: its nearest shown ancestor, and how far it indents."""

    entry: contract.ThreadTreeEntry
    parent_id: str | None
    depth: int


def is_shown(entry: contract.ThreadTreeEntry, wanted: wire.TreeFilter, leaf_id: str | None) -> bool:
    """Whether a filter shows an entry (source: pi 1.6.0, its tree selector).

    A reply of nothing but tool calls is shown by its results, unless the thread is at it. Beyond
    pi, everything is everything, and whatever has a label is labelled.
    """
    if wanted == "all":
        return True
    if wanted == "labeled-only":
        return entry.label is not None
    if entry.kind == "assistant" and entry.id != leaf_id:
        silent = not entry.text and entry.stop_reason not in _FAILED
        return not silent and wanted != "user-only"
    if wanted == "user-only":
        return entry.kind == "user"
    hidden = ("label", "setting", "tool-result" if wanted == "no-tools" else "")
    return entry.kind not in hidden


def arranged(tree: contract.ThreadTree, wanted: wire.TreeFilter) -> list[Placed]:
    """The shown entries in the order of the list."""
    shown = [entry for entry in tree.entries if is_shown(entry, wanted, tree.leaf_id)]
    above = _shown_above(tree, {entry.id for entry in shown})
    children: dict[str | None, list[contract.ThreadTreeEntry]] = {}
    for entry in shown:
        children.setdefault(above[entry.id], []).append(entry)
    placed: list[Placed] = []
    waiting = _behind(children.get(None, ()), None, -1)
    while waiting:
        one = waiting.pop()
        placed.append(one)
        waiting += _behind(children.get(one.entry.id, ()), one.entry.id, one.depth)
    return placed


def _behind(
    siblings: Sequence[contract.ThreadTreeEntry], parent_id: str | None, depth: int
) -> list[Placed]:
    """What follows an entry, last first: the line that goes straight on is the last of the list."""
    flush = max(depth, 0)
    if len(siblings) == 1:
        return [Placed(siblings[0], parent_id, flush)]
    ordered = sorted(siblings, key=lambda entry: entry.on_branch)  # else in the file's order
    return [
        Placed(entry, parent_id, flush if index == 0 else flush + 1)
        for index, entry in enumerate(reversed(ordered))
    ]


def _shown_above(tree: contract.ThreadTree, shown: set[str]) -> dict[str, str | None]:
    """For every entry its nearest ancestor that is shown."""
    parents = {entry.id: entry.parent_id for entry in tree.entries}
    above: dict[str, str | None] = {}
    for start in parents:
        walked: list[str] = []
        entry_id: str | None = start
        while entry_id is not None and entry_id not in above:
            walked.append(entry_id)
            entry_id = parents[entry_id]
        nearest = None
        if entry_id is not None:
            nearest = entry_id if entry_id in shown else above[entry_id]
        for passed in reversed(walked):
            above[passed] = nearest
            nearest = passed if passed in shown else nearest
    return above


def window(
    thread_id: str,
    tree: contract.ThreadTree,
    wanted: wire.TreeFilter,
    start: int | None = None,
    size: int = PAGE_ENTRIES,
) -> wire.ThreadTree:
    """A part of the list; without a ``start`` the one that ends soon behind the present place."""
    placed = arranged(tree, wanted)
    here = max((i for i, one in enumerate(placed) if one.entry.on_branch), default=None)
    if start is None:
        end = here + 1 + size // 4 if here is not None else len(placed)
        start = min(end, len(placed)) - size
    start = max(0, min(start, len(placed) - 1))
    entries = [
        entry_shape(one, leaf=one.entry.id == tree.leaf_id, here=index == here)
        for index, one in enumerate(placed[start : start + size], start)
    ]
    return wire.ThreadTree(
        thread_id=thread_id,
        leaf_id=mended(tree.leaf_id) if tree.leaf_id is not None else None,
        filter=wanted,
        total=len(placed),
        start=start,
        entries=entries,
    )


def entry_shape(one: Placed, *, leaf: bool, here: bool) -> wire.TreeEntry:
    """An entry as it is sent. A tool's result is named by what it was asked."""
    entry = one.entry
    name, text = entry.name, entry.text
    if entry.call is not None:
        name, text = _call_words(entry.call)
    return wire.TreeEntry(
        id=mended(entry.id),
        parent_id=mended(one.parent_id) if one.parent_id is not None else None,
        kind=entry.kind,
        name=mended(name) or None,
        text=mended(text),
        created_at=iso_time(entry.created_at),
        stop_reason="error" if entry.is_error else entry.stop_reason,
        label=mended(entry.label) if entry.label else None,
        depth=one.depth,
        on_branch=entry.on_branch,
        leaf=leaf,
        here=here,
    )


def _call_words(call: transcript.ToolCallPart) -> tuple[str, str]:
    look = tool_look(
        wire.ToolCallPart(
            id=mended(call.id),
            name=mended(call.name),
            arguments=json_value(call.arguments),
            state="done",
        )
    )
    return look.name, contract.first_line(look.subject)
