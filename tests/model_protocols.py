"""The four protocols of the scripted model endpoint: a reply as server-sent events.

Each generator yields the events of one answer; ``None`` marks the place after the deltas, where a
reply can be held, cut or ended.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.model_replies import Reply

SIGNATURE = "EqQBCgIYAhIMc2lnbmF0dXJlIG9mIGEgdGhvdWdodA=="

Events = Iterator[str | None]


def _data(value: Any) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def _named(kind: str, **fields: Any) -> str:
    return f"event: {kind}\n{_data({'type': kind, **fields})}"


def _counts(reply: Reply) -> dict[str, int]:
    return {
        "input": 0,
        "cached": 0,
        "written": 0,
        "output": 0,
        "reasoning": 0,
        **(reply.usage or {}),
    }


def _chat_events(reply: Reply, model: str) -> Events:
    head = {
        "id": f"chatcmpl-{uuid.uuid4().hex[:24]}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
    }

    def event(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**head, "choices": [choice]})

    yield event({"role": "assistant", "content": ""})
    yield from (event({"reasoning_content": delta}) for delta in reply.thinking)
    yield from (event({"content": delta}) for delta in reply.text)
    for index, tool in enumerate(reply.tools):
        function = {"name": tool["name"], "arguments": json.dumps(tool["args"])}
        call_id = tool.get("id") or f"call_{uuid.uuid4().hex[:22]}"
        call = {"index": index, "id": call_id, "type": "function", "function": function}
        yield event({"tool_calls": [call]})
    yield None
    yield event({}, reply.finish or ("tool_calls" if reply.tools else "stop"))
    if reply.usage is not None:
        count = _counts(reply)
        usage = {
            "prompt_tokens": count["input"],
            "completion_tokens": count["output"],
            "total_tokens": count["input"] + count["output"],
            "prompt_tokens_details": {"cached_tokens": count["cached"]},
            "completion_tokens_details": {"reasoning_tokens": count["reasoning"]},
        }
        yield _data({**head, "choices": [], "usage": usage})
    yield "data: [DONE]\n\n"


def _anthropic_block(index: int, start: Mapping[str, Any], deltas: Sequence[Any]) -> Iterator[str]:
    yield _named("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield _named("content_block_delta", index=index, delta=delta)


def _anthropic_events(reply: Reply, model: str) -> Events:
    count = _counts(reply)
    usage = {
        "input_tokens": count["input"] - count["cached"] - count["written"],
        "cache_read_input_tokens": count["cached"],
        "cache_creation_input_tokens": count["written"],
        "output_tokens": 1,
    }
    message = {"id": f"msg_{uuid.uuid4().hex[:24]}", "type": "message", "role": "assistant"}
    message |= {"model": model, "content": [], "stop_reason": None, "stop_sequence": None}
    yield _named("message_start", message={**message, "usage": usage})
    index = 0
    if reply.thinking:
        deltas: list[Any] = [
            {"type": "thinking_delta", "thinking": part} for part in reply.thinking
        ]
        deltas.append({"type": "signature_delta", "signature": SIGNATURE})
        start = {"type": "thinking", "thinking": "", "signature": ""}
        yield from _anthropic_block(index, start, deltas)
        yield _named("content_block_stop", index=index)
        index += 1
    blocks: list[tuple[Mapping[str, Any], Sequence[Any]]] = []
    if reply.text:
        deltas = [{"type": "text_delta", "text": part} for part in reply.text]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for tool in reply.tools:
        call_id = tool.get("id") or f"toolu_{uuid.uuid4().hex[:22]}"
        start = {"type": "tool_use", "id": call_id, "name": tool["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(tool["args"])}
        blocks.append((start, [delta]))
    for number, (start, deltas) in enumerate(blocks):
        if number:
            yield _named("content_block_stop", index=index + number - 1)
        yield from _anthropic_block(index + number, start, deltas)
    yield None
    if blocks:
        yield _named("content_block_stop", index=index + len(blocks) - 1)
    finish = reply.finish or ("tool_use" if reply.tools else "end_turn")
    delta = {"stop_reason": finish, "stop_sequence": None}
    yield _named("message_delta", delta=delta, usage={"output_tokens": count["output"]})
    yield _named("message_stop")


def _responses_events(reply: Reply, model: str) -> Events:
    count, identity = _counts(reply), uuid.uuid4().hex
    response: dict[str, Any] = {"id": f"resp_{identity}", "object": "response", "model": model}
    response |= {"created_at": int(time.time()), "status": "in_progress", "output": []}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    sequence = iter(range(1_000_000))

    def event(kind: str, **fields: Any) -> str:
        return _named(kind, sequence_number=next(sequence), **fields)

    yield event("response.created", response=response)
    output: list[Any] = []
    if reply.thinking:
        yield from _responses_reasoning(event, reply, identity, output)
    if reply.text:
        item = {"id": f"msg_{identity}", "type": "message", "role": "assistant"}
        started = {**item, "status": "in_progress", "content": []}
        place = {"item_id": item["id"], "output_index": len(output), "content_index": 0}
        yield event("response.output_item.added", output_index=len(output), item=started)
        empty = {"type": "output_text", "text": "", "annotations": []}
        yield event("response.content_part.added", **place, part=empty)
        for delta in reply.text:
            yield event("response.output_text.delta", **place, delta=delta, logprobs=[])
        part = {**empty, "text": "".join(reply.text)}
        output.append({**item, "status": "completed", "content": [part]})
    said = len(output) - 1
    for tool in reply.tools:
        yield from _responses_call(event, tool, output)
    yield None
    if reply.text:
        yield event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield event("response.content_part.done", **place, part=part)
        yield event("response.output_item.done", output_index=said, item=output[said])
    usage = {
        "input_tokens": count["input"],
        "input_tokens_details": {"cached_tokens": count["cached"], "cache_write_tokens": 0},
        "output_tokens": count["output"],
        "output_tokens_details": {"reasoning_tokens": count["reasoning"]},
        "total_tokens": count["input"] + count["output"],
    }
    ended = {**response, "status": "completed", "output": output, "usage": usage}
    if reply.finish:
        ended |= {"status": "incomplete", "incomplete_details": {"reason": reply.finish}}
    yield event(f"response.{ended['status']}", response=ended)


def _responses_reasoning(
    event: Callable[..., str], reply: Reply, identity: str, output: list[Any]
) -> Iterator[str]:
    item = {"id": f"rs_{identity}", "type": "reasoning", "summary": []}
    place = {"item_id": item["id"], "output_index": 0, "summary_index": 0}
    text = "".join(reply.thinking)
    yield event("response.output_item.added", output_index=0, item=item)
    part = {"type": "summary_text", "text": ""}
    yield event("response.reasoning_summary_part.added", **place, part=part)
    for delta in reply.thinking:
        yield event("response.reasoning_summary_text.delta", **place, delta=delta)
    part = {"type": "summary_text", "text": text}
    yield event("response.reasoning_summary_text.done", **place, text=text)
    yield event("response.reasoning_summary_part.done", **place, part=part)
    output.append({**item, "summary": [part], "encrypted_content": SIGNATURE})
    yield event("response.output_item.done", output_index=0, item=output[0])


def _responses_call(
    event: Callable[..., str], tool: Mapping[str, Any], output: list[Any]
) -> Iterator[str]:
    call_id, item_id = tool.get("id") or f"call_{uuid.uuid4().hex[:22]}", f"fc_{uuid.uuid4().hex}"
    item = {"id": item_id, "type": "function_call", "call_id": call_id, "name": tool["name"]}
    index, arguments = len(output), json.dumps(tool["args"])
    started = {**item, "arguments": "", "status": "in_progress"}
    place = {"item_id": item_id, "output_index": index}
    yield event("response.output_item.added", output_index=index, item=started)
    yield event("response.function_call_arguments.delta", **place, delta=arguments)
    yield event(
        "response.function_call_arguments.done", **place, name=tool["name"], arguments=arguments
    )
    output.append({**item, "arguments": arguments, "status": "completed"})
    yield event("response.output_item.done", output_index=index, item=output[index])


def _google_events(reply: Reply, model: str) -> Events:
    count, identity = _counts(reply), uuid.uuid4().hex
    head = {"modelVersion": model, "responseId": identity}
    usage = {
        "promptTokenCount": count["input"],
        "cachedContentTokenCount": count["cached"],
        "candidatesTokenCount": count["output"] - count["reasoning"],
        "thoughtsTokenCount": count["reasoning"],
        "totalTokenCount": count["input"] + count["output"],
    }

    def event(parts: Sequence[Any], **fields: Any) -> str:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **fields}
        tail = {"usageMetadata": usage} if reply.usage is not None else {}
        return _data({"candidates": [candidate], **head, **tail})

    for delta in reply.thinking:
        yield event([{"text": delta, "thought": True}])
    for index, delta in enumerate(reply.text):
        signed = {"thoughtSignature": SIGNATURE} if reply.thinking and index == 0 else {}
        yield event([{"text": delta, **signed}])
    for tool in reply.tools:
        yield event([{"functionCall": {"name": tool["name"], "args": tool["args"]}}])
    yield None
    yield event([], finishReason=reply.finish or "STOP")


PROTOCOLS: Mapping[str, Callable[[Reply, str], Events]] = {
    "openai-completions": _chat_events,
    "openai-responses": _responses_events,
    "anthropic-messages": _anthropic_events,
    "google-generative-ai": _google_events,
}


def stream_error(api: str, error: Any) -> str:
    """An error said inside a 200 stream."""
    kind = "event: error\n" if api in ("anthropic-messages", "openai-responses") else ""
    return f"{kind}{_data(error)}"
