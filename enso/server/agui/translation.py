"""A thread's frames as the events of one AG-UI run.

A message is looked at whole, again and again, and what of it was not told yet is told: so a new
snapshot in place of lost frames tells the rest, and nothing twice. What the client has from before
(``begin``) is not told at all. This module knows frames and events; it reads and sends nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ContentPart,
    CustomEvent,
    DataSource,
    ImagePart,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TextPart,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from enso import wire

Events = Iterator[BaseEvent]


@dataclass(slots=True)
class _Told:
    """What was told of one part: how many characters, and whether it is over."""

    characters: int = 0
    begun: bool = False
    ended: bool = False
    answered: bool = False


@dataclass(slots=True)
class _Seen:
    """A message as it is known, and what was told of each of its parts."""

    message: wire.Message
    parts: dict[int, _Told] = field(default_factory=dict[int, _Told])
    refusal_told: bool = False

    def told(self, index: int) -> _Told:
        return self.parts.setdefault(index, _Told())


class Translation:
    """The messages of one run. ``own_prompt``: the first prompt is the client's, which has it."""

    def __init__(self, *, own_prompt: bool) -> None:
        self._own_prompt = own_prompt
        self._seen: dict[str, _Seen] = {}
        self._before: set[str] = set()

    def begin(self, messages: Iterable[wire.Message]) -> None:
        """Take down what the client has already; of calls that run it still gets the results."""
        for message in messages:
            for _ in self._look(message):
                pass
        self._before = set(self._seen)

    def take(self, frame: wire.Frame) -> Events:
        """The events that a frame brings."""
        match frame:
            case wire.SnapshotFrame():
                for message in frame.messages:
                    yield from self._look(message)
            case wire.MessageFrame():
                yield from self._look(frame.message)
            case wire.PartFrame():
                yield from self._part(frame)
            case wire.PartDeltaFrame():
                yield from self._delta(frame)
            case wire.MessageDroppedFrame():
                yield from self._drop(frame.message_id)
            case wire.NoticeFrame():
                yield CustomEvent(name="enso.notice", value=frame.message)
            case wire.ToolProgressFrame():
                value = {"toolCallId": frame.call_id, "text": frame.text}
                yield CustomEvent(name="enso.tool-progress", value=value)
            case _:
                pass

    def end(self) -> Events:
        """What closes the messages that are still open."""
        for message_id in self._seen:
            yield from self._drop(message_id)

    def messages(self) -> Sequence[wire.Message]:
        """The messages of this run so far, oldest first."""
        return [seen.message for key, seen in self._seen.items() if key not in self._before]

    # -- within -----------------------------------------------------------------------------------

    def _look(self, message: wire.Message) -> Events:
        if message.role == "marker":
            return
        new = message.id not in self._seen
        seen = self._seen.setdefault(message.id, _Seen(message))
        seen.message = message
        if new and message.role == "user" and self._own_prompt:
            self._own_prompt = False
            return
        last = len(message.parts) - 1
        for index, part in enumerate(message.parts):
            yield from self._tell(seen, index, part, whole=not message.streaming or index < last)
        if message.refusal is not None and not seen.refusal_told:
            seen.refusal_told = True
            yield CustomEvent(name="enso.refused", value=message.refusal.model_dump())

    def _part(self, frame: wire.PartFrame) -> Events:
        seen = self._seen.get(frame.message_id)
        if seen is None:
            return
        parts = list(seen.message.parts)
        parts[frame.index : frame.index + 1] = [frame.part]
        yield from self._look(seen.message.model_copy(update={"parts": parts}))

    def _delta(self, frame: wire.PartDeltaFrame) -> Events:
        seen = self._seen.get(frame.message_id)
        if seen is None or frame.index >= len(seen.message.parts):
            return
        told, part = seen.told(frame.index), seen.message.parts[frame.index]
        if not isinstance(part, wire.TextPart | wire.ThinkingPart) or told.ended:
            return
        key = _part_id(seen.message, frame.index)
        if not told.begun:
            told.begun = True
            yield from _begins(part, key, seen.message.role)
        # Told at once, and not kept: what a message of 200 kB costs does not grow with it.
        told.characters += len(frame.delta)
        yield _content(part)(key, frame.delta)

    def _drop(self, message_id: str) -> Events:
        seen = self._seen.get(message_id)
        if seen is None:
            return
        for index, told in seen.parts.items():
            if told.begun and not told.ended:
                told.ended = True
                yield from _ends(seen.message.parts[index], _part_id(seen.message, index))

    def _tell(self, seen: _Seen, index: int, part: wire.MessagePart, *, whole: bool) -> Events:
        told = seen.told(index)
        if isinstance(part, wire.ToolCallPart):
            yield from _tell_call(part, seen.message.id, told)
        elif isinstance(part, wire.TextPart | wire.ThinkingPart) and not told.ended:
            key = _part_id(seen.message, index)
            if not told.begun and (part.content or whole):
                told.begun = True
                yield from _begins(part, key, seen.message.role)
            if len(part.content) > told.characters:
                rest = part.content[told.characters :]
                told.characters = len(part.content)
                yield _content(part)(key, rest)
            if whole and told.begun:
                told.ended = True
                yield from _ends(part, key)


