"""What of an entry is searched, what a query means, and the passage around what was found.

A query's words must all be in one entry, each at the beginning of a word (one or two letters: as a
whole word); words between quotation marks must follow one another. Case and accents do not matter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from enso.host.json_lines import clean_text
from enso.host.stored_values import object_of, text_of

MAX_TEXT: Final = 32_000
"""How many characters of one entry are searched: the beginning of a very long one."""

_SHORTEST_BEGINNING: Final = 3
_BEFORE: Final = 60
_PASSAGE: Final = 220
_WORD = re.compile(r"\w+")
_TERM = re.compile(r'"([^"]*)"?|(\S+)')
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """A passage of one line: what stands before the match, the match, and what stands behind it."""

    before: str
    match: str
    after: str


def query_terms(query: str) -> list[list[str]]:
    """The terms of a query, each as the words that must follow one another; folded."""
    terms: list[list[str]] = []
    for found in _TERM.finditer(query):
        words = _folded_words(found[1] if found[1] is not None else found[2])
        if words:
            terms.append(words)
    return terms


def match_expression(terms: Sequence[Sequence[str]]) -> str:
    """The terms for SQLite's FTS5. Words hold letters and digits alone: nothing to escape."""
    return " AND ".join(f'"{" ".join(words)}"{" *" if _begins(words) else ""}' for words in terms)


def searched_text(entry: Mapping[str, Any]) -> str:
    """What a person would look for in a stored entry: what was said, called and answered."""
    text = "\n".join(part for part in _texts(entry) if part)
    return clean_text(text[:MAX_TEXT])


def extract(text: str, terms: Sequence[Sequence[str]]) -> Extract | None:
    """The passage around the first term that is there; ``None`` when none is."""
    spans = [span for words in terms if (span := _find(text, words)) is not None]
    if not spans:
        return None
    start, end = min(spans)
    begin = max(0, start - _BEFORE)
    if begin:
        blank = text.find(" ", begin, start)
        begin = blank + 1 if blank >= 0 else begin
    before = ("…" if begin else "") + _line(text[begin:start])
    stop = min(len(text), end + _PASSAGE)
    after = _line(text[end:stop]) + ("…" if stop < len(text) else "")
    return Extract(before=before, match=_line(text[start:end]), after=after)


# -- within ---------------------------------------------------------------------------------------


def _fold(text: str) -> str:
    """Lower case without accents, as the index folds a word."""
    apart = unicodedata.normalize("NFD", text.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _folded_words(text: str) -> list[str]:
    # The index takes ``_`` for a blank, so that parts of a name are found.
    return [word for one in _WORD.findall(_fold(text)) for word in one.split("_") if word]


def _begins(words: Sequence[str]) -> bool:
    """Whether a term ends in the beginning of a word: not when most words would fit it."""
    return len(words[-1]) >= _SHORTEST_BEGINNING


def _find(text: str, words: Sequence[str]) -> tuple[int, int] | None:
    """Where these words follow one another in a text, by their beginnings."""
    pieces = [(m.start(), m.end(), _fold(m[0])) for m in re.finditer(r"[^\W_]+", text)]
    count = len(words)
    for at in range(len(pieces) - count + 1):
        window = pieces[at : at + count]
        exact = all(piece[2] == word for piece, word in zip(window[:-1], words[:-1], strict=True))
        last = window[-1][2]
        if exact and (last == words[-1] or (_begins(words) and last.startswith(words[-1]))):
            return window[0][0], window[-1][1]
    return None


def _line(text: str) -> str:
    return _BLANKS.sub(" ", text)


def _texts(entry: Mapping[str, Any]) -> Iterator[str]:
    match entry.get("type"):
        case "message":
            yield from _message_texts(object_of(entry.get("message")))
        case "compaction" | "branch_summary":
            yield text_of(entry.get("summary"))
        case "custom_message":
            if entry.get("display"):
                yield from _content_texts(entry.get("content"))
        case "session_info":
            yield text_of(entry.get("name"))
        case "label":
            yield text_of(entry.get("label"))
        case _:
            pass


def _message_texts(message: Mapping[str, Any]) -> Iterator[str]:
    if message.get("role") == "system":
        return  # the same in every thread: it would find them all
    if message.get("role") == "bashExecution":
        yield text_of(message.get("command"))
        yield text_of(message.get("output"))
    yield from _content_texts(message.get("content"))
    yield text_of(message.get("errorMessage"))


def _content_texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in cast("list[Any]", content):
            yield from _part_texts(object_of(part))


def _part_texts(part: Mapping[str, Any]) -> Iterator[str]:
    yield text_of(part.get("text"))
    yield text_of(part.get("thinking"))
    if part.get("type") == "toolCall":
        yield text_of(part.get("name"))
        yield from map(text_of, object_of(part.get("arguments")).values())
