"""What of a branch is a model's business: the messages of the stored entries, in order.

Owns the format's own rules (source: pi 1.6.0, ``buildSessionContext``): the newest compaction
stands for what it summarised, and a ``context_edit`` takes an entry out or replaces its content.
Roles are the stored ones. Lenient with whatever JSON is stored; knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from enso.host.decode import text_of

Stored = Mapping[str, Any]
"""A stored JSON object."""

_EDITABLE: Final = frozenset({"user", "assistant", "toolResult", "custom"})


def session_context(branch: Sequence[Stored]) -> list[Stored]:
    """The messages of a branch's context, with their stored roles and pi's for what is no message.

    Those are ``custom``, ``branchSummary`` and ``compactionSummary``.
    """
    entries = _since_compaction(branch)
    edits = {
        text_of(entry.get("targetId")): entry
        for entry in entries
        if entry.get("type") == "context_edit"
    }
    return [
        message
        for index, entry in enumerate(entries)
        if entry.get("type") != "compaction" or index == 0
        for message in _edited(_messages_of(entry), edits.get(text_of(entry.get("id"))))
    ]


def has_system_message(branch: Iterable[Stored]) -> bool:
    """Whether the branch holds a system message already."""
    return any(message_of(entry).get("role") == "system" for entry in branch)


def message_of(entry: Stored) -> Stored:
    """The message of a ``message`` entry; empty for any other."""
    message = entry.get("message") if entry.get("type") == "message" else None
    return cast("Stored", message) if isinstance(message, dict) else {}


def role_of(message: Stored) -> str:
    """The role of a message; empty when it is no text."""
    return text_of(message.get("role"))


def blocks_of(content: Any) -> list[Stored]:
    """A stored content as blocks: a string is one text block, anything else odd is nothing."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    blocks = cast("list[Any]", content)
    return [cast("Stored", block) for block in blocks if isinstance(block, dict)]


def _since_compaction(branch: Sequence[Stored]) -> list[Stored]:
    """The newest compaction, what it kept, and what came after; all of it when there is none."""
    places = [i for i, entry in enumerate(branch) if entry.get("type") == "compaction"]
    if not places:
        return list(branch)
    compaction = branch[places[-1]]
    before, after = branch[: places[-1]], branch[places[-1] + 1 :]
    first_kept = compaction.get("firstKeptEntryId")
    start = next((i for i, entry in enumerate(before) if entry.get("id") == first_kept), None)
    kept = before[len(before) if start is None else start :]
    spoken = [entry for entry in kept if message_of(entry).get("role") != "system"]
    return [compaction, *spoken, *after]


def _messages_of(entry: Stored) -> list[Stored]:
    kind = entry.get("type")
    if kind == "message":
        return [message] if (message := message_of(entry)) else []
    if kind == "custom_message":
        return [{"role": "custom", "content": entry.get("content")}]
    if kind == "branch_summary" and entry.get("summary"):
        return [{"role": "branchSummary", "summary": entry["summary"]}]
    if kind == "compaction":
        summary: Stored = {"role": "compactionSummary", "summary": entry.get("summary")}
        system = entry.get("systemMessage")
        return [cast("Stored", system), summary] if isinstance(system, dict) else [summary]
    return []


def _edited(messages: list[Stored], edit: Stored | None) -> list[Stored]:
    if edit is None:
        return messages
    replacement = edit.get("replacement")
    if not isinstance(replacement, dict):
        return []
    content = cast("Stored", replacement).get("content")
    return [
        {**message, "content": content} if role_of(message) in _EDITABLE else message
        for message in messages
    ]
