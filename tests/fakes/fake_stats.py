"""The stats of a plain transcript: what the fake host tells of its threads."""

from __future__ import annotations

from collections.abc import Sequence

from enso.host.contract import BranchStats, RequestOutcome, RequestStats, ToolStats, TurnStats
from enso.transcript import (
    TextPart,
    ToolCallPart,
    TranscriptEntry,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptToolResult,
    Usage,
)

OUTCOMES: dict[str | None, RequestOutcome] = {
    "error": "refused",
    "aborted": "aborted",
    "length": "cut",
}


def fake_stats(entries: Sequence[TranscriptEntry]) -> BranchStats:
    """The stats of a transcript, all of which is on the branch."""
    turns = _turns(entries)
    requests = [
        _request(one, at) for at, (_, turn) in enumerate(turns) for one in turn if _asks(one)
    ]
    return BranchStats(
        totals=_spend(entries),
        requests=tuple(requests),
        turns=tuple(
            _turn(prompt, turn, [request for request in requests if request.turn == at])
            for at, (prompt, turn) in enumerate(turns)
        ),
        tools=tuple(
            _tool(name, entries) for name in dict.fromkeys(c.name for c in _calls(entries))
        ),
    )


def _turns(
    entries: Sequence[TranscriptEntry],
) -> list[tuple[TranscriptMessage | None, list[TranscriptEntry]]]:
    turns: list[tuple[TranscriptMessage | None, list[TranscriptEntry]]] = [(None, [])]
    for entry in entries:
        if isinstance(entry, TranscriptMessage) and entry.role == "user":
            turns.append((entry, []))
        turns[-1][1].append(entry)
    return [(prompt, turn) for prompt, turn in turns if prompt or any(map(_asks, turn))]


def _asks(entry: TranscriptEntry) -> bool:
    return entry.usage is not None or _answers(entry)


def _answers(entry: TranscriptEntry) -> bool:
    return isinstance(entry, TranscriptMessage) and entry.role == "assistant"


def _spend(entries: Sequence[TranscriptEntry]) -> Usage:
    return sum((entry.usage for entry in entries if entry.usage is not None), Usage())


def _calls(entries: Sequence[TranscriptEntry]) -> list[ToolCallPart]:
    messages = [entry for entry in entries if isinstance(entry, TranscriptMessage)]
    return [part for m in messages for part in m.parts if isinstance(part, ToolCallPart)]


def _request(entry: TranscriptEntry, turn: int) -> RequestStats:
    answer = entry if isinstance(entry, TranscriptMessage) else None
    marker = entry if isinstance(entry, TranscriptMarker) else None
    result = isinstance(entry, TranscriptToolResult)
    summary = "branch-summary" if marker and marker.kind == "branch-summary" else "compaction"
    return RequestStats(
        entry_id=entry.id,
        kind="answer" if answer else "tool" if result else summary if marker else "other",
        on_branch=True,
        turn=turn,
        at=entry.created_at,
        provider=answer.provider if answer else "",
        model=answer.model if answer else "",
        usage=entry.usage,
        duration_ms=answer.duration_ms if answer else None,
        tool_calls=len(_calls([entry])),
        outcome=OUTCOMES.get(answer.stop_reason if answer else None, "done"),
    )


def _turn(
    prompt: TranscriptMessage | None, turn: list[TranscriptEntry], requests: list[RequestStats]
) -> TurnStats:
    parts = prompt.parts if prompt else ()
    times = [one.created_at for one in turn if one.created_at is not None]
    return TurnStats(
        prompt_id=prompt.id if prompt else None,
        prompt=" ".join(part.text for part in parts if isinstance(part, TextPart)),
        on_branch=True,
        at=times[0] if times else None,
        duration_ms=times[-1] - times[0] if times else None,
        requests=len(requests),
        refused=sum(request.outcome == "refused" for request in requests),
        tool_calls=len(_calls(turn)),
        tool_errors=sum(isinstance(e, TranscriptToolResult) and e.is_error for e in turn),
        usage=_spend(turn),
    )


def _tool(name: str, entries: Sequence[TranscriptEntry]) -> ToolStats:
    calls = [call for call in _calls(entries) if call.name == name]
    answered = [one for one in entries if isinstance(one, TranscriptToolResult)]
    results = [one for one in answered if one.tool_name == name]
    durations = [one.duration_ms for one in results if one.duration_ms is not None]
    used = [one for one in results if one.usage is not None]
    return ToolStats(
        name=name,
        calls=len(calls),
        errors=sum(one.is_error for one in results),
        unanswered=len(calls) - len(results),
        duration_ms=sum(durations),
        timed=len(durations),
        usage=_spend(used) if used else None,
    )
