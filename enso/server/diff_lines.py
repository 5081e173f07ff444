"""The lines of a diff: one that a tool stored, or the one that an ``edit`` would make.

Knows pi's arguments of ``edit`` and the form of its ``details.diff``. Makes no HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, cast

MAX_LINE = 2_000
MAX_COMPARED = 400
"""Lines of an edit beyond which old and new stand under one another, uncompared."""

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff; ``kind`` is ``add``, ``del`` or ``ctx``."""

    kind: str
    text: str


def mapping_of(value: Any) -> Mapping[str, Any]:
    """``value`` when it is a JSON object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else _NOTHING


def stored_lines(diff: str, limit: int, longest: int = MAX_LINE) -> tuple[DiffLine, ...]:
    """The first ``limit`` lines of ``details.diff``: each a sign, a line number, the text.

    Of each, the first ``longest`` characters.
    """
    if not diff:
        return ()
    kinds = {"+": "add", "-": "del"}
    lines = diff.split("\n", limit)[:limit]
    return tuple(DiffLine(kinds.get(line[:1], "ctx"), line[:longest]) for line in lines)


def edit_lines(arguments: Any) -> tuple[DiffLine, ...] | None:
    """The lines that an ``edit`` would take and give; ``None`` when its arguments are not whole."""
    edits = mapping_of(arguments).get("edits")
    if not isinstance(edits, list) or not edits:
        return None
    lines: list[DiffLine] = []
    for edit in cast("list[Any]", edits):
        old, new = mapping_of(edit).get("oldText"), mapping_of(edit).get("newText")
        if not isinstance(old, str) or not isinstance(new, str):
            return None
        if lines:
            lines.append(DiffLine("ctx", "…"))
        lines.extend(_compared(old.split("\n"), new.split("\n")))
    return tuple(lines)


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    """The lines of two texts, those that both have once."""
    if len(old) + len(new) > MAX_COMPARED:
        yield from _all("del", "-", old)
        yield from _all("add", "+", new)
        return
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from _all("ctx", " ", old[i:j])
            continue
        yield from _all("del", "-", old[i:j])
        yield from _all("add", "+", new[k:m])


def _all(kind: str, sign: str, lines: Sequence[str]) -> Iterator[DiffLine]:
    return (DiffLine(kind, f"{sign}{line}") for line in lines)
