"""What a runtime told in its run, as it is sent: each event with what it is of.

Text that streamed comes in many events: those of one part are one row with their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from enso import transcript, wire
from enso.host import contract
from enso.server.shapes import mended

MOST_TEXT: Final = 200
"""Letters of an event's text that are sent."""

_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def told_events(events: Iterable[contract.ThreadEvent]) -> list[wire.EmittedEvent]:
    """The events in order, text of one part that came in a row as one."""
    told: list[wire.EmittedEvent] = []
    for event in events:
        row = _row(event)
        last = told[-1] if told else None
        if last is not None and (last.type, last.of) == (row.type, row.of) == _streams(event):
            text = f"{last.text or ''}{row.text or ''}"[:MOST_TEXT]
            told[-1] = last.model_copy(update={"times": last.times + 1, "text": text or None})
        else:
            told.append(row)
    return told


def _streams(event: contract.ThreadEvent) -> tuple[str, str | None] | None:
    """Type and origin of an event of which many come in a row."""
    is_text = isinstance(event, contract.PartDelta | contract.ToolProgress)
    return (_type(event), _of(event)) if is_text else None


def _row(event: contract.ThreadEvent) -> wire.EmittedEvent:
    text = mended(_text(event)[:MOST_TEXT])
    return wire.EmittedEvent(type=_type(event), of=_of(event), times=1, text=text or None)


def _type(event: contract.ThreadEvent) -> str:
    """The event's own name: ``part-delta``."""
    return _HUMP.sub("-", type(event).__name__).lower()


def _of(event: contract.ThreadEvent) -> str | None:
    """What an event is of: the id of a message with its part, an entry, a call or a dialog."""
    match event:
        case contract.EntryStored():
            of = event.entry.id
        case contract.PartStarted() | contract.PartDelta() | contract.PartReplaced():
            of = f"{event.message_id}/{event.index}"
        case contract.DialogOpened():
            of = event.dialog.id
        case _:
            own = {*event.__struct_fields__} & {"message_id", "dialog_id", "tool_call_id"}
            of = str(getattr(event, own.pop())) if own else ""
    return mended(of) or None


def _text(event: contract.ThreadEvent) -> str:
    """What an event brought, in a word or in its own text."""
    match event:
        case contract.EntryStored():
            text = type(event.entry).__name__.removeprefix("Transcript").lower()
        case contract.MessageStarted():
            text = f"{event.provider}/{event.model}"
        case contract.PartStarted() | contract.PartReplaced():
            text = _part(event.part)
        case contract.PartDelta() | contract.ToolProgress() | contract.DraftSuggested():
            text = event.text
        case contract.DialogOpened():
            text = event.dialog.title
        case contract.DialogClosed() | contract.RunSettled():
            text = event.outcome
        case contract.QueueChanged():
            text = f"{len(event.items)} waiting"
        case contract.ActivityChanged():
            text = " ".join(one for one in (event.activity.kind, event.activity.detail) if one)
        case contract.RunNotice():
            text = event.sentence
        case _:
            text = ""
    return text


def _part(part: transcript.Part) -> str:
    if isinstance(part, transcript.ToolCallPart):
        return f"tool call {part.name}"
    return type(part).__name__.removesuffix("Part").lower()
