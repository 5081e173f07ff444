"""Status, spend and mode as they are sent: the one place that says what state a thread is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from enso import transcript, wire
from enso.host import contract
from enso.server.live_state import LiveThread
from enso.server.messages import interrupted_tail
from enso.server.shapes import refusal_shape, usage_shape
from enso.server.waiting import activity_shape

__all__ = [
    "cold_status",
    "last_refusal",
    "live_context",
    "live_status",
    "mode_shape",
    "usage_shape",
]

Word = Literal["cold", "held", "busy", "needs you", "refused", "interrupted"]


def last_refusal(entries: Sequence[transcript.TranscriptEntry]) -> transcript.Refusal | None:
    """The refusal that the branch ends in; a reply or a new prompt after it clears it."""
    for entry in reversed(entries):
        if isinstance(entry, transcript.TranscriptMessage):
            return entry.refusal
    return None


def cold_status(entries: Sequence[transcript.TranscriptEntry]) -> wire.StatusFrame:
    """The status of a thread of which nothing is built, by how its branch ends."""
    refusal = last_refusal(entries)
    word: Word = "refused" if refusal else "interrupted" if interrupted_tail(entries) else "cold"
    return wire.StatusFrame(
        live=False,
        busy=False,
        generation=0,
        word=word,
        refusal=refusal_shape(refusal) if refusal else None,
    )


def live_status(live: LiveThread) -> wire.StatusFrame:
    """The status of a live thread: busy while a run is in flight, else held, or how it ended."""
    if live.busy:
        return wire.StatusFrame(
            live=True,
            busy=True,
            generation=live.generation,
            word="needs you" if live.state.dialogs else "busy",
            activity=activity_shape(live.state.activity),
        )
    cold = cold_status(live.state.entries)
    word: Word = "held" if cold.word == "cold" else cold.word
    return cold.model_copy(update={"live": True, "generation": live.generation, "word": word})


def live_context(live: LiveThread) -> wire.Context | None:
    """How full the context was at the last request; ``None`` before any that tells."""
    model = live.hosted.runtime.model()
    for entry in reversed(live.state.entries):
        if isinstance(entry, transcript.TranscriptMarker) and entry.kind == "compaction":
            return None
        if isinstance(entry, transcript.TranscriptMessage) and entry.usage is not None:
            if entry.stop_reason in ("error", "aborted") or not entry.usage.total_tokens:
                continue
            return wire.Context(
                tokens=entry.usage.total_tokens, window=model.context_window if model else None
            )
    return None


def mode_shape(state: contract.PermissionModeState) -> wire.PermissionMode:
    """A permission mode as it is sent."""
    return wire.PermissionMode(
        mode=state.mode,
        agent=state.agent,
        modes=[
            wire.PermissionModeChoice(
                id=choice.id, label=choice.label, description=choice.description
            )
            for choice in state.modes
        ],
    )
