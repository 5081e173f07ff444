"""What a thread used: by request, by turn, by tool, and altogether.

A request is an entry for which a model was asked. A turn is a prompt and all that followed until
the next. Money that is not known is never counted as nothing: every sum says how many of its
requests have a price that is not known (``Usage.unpriced``). Durations are milliseconds, ``None``
where the log does not tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from enso.transcript import Usage

RequestKind = Literal["answer", "tool", "compaction", "branch-summary", "other"]
"""What a model was asked for: an answer, something inside a tool, a summary, or anything else."""

RequestOutcome = Literal["done", "refused", "aborted", "cut"]
"""How it ended; ``cut`` is an answer that the model's output limit cut off."""


class RequestStats(Struct, frozen=True, kw_only=True, gc=False):
    """One request. ``turn`` is its place in ``BranchStats.turns``, ``at`` when it began.

    ``usage`` is ``None`` where the log has none. ``at`` is milliseconds since the epoch.
    """

    entry_id: str
    kind: RequestKind
    on_branch: bool
    turn: int
    at: int | None = None
    provider: str = ""
    model: str = ""
    usage: Usage | None = None
    duration_ms: int | None = None
    tool_calls: int = 0
    outcome: RequestOutcome = "done"


class TurnStats(Struct, frozen=True, kw_only=True, gc=False):
    """One turn: the sums of its requests and calls.

    ``prompt_id`` is the entry of its prompt, ``None`` for what was asked before the first.
    ``prompt`` is how the prompt begins. A prompt after which the thread went two ways is two turns,
    one of them on the branch. ``duration_ms`` is from the prompt to its last answer or result.
    """

    prompt_id: str | None
    prompt: str
    on_branch: bool
    at: int | None
    duration_ms: int | None
    requests: int
    refused: int
    tool_calls: int
    tool_errors: int
    usage: Usage


class ToolStats(Struct, frozen=True, kw_only=True):
    """One tool by its name: what was called, what failed, what has no result.

    ``duration_ms`` is the sum over the ``timed`` results that tell theirs. ``usage`` is what the
    tool itself asked of models, ``None`` when it asked nothing.
    """

    name: str
    calls: int
    errors: int
    unanswered: int
    duration_ms: int
    timed: int
    usage: Usage | None = None


class BranchStats(Struct, frozen=True, kw_only=True):
    """What a thread used, in the order of its log: of every branch, the current one marked.

    ``totals`` is the sum over the whole log, as pi's ``getSessionStats`` adds it, each entry id
    once. Requests and turns may be made when they are looked at: a slice costs what it holds. They
    do not change. The requests add up to it, and so do the turns.
    """

    totals: Usage
    requests: Sequence[RequestStats]
    turns: Sequence[TurnStats]
    tools: tuple[ToolStats, ...]


class StoredThreadStats(Struct, frozen=True, kw_only=True):
    """What a stored thread used, and whose it is."""

    id: str
    cwd: Path
    stats: BranchStats


class JointSpend(Struct, frozen=True, kw_only=True):
    """What several threads used together."""

    usage: Usage
    requests: int


def joint_spend(threads: Iterable[BranchStats]) -> JointSpend:
    """The spend of several threads, in which a request that forks share counts once.

    A fork keeps the ids and the times of the entries it begins with. The id alone would not tell:
    it has eight hex digits, which unrelated threads repeat by chance once there are many.
    """
    requests = {
        (request.entry_id, request.at): request for thread in threads for request in thread.requests
    }
    usages = (request.usage for request in requests.values() if request.usage is not None)
    return JointSpend(usage=sum(usages, Usage()), requests=len(requests))
