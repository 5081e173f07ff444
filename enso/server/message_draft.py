"""A message under assembly: its entry, and what became of its calls so far.

Decodes nothing: it reads ``enso.transcript`` and writes ``enso.wire``, value by value as
``enso.server.shapes`` gives them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from enso import transcript, wire
from enso.server.shapes import (
    content_part,
    iso_time,
    json_value,
    mended,
    refusal_shape,
    usage_shape,
)

CallState = Literal["streaming", "running", "done", "failed", "interrupted"]


@dataclass(slots=True)
class Draft:
    """A message under assembly: its entry, and the results that came for its calls so far."""

    entry: transcript.TranscriptMessage | transcript.TranscriptMarker
    live: bool = False
    label: str | None = None
    turn: wire.TurnSpend | None = None
    results: dict[int, transcript.TranscriptToolResult] = field(
        default_factory=dict[int, transcript.TranscriptToolResult]
    )

    def calls(self) -> list[tuple[int, transcript.ToolCallPart]]:
        """The tool calls of this message with their places among its parts."""
        if not isinstance(self.entry, transcript.TranscriptMessage):
            return []
        parts = enumerate(self.entry.parts)
        return [(at, part) for at, part in parts if isinstance(part, transcript.ToolCallPart)]

    def waits(self) -> bool:
        """Whether a call of this message has no result."""
        return len(self.results) < len(self.calls())

    def message(self) -> wire.Message:
        """The message as it now is."""
        if isinstance(self.entry, transcript.TranscriptMarker):
            return _marker_message(self.entry, self.label)
        return self._spoken(self.entry)

    def _spoken(self, entry: transcript.TranscriptMessage) -> wire.Message:
        parts = (self._part(at, part) for at, part in enumerate(entry.parts))
        return wire.Message(
            id=mended(entry.id),
            role=entry.role,
            created_at=iso_time(entry.created_at),
            parts=[part for part in parts if part is not None],
            model=mended(entry.model) or None,
            provider=mended(entry.provider) or None,
            usage=usage_shape(entry.usage) if entry.usage else None,
            turn=self.turn,
            stop_reason=entry.stop_reason,
            refusal=refusal_shape(entry.refusal) if entry.refusal else None,
            duration_ms=entry.duration_ms,
            label=mended(self.label) if self.label else None,
        )

    def _part(self, at: int, part: transcript.Part) -> wire.MessagePart | None:
        if not isinstance(part, transcript.ToolCallPart):
            return content_part(part, entry_id=mended(self.entry.id), number=at)
        result = self.results.get(at)
        return wire.ToolCallPart(
            id=mended(part.id),
            name=mended(part.name),
            arguments=json_value(part.arguments),
            state=self._state(result),
            result=_result_shape(result) if result else None,
            duration_ms=result.duration_ms if result else None,
        )

    def _state(self, result: transcript.TranscriptToolResult | None) -> CallState:
        if result is not None:
            return "failed" if result.is_error else "done"
        return "running" if self.live else "interrupted"


def _marker_message(entry: transcript.TranscriptMarker, label: str | None) -> wire.Message:
    text = mended(entry.text)
    return wire.Message(
        id=mended(entry.id),
        role="marker",
        created_at=iso_time(entry.created_at),
        parts=[wire.TextPart(content=text)] if text.strip() else [],
        title=mended(entry.title),
        marker=entry.kind,
        label=mended(label) if label else None,
    )


def _result_shape(entry: transcript.TranscriptToolResult) -> wire.ToolResult:
    entry_id = mended(entry.id)
    parts = [
        content_part(part, entry_id=entry_id, number=number)
        for number, part in enumerate(entry.parts)
    ]
    return wire.ToolResult(
        content=[part for part in parts if isinstance(part, wire.TextPart | wire.ImagePart)],
        is_error=entry.is_error,
        details=json_value(entry.details),
    )
