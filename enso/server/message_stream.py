"""The messages of a branch one after the other, holding no more than can still change.

The same messages as ``enso.server.messages`` makes of the whole branch, for who sends them on: a
document of a thread of any length. A first walk over the branch tells what a document says before
its messages, and which results are still to come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from enso import transcript, wire
from enso.server.messages import MessageAssembler
from enso.server.shapes import iso_time, mended

HELD: Final = 50
"""Messages that are assembled together, where nothing keeps them longer."""


@dataclass(slots=True)
class Outline:
    """What a walk over a branch tells of its messages. ``results`` counts them by their calls."""

    messages: int = 0
    began: str | None = None
    models: dict[str, None] = field(default_factory=dict[str, None])
    results: Counter[str] = field(default_factory=Counter[str])

    def take(self, entry: transcript.TranscriptEntry) -> None:
        """The branch goes on with this entry."""
        if isinstance(entry, transcript.TranscriptToolResult):
            self.results[entry.tool_call_id] += 1
        if not isinstance(entry, transcript.TranscriptMessage | transcript.TranscriptMarker):
            return
        self.began = self.began or iso_time(entry.created_at)
        if isinstance(entry, transcript.TranscriptMessage):
            self.messages += 1
            if entry.model:
                self.models[mended(entry.model)] = None


def outlined(entries: Iterable[transcript.TranscriptEntry]) -> Outline:
    """The outline of a branch."""
    outline = Outline()
    for entry in entries:
        outline.take(entry)
    return outline


def outline_of(messages: Iterable[wire.Message]) -> Outline:
    """The outline of messages that are at hand."""
    outline = Outline()
    for message in messages:
        outline.began = outline.began or message.created_at
        outline.messages += message.role != "marker"
        if message.model and message.role != "marker":
            outline.models[message.model] = None
    return outline


def message_stream(
    entries: Iterable[transcript.TranscriptEntry],
    outline: Outline,
    labels: Mapping[str, str],
    *,
    held: int = HELD,
) -> Iterator[wire.Message]:
    """The messages of a branch with this outline, on which nothing runs."""
    to_come = Counter(outline.results)
    assembler, count, enough = MessageAssembler(labels=labels), 0, held
    for entry in entries:
        if isinstance(entry, transcript.TranscriptMessage | transcript.TranscriptMarker):
            if count >= enough:
                if _is_settled(assembler, entry, to_come):
                    yield from assembler.messages
                    requests, usage = assembler.spent
                    assembler = MessageAssembler(labels=labels, requests=requests, usage=usage)
                    count, enough = 0, held
                else:
                    enough += held if assembler.is_told else count  # what waits is looked through
            count += 1
        elif isinstance(entry, transcript.TranscriptToolResult):
            to_come[entry.tool_call_id] -= 1
        assembler.feed(entry)
    yield from assembler.messages


def _is_settled(
    assembler: MessageAssembler, following: transcript.TranscriptEntry, to_come: Counter[str]
) -> bool:
    """Whether no message so far can change by what comes, of which this entry is the next."""
    is_prompt = isinstance(following, transcript.TranscriptMessage) and following.role == "user"
    if assembler.is_told and not is_prompt:
        return False
    return not any(to_come[call_id] > 0 for call_id in assembler.waiting())
