"""What a thread used, gathered as its entries come: how one entry counts.

Which entries follow each other is told by who adds: after one entry the walk stands in its turn, at
its answer, until it is told to stand elsewhere. What ``durationMs`` does not say comes from times:
an answer's message is stamped when it is asked for and its entry when it is stored, a tool's result
when it is there. Imports nothing of the contract: a process that helps with long files loads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from enso.host.stats_gathered import TIMELESS, UNCOUNTED, Gathered, Prompted, Request, Requests
from enso.host.stats_lines import Prompt, Reply, Result, StatsLine
from enso.host.stats_tools import Answer, ToolCounts
from enso.host.stored_values import count_of, milliseconds

_OUTCOMES: Final[dict[str | None, str]] = {
    "error": "refused",
    "aborted": "aborted",
    "length": "cut",
}

_SPENDING: Final[dict[str | None, str]] = {
    "compaction": "compaction",
    "branch_summary": "branch-summary",
    "usage": "other",
}


def prompted(line: StatsLine, prompt: Prompt) -> Prompted:
    """What the turn of a prompt begins with."""
    at = prompt.timestamp
    at = at if at is not None else milliseconds(line.timestamp)
    return Prompted(line.id, prompt.beginning(), at)


class StatsWalk:
    """Gathers what counts of entries, in the order in which they are added.

    ``prompt`` and ``asking`` are where it stands: the turn that the next entry is in, and the
    answer that it may be a result of.
    """

    def __init__(self, requests: Requests | None = None) -> None:
        """``requests``: where they are to be packed."""
        self.asking: Answer | None = None
        self.prompt: Prompted | None = None
        self.tools = ToolCounts()
        self.requests = requests if requests is not None else Requests()
        self.gathered = Gathered(self.requests)

    # -- where it stands --------------------------------------------------------------------------

    def part(self, above: int) -> None:
        """The next entry follows the one at this place among those that were added."""
        span = self.gathered.part(above)
        self.prompt, self.asking = span.prompt, span.asking

    def stand(self, prompt: Prompted | None, asking: Answer | None) -> None:
        """The next entry follows what is in this turn, and such an answer in it."""
        self.prompt, self.asking = prompt, asking
        self.gathered.begin(prompt, asking)

    def answer_at(self, place: int) -> Answer | None:
        """The answer at a place; ``None`` where it was not added yet."""
        return self.gathered.answer_at(place)

    # -- entries ----------------------------------------------------------------------------------

    def follow(self, rows: Sequence[StatsLine]) -> None:
        """Add entries of which each follows the one before, the first the one added last."""
        end = self.gathered.ends.append
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
        gathered, calls, usage = self.gathered, reply.calls(), reply.usage
        place = gathered.place
        if calls:
            self.tools.call(calls, len(gathered.ends))
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
        self.asking = asking = Answer(place, stored, calls)
        gathered.answers.append(asking)
        end = stored if stored is not None else own
        return end if end is not None else TIMELESS

    def _add_result(self, line: StatsLine, result: Result) -> int:
        """Add a result, which counts where it has its call, as the pane shows it; when it ended."""
        answer, took, own = self.asking, result.durationMs, result.timestamp
        if took is not None:
            took = count_of(took)
        tool = None
        if answer is not None:
            if took is None and own is not None and answer.stored is not None:
                took = own - answer.stored if own >= answer.stored else None
            tool = self.tools.answered(answer, result.toolCallId or "", took)
        if tool is None and result.usage is None:
            return UNCOUNTED
        at = own if own is not None else milliseconds(line.timestamp)
        if result.usage is not None:
            self._add_spending(line.id, "tool", at, result, took)
        if tool is None:
            return TIMELESS
        if result.isError:
            self.gathered.fail()
            tool.errors += 1
        if result.usage is not None:
            tool.uses.append((len(self.gathered.ends), result.usage.counts()))
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
        kind: str,
        at: int | None,
        told: Result | StatsLine,
        took: int | None,
    ) -> None:
        gathered, usage = self.gathered, told.usage
        counts = usage.counts() if usage is not None else None
        provider, model = told.provider or "", told.model or ""
        outcome, place = _OUTCOMES.get(told.stopReason, "done"), gathered.place
        gathered.requests.append(
            Request(entry_id, kind, at, provider, model, counts, took, 0, outcome, place)
        )
