"""What counts of a thread's entries, gathered until it is known which of them are on the branch."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import Struct, msgpack

from enso.host.packed import Packed, Packing
from enso.host.session_spend import NO_SUMS, Counts, Sums, added
from enso.host.stats_tools import Answer
from enso.host.stretches import NOWHERE, Stretches

UNCOUNTED: Final = -2
"""In place of when it ended: an entry that does not count in its turn."""

TIMELESS: Final = -1
"""In place of when it ended: an entry that counts, and does not say."""

_place_of = attrgetter("place")
_start_of = attrgetter("start")


class Prompted(NamedTuple):
    """What a turn begins with: the id, the words and the time of a prompt."""

    id: str
    words: str
    at: int | None


class Request(Struct, array_like=True, gc=False):
    """A request as it is gathered and packed.

    ``place`` is that of its entry, counted from the first entry of its span. ``kind`` and
    ``outcome`` are those of ``enso.host.contract.RequestStats``.
    """

    entry_id: str
    kind: str
    at: int | None
    provider: str
    model: str
    counts: Counts | None
    duration_ms: int | None
    tool_calls: int
    outcome: str
    place: int


_unpack = msgpack.Decoder(list[Request]).decode
_unpack_answers = msgpack.Decoder(list[Answer]).decode
_pack = msgpack.Encoder().encode


class Requests(Packing):
    """Requests in the order of the file, packed, and what they used altogether."""

    def __init__(self) -> None:
        super().__init__()
        self.used = NO_SUMS

    def add(self, requests: Sequence[Request], used: Sums) -> None:
        """More of them, and their sum."""
        self.extend(requests)
        self.use(used, costs_of(requests))

    def use(self, used: Sums, costs: Iterable[float]) -> None:
        """More was used: its sum, and the cost of each request."""
        sent, got, read, written, cost, unknown = self.used
        for one in costs:  # one by one: sums of sums are not the same
            cost += one
        more = used[0] + sent, used[1] + got, used[2] + read, used[3] + written
        self.used = *more, cost, used[5] + unknown

    def packed(self) -> Packed[bytes, Request]:
        """Those so far; of neighbours that are looked at again and again, each is made once."""
        return Packed(*self.pages(), len(self), lru_cache(maxsize=2)(_unpack))


def costs_of(requests: Iterable[Request]) -> list[float]:
    """What each cost in dollars."""
    return [request.counts[4] if request.counts is not None else 0.0 for request in requests]


class Span(Struct, gc=False):
    """Entries from a place on that are all in one turn: the prompt and the answer they follow.

    ``None``: there is none before them. ``first`` is the number of their first request. The rest
    is what was added up of them: ``at`` when the first began that counts, ``end`` when the last
    ended.
    """

    start: int
    first: int
    prompt: Prompted | None
    asking: Answer | None
    at: int | None = None
    end: int = UNCOUNTED
    requests: int = 0
    refused: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    used: Sums = NO_SUMS
    answers: bytes = b""
    """Its answers, packed."""

    def take(self, requests: Sequence[Request], ends: Sequence[int], first: int = 0) -> None:
        """Take all its requests, and when each of its entries ended.

        ``first`` is the place of its first entry, as its requests count.
        """
        self.end = max(ends, default=UNCOUNTED)
        if self.prompt is not None:
            self.at = self.prompt.at
        elif self.end != UNCOUNTED:
            self.at = _began(requests, ends, first)
        self.requests = len(requests)
        self.used = added(NO_SUMS, [request.counts for request in requests])
        self.tool_calls = sum([request.tool_calls for request in requests])
        self.refused = [request.outcome for request in requests].count("refused")


def _began(requests: Sequence[Request], ends: Sequence[int], first: int) -> int | None:
    """When the first entry began that counts; ``first`` is the place of the first of all."""
    counted = next(at for at, end in enumerate(ends) if end != UNCOUNTED)
    if requests and requests[0].place == first + counted:
        return requests[0].at
    return ends[counted] if ends[counted] != TIMELESS else None


class Gathered:
    """What counts of entries; the place of an entry is how many were added before it.

    ``ends`` says of each when it ended, ``failed`` has the places of results of failed calls.
    ``requests`` and ``answers`` are those of the last of the ``spans``, the others are packed.
    """

    def __init__(
        self, packed: Requests, prompt: Prompted | None = None, asking: Answer | None = None
    ) -> None:
        """Requests are added to those that are ``packed``; the first entry is in such a turn."""
        self.packed = packed
        self._stretches = Stretches()
        self._stretches.begin(0, NOWHERE)
        self.failed: list[int] = []
        self.spans: list[Span] = [Span(0, len(packed), prompt, asking)]
        self.ends: list[int] = []
        self.requests: list[Request] = []
        self.answers: list[Answer] = []
        self._followed: dict[int, Answer] = {}
        self._closed = 0

    @property
    def place(self) -> int:
        """The place of the entry that is added next, counted from the first of its span."""
        return len(self.ends) - self._closed

    def fail(self) -> None:
        """The entry that is added next is a result of a call that failed."""
        self.failed.append(len(self.ends))

    def pass_by(self, count: int) -> None:
        """So many entries are not gathered here, but they have their places."""
        self.ends.extend([UNCOUNTED] * count)

    def begin(self, prompt: Prompted | None, asking: Answer | None) -> None:
        """The next entry is in the turn of a prompt, behind an answer."""
        self._close()
        self.spans.append(Span(len(self.ends), len(self.packed), prompt, asking))

    def part(self, above: int) -> Span:
        """The next entry does not follow the last one, but the one at this place."""
        self._stretches.begin(len(self.ends), above)
        self._close()
        prompt = asking = None
        if above != NOWHERE:
            span = self.spans[bisect_right(self.spans, above, key=_start_of) - 1]
            prompt, asking = span.prompt, self._answer_before(span, above) or span.asking
        self.begin(prompt, asking)
        return self.spans[-1]

    def adopt(
        self, spans: Sequence[Span], ends: Sequence[int], failed: Sequence[int], above: int | None
    ) -> None:
        """Add spans that were gathered elsewhere; their requests are those that are added next.

        The first follows the entry at a place, or (``None``) what was added last. What comes behind
        the last one is to be told by ``adopt``, ``part`` or ``begin``.
        """
        self._close()
        if above is not None:
            self._stretches.begin(len(self.ends), above)
        moved = len(self.ends) - spans[0].start
        for span in spans:
            span.start += moved
        self.spans.extend(spans)
        self.ends.extend(ends)
        self.failed.extend(failed)
        self._closed = len(self.ends)

    def answer_at(self, place: int) -> Answer | None:
        """The answer at a place; ``None`` where there is none yet."""
        if place == NOWHERE or place >= len(self.ends):
            return None
        self._close()
        span = self.spans[bisect_right(self.spans, place, key=_start_of) - 1]
        return self._answer_before(span, place)

    def _answer_before(self, span: Span, place: int) -> Answer | None:
        """The last answer of a span up to a place."""
        answers = _unpack_answers(span.answers) if span.answers else []
        found = bisect_right(answers, place - span.start, key=_place_of)
        if not found:
            return None
        answer = answers[found - 1]  # what was taken of its results since is known of it alone
        return self._followed.setdefault(span.start + answer.place, answer)

    def branch(self) -> list[range]:
        """The places that lead to the last one."""
        return self._stretches.branch_of(len(self.ends) - 1)

    def _close(self) -> None:
        """The last span has ended, and what comes next is in another."""
        span, requests, start = self.spans[-1], self.requests, self._closed
        if start == len(self.ends):
            return
        self._closed = len(self.ends)
        span.take(requests, self.ends[start:])
        if self.failed:
            span.tool_errors = self._failures(start, len(self.ends))
        self.packed.add(requests, span.used)
        requests.clear()
        if self.answers:
            span.answers = _pack(self.answers)
            self.answers.clear()

    def _failures(self, start: int, end: int) -> int:
        return bisect_left(self.failed, end) - bisect_left(self.failed, start)

    # -- once all are there -----------------------------------------------------------------------

    def close(self) -> Packed[bytes, Request]:
        """Every entry was added: all requests."""
        self._close()
        return self.packed.packed()

    def cut(
        self, branch: Sequence[range], packed: Sequence[Request]
    ) -> Iterator[tuple[Span, bool]]:
        """The spans in their order, each cut where it leaves the branch or meets it; and whether
        they are on it."""
        borders = sorted(chain.from_iterable((places.start, places.stop) for places in branch))
        borders.append(len(self.ends))
        on_branch, crossed = False, 0
        beyond = Span(len(self.ends), len(self.packed), None, None)
        for span, behind in pairwise([*self.spans, beyond]):
            start = span.start
            while (border := borders[crossed]) < behind.start:
                if start < border:
                    yield self._piece(span, start, border, packed), on_branch
                    start = border
                on_branch, crossed = not on_branch, crossed + 1
            if start == span.start:
                yield span, on_branch
            elif start < behind.start:
                yield self._piece(span, start, behind.start, packed), on_branch

    def _piece(self, span: Span, start: int, end: int, packed: Sequence[Request]) -> Span:
        """The entries of a span from one place to before another."""
        requests = packed[span.first : span.first + span.requests]
        first = start - span.start
        before = bisect_left(requests, first, key=_place_of)
        requests = requests[before : bisect_left(requests, end - span.start, key=_place_of)]
        piece = Span(start, span.first + before, span.prompt, None)
        piece.take(requests, self.ends[start:end], first)
        piece.tool_errors = self._failures(start, end)
        return piece
