"""The whole tree of a session: every entry a row, whatever its parents say, and the labels.

Owns how damaged parents are read (the same way as a branch is, ``branch_of``), which call a result
answers, and which entries give their words back; what each stored entry is to a person is
``enso.host.tree_rows``'. Walks with loops, never by recursion, and looks at each entry a bounded
number of times. Source of the labels' rule: pi 1.6.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from enso.host.contract import ThreadTree, ThreadTreeEntry
from enso.host.decode import decode_parts
from enso.host.json_lines import clean_text
from enso.host.kept_sums import Summing
from enso.host.session_log import Entry, branch_of
from enso.host.session_rows import NOWHERE, RowTree
from enso.host.stored_values import NOTHING, Stored, object_of, text_of
from enso.host.tree_rows import TREE, TreeRow
from enso.transcript import Part, ToolCallPart

_BYTES_OF_AN_ENTRY: Final = 400
"""About what an entry of a tree and its texts take."""


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
    return tree_of_rows(TREE.rows_of(entries), leaf_id)


def tree_of_rows(rows: list[TreeRow], leaf_id: str | None) -> ThreadTree:
    """The same of a file's rows."""
    return sum_of_rows(rows, leaf_id).answer()


def sum_of_rows(rows: list[TreeRow], leaf_id: str | None) -> TreeSum:
    """The same, to which more may be added that follows the leaf."""
    total = TreeSum(labels=_labels(rows))
    tree = RowTree(rows, leaf_id)
    parents = _parents(tree)
    above: dict[str, TreeRow | None] = {}  # the reply above what follows, until somebody speaks
    for row, on_branch in zip(tree.rows, tree.on_branch, strict=True):
        parent_id = parents[row.id]
        total.reply = above.get(parent_id) if parent_id is not None else None
        total.add(row, parent_id, on_branch=on_branch == 1)
        above[row.id] = total.reply
    if tree.leaf != NOWHERE:
        total.leaf_id, total.reply = leaf_id, above[tree.rows[tree.leaf].id]
    return total


@dataclass(slots=True)
class TreeSum:
    """The entries of a tree, in the order of the file.

    ``reply`` is the one that the next entry stands below, ``None`` where somebody spoke since.
    """

    labels: dict[str, str] = field(default_factory=dict[str, str])
    reply: TreeRow | None = None
    leaf_id: str | None = None
    _entries: list[ThreadTreeEntry] = field(default_factory=list[ThreadTreeEntry])

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        return _BYTES_OF_AN_ENTRY * len(self._entries)

    def follow(self, rows: list[TreeRow]) -> None:
        """Add entries of which each follows the one before, the first one the leaf."""
        for row in rows:
            self.add(row, self.leaf_id, on_branch=True)
            self.leaf_id = row.id
        self._label(rows)

    def add(self, row: TreeRow, parent_id: str | None, *, on_branch: bool) -> None:
        """Add an entry below the reply."""
        kind, reply, call = row.kind, self.reply, None
        if kind == "assistant":
            self.reply = row
        elif kind == "user":
            self.reply = None
        elif kind == "tool-result" and reply is not None:
            call = _answered(reply, row.answers)
        self._entries.append(
            ThreadTreeEntry(
                id=row.id,
                parent_id=parent_id,
                kind=kind,
                name=row.name,
                text=row.text,
                created_at=row.at,
                stop_reason=row.stop,
                is_error=row.failed,
                call=call,
                label=self.labels.get(row.id),
                on_branch=on_branch,
            )
        )

    def _label(self, rows: list[TreeRow]) -> None:
        """Let the labels among these rows be on what stands before them."""
        changed = {row.labelled for row in rows if row.labelled is not None}
        if not changed:
            return
        _labels(rows, self.labels)
        for place, entry in enumerate(self._entries):
            if entry.id in changed:
                self._entries[place] = replace(entry, label=self.labels.get(entry.id))

    def answer(self) -> ThreadTree:
        """The tree."""
        return ThreadTree(entries=tuple(self._entries), leaf_id=self.leaf_id)


def _labels(rows: Iterable[TreeRow], before: dict[str, str] | None = None) -> dict[str, str]:
    """The labels of a whole file, as ``labels_of`` finds them; those ``before`` are changed."""
    labels: dict[str, str] = before if before is not None else {}
    for row in rows:
        if row.labelled is not None:
            if row.label:
                labels[row.labelled] = row.label
            else:
                labels.pop(row.labelled, None)
    return labels


def _parents(tree: RowTree[TreeRow]) -> dict[str, str | None]:
    """Every entry's parent, none of them missing, and no walk along them without an end.

    A cycle is cut where the branch cuts it, else where the walk from its first entry closes.
    """
    rows, places = tree.rows, tree.places
    branch = [rows[place].id for place in tree.branch]
    parents: dict[str, str | None] = dict.fromkeys(branch)
    parents.update(zip(branch[1:], branch, strict=False))
    for start in places:
        if start in parents:
            continue
        walked: set[str] = set()
        entry_id: str | None = start
        while entry_id is not None and entry_id not in parents:
            walked.add(entry_id)
            parent = rows[places[entry_id]].parent
            known = parent in places and parent not in walked
            parents[entry_id] = parent if known else None
            entry_id = parents[entry_id]
    return parents


def _answered(reply: TreeRow, call_id: str) -> ToolCallPart | None:
    """The call that a tool result answers; ``None`` when the reply above has no such call."""
    for known, name, arguments in reversed(reply.calls):
        if known == call_id:
            return ToolCallPart(known, name, arguments)
    return None


TREE_SUM: Final = Summing(shape=TREE, nothing=TreeSum, of_rows=sum_of_rows)
"""The sum of a file that its tree is."""
