"""Pages of a branch that was read whole: which entries one holds, and what is said beside them.

Owns the rules that a page read from the end of a file keeps too (``enso.host.session_pages``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from enso.host.contract import StoredThreadPage, StoredThreadRead, TurnUsage, fills_window
from enso.host.session_images import leave_out
from enso.transcript import (
    Part,
    TextPart,
    ToolCallPart,
    TranscriptEntry,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptToolResult,
    Usage,
)


def page_of(
    read: StoredThreadRead,
    *,
    size: int,
    before: str | None = None,
    since: str | None = None,
    light: bool = False,
) -> StoredThreadPage | None:
    """A page of a whole reading, as ``AgentHost.read_stored_page`` describes it."""
    entries = read.entries
    messages = [at for at, entry in enumerate(entries) if is_message(entry)]
    if light and before is None and since is None:
        size = _window(entries, messages, size)
    stretch = _stretch(entries, messages, size, before, since)
    if stretch is None:
        return None
    first, end = stretch
    start = messages[first] if first < len(messages) else len(entries)
    page = without_bytes(entries[start:end])
    return StoredThreadPage(
        id=read.id,
        cwd=read.cwd,
        entries=page,
        later=without_bytes(later_entries(page, OpenCalls(page), entries[end:])),
        turn_before=_turn_before(entries, start) if page else TurnUsage(),
        messages_before=first,
        message_count=len(messages),
        state=without_bytes(entries),
        heading=next((text for entry in entries if (text := heading_in(entry))), ""),
        usage=read.usage,
        name=read.name,
        labels=read.labels,
        skipped_lines=read.skipped_lines,
    )


def without_bytes(entries: Iterable[TranscriptEntry]) -> tuple[TranscriptEntry, ...]:
    """The entries as a page has them: it tells of their images and does not hold them."""
    return tuple(leave_out(entry) or entry for entry in entries)


def _stretch(
    entries: Sequence[TranscriptEntry],
    messages: Sequence[int],
    size: int,
    before: str | None,
    since: str | None,
) -> tuple[int, int] | None:
    """The number of the stretch's first message, and the index where the stretch ends."""
    named = before if before is not None else since
    if named is None:
        return max(0, len(messages) - size), len(entries)
    newest_first = range(len(messages) - 1, -1, -1)
    number = next((at for at in newest_first if entries[messages[at]].id == named), None)
    if number is None:
        return None
    if before is None:
        return number, len(entries)
    if number == 0:
        return 0, messages[0]
    return max(0, number - size), messages[number]


def _window(entries: Sequence[TranscriptEntry], messages: Sequence[int], size: int) -> int:
    """How many of the last messages fill a window, and not more than ``size``."""
    tall = 0
    for number, at in enumerate(reversed(messages[-size:]), 1):
        tall += not any(isinstance(one, TranscriptToolResult) for one in entries[at + 1 : at + 2])
        if fills_window(messages=number, tall=tall):
            return number
    return size


def is_message(entry: TranscriptEntry) -> bool:
    """Whether a reader sees the entry as a message."""
    return isinstance(entry, TranscriptMessage | TranscriptMarker)


def heading_in(entry: TranscriptEntry) -> str:
    """What a prompt heads its thread with; empty for anything else."""
    if not isinstance(entry, TranscriptMessage) or entry.role != "user":
        return ""
    return heading_of(entry.parts)


def heading_of(parts: Iterable[Part]) -> str:
    """The texts among a prompt's parts that are not blank."""
    texts = (part.text for part in parts if isinstance(part, TextPart))
    return " ".join(text for text in texts if text.strip())


class OpenCalls:
    """The calls of a stretch that have no result yet, by their ids, as entries come.

    A result answers the newest call of its id that has none; a call takes its id over.
    """

    def __init__(self, entries: Iterable[TranscriptEntry] = ()) -> None:
        self._open: Counter[str] = Counter()
        for entry in entries:
            self.add(entry)

    @property
    def ids(self) -> frozenset[str]:
        """The ids of calls that wait for a result."""
        return frozenset(call_id for call_id, count in self._open.items() if count)

    def add(self, entry: TranscriptEntry) -> None:
        """Take the next entry of the stretch."""
        calls = _calls(entry)
        self.take_over(entry)
        self._open.update(calls)
        if isinstance(entry, TranscriptToolResult):
            self.answer(entry)

    def answer(self, result: TranscriptToolResult) -> bool:
        """Whether a call waited for this result; it waits no more."""
        waited = self._open[result.tool_call_id] > 0
        if waited:
            self._open[result.tool_call_id] -= 1
        return waited

    def take_over(self, entry: TranscriptEntry) -> None:
        """Take an entry behind the stretch: results of its calls' ids are its own."""
        for call_id in _calls(entry):
            self._open.pop(call_id, None)


def _calls(entry: TranscriptEntry) -> list[str]:
    if not isinstance(entry, TranscriptMessage):
        return []
    return [part.id for part in entry.parts if isinstance(part, ToolCallPart)]


def later_entries(
    stretch: Sequence[TranscriptEntry], calls: OpenCalls, behind: Iterable[TranscriptEntry]
) -> Iterator[TranscriptEntry]:
    """What of the entries behind a stretch belongs to it; ``calls`` are those open in it."""
    turn = ends_in_turn(stretch)
    if not turn and not calls.ids:
        return
    for entry in behind:
        turn = turn and not _is_prompt(entry)
        calls.take_over(entry)
        answers = isinstance(entry, TranscriptToolResult) and calls.answer(entry)
        if turn or answers:
            yield entry
        if not turn and not calls.ids:
            return


def ends_in_turn(stretch: Sequence[TranscriptEntry]) -> bool:
    """Whether the last turn of a stretch has a reply that may be its last."""
    return any(
        isinstance(entry, TranscriptMessage) and entry.stop_reason != "tool-use"
        for entry in turn_part(stretch)
    )


def turn_part(entries: Sequence[TranscriptEntry]) -> Sequence[TranscriptEntry]:
    """The entries behind the last prompt."""
    for at in range(len(entries) - 1, -1, -1):
        if _is_prompt(entries[at]):
            return entries[at + 1 :]
    return entries


def _turn_before(entries: Sequence[TranscriptEntry], start: int) -> TurnUsage:
    """What the turn used that goes on in the entry at ``start``."""
    if _is_prompt(entries[start]):
        return TurnUsage()
    return _turn_usage(turn_part(entries[:start]))


def _turn_usage(entries: Iterable[TranscriptEntry]) -> TurnUsage:
    """What these entries of a turn used."""
    requests, usage = 0, Usage()
    for entry in entries:
        if isinstance(entry, TranscriptMessage) or entry.usage is not None:
            requests += 1
            usage += entry.usage or Usage()
    return TurnUsage(requests, usage)


def _is_prompt(entry: TranscriptEntry) -> bool:
    return isinstance(entry, TranscriptMessage) and entry.role == "user"
