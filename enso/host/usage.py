"""Tokens and money: a stored ``usage`` object to ours, and the sum over a whole session file.

The sum follows pi's ``getSessionStats``: every entry of the file counts, on the branch or not. An
entry id counts once: of two entries with one id the later one, as on the branch.
Knows nothing of prices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from enso.transcript import Usage

MOST_TOKENS: Final = 2**53
MOST_DOLLARS: Final = 1e12
"""What more is counts as so much."""


def read_usage(value: Any) -> Usage | None:
    """A stored ``usage`` object in our type; ``None`` when there is none.

    A count that is no number, not finite or negative is 0. ``priceUnknown: true`` beside
    ``cost.total`` is Enso's own mark for a model whose price is not known.
    """
    if not isinstance(value, dict):
        return None
    stored = cast("dict[str, Any]", value)
    cost = stored.get("cost")
    money: Mapping[str, Any] = cast("dict[str, Any]", cost) if isinstance(cost, dict) else {}
    return Usage(
        input=_tokens(stored.get("input")),
        output=_tokens(stored.get("output")),
        cache_read=_tokens(stored.get("cacheRead")),
        cache_write=_tokens(stored.get("cacheWrite")),
        cost=min(_finite(money.get("total")), MOST_DOLLARS),
        cost_known=money.get("priceUnknown") is not True,
    )


@dataclass(slots=True)
class UsageSum:
    """A sum of usages, as adding one to the other makes it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def add(self, usage: Usage) -> None:
        """Add a usage."""
        self.input += usage.input
        self.output += usage.output
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        self.cost += usage.cost
        self.unpriced += not usage.cost_known

    def add_counts(self, other: UsageSum) -> None:
        """Add another sum's tokens and how many of its prices are not known."""
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.unpriced += other.unpriced

    def usage(self) -> Usage:
        """The sum."""
        return Usage(
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write=self.cache_write,
            cost=self.cost,
            cost_known=not self.unpriced,
            unpriced=self.unpriced,
        )


def total_usage(entries: Iterable[Mapping[str, Any]]) -> Usage:
    """The spend of all stored entries, as pi's ``getSessionStats`` adds it."""
    spend = SpendCount()
    for entry in entries:
        spend.add(entry)
    return spend.total()


class SpendCount:
    """The spend of entries as they come, each in constant time."""

    def __init__(self) -> None:
        self._usages: dict[str | int, Usage] = {}
        self._nameless = 0
        self._total = Usage()
        self._replaced = False

    def add(self, entry: Mapping[str, Any]) -> None:
        """Count the next entry, in place of one that had its id."""
        usage, entry_id = usage_of_entry(entry), entry.get("id")
        if not isinstance(entry_id, str):
            entry_id = self._nameless = self._nameless + 1
        if self._usages.pop(entry_id, None) is not None:
            self._replaced = True
        if usage is not None:
            self._usages[entry_id] = usage
            self._total += usage

    def total(self) -> Usage:
        """The sum so far."""
        if self._replaced:
            self._total, self._replaced = sum(self._usages.values(), Usage()), False
        return self._total


def usage_of_entry(entry: Mapping[str, Any]) -> Usage | None:
    """What a stored entry used; ``None`` for one that counts for nothing."""
    return read_usage(_usage_of(entry))


def _usage_of(entry: Mapping[str, Any]) -> Any:
    """The ``usage`` that counts for an entry: its own, or its message's."""
    kind = entry.get("type")
    if kind in ("usage", "compaction", "branch_summary"):
        return entry.get("usage")
    message = entry.get("message")
    if kind != "message" or not isinstance(message, dict):
        return None
    stored = cast("dict[str, Any]", message)
    return stored.get("usage") if stored.get("role") in ("assistant", "toolResult") else None


def _finite(value: Any) -> float:
    """A number that counts; 0 for anything else, and for one that is negative or not finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def _tokens(value: Any) -> int:
    if type(value) is int and 0 <= value <= MOST_TOKENS:
        return value
    return int(min(_finite(value), MOST_TOKENS))
