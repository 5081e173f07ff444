"""Where the edits of one call are in a file, and the file with all of them made.

Every edit is found in the file as it was: exactly once, and apart from the others. Line ends do
not count when it is looked for; what is not replaced keeps its own, and new lines get those of the
place they come to. Source of rules and sentences: pi 1.6.0. Works on text; touches no file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from enso.host.runtimes.builtin.tools.tool import ToolFailed

_CRLF: Final = re.compile("\r\n")


@dataclass(frozen=True, slots=True)
class Edit:
    """A text that is in the file once, and what comes in its place."""

    old_text: str
    new_text: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """A place in a text with plain line ends, and what comes there."""

    start: int
    end: int
    new_text: str


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text before and after, with plain line ends; ``final`` is after, with its own."""

    before: str
    after: str
    final: str
    replacements: tuple[Replacement, ...]


def apply_edits(text: str, edits: Sequence[Edit], name: str) -> EditedText:
    """Make the edits in ``text``, the file's without its byte order mark. Raises ``ToolFailed``."""
    before = plain_line_ends(text)
    plain = [Edit(plain_line_ends(edit.old_text), plain_line_ends(edit.new_text)) for edit in edits]
    replacements = _places(before, plain, name)
    after = _spliced(before, replacements)
    if before == after:
        raise ToolFailed(_nothing_changed(name, len(edits)))
    final = after if before == text else _spliced_into_original(text, replacements)
    return EditedText(before, after, final, tuple(replacements))


def plain_line_ends(text: str) -> str:
    """The text with every line ended by a line feed."""
    return text if "\r" not in text else text.replace("\r\n", "\n").replace("\r", "\n")


def _places(text: str, edits: Sequence[Edit], name: str) -> list[Replacement]:
    for at, edit in enumerate(edits):
        if not edit.old_text:
            what = "oldText" if len(edits) == 1 else f"edits[{at}].oldText"
            raise ToolFailed(f"{what} must not be empty in {name}.")
    found = [(_place(text, edits, at, name), at) for at in range(len(edits))]
    found.sort(key=lambda pair: pair[0].start)
    for (one, one_at), (other, other_at) in pairwise(found):
        if one.end > other.start:
            raise ToolFailed(
                f"edits[{one_at}] and edits[{other_at}] overlap in {name}. "
                "Merge them into one edit or target disjoint regions."
            )
    return [place for place, _ in found]


def _place(text: str, edits: Sequence[Edit], at: int, name: str) -> Replacement:
    old_text = edits[at].old_text
    start = text.find(old_text)
    if start == -1:
        raise ToolFailed(_not_found(text, edits, at, name))
    if text.find(old_text, start + 1) != -1:
        raise ToolFailed(_found_often(text, edits, at, name))
    return Replacement(start, start + len(old_text), edits[at].new_text)


def _spliced(text: str, replacements: Sequence[Replacement]) -> str:
    return "".join(_pieces(text, [(place, place.new_text) for place in replacements]))


def _spliced_into_original(original: str, replacements: Sequence[Replacement]) -> str:
    # the n-th CRLF (from 0) that begins at p is the line end at p - n of the plain text
    ends = [found.start() - at for at, found in enumerate(_CRLF.finditer(original))]
    moved: list[tuple[Replacement, str]] = []
    for place in replacements:
        start = place.start + bisect_left(ends, place.start)
        end = place.end + bisect_left(ends, place.end)
        new_text = place.new_text.replace("\n", _line_end_at(original, start))
        moved.append((Replacement(start, end, new_text), new_text))
    return "".join(_kept_apart(_pieces(original, moved)))


def _pieces(text: str, replacements: Sequence[tuple[Replacement, str]]) -> Iterator[str]:
    at = 0
    for place, new_text in replacements:
        yield text[at : place.start]
        yield new_text
        at = place.end
    yield text[at:]


def _kept_apart(pieces: Iterator[str]) -> Iterator[str]:
    """The pieces; a CR and an LF that were two line ends and now meet stay two."""
    ends_with_cr = False
    for piece in pieces:
        if not piece:
            continue
        if ends_with_cr and piece.startswith("\n"):
            yield "\n"
        yield piece
        ends_with_cr = piece.endswith("\r")


def _line_end_at(text: str, at: int) -> str:
    end = text.find("\n", at)
    if end == -1:
        end = text.rfind("\n", 0, at)
    if end == -1:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if text[end - 1 : end] == "\r" else "\n"


def _not_found(text: str, edits: Sequence[Edit], at: int, name: str) -> str:
    if len(edits) == 1:
        sentence = f"Could not find the exact text in {name}. The old text"
    else:
        sentence = f"Could not find edits[{at}] in {name}. The oldText"
    sentence += " must match exactly including all whitespace and newlines."
    line = _line_of_near_match(text, edits[at].old_text)
    if line is None:
        return sentence
    return f"{sentence} From line {line} on it matches except for white space: read these lines."


def _found_often(text: str, edits: Sequence[Edit], at: int, name: str) -> str:
    times = max(2, text.count(edits[at].old_text))
    more = "Please provide more context to make it unique."
    if len(edits) == 1:
        return f"Found {times} occurrences of the text in {name}. The text must be unique. {more}"
    return (
        f"Found {times} occurrences of edits[{at}] in {name}. Each oldText must be unique. {more}"
    )


def _nothing_changed(name: str, edits: int) -> str:
    sentence = f"No changes made to {name}. The replacement"
    if edits > 1:
        return f"{sentence}s produced identical content."
    return (
        f"{sentence} produced identical content. This might indicate an issue with special "
        "characters or the text not existing as expected."
    )


def _line_of_near_match(text: str, old_text: str) -> int | None:
    wanted = [" ".join(line.split()) for line in old_text.strip().split("\n")]
    if wanted == [""]:
        return None
    lines = [" ".join(line.split()) for line in text.split("\n")]
    for at, line in enumerate(lines):
        if line == wanted[0] and lines[at : at + len(wanted)] == wanted:
            return at + 1
    return None
