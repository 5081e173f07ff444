"""One live thread in full: what its runtime holds, entry by entry, for a person to check."""

from __future__ import annotations

from enso import transcript, wire
from enso.server.emitted import told_events
from enso.server.live_state import LiveThread
from enso.server.shapes import iso_seconds, iso_time, mended
from enso.server.status import mode_shape

MAX_TEXT = 2000


def inspection(thread_id: str, live: LiveThread) -> wire.ThreadInspection:
    """The inspection as it is sent. The thread's lock is held."""
    seen = live.hosted.inspect()
    return wire.ThreadInspection(
        thread_id=thread_id,
        session_id=seen.session_id,
        cwd=mended(str(seen.cwd)),
        session_dir=mended(str(seen.session_dir)),
        session_file=mended(str(seen.session_file)) if seen.session_file else None,
        permission_mode=mode_shape(live.state.permission_mode),
        commands=list(seen.commands),
        busy=live.busy,
        generation=live.generation,
        last_activity_at=iso_seconds(live.last_activity),
        name=mended(seen.name) if seen.name else None,
        loaded_extension_paths=[mended(path) for path in live.hosted.loaded_extension_paths],
        emitted_events=told_events(live.hosted.emitted_events()),
        entries=[inspected(entry) for entry in seen.entries],
        runtime=mended(seen.runtime) or None,
        unknown_events={mended(kind): count for kind, count in seen.unknown_events.items()},
        said=[mended(line) for line in seen.said],
    )


def inspected(entry: transcript.TranscriptEntry) -> wire.InspectedEntry:
    """One entry: its kind, and the text it holds, cut."""
    kind, text = _kind_and_text(entry)
    return wire.InspectedEntry(
        id=mended(entry.id),
        kind=mended(kind),
        created_at=iso_time(entry.created_at),
        text=mended(text[:MAX_TEXT]) or None,
    )


def _kind_and_text(entry: transcript.TranscriptEntry) -> tuple[str, str]:
    match entry:
        case transcript.TranscriptMessage():
            return f"message:{entry.role}", _text(entry.parts)
        case transcript.TranscriptToolResult():
            return f"tool-result:{entry.tool_name}", _text(entry.parts)
        case transcript.TranscriptMarker():
            return f"marker:{entry.kind}", entry.title
        case transcript.TranscriptCustom():
            return f"custom:{entry.custom_type}", ""
        case transcript.TranscriptModelChange():
            return "model-change", f"{entry.provider}/{entry.model}"
        case transcript.TranscriptThinkingLevel():
            return "thinking-level", entry.level
        case transcript.TranscriptLabel():
            return "label", entry.label
        case transcript.TranscriptOther():
            return entry.kind, ""


def _text(parts: tuple[transcript.Part, ...]) -> str:
    texts = [
        part.text
        for part in parts
        if isinstance(part, transcript.TextPart | transcript.ThinkingPart)
    ]
    calls = [f"{part.name}()" for part in parts if isinstance(part, transcript.ToolCallPart)]
    return "\n".join([*texts, *calls])
