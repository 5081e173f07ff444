"""Stats as they are sent: the one shape of which the JSON and the page are two renderings."""

from __future__ import annotations

from enso import wire
from enso.host import contract
from enso.server.shapes import iso_time, mended, usage_shape


def stats_shape(
    thread_id: str, project_id: str, stats: contract.BranchStats, newest: int | None = None
) -> wire.ThreadStats:
    """What a thread used, as it is sent; of the requests the ``newest`` alone, where that is said.

    How many there are is the sum over the turns.
    """
    first = 0 if newest is None else max(0, len(stats.requests) - newest)
    return wire.ThreadStats(
        thread_id=thread_id,
        project_id=project_id,
        totals=usage_shape(stats.totals),
        requests=[_request(request) for request in stats.requests[first:]],
        turns=[_turn(turn) for turn in stats.turns],
        tools=[_tool(tool) for tool in stats.tools],
    )


def _request(request: contract.RequestStats) -> wire.RequestStats:
    return wire.RequestStats(
        entry_id=mended(request.entry_id),
        kind=request.kind,
        on_branch=request.on_branch,
        turn=request.turn,
        at=iso_time(request.at),
        provider=mended(request.provider) or None,
        model=mended(request.model) or None,
        usage=usage_shape(request.usage) if request.usage is not None else None,
        duration_ms=request.duration_ms,
        tool_calls=request.tool_calls,
        outcome=request.outcome,
    )


def _turn(turn: contract.TurnStats) -> wire.TurnStats:
    return wire.TurnStats(
        prompt_id=mended(turn.prompt_id) if turn.prompt_id is not None else None,
        prompt=mended(turn.prompt),
        on_branch=turn.on_branch,
        at=iso_time(turn.at),
        duration_ms=turn.duration_ms,
        requests=turn.requests,
        refused=turn.refused,
        tool_calls=turn.tool_calls,
        tool_errors=turn.tool_errors,
        usage=usage_shape(turn.usage),
    )


def _tool(tool: contract.ToolStats) -> wire.ToolStats:
    return wire.ToolStats(
        name=mended(tool.name),
        calls=tool.calls,
        errors=tool.errors,
        unanswered=tool.unanswered,
        duration_ms=tool.duration_ms,
        timed=tool.timed,
        usage=usage_shape(tool.usage) if tool.usage is not None else None,
    )
