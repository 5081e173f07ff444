"""What a thread used, added up as its entries come; requests and turns are kept packed.

Owns how one entry counts. Which entries follow each other is told by who adds: after one entry the
sum stands in its turn, at its answer, until it is told to stand elsewhere. What ``durationMs`` does
not say comes from times: an answer's message is stamped when it is asked for and its entry when it
is stored, a tool's result when it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import msgpack

from enso.host.contract import BranchStats, RequestKind, RequestOutcome, RequestStats
from enso.host.packed import PAGE, Packed
from enso.host.session_spend import usage_of_counts
from enso.host.stats_gathered import TIMELESS, UNCOUNTED, Gathered, Prompted, Request, Requests
from enso.host.stats_lines import Prompt, Reply, Result, StatsLine
from enso.host.stats_tools import Answer, ToolCounts
from enso.host.stats_turns import Turns
from enso.host.stored_values import count_of, milliseconds
from enso.host.usage import UsageSum

_OUTCOMES: Final[dict[str | None, RequestOutcome]] = {
    "error": "refused",
    "aborted": "aborted",
    "length": "cut",
}

_SPENDING: Final[dict[str | None, RequestKind]] = {
    "compaction": "compaction",
    "branch_summary": "branch-summary",
    "usage": "other",
}


_unpack = msgpack.Decoder(list[Request]).decode


def _requests_of(page: tuple[bytes, list[int]]) -> list[RequestStats]:
    packed, turns = page
    return [one.stats(turn) for one, turn in zip(_unpack(packed), turns, strict=True)]


def prompted(line: StatsLine, prompt: Prompt) -> Prompted:
    """What the turn of a prompt begins with."""
    at = prompt.timestamp
    at = at if at is not None else milliseconds(line.timestamp)
    return Prompted(line.id, prompt.beginning(), at)


class StatsSum:
    """The requests, turns and tools of entries, in the order in which they are added."""

    def __init__(self) -> None:
        self._asking: Answer | None = None  # that the next entry's result may be of
        self._prompt: Prompted | None = None
        self._tools = ToolCounts()
        self._requests = Requests()
        self._turns = Turns()
        self._gathered = Gathered(self._requests)

    # -- where it stands --------------------------------------------------------------------------

    def part(self, above: int) -> None:
        """The next entry follows the one at this place among those that were added."""
        span = self._gathered.part(above)
        self._prompt, self._asking = span.prompt, span.asking

    def stand(self, prompt: Prompted | None, asking: Answer | None) -> None:
        """The next entry follows what is in this turn, and such an answer in it."""
        self._prompt, self._asking = prompt, asking
        self._gathered.begin(prompt, asking)

    def answer_at(self, place: int) -> Answer | None:
        """The answer at a place; ``None`` where it was not added yet."""
        return self._gathered.answer_at(place)

    # -- entries ----------------------------------------------------------------------------------

    def follow(self, rows: Sequence[StatsLine]) -> None:
        """Add entries of which each follows the one before, the first the one added last."""
        end = self._gathered.ends.append
        for line in rows:
            message = line.message
            if message is None or line.type != "message":
                end(self._add_other(line))
            elif type(message) is Result:
                end(self._add_result(line, message))
            elif type(message) is Reply:
                end(self._add_answer(line, message))
            elif type(message) is Prompt:
                self.stand(prompted(line, message), None)
                end(TIMELESS)

    def _add_answer(self, line: StatsLine, reply: Reply) -> int:
        """Add an answer; returns when it ended."""
        own, stored, took = reply.timestamp, milliseconds(line.timestamp), reply.durationMs
        if took is not None:
            took = count_of(took)
        if took is None and own is not None and stored is not None and stored >= own:
            took = stored - own
        gathered, calls, usage = self._gathered, reply.calls(), reply.usage
        if calls:
            self._tools.call(calls)
        place = len(gathered.ends)
        gathered.requests.append(
            Request(
                line.id,
                "answer",
                own if own is not None else stored,
                reply.provider or "",
                reply.model or "",
                usage.counts() if usage is not None else None,
                took,
                len(calls),
                _OUTCOMES.get(reply.stopReason, "done"),
                place,
            )
        )
        self._asking = asking = Answer(place, stored, calls)
        gathered.answers.append(asking)
        end = stored if stored is not None else own
        return end if end is not None else TIMELESS

    def _add_result(self, line: StatsLine, result: Result) -> int:
        """Add a result, which counts where it has its call, as the pane shows it; when it ended."""
        answer, took, own = self._asking, result.durationMs, result.timestamp
        if took is not None:
            took = count_of(took)
        tool = None
        if answer is not None:
            if took is None and own is not None and answer.stored is not None:
                took = own - answer.stored if own >= answer.stored else None
            tool = self._tools.answered(answer, result.toolCallId or "", took)
        if tool is None and result.usage is None:
            return UNCOUNTED
        at = own if own is not None else milliseconds(line.timestamp)
        if result.usage is not None:
            self._add_spending(line.id, "tool", at, result, took)
        if tool is None:
            return TIMELESS
        if result.isError:
            self._gathered.fail()
            tool.errors += 1
        if result.usage is not None:
            tool.use(usage_of_counts(result.usage.counts()))
        return at if at is not None else TIMELESS

    def _add_other(self, line: StatsLine) -> int:
        """Add an entry that is no message: it counts where it tells what a model used."""
        kind = _SPENDING.get(line.type) if line.usage is not None else None
        if kind is None:
            return UNCOUNTED
        self._add_spending(line.id, kind, milliseconds(line.timestamp), line, None)
        return TIMELESS

    def _add_spending(
        self,
        entry_id: str,
        kind: RequestKind,
        at: int | None,
        told: Result | StatsLine,
        took: int | None,
    ) -> None:
        gathered, usage = self._gathered, told.usage
        counts = usage.counts() if usage is not None else None
        provider, model = told.provider or "", told.model or ""
        outcome, place = _OUTCOMES.get(told.stopReason, "done"), len(gathered.ends)
        gathered.requests.append(
            Request(entry_id, kind, at, provider, model, counts, took, 0, outcome, place)
        )

    # -- the sum ----------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        return self._requests.size + self._turns.size

    def settle(self, branch: Sequence[range]) -> None:
        """Every entry was added, these are the branch, and the sum stands at its leaf."""
        self._turns.cut(self._gathered, branch, self._prompt)
        self._gathered = Gathered(self._requests, self._prompt, self._asking)

    def answer(self) -> BranchStats:
        """What was added; more may be added behind it. The last entry is the leaf of the branch."""
        if self._gathered.ends:
            self.settle(self._gathered.branch())
        turns = self._turns.of_requests
        pages = [
            (page, turns[PAGE * number : PAGE * (number + 1)])
            for number, page in enumerate(self._requests.pages())
        ]
        # Requests are the entries that use anything: their sum is the sum over the file.
        return BranchStats(
            totals=UsageSum(*self._requests.used).usage(),
            requests=Packed(pages, len(self._requests), _requests_of),
            turns=self._turns.packed(),
            tools=self._tools.stats(),
        )
