"""A thread's history as AG-UI messages, and what a run used in the protocol's accounting."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from ag_ui.core import (
    AssistantMessage,
    ContentPart,
    DataSource,
    FunctionCall,
    ImagePart,
    Message,
    ReasoningMessage,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

from enso import wire
from enso.server.agui.translation import result_content


def conversation(messages: Iterable[wire.Message]) -> list[Message]:
    """The messages of a thread; markers, which no protocol message is like, are left out."""
    return [one for message in messages for one in _message(message)]


def used(messages: Iterable[wire.Message]) -> list[TokenUsage]:
    """The tokens of these messages' requests, one entry for each provider and model."""
    sums: dict[tuple[str, str], list[int]] = {}
    for message in messages:
        if message.usage is not None:
            counts = sums.setdefault((message.provider or "", message.model or ""), [0, 0, 0, 0])
            usage = message.usage
            for place, count in enumerate(
                (usage.input, usage.output, usage.cache_read, usage.cache_write)
            ):
                counts[place] += max(0, count)
    return [
        TokenUsage(
            provider=provider or None,
            model=model or None,
            input_tokens=fresh + read + written,
            output_tokens=output,
            total_tokens=fresh + read + written + output,
            cached_input_tokens=read,
            cache_write_input_tokens=written,
        )
        for (provider, model), (fresh, output, read, written) in sums.items()
    ]


def _message(message: wire.Message) -> Iterator[Message]:
    if message.role == "user":
        yield UserMessage(id=message.id, content=_content(message))
    elif message.role == "assistant":
        yield from _reply(message)


def _content(message: wire.Message) -> str | list[ContentPart]:
    if all(isinstance(part, wire.TextPart) for part in message.parts):
        texts = [part.content for part in message.parts if isinstance(part, wire.TextPart)]
        return "\n".join(texts)
    parts: list[ContentPart] = []
    for part in message.parts:
        if isinstance(part, wire.TextPart):
            parts.append(TextPart(text=part.content))
        elif isinstance(part, wire.ImagePart) and part.url:
            data = part.url.partition(";base64,")[2]
            parts.append(ImagePart(source=DataSource(value=data, mime_type=part.mime_type)))
    return parts


def _reply(message: wire.Message) -> Iterator[Message]:
    """A reply: what it thought, what it said with its calls, and each call's result."""
    for index, part in enumerate(message.parts):
        if isinstance(part, wire.ThinkingPart) and part.content:
            yield ReasoningMessage(id=f"{message.id}.thought.{index}", content=part.content)
    calls = [part for part in message.parts if isinstance(part, wire.ToolCallPart)]
    texts = [part.content for part in message.parts if isinstance(part, wire.TextPart)]
    said = "\n".join(texts) or (message.refusal.sentence if message.refusal else None)
    yield AssistantMessage(
        id=message.id, content=said, tool_calls=[_call(call) for call in calls] or None
    )
    for call in calls:
        if call.result is not None:
            yield ToolMessage(
                id=f"{call.id}.result", tool_call_id=call.id, content=result_content(call.result)
            )


def _call(call: wire.ToolCallPart) -> ToolCall:
    function = FunctionCall(name=call.name, arguments=json.dumps(call.arguments))
    return ToolCall(id=call.id, type="function", function=function)
