"""The turns of a thread, cut out of what was gathered of its entries, and kept packed."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

from msgspec import Struct, msgpack

from enso.host.contract import TurnStats
from enso.host.packed import Packed, Packing
from enso.host.session_spend import NO_SUMS, Sums, added
from enso.host.stats_gathered import (
    TIMELESS,
    UNCOUNTED,
    Gathered,
    Prompted,
    Request,
    Span,
)
from enso.host.stretches import NOWHERE
from enso.host.usage import UsageSum


class _Turn(Struct, array_like=True, gc=False):
    """A turn, under way or as it is packed."""

    prompt_id: str | None
    prompt: str
    on_branch: bool
    at: int | None
    end: int | None = None
    requests: int = 0
    refused: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    used: Sums = NO_SUMS

    def add(self, span: Span, requests: Sequence[Request]) -> None:
        """Add a span that goes on in this turn; its ``requests`` are among these."""
        if span.end != TIMELESS and (self.end is None or span.end > self.end):
            self.end = span.end
        more = requests[span.first : span.first + span.requests]
        self.used = added(self.used, [request.counts for request in more])
        self.requests += span.requests
        self.refused += span.refused
        self.tool_calls += span.tool_calls
        self.tool_errors += span.tool_errors

    def stats(self) -> TurnStats:
        at, end = self.at, self.end
        return TurnStats(
            prompt_id=self.prompt_id,
            prompt=self.prompt,
            on_branch=self.on_branch,
            at=at,
            duration_ms=end - at if at is not None and end is not None and end >= at else None,
            requests=self.requests,
            refused=self.refused,
            tool_calls=self.tool_calls,
            tool_errors=self.tool_errors,
            usage=UsageSum(*self.used).usage(),
        )


_unpack = msgpack.Decoder(list[_Turn]).decode


def _turns_of(page: bytes) -> list[TurnStats]:
    return [turn.stats() for turn in _unpack(page)]


def _turn_of(span: Span, on_branch: bool) -> _Turn:
    """The turn that begins with a span."""
    prompt_id, words, _ = span.prompt if span.prompt is not None else (None, "", None)
    return _Turn(
        prompt_id,
        words,
        on_branch,
        span.at,
        span.end if span.end != TIMELESS else None,
        span.requests,
        span.refused,
        span.tool_calls,
        span.tool_errors,
        span.used,
    )


_Key = tuple[str | None, bool]
"""What no other turn has: its prompt, and whether it is on the branch."""


class _GoingOn(NamedTuple):
    """A turn that is packed, and to which more may come."""

    key: _Key
    number: int
    turn: _Turn


class Turns:
    """The turns so far, in the order in which something of them first counted."""

    def __init__(self) -> None:
        self._packed = Packing()
        self._going_on: _GoingOn | None = None
        self.of_requests: list[int] = []
        """The turn of each request; off the branch the complement (``~``) of its number."""

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        return self._packed.size + 8 * len(self.of_requests)

    def cut(self, gathered: Gathered, branch: Sequence[range], prompt: Prompted | None) -> None:
        """Cut the turns of what was gathered; what comes next is in that of this prompt."""
        going_on, packed, requests = self._going_on, self._packed, gathered.close()
        numbers = {going_on.key: going_on.number} if going_on is not None else {}
        first, new = len(packed), list[_Turn]()
        for span, on_branch in gathered.cut(branch, requests):
            if span.end == UNCOUNTED:
                continue
            key = span.prompt.id if span.prompt is not None else None, on_branch
            number = numbers.setdefault(key, first + len(new))
            if number == first + len(new):
                new.append(_turn_of(span, on_branch))
            elif number >= first:
                new[number - first].add(span, requests)
            elif going_on is not None:
                going_on.turn.add(span, requests)
            self.of_requests.extend([number if on_branch else ~number] * span.requests)
        packed.extend(new)
        if going_on is not None:
            packed.replace(going_on.number, copy(going_on.turn))
        key = prompt.id if prompt is not None else None, True
        number = numbers.get(key, NOWHERE)
        if number == NOWHERE:
            self._going_on = None
        elif number >= first:
            self._going_on = _GoingOn(key, number, copy(new[number - first]))

    def packed(self) -> Packed[bytes, TurnStats]:
        """The turns that were cut."""
        return Packed(*self._packed.pages(), len(self._packed), _turns_of)
