"""Forks: a new session that begins as a part of another one's branch.

Owns which entries a fork takes over and what becomes of labels (source: pi 1.6.0,
``createBranchedSession``): entries keep their ids, and labels, which are entries of the tree, are
taken out of the line and put behind it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from enso.host.session_log import Entry, branch_of
from enso.host.stored_values import NOTHING, object_of, text_of


def forked_entries(
    entries: Sequence[Entry], entry_id: str | None, leaf_id: str | None
) -> list[Entry] | None:
    """What a fork before the user message ``entry_id`` takes over; ``None`` when it is none.

    Without an id it is the whole branch that ends in ``leaf_id``. ``entries`` stay as they are.
    """
    end = leaf_id
    if entry_id is not None:
        message = next((entry for entry in reversed(entries) if entry["id"] == entry_id), None)
        if message is None or _role_of(message) != "user":
            return None
        end = message["parentId"]
    return [] if end is None else _relabelled(branch_of(entries, end), entries)


def is_conversation(entry: Entry) -> bool:
    """Whether somebody said something here: a session without that is not stored, as in pi."""
    return _role_of(entry) in ("user", "assistant")


def _role_of(entry: Entry) -> str:
    message = object_of(entry.get("message")) if entry.get("type") == "message" else NOTHING
    return text_of(message.get("role"))


def _relabelled(branch: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
    """The branch without labels in its line, and the labels of its entries behind it."""
    line: list[Entry] = []
    stands_for: dict[str, str] = {}
    skipped: list[str] = []
    for entry in branch:
        if entry.get("type") == "label":
            skipped.append(entry["id"])
            continue
        stands_for.update((label_id, entry["id"]) for label_id in skipped)
        skipped.clear()
        line.append({**entry, "parentId": line[-1]["id"] if line else None})
        kept = entry.get("firstKeptEntryId")
        if entry.get("type") == "compaction" and isinstance(kept, str) and kept in stands_for:
            line[-1]["firstKeptEntryId"] = stands_for[kept]
    return [*line, *_labels(line, entries)]


def _labels(line: Sequence[Entry], entries: Iterable[Entry]) -> list[Entry]:
    """New label entries, one behind the other, for the labels that entries of the line have now."""
    ids = {entry["id"] for entry in line}
    newest = {
        entry["targetId"]: entry
        for entry in entries
        if entry.get("type") == "label" and isinstance(entry.get("targetId"), str)
    }
    labels: list[Entry] = []
    parent = line[-1]["id"] if line else None
    for target, label in newest.items():
        if target in ids and label.get("label"):
            while (label_id := uuid.uuid4().hex[:8]) in ids:
                pass
            ids.add(label_id)
            labels.append({**label, "id": label_id, "parentId": parent})
            parent = label_id
    return labels