def _part_id(message: wire.Message, index: int) -> str:
    """The id of a part's message: the first part has the message's own."""
    return message.id if index == 0 else f"{message.id}.{index}"


def _begins(part: wire.TextPart | wire.ThinkingPart, key: str, role: str) -> Events:
    if isinstance(part, wire.TextPart):
        yield TextMessageStartEvent(message_id=key, role="user" if role == "user" else "assistant")
    else:
        yield ReasoningStartEvent(message_id=key)
        yield ReasoningMessageStartEvent(message_id=key, role="reasoning")


def _content(part: wire.TextPart | wire.ThinkingPart) -> Callable[[str, str], BaseEvent]:
    kind = (
        TextMessageContentEvent if isinstance(part, wire.TextPart) else ReasoningMessageContentEvent
    )
    return lambda key, delta: kind(message_id=key, delta=delta)


def _ends(part: wire.MessagePart, key: str) -> Events:
    if isinstance(part, wire.TextPart):
        yield TextMessageEndEvent(message_id=key)
    elif isinstance(part, wire.ThinkingPart):
        yield ReasoningMessageEndEvent(message_id=key)
        yield ReasoningEndEvent(message_id=key)


def _tell_call(call: wire.ToolCallPart, message_id: str, told: _Told) -> Events:
    if not told.begun:
        told.begun = True
        yield ToolCallStartEvent(
            tool_call_id=call.id, tool_call_name=call.name, parent_message_id=message_id
        )
    if call.state != "streaming" and not told.ended:
        told.ended = True
        yield ToolCallArgsEvent(tool_call_id=call.id, delta=json.dumps(call.arguments))
        yield ToolCallEndEvent(tool_call_id=call.id)
    if call.result is not None and not told.answered:
        told.answered = True
        yield ToolCallResultEvent(
            message_id=f"{call.id}.result",
            tool_call_id=call.id,
            content=result_content(call.result),
            role="tool",
            metadata={"isError": True} if call.result.is_error else None,
        )


def result_content(result: wire.ToolResult) -> Any:
    """What a tool answered: text, or parts when there are images among it."""
    if all(isinstance(part, wire.TextPart) for part in result.content):
        return "\n".join(part.content for part in result.content if isinstance(part, wire.TextPart))
    return [_result_part(part) for part in result.content]


def _result_part(part: wire.TextPart | wire.ImagePart) -> ContentPart:
    if isinstance(part, wire.TextPart):
        return TextPart(text=part.content)
    data = part.url.partition(";base64,")[2]
    return ImagePart(source=DataSource(value=data, mime_type=part.mime_type))
