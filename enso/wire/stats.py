"""What a thread used: altogether, by request, by turn, by tool."""

from __future__ import annotations

from typing import Literal

from enso.wire.messages import Usage
from enso.wire.shape import Shape, left_out


class RequestStats(Shape):
    """One request to a model. ``turn`` is its place in ``turns``; ``at`` is when it began.

    ``kind`` says what it was for; ``usage`` is left out where the thread's file has none.
    """

    entry_id: str
    kind: Literal["answer", "tool", "compaction", "branch-summary", "other"]
    on_branch: bool
    turn: int
    at: str | None = left_out()
    provider: str | None = left_out()
    model: str | None = left_out()
    usage: Usage | None = left_out()
    duration_ms: int | None = left_out()
    tool_calls: int
    outcome: Literal["done", "refused", "aborted", "cut"]


class TurnStats(Shape):
    """A prompt and all that followed until the next; ``promptId`` is null for what came before.

    ``prompt`` is how the prompt begins, on one line. A prompt after which the thread went two ways
    is two turns, one of them on the branch.
    """

    prompt_id: str | None
    prompt: str
    on_branch: bool
    at: str | None = left_out()
    duration_ms: int | None = left_out()
    requests: int
    refused: int
    tool_calls: int
    tool_errors: int
    usage: Usage


class ToolStats(Shape):
    """One tool: its calls, how many failed, how many have no result, and its time.

    ``durationMs`` is the sum over the ``timed`` results that tell theirs; ``usage`` is what the
    tool itself asked of models.
    """

    name: str
    calls: int
    errors: int
    unanswered: int
    duration_ms: int
    timed: int
    usage: Usage | None = left_out()


class ThreadStats(Shape):
    """What a thread used, of every branch. Requests add up to the totals, and so do turns."""

    thread_id: str
    project_id: str
    totals: Usage
    requests: list[RequestStats]
    turns: list[TurnStats]
    tools: list[ToolStats]
