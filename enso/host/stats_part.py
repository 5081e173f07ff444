"""The stats of a part of a file, made without what is before it.

What an entry counts as depends on the turn and on the answer that it stands behind, and on nothing
that is before a prompt. So of a part, entries whose turn began before it are handed on as they are
(``open``), up to the next prompt; all others are gathered here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, msgpack

from enso.host.session_spend import NO_SUMS, Sums
from enso.host.stats_gathered import Prompted, Requests, Span
from enso.host.stats_lines import Prompt, StatsLine
from enso.host.stats_tools import Answer, Tool
from enso.host.stats_walk import StatsWalk
from enso.host.stretches import NOWHERE


class StatsPart(Struct, array_like=True, gc=False):
    """What was gathered of a part. Places count from its first entry.

    ``spans`` are all its spans; of those in ``open``, by their numbers, nothing was gathered: there
    are their entries. ``ends`` are those of ``Gathered``. ``pages`` are the requests of the others,
    packed, each page with how many it holds; one that holds some from before an open span holds
    none from behind it. ``costs`` are the dollars of each, as bytes, ``used`` is the sum but for
    them. ``prompt`` and ``asking`` are where it ends, unless that is ``within`` an open span.
    """

    spans: list[Span]
    open: dict[int, list[StatsLine]]
    ends: list[int]
    pages: list[tuple[bytes, int]]
    costs: bytes
    used: Sums
    failed: list[int]
    tools: dict[str, Tool]
    within: bool
    prompt: Prompted | None
    asking: Answer | None


class _PartRequests(Requests):
    """Requests of a part, and what each cost."""

    def __init__(self) -> None:
        super().__init__()
        self.costs = array("d")

    def use(self, used: Sums, costs: Iterable[float]) -> None:
        super().use(used, ())
        self.costs.extend(costs)


class PartSum:
    """The stats of the entries of a part (``enso.host.sums_in_order.SumOfPart``)."""

    def __init__(self) -> None:
        self._requests = _PartRequests()
        self._walk = StatsWalk(self._requests)
        self._open: dict[int, list[StatsLine]] = {}
        self._holding: list[StatsLine] | None = None
        self._began: list[int] = []
        """Where open spans begin, and where each ended: in turns."""

    def part(self, above: int | None) -> None:
        """What comes follows that entry of the part, none (``NOWHERE``), or one outside."""
        walk, began = self._walk, self._began
        self._end_open()
        if above is not None and not bisect_right(began, above) % 2:
            walk.part(above)
            return
        walk.part(NOWHERE)
        self._requests.end_page()
        self._holding = self._open[len(walk.gathered.spans) - 1] = []
        began.append(len(walk.gathered.ends))

    def _end_open(self) -> None:
        if self._holding is not None:
            self._holding = None
            self._began.append(len(self._walk.gathered.ends))

    def follow(self, rows: list[StatsLine]) -> None:
        """Add entries of which each follows the one before."""
        if self._holding is not None:
            rows = self._hold(self._holding, rows)
        self._walk.follow(rows)

    def _hold(self, held: list[StatsLine], rows: list[StatsLine]) -> list[StatsLine]:
        """Hold the entries up to a prompt; returns the others."""
        prompts = (at for at, row in enumerate(rows) if _is_prompt(row))
        first = next(prompts, len(rows))
        held += rows[:first]
        self._walk.gathered.pass_by(first)
        if first < len(rows):
            self._end_open()
        return rows[first:]

    def content(self) -> bytes:
        """A ``StatsPart``, packed."""
        walk = self._walk
        gathered = walk.gathered
        gathered.close()
        self._requests.end_page()
        pages, starts = self._requests.pages()
        counts = [end - start for start, end in pairwise([*starts, len(self._requests)])]
        return msgpack.encode(
            StatsPart(
                spans=gathered.spans,
                open=self._open,
                ends=gathered.ends,
                pages=list(zip(pages, counts, strict=True)),
                costs=self._requests.costs.tobytes(),
                used=self._requests.used,
                failed=gathered.failed,
                tools=walk.tools.by_name,
                within=self._holding is not None,
                prompt=walk.prompt,
                asking=walk.asking,
            )
        )


def _is_prompt(row: StatsLine) -> bool:
    return row.type == "message" and type(row.message) is Prompt


_unpack = msgpack.Decoder(StatsPart).decode


def join_part(walk: StatsWalk, content: bytes, stretches: Mapping[int, int]) -> None:
    """Add a packed ``StatsPart`` to a walk over what is before it.

    ``stretches``: at which of its places an entry follows another than the one before it, and the
    place of that, as the walk counts them.
    """
    _Joining(_unpack(content), walk).join(stretches)


class _Joining:
    """A part that is added to a walk over what is before it."""

    def __init__(self, part: StatsPart, walk: StatsWalk) -> None:
        self._part = part
        self._walk = walk
        self._offset = len(walk.gathered.ends)
        self._ends = part.ends
        self._costs = array("d", part.costs)
        self._pages = iter(part.pages)
        self._taken = 0

    def join(self, stretches: Mapping[int, int]) -> None:
        """Add it, run by run of spans of which each comes behind the one before it."""
        part, walk = self._part, self._walk
        starts = [*(span.start for span in part.spans), len(self._ends)]
        borders = {0, len(part.spans), *(bisect_left(starts, place) for place in stretches)}
        borders.update(at for number in part.open for at in (number, number + 1))
        for first, behind in pairwise(sorted(borders)):
            start, end = starts[first], starts[behind]
            if start == end:
                continue
            above = stretches.get(start)
            if first in part.open:
                if above is not None:
                    walk.part(above)
                walk.follow(part.open[first])
            else:
                self._adopt(part.spans[first:behind], start, end, above)
        walk.requests.use(part.used, ())
        walk.tools.join(part.tools, self._offset)
        if not part.within:
            walk.stand(part.prompt, part.asking)

    def _adopt(self, spans: Sequence[Span], start: int, end: int, above: int | None) -> None:
        """Add spans from one place to before another; the first follows the entry ``above``."""
        gathered, failed = self._walk.gathered, self._part.failed
        failed = failed[bisect_left(failed, start) : bisect_left(failed, end)]
        places = [self._offset + place for place in failed]
        gathered.adopt(spans, self._ends[start:end], places, above)
        self._take_requests(spans)

    def _take_requests(self, spans: Sequence[Span]) -> None:
        """Add the requests of spans, page by page; some may be there already."""
        requests = self._walk.requests
        first, end = spans[0].first, spans[-1].first + spans[-1].requests
        moved = len(requests) - self._taken
        while self._taken < end:
            page, count = next(self._pages)
            requests.end_page()
            requests.add_page(page, count)
            self._taken += count
        for span in spans:
            span.first += moved
        requests.use(NO_SUMS, self._costs[first:end])
