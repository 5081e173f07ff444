"""How much work a text would be to read as Markdown, told from counts before it is read.

The parser's time grows with the text alone, but some texts that nobody writes for people (a line of
two characters within nine quotes, a mark of emphasis at every other character) take a hundred times
what prose of the same length takes. What each thing costs was measured, in microseconds of a slow
machine; the sum is right to within a factor of two or so.
"""

from __future__ import annotations

import re
from typing import Final

from enso.server.bare_links import MAX_ADDRESSES

MOST_WORK: Final = 800_000
"""Microseconds beyond which a text is not read: documents of 200,000 characters take less."""

_CERTAINLY_LITTLE: Final = 10_000
"""Characters up to which no text is much work."""

_LINE: Final = 30
_LEVEL: Final = 10
_MARK: Final = 60
_CELL: Final = 40
_COSTLY: Final = {
    "*": 20,
    "_": 20,
    "~": 10,
    "&": 12,
    "<": 8,
    "|": 25,
    "\\": 8,
    "`": 8,
    "[": 90,
    "]": 5,
    "!": 5,
    ":": 4,
}
_ADDRESS: Final = 100

_MARKS = re.compile(r"(?:^|(?<=[ \t>]))(?:>|[-+*](?=\s)|\d{1,9}[.)](?=\s))", re.MULTILINE)
"""What begins a quote or an item of a list, also within others."""

_QUOTE = re.compile(r"(?:[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]))+")
_DELIMITERS = re.compile(r"[-|: \t>]*\Z")


def is_much_work(text: str) -> bool:
    """Whether a reader of Markdown would be held up by ``text``."""
    if len(text) <= _CERTAINLY_LITTLE:
        return False
    marks = _work_of_marks(text)
    return marks + _most_of_lines(text) > MOST_WORK and marks + _work_of_lines(text) > MOST_WORK


def work_of(text: str) -> int:
    """About how many microseconds reading and rendering ``text`` takes."""
    return _work_of_marks(text) + _work_of_lines(text)


def _work_of_marks(text: str) -> int:
    """Of its characters, wherever they stand."""
    work = len(text) + sum(text.count(mark) * cost for mark, cost in _COSTLY.items())
    return work + min(text.count("://"), MAX_ADDRESSES) * _ADDRESS


def _most_of_lines(text: str) -> int:
    """What the work of its lines cannot be above; told without a look at each."""
    if "-|" in text or "|-" in text or "- |" in text or "| -" in text or ":|" in text:
        return MOST_WORK + 1  # rows of a table may be filled up
    marks = text.count(">") + sum(text.count(f"{mark}{gap}") for mark in "-+*.)" for gap in " \t\n")
    return text.count("\n") * (_LINE + 9 * _LEVEL) + marks * _MARK


def _work_of_lines(text: str) -> int:
    """Of its lines: each is looked at once for every quote and list that it may go on in, and a
    row of a table is filled up to as many cells as the table has columns."""
    work = sum(1 for _ in _MARKS.finditer(text)) * _MARK
    depth = columns = 0
    for line in text.split("\n"):
        if not line or line.isspace():
            depth = columns = 0
        else:
            found = _QUOTE.match(line)
            if found:
                depth = max(depth, min(9, len(_MARKS.findall(found[0]))))
            if "-" in line and ("|" in line or ":" in line) and _DELIMITERS.match(line):
                columns = line.count("|") + 1
        work += _LINE + depth * _LEVEL + columns * _CELL
    return work
