"""Pages of the fake's threads: cut out of transcripts that are at hand, by plain loops."""

from __future__ import annotations

from msgspec.structs import replace

from enso.host.contract import StoredThreadPage, StoredThreadRead, TurnUsage, fills_window
from enso.images import SMALL, told_size
from enso.transcript import (
    ImagePart,
    ImageSketch,
    TextPart,
    ToolCallPart,
    TranscriptEntry,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptToolResult,
    Usage,
)


def fake_page(
    read: StoredThreadRead, size: int, before: str | None, since: str | None
) -> StoredThreadPage | None:
    """The page that is asked for; ``None`` when its message is not there."""
    entries = list(read.entries)
    shown = [at for at, one in enumerate(entries) if _shown(one)]
    named = [number for number, at in enumerate(shown) if entries[at].id in (before, since)]
    if (before is not None or since is not None) and not named:
        return None
    if before is not None:
        last, end = named[-1], shown[named[-1]]
        first = max(0, last - size)
    elif since is not None:
        first, end = named[-1], len(entries)
    else:
        first, end = max(0, len(shown) - size), len(entries)
    start = shown[first] if first < len(shown) else end
    entries = [_without_images(entry) for entry in entries]
    stretch = tuple(entries[start:end])
    return StoredThreadPage(
        id=read.id,
        cwd=read.cwd,
        entries=stretch,
        later=tuple(_later(stretch, entries[end:])),
        turn_before=_turn_before(entries[:start]),
        messages_before=first,
        message_count=len(shown),
        state=tuple(entries),
        heading=_heading(entries),
        usage=read.usage,
        name=read.name,
        labels=read.labels,
        skipped_lines=read.skipped_lines,
    )


def messages_of_window(read: StoredThreadRead) -> int:
    """How many of the last messages fill a window; all where they do not."""
    entries = list(read.entries)
    shown = [at for at, one in enumerate(entries) if _shown(one)]
    followed = {at for at, one in enumerate(entries, -1) if isinstance(one, TranscriptToolResult)}
    for count in range(1, len(shown) + 1):
        tall = len(set(shown[-count:]) - followed)
        if fills_window(messages=count, tall=tall):
            return count
    return len(shown)


def _without_images(entry: TranscriptEntry) -> TranscriptEntry:
    if not isinstance(entry, TranscriptMessage | TranscriptToolResult):
        return entry
    told = [
        ImagePart(part.mime_type, "", ImageSketch(len(part.data), told_size(part.data)))
        if isinstance(part, ImagePart) and len(part.data) > SMALL
        else part
        for part in entry.parts
    ]
    return replace(entry, parts=tuple(told))


def _shown(entry: TranscriptEntry) -> bool:
    return isinstance(entry, TranscriptMessage | TranscriptMarker)


def _calls(entry: TranscriptEntry) -> list[str]:
    parts = entry.parts if isinstance(entry, TranscriptMessage) else ()
    return [part.id for part in parts if isinstance(part, ToolCallPart)]


def _later(
    stretch: tuple[TranscriptEntry, ...], behind: list[TranscriptEntry]
) -> list[TranscriptEntry]:
    waiting: list[str] = []
    found: list[TranscriptEntry] = []
    in_turn = True
    for number, entry in enumerate([*stretch, *behind]):
        is_behind = number >= len(stretch)
        in_turn = in_turn and not (is_behind and _is_prompt(entry))
        taken = _calls(entry)
        waiting = [call for call in waiting if call not in taken]
        waiting += [] if is_behind else taken
        answers = isinstance(entry, TranscriptToolResult) and entry.tool_call_id in waiting
        if isinstance(entry, TranscriptToolResult) and answers:
            waiting.remove(entry.tool_call_id)
        if is_behind and (in_turn or answers):
            found.append(entry)
    return found


def _turn_before(entries: list[TranscriptEntry]) -> TurnUsage:
    requests, usage = 0, Usage()
    for entry in entries:
        if _is_prompt(entry):
            requests, usage = 0, Usage()
        elif isinstance(entry, TranscriptMessage) or entry.usage is not None:
            requests += 1
            usage += entry.usage or Usage()
    return TurnUsage(requests, usage)


def _is_prompt(entry: TranscriptEntry) -> bool:
    return isinstance(entry, TranscriptMessage) and entry.role == "user"


def _heading(entries: list[TranscriptEntry]) -> str:
    for entry in entries:
        if isinstance(entry, TranscriptMessage) and entry.role == "user":
            texts = [part.text for part in entry.parts if isinstance(part, TextPart)]
            if any(text.strip() for text in texts):
                return " ".join(text for text in texts if text.strip())
    return ""
