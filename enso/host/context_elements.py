"""One message of a context as it is shown: its role, how it begins, and what it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from enso.host.context_size import (
    block_letters,
    letters_of,
    message_letters,
    tokens_of,
    tool_letters,
)
from enso.host.contract import ContextElement, ContextPiece, PieceKind
from enso.host.json_lines import clean_text
from enso.host.session_context import (
    Assembly,
    Projected,
    Stored,
    blocks_of,
    message_of,
    messages_of,
    objects_of,
    role_of,
)
from enso.host.stored_values import object_of, text_of

BEGINNING: Final = 1000
"""Letters of an element's text that are shown with it; its entry holds the rest."""

_BLOCKS: Final[dict[str, PieceKind]] = {
    "text": "text",
    "thinking": "thinking",
    "image": "image",
    "toolCall": "tool-call",
}


def element(entry: Stored, message: Stored) -> ContextElement:
    """A message of a context, and the entry that it comes from."""
    letters = message_letters(message)
    return ContextElement(
        role=clean_text(role_of(message)) or "unknown",
        entry_id=text_of(entry.get("id")),
        name=text_of(message.get("toolName")) or text_of(entry.get("customType")),
        text=_beginning(message),
        characters=letters,
        tokens=tokens_of(letters),
        pieces=tuple(_pieces(message)),
        edited=_is_edited(entry, message),
    )


def left_out(assembly: Assembly, members: Iterable[Projected]) -> tuple[ContextElement, ...]:
    """The messages that are not in a context because an edit took them out."""
    compaction = assembly.at(assembly.compaction) if assembly.compaction is not None else None
    return tuple(
        element(one.entry, message)
        for one in members
        if not one.messages and (one.entry.get("type") != "compaction" or one.entry is compaction)
        for message in messages_of(one.entry)
    )


def _is_edited(entry: Stored, message: Stored) -> bool:
    if entry.get("type") not in ("message", "custom_message"):
        return False
    stored = message_of(entry) or entry
    return message.get("content") is not stored.get("content")


def _beginning(message: Stored) -> str:
    text = "\n".join(text for text in _texts(message) if text)
    return clean_text(text if len(text) <= BEGINNING else f"{text[: BEGINNING - 1]}…")


def _texts(message: Stored) -> Iterator[str]:
    """What a message says, from the start; no more of each text than can be shown."""
    match role_of(message):
        case "branchSummary" | "compactionSummary":
            yield _cut(message.get("summary"))
        case "bashExecution":
            yield f"$ {_cut(message.get('command'))}"
            yield _cut(message.get("output"))
        case role:
            for block in blocks_of(message.get("content")):
                yield _cut(block.get("thinking" if block.get("type") == "thinking" else "text"))
            if role == "system":
                yield from map(_cut, object_of(message.get("sections")).values())


def _cut(value: object) -> str:
    return value[: BEGINNING + 1] if isinstance(value, str) else ""


def _pieces(message: Stored) -> Iterator[ContextPiece]:
    match role_of(message):
        case "branchSummary" | "compactionSummary":
            yield _piece("text", "", letters_of(message.get("summary")))
        case "bashExecution":
            yield _piece("text", "", letters_of(message.get("command")))
            yield _piece("output", "", letters_of(message.get("output")))
        case role:
            yield from _blocks(message)
            if role == "system":
                yield from _of_system(message)


def _blocks(message: Stored) -> Iterator[ContextPiece]:
    for block in blocks_of(message.get("content")):
        kind = _BLOCKS.get(text_of(block.get("type")), "other")
        if kind != "text" or block.get("text"):
            yield _piece(kind, text_of(block.get("name")), block_letters(block, message))


def _of_system(message: Stored) -> Iterator[ContextPiece]:
    for name, text in object_of(message.get("sections")).items():
        kind: PieceKind = "removed" if text is None else "section"
        yield _piece(kind, clean_text(name), letters_of(text))
    for tool in objects_of(message.get("toolsAdded")):
        yield _piece("tool", text_of(tool.get("name")), tool_letters(tool))
    for tool in objects_of(message.get("toolsRemoved")):
        yield _piece("removed", text_of(tool.get("name")), 0)


def _piece(kind: PieceKind, name: str, characters: int) -> ContextPiece:
    return ContextPiece(kind=kind, name=name, characters=characters)
