"""What of a branch is a model's business: the messages of the stored entries, in order.

Owns the format's own rules (source: pi 1.6.0, ``buildSessionContext``): the newest compaction
stands for what it summarised, and a ``context_edit`` takes an entry out or replaces its content.
Roles are the stored ones. Lenient with whatever JSON is stored; knows nothing of models. The
runtime sends by these rules, and ``enso.host.context_walk`` measures and shows by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, cast

from enso.host.stored_values import Stored, object_of, text_of

__all__ = [
    "Assembly",
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


def projection(branch: Iterable[Stored]) -> list[Projected]:
    """The entries of a branch's context in order, the newest compaction first (pi's word)."""
    return list(Assembly(branch).members())


class Sized(Protocol):
    """A message of a conversation of which no more is known than a context is measured by."""

    @property
    def id(self) -> str:
        """The id of its entry."""
        ...

    def stored(self) -> Stored:
        """Its entry, as far as its context is told by it."""
        ...


class Assembly:
    """The context of a branch as it grows: which of its entries are in it, and what edits do.

    Places are indexes into ``branch``. Appending costs the same however long the branch is.
    """

    def __init__(self, branch: Iterable[Stored] = ()) -> None:
        self.branch: list[Stored | Sized] = []
        self.start = 0
        """The first place that is in the context, but for the compaction before it."""
        self.compaction: int | None = None
        """The place of the newest compaction, which stands before all others."""
        self._places: dict[str, int] = {}
        self._edits: dict[str, int] = {}
        for entry in branch:
            self.append(entry)

    def append(self, entry: Stored) -> None:
        """The branch grew by this entry."""
        place = len(self.branch)
        if entry.get("type") == "compaction":
            first_kept = self.place_of(entry.get("firstKeptEntryId"))
            self.start = place if first_kept is None else first_kept
            self.compaction = place
        elif entry.get("type") == "context_edit":
            self._edits[text_of(entry.get("targetId"))] = place
        self._stand(text_of(entry.get("id")), entry)

    def append_sized(self, message: Sized) -> None:
        """The branch grew by a message of the conversation, of which the size alone is known."""
        self._stand(message.id, message)

    def _stand(self, entry_id: str, entry: Stored | Sized) -> None:
        self._places.setdefault(entry_id, len(self.branch))
        self.branch.append(entry)

    def at(self, place: int) -> Stored:
        """The entry at a place."""
        entry = self.branch[place]
        return entry if isinstance(entry, Mapping) else entry.stored()

    def place_of(self, entry_id: Any) -> int | None:
        """Where the entry of this id stands; ``None`` for one that is not there, or no id."""
        return self._places.get(entry_id) if isinstance(entry_id, str) else None

    def last_edit(self, place: int) -> int | None:
        """The place of the last edit of an entry, which may be out of the context by now."""
        edits = self._edits
        return edits.get(text_of(self.at(place).get("id"))) if edits else None

    def is_edited(self, entry_id: str) -> bool:
        """Whether an edit of this entry stands before it."""
        return entry_id in self._edits

    def edited_at(self, place: int, edit: int) -> list[Stored]:
        """The messages that an entry is as an edit makes them."""
        return _edited(messages_of(self.at(place)), self.at(edit))

    def messages_at(self, place: int) -> list[Stored]:
        """The messages that a place of the context is there: by its last edit, if that holds."""
        edit = self.last_edit(place)
        if edit is None or edit < self.start:
            return messages_of(self.at(place))
        return self.edited_at(place, edit)

    def members(self) -> Iterator[Projected]:
        """The entries of the context now, in order, and what they are in it."""
        compaction = self.compaction
        if compaction is not None:
            yield self._member(compaction)
        for place in range(self.start, len(self.branch)):
            entry = self.at(place)
            if entry.get("type") == "compaction":
                if place != compaction:
                    yield Projected(entry, [])
            elif compaction is None or place > compaction or not is_system(entry):
                yield self._member(place)

    def _member(self, place: int) -> Projected:
        return Projected(self.at(place), self.messages_at(place))


def is_system(entry: Stored) -> bool:
    """Whether an entry is a system message: what a compaction keeps does not hold its own."""
    return message_of(entry).get("role") == "system"


@dataclass(slots=True)
class SystemState:
    """What a model is told before everything: texts, sections by name, tools by name."""

    texts: list[str] = field(default_factory=list[str])
    sections: dict[str, str] = field(default_factory=dict[str, str])
    tools: dict[str, Stored] = field(default_factory=dict[str, Stored])

    def take(self, message: Stored) -> None:
        """One more system message: its text is added, what it names is replaced or taken away."""
        self.texts.extend(text_of(b.get("text")) for b in blocks_of(message.get("content")))
        for name, text in object_of(message.get("sections")).items():
            if text is None:
                self.sections.pop(name, None)
            else:
                self.sections[name] = text_of(text)
        for tool in objects_of(message.get("toolsRemoved")):
            self.tools.pop(text_of(tool.get("name")), None)
        for tool in objects_of(message.get("toolsAdded")):
            self.tools[text_of(tool.get("name"))] = tool


def system_state(messages: Iterable[Stored]) -> SystemState | None:
    """All system messages as one, ``None`` without any.

    Texts are joined, a later section or tool replaces one of its name, null and ``toolsRemoved``
    take one away.
    """
    found = [message for message in messages if role_of(message) == "system"]
    state = SystemState()
    for message in found:
        state.take(message)
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


def _edited(messages: list[Stored], edit: Stored) -> list[Stored]:
    """Messages as a ``context_edit`` makes them: none, or with another content."""
    replacement = edit.get("replacement")
    if not isinstance(replacement, dict):
        return []
    content = cast("Stored", replacement).get("content")
    return [
        {**message, "content": content} if role_of(message) in _EDITABLE else message
        for message in messages
    ]
