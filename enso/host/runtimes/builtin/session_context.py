"""What of a branch is a model's business: the messages of the stored entries, in order.

Owns the format's own rules (source: pi 1.6.0, ``buildSessionContext``): the newest compaction
stands for what it summarised, and a ``context_edit`` takes an entry out or replaces its content.
Roles are the stored ones. Lenient with whatever JSON is stored; knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, cast

from enso.host.stored_values import Stored, object_of, text_of

__all__ = [
    "Projected",
    "Stored",
    "SystemState",
    "blocks_of",
    "message_of",
    "messages_of",
    "objects_of",
    "projection",
    "role_of",
    "session_context",
    "system_state",
]

_EDITABLE: Final = frozenset({"user", "assistant", "toolResult", "custom"})


class Projected(NamedTuple):
    """An entry of the context, and the messages that it is there: none when it is edited out."""

    entry: Stored
    messages: list[Stored]


def session_context(branch: Sequence[Stored]) -> list[Stored]:
    """The messages of a branch's context, with their stored roles and pi's for what is no message.

    Those are ``custom``, ``branchSummary`` and ``compactionSummary``.
    """
    return [message for projected in projection(branch) for message in projected.messages]


def projection(branch: Sequence[Stored]) -> list[Projected]:
    """The entries of a branch's context in order, the newest compaction first (pi's word)."""
    entries = _since_compaction(branch)
    edits = {
        text_of(entry.get("targetId")): entry
        for entry in entries
        if entry.get("type") == "context_edit"
    }
    return [
        Projected(entry, _edited(messages_of(entry), edits.get(text_of(entry.get("id")))))
        if entry.get("type") != "compaction" or index == 0
        else Projected(entry, [])
        for index, entry in enumerate(entries)
    ]


class SystemState(NamedTuple):
    """What a model is told before everything: texts, sections by name, tools by name."""

    texts: list[str]
    sections: dict[str, str]
    tools: dict[str, Stored]


def system_state(messages: Iterable[Stored]) -> SystemState | None:
    """All system messages as one, ``None`` without any.

    Texts are joined, a later section or tool replaces one of its name, null and ``toolsRemoved``
    take one away.
    """
    found = [message for message in messages if role_of(message) == "system"]
    state = SystemState([], {}, {})
    for message in found:
        state.texts.extend(text_of(b.get("text")) for b in blocks_of(message.get("content")))
        for name, text in object_of(message.get("sections")).items():
            if text is None:
                state.sections.pop(name, None)
            else:
                state.sections[name] = text_of(text)
        for tool in objects_of(message.get("toolsRemoved")):
            state.tools.pop(text_of(tool.get("name")), None)
        for tool in objects_of(message.get("toolsAdded")):
            state.tools[text_of(tool.get("name"))] = tool
    return state if found else None


def objects_of(value: Any) -> list[Stored]:
    """The objects of a stored list; none of anything else."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Stored", item) for item in items if isinstance(item, dict)]


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
    return objects_of(content)


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


def messages_of(entry: Stored) -> list[Stored]:
    """The messages that an entry is in a context, before any edit."""
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
