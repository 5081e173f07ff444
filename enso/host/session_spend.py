"""The spend of a whole session file, added up while its lines are scanned.

The same sum as ``enso.host.usage`` makes of read entries, in the same order, so that it is the same
to the last digit. Owns the fields that a scan takes of a stored ``usage``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct, to_builtins

from enso.host.usage import MOST_DOLLARS, MOST_TOKENS, UsageSum, read_usage
from enso.transcript import Usage


class ScannedCost(Struct, gc=False):
    """What a scan takes of a stored ``cost``."""

    total: int | float = 0
    priceUnknown: bool = False  # noqa: N815 - the stored key


class ScannedUsage(Struct, gc=False):
    """What a scan takes of a stored ``usage``; one of other types is read by other means."""

    input: int | float = 0
    output: int | float = 0
    cacheRead: int | float = 0  # noqa: N815 - the stored key
    cacheWrite: int | float = 0  # noqa: N815 - the stored key
    cost: ScannedCost | None = None


def scanned_usage(value: Any) -> ScannedUsage | None:
    """A stored ``usage`` that was read by other means, by the one rule for what counts."""
    usage = read_usage(value)
    if usage is None:
        return None
    cost = ScannedCost(usage.cost, not usage.cost_known)
    return ScannedUsage(usage.input, usage.output, usage.cache_read, usage.cache_write, cost)


Counts = tuple[int, int, int, int, float, bool]
"""A usage that counts: tokens sent, got, read from a cache, written to one; dollars; all known."""

Sums = tuple[int, int, int, int, float, int]
"""A sum of them: the last is how many are not known."""

NO_SUMS: Final[Sums] = (0, 0, 0, 0, 0.0, 0)


def added(sums: Sums, more: Iterable[Counts | None]) -> Sums:
    """A sum, and more added to it in this order."""
    sent, got, read, written, cost, unknown = sums
    for counts in more:
        if counts is not None:
            sent += counts[0]
            got += counts[1]
            read += counts[2]
            written += counts[3]
            cost += counts[4]
            if not counts[5]:
                unknown += 1
    return sent, got, read, written, cost, unknown


def counts_of_scan(stored: ScannedUsage) -> Counts:
    """A scanned usage by the one rule for what counts."""
    sent, got, read, written = stored.input, stored.output, stored.cacheRead, stored.cacheWrite
    cost = stored.cost
    money = cost.total if cost is not None else 0
    if (
        type(sent) is int
        and type(got) is int
        and type(read) is int
        and type(written) is int
        and 0 <= sent <= MOST_TOKENS
        and 0 <= got <= MOST_TOKENS
        and 0 <= read <= MOST_TOKENS
        and 0 <= written <= MOST_TOKENS
        and 0 <= money <= MOST_DOLLARS
    ):
        return sent, got, read, written, float(money), cost is None or not cost.priceUnknown
    told = read_usage(to_builtins(stored)) or Usage()
    tokens = told.input, told.output, told.cache_read, told.cache_write
    return *tokens, told.cost, told.cost_known


def usage_of_counts(counts: Counts) -> Usage:
    """A usage that counts in our type."""
    sent, got, read, written, cost, known = counts
    return Usage(
        input=sent, output=got, cache_read=read, cache_write=written, cost=cost, cost_known=known
    )


@dataclass(slots=True)
class Spend(UsageSum):
    """The sum of the scanned usages so far."""

    def add_scanned(self, stored: ScannedUsage) -> None:
        """Add a usage."""
        sent, got, read, written = stored.input, stored.output, stored.cacheRead, stored.cacheWrite
        cost = stored.cost
        money = cost.total if cost is not None else 0
        if (
            isinstance(sent, int)
            and isinstance(got, int)
            and isinstance(read, int)
            and isinstance(written, int)
            and min(sent, got, read, written) >= 0
            and max(sent, got, read, written) <= MOST_TOKENS
            and 0 <= money <= MOST_DOLLARS
        ):
            self.input += sent
            self.output += got
            self.cache_read += read
            self.cache_write += written
            self.cost += money
            self.unpriced += cost is not None and cost.priceUnknown
        else:
            self._add_unusual(stored)

    def _add_unusual(self, stored: ScannedUsage) -> None:
        usual = scanned_usage(to_builtins(stored))
        if usual is not None:
            self.add_scanned(usual)
