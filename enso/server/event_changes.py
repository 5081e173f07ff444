"""What a runtime's event changes beside the messages: status, spend, mode, model, the rail's marks.

Called with the slot's lock held, after the event was taken into the live state.
"""

from __future__ import annotations

from typing import Final

from enso import transcript, wire
from enso.host import contract
from enso.server.live_state import Change, LiveThread
from enso.server.models import model_in_use
from enso.server.status import live_context, live_status, mode_shape, usage_shape

_STATUS_EVENTS: Final = (
    contract.DialogOpened,
    contract.DialogClosed,
    contract.ActivityChanged,
)
_UNMARKED: Final = (
    contract.MessageStarted,
    contract.PartStarted,
    contract.PartDelta,
    contract.PartReplaced,
    contract.MessageDropped,
    contract.RunNotice,
    contract.ToolProgress,
    contract.QueueChanged,
    contract.ActivityChanged,
)


def changes_marks(event: contract.ThreadEvent) -> bool:
    """Whether the rail may show a thread otherwise after this event."""
    return not isinstance(event, _UNMARKED)


def beside_messages(
    host: contract.AgentHost, live: LiveThread, event: contract.ThreadEvent
) -> list[Change]:
    """The frames that an event calls for beside those of its messages."""
    if isinstance(event, contract.EntryStored):
        return _after_entry(host, live, event.entry)
    if isinstance(event, _STATUS_EVENTS):
        return [Change(live_status(live))]
    return []


def _after_entry(
    host: contract.AgentHost, live: LiveThread, entry: transcript.TranscriptEntry
) -> list[Change]:
    if entry.usage is not None:
        usage = usage_shape(live.state.usage)
        return [Change(wire.UsageFrame(usage=usage, context=live_context(live)))]
    if isinstance(entry, transcript.TranscriptCustom):
        live.state.permission_mode = live.hosted.permission_mode()
        mode = mode_shape(live.state.permission_mode)
        return [Change(wire.ModeFrame(permission_mode=mode))]
    if isinstance(entry, (transcript.TranscriptModelChange, transcript.TranscriptThinkingLevel)):
        used = model_in_use(host, live.hosted.runtime.model(), live.state.entries)
        return [Change(wire.ModelFrame(model=used))]
    return []
