"""Which held threads let go of their conversations, so that holding many costs little.

A held thread is asked again soon, or in ten minutes, or never. Those used last stay in memory up to
a bound over all; of the others the log's file is enough, until somebody prompts them or looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

MOST_HELD: Final = 16 << 20
"""Bytes of logs that idle threads hold in memory, which takes them one and a half times as much."""


class Held(NamedTuple):
    """An idle thread: when it was used last, and how many bytes of its log it holds."""

    thread_id: str
    last_used: float
    weight: int


def to_rest(held: Sequence[Held], most: int) -> list[str]:
    """The ids of those that are over the bound, the longest unused; the newest one never is."""
    resting: list[str] = []
    total = 0
    for number, one in enumerate(sorted(held, key=lambda one: one.last_used, reverse=True)):
        total += one.weight
        if number and one.weight and total > most:
            resting.append(one.thread_id)
            total -= one.weight
    return resting
