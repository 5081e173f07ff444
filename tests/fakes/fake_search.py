"""Finding passages in transcripts by looking at every text: the fake host's search."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from enso.host.contract import Found, Passage, StoredThread
from enso.transcript import (
    TextPart,
    ThinkingPart,
    ToolCallPart,
    TranscriptEntry,
    TranscriptMessage,
)

_OF_ONE_THREAD = 3


def find_in(
    rows: Sequence[StoredThread],
    entries: Mapping[str, Sequence[TranscriptEntry]],
    query: str,
    limit: int,
) -> Found:
    """As the contract says of ``find_passages``; entries in the order in which they were stored."""
    said = [quoted or word for quoted, word in re.findall(r'"([^"]*)"?|(\S+)', query)]
    terms = [_term(words) for words in said if re.search(r"[^\W_]", words)]
    messages = [
        (row.id, entry)
        for row in rows
        for entry in entries[row.id]
        if isinstance(entry, TranscriptMessage)
    ]
    messages.sort(key=lambda one: one[1].created_at or 0, reverse=True)
    passages: dict[str, list[Passage]] = {}
    for thread_id, message in messages:
        text = _text(message)
        found = [spot for term in terms if (spot := term.search(_fold(text)))]
        if not terms or len(found) < len(terms):
            continue
        of_thread = passages.setdefault(thread_id, [])
        if len(of_thread) < _OF_ONE_THREAD:
            first = min(found, key=lambda spot: spot.start())
            of_thread.append(_passage(thread_id, message, text, first))
    kept = [one for thread_id in list(passages)[:limit] for one in passages[thread_id]]
    return Found(passages=tuple(kept), searched=len(rows), threads=len(rows))


def _term(words: str) -> re.Pattern[str]:
    parts = re.findall(r"[^\W_]+", _fold(words))
    rest = r"[^\W_]*" if len(parts[-1]) > 2 else r"(?![^\W_])"
    return re.compile(r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, parts)) + rest)


def _fold(text: str) -> str:
    apart = unicodedata.normalize("NFD", text.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _text(message: TranscriptMessage) -> str:
    texts: list[str] = []
    for part in message.parts:
        if isinstance(part, TextPart | ThinkingPart):
            texts.append(part.text)
        elif isinstance(part, ToolCallPart):
            texts += [part.name, *(str(value) for value in dict(part.arguments or {}).values())]
    return " ".join("\n".join(texts).split())


def _passage(
    thread_id: str, message: TranscriptMessage, text: str, found: re.Match[str]
) -> Passage:
    return Passage(
        thread_id=thread_id,
        entry_id=message.id,
        said_by=message.role,
        created_at=message.created_at,
        before=text[: found.start()],
        match=text[found.start() : found.end()],
        after=text[found.end() :],
    )
