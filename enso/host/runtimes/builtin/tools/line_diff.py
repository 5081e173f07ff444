"""Which lines of a text stayed, went and came: the shortest way from one text to another.

Of several shortest ways the one is taken that jsdiff 8 takes, so that a stored diff is the same
wherever it was made. Source of the method: E. Myers, An O(ND) Difference Algorithm, 1986.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

LONGEST_WAY: Final = 1000
"""Lines that may differ before the whole of it is called replaced: the time grows as its square."""

PartKind = Literal["same", "removed", "added"]


@dataclass(frozen=True, slots=True)
class DiffPart:
    """Lines next to each other that share a fate; each with its end, if it has one."""

    kind: PartKind
    lines: tuple[str, ...]


def diff_lines(old: str, new: str) -> list[DiffPart]:
    """The parts of both texts, in order: what was removed comes before what was added there."""
    before, after = _lines(old), _lines(new)
    steps = _shortest_way(before, after) or _replaced(before, after)
    return _parts(steps, before, after)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


_Step = tuple[PartKind, int]


@dataclass(slots=True)
class _Way:
    """How far one comes on a diagonal: the lines of the old text that are behind, and the steps."""

    old: int
    steps: _Steps | None


@dataclass(frozen=True, slots=True)
class _Steps:
    """The last step of a way, and those before it."""

    kind: PartKind
    count: int
    before: _Steps | None


def _shortest_way(old: Sequence[str], new: Sequence[str]) -> list[_Step] | None:
    ways = {0: _Way(0, None)}
    if _follow_same(ways[0], 0, old, new):
        return _unwound(ways[0].steps)
    lowest, highest = -len(old) - len(new), len(old) + len(new)
    for length in range(1, min(LONGEST_WAY, len(old) + len(new)) + 1):
        start = max(lowest, -length)
        start += (start + length) % 2  # diagonals of one parity are reached by one length
        for diagonal in range(start, min(highest, length) + 1, 2):
            way = _longer(ways, diagonal, old, new)
            if way is None:
                ways.pop(diagonal, None)
                continue
            if _follow_same(way, diagonal, old, new):
                return _unwound(way.steps)
            ways[diagonal] = way
            if way.old >= len(old):
                highest = min(highest, diagonal - 1)
            if way.old - diagonal >= len(new):
                lowest = max(lowest, diagonal + 1)
    return None


def _longer(
    ways: dict[int, _Way], diagonal: int, old: Sequence[str], new: Sequence[str]
) -> _Way | None:
    """The way to a diagonal by one line more: from the neighbour that is further in the old."""
    removing, adding = ways.pop(diagonal - 1, None), ways.get(diagonal + 1)
    can_add = adding is not None and 0 <= adding.old - diagonal - 1 < len(new)
    can_remove = removing is not None and removing.old < len(old)
    if (
        adding is not None
        and can_add
        and not (removing is not None and can_remove and removing.old >= adding.old)
    ):
        return _Way(adding.old, _stepped(adding.steps, "added"))
    if removing is not None and can_remove:
        return _Way(removing.old + 1, _stepped(removing.steps, "removed"))
    return None


def _follow_same(way: _Way, diagonal: int, old: Sequence[str], new: Sequence[str]) -> bool:
    """Go on while the lines are the same; whether both texts end there."""
    at = way.old
    while at < len(old) and at - diagonal < len(new) and old[at] == new[at - diagonal]:
        at += 1
    if at > way.old:
        way.steps = _Steps("same", at - way.old, way.steps)
        way.old = at
    return at >= len(old) and at - diagonal >= len(new)


def _stepped(steps: _Steps | None, kind: PartKind) -> _Steps:
    if steps is not None and steps.kind == kind:
        return _Steps(kind, steps.count + 1, steps.before)
    return _Steps(kind, 1, steps)


def _unwound(steps: _Steps | None) -> list[_Step]:
    found: list[_Step] = []
    while steps is not None:
        found.append((steps.kind, steps.count))
        steps = steps.before
    return found[::-1]


def _replaced(old: Sequence[str], new: Sequence[str]) -> list[_Step]:
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    left = range(1, shorter - head + 1)
    tail = next((at - 1 for at in left if old[-at] != new[-at]), shorter - head)
    steps: list[_Step] = [
        ("same", head),
        ("removed", len(old) - head - tail),
        ("added", len(new) - head - tail),
        ("same", tail),
    ]
    return [step for step in steps if step[1]]


def _parts(steps: Sequence[_Step], old: Sequence[str], new: Sequence[str]) -> list[DiffPart]:
    parts: list[DiffPart] = []
    at_old = at_new = 0
    for kind, count in steps:
        source = old[at_old : at_old + count] if kind == "removed" else new[at_new : at_new + count]
        parts.append(DiffPart(kind, tuple(source)))
        at_old += 0 if kind == "added" else count
        at_new += 0 if kind == "removed" else count
    return parts
