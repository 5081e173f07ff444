"""A response of the library as the assistant message that pi stores.

Owns the content blocks with their signatures, the counts, and how an answer ended, for each of the
four protocols (source: pi 1.6.0). Imported only when a prompt runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from enso.host.runtimes.builtin.spend import Tokens
from enso.host.runtimes.models.model import Model

_REDACTED: Final = "[Reasoning redacted]"
_CHAT_THINKING_FIELDS: Final = frozenset({"reasoning", "reasoning_content", "reasoning_text"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an answer ended: pi's stop reason, the provider's own word, and what went wrong.

    ``retry_after`` is how many milliseconds a provider that refused asked to wait.
    """

    stop_reason: str
    raw: str | None = None
    error: str | None = None
    retry_after: int | None = None


# -- content --------------------------------------------------------------------------------------


def stored_content(parts: Sequence[ModelResponsePart], model: Model) -> list[dict[str, Any]]:
    """The content blocks for the parts of a response, complete or not."""
    blocks: list[dict[str, Any]] = []
    reasoning: dict[str, list[ThinkingPart]] = {}
    for part in parts:
        if isinstance(part, TextPart) and part.content:
            blocks.append(_text_block(part, model))
        elif isinstance(part, ThinkingPart) and model.api == "openai-responses" and part.id:
            # One reasoning item may come as several parts: a summary has paragraphs.
            if part.id in reasoning:
                reasoning[part.id].append(part)
            else:
                reasoning[part.id] = [part]
                blocks.append({"type": "thinking", "item": part.id})
        elif isinstance(part, ThinkingPart):
            blocks.append(_thinking_block(part, model))
        elif isinstance(part, ToolCallPart):
            blocks.append(_tool_call_block(part, model))
    return [
        _reasoning_block(reasoning[block["item"]]) if "item" in block else block for block in blocks
    ]


def _text_block(part: TextPart, model: Model) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": part.content}
    if model.api == "openai-responses" and part.id:
        block["textSignature"] = _dump({"v": 1, "id": part.id})
    elif signature := _google_signature(part, model):
        block["textSignature"] = signature
    return block


def _thinking_block(part: ThinkingPart, model: Model) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "thinking", "thinking": part.content}
    if model.api == "openai-completions":
        if part.id in _CHAT_THINKING_FIELDS:
            block["thinkingSignature"] = part.id
    elif model.api == "anthropic-messages":
        block["thinkingSignature"] = part.signature or ""
        if part.id == "redacted_thinking":
            block |= {"thinking": _REDACTED, "redacted": True}
    elif signature := _google_signature(part, model):
        block["thinkingSignature"] = signature
    return block


def _reasoning_block(parts: Sequence[ThinkingPart]) -> dict[str, Any]:
    """A reasoning item of the responses protocol, kept whole in the signature for its replay."""
    texts = [part.content for part in parts if part.content]
    block: dict[str, Any] = {"type": "thinking", "thinking": "\n\n".join(texts)}
    encrypted = next((part.signature for part in parts if part.signature), None)
    if encrypted:
        item = {
            "id": parts[0].id,
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": text} for text in texts],
            "encrypted_content": encrypted,
        }
        block["thinkingSignature"] = _dump(item)
    return block


def _tool_call_block(part: ToolCallPart, model: Model) -> dict[str, Any]:
    call_id = part.tool_call_id
    if model.api == "openai-responses" and part.id:
        call_id = f"{call_id}|{part.id}"
    block: dict[str, Any] = {
        "type": "toolCall",
        "id": call_id,
        "name": part.tool_name,
        "arguments": arguments_of(part),
    }
    if signature := _google_signature(part, model):
        block["thoughtSignature"] = signature
    return block


def arguments_of(part: ToolCallPart) -> dict[str, Any]:
    """The arguments as an object; empty while they are no whole JSON object."""
    if isinstance(part.args, dict):
        return part.args
    try:
        value: Any = json.loads(part.args or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _google_signature(part: ModelResponsePart, model: Model) -> str | None:
    if model.api != "google-generative-ai":
        return None
    signature = (part.provider_details or {}).get("thought_signature")
    return signature if isinstance(signature, str) else None


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# -- counts ---------------------------------------------------------------------------------------


def tokens_of(usage: RequestUsage, model: Model) -> Tokens | None:
    """What the request used, as pi counts it; ``None`` when the provider has not told."""
    if not (usage.input_tokens or usage.output_tokens):
        return None
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    reasoning = _reasoning_tokens(usage.details)
    if reasoning is None and model.api != "anthropic-messages":
        reasoning = 0
    return Tokens(
        input=max(0, usage.input_tokens - cached),
        output=usage.output_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
        reasoning=reasoning,
    )


def _reasoning_tokens(details: Mapping[str, int]) -> int | None:
    for name in ("reasoning_tokens", "thoughts_tokens", "thinking_tokens"):
        if name in details:
            return details[name]
    return None


# -- endings --------------------------------------------------------------------------------------


def ending_of(response: ModelResponse, model: Model) -> Ending:
    """How an answer that came to its end ended."""
    details = response.provider_details or {}
    raw = details.get("finish_reason")
    raw = str(raw) if raw is not None else None
    if raw is None:
        return _unfinished(response, model, details)
    wants_tool = any(isinstance(part, ToolCallPart) for part in response.parts)
    match model.api:
        case "openai-completions":
            ending = _chat_ending(raw)
        case "openai-responses":
            ending = _responses_ending(raw)
        case "anthropic-messages":
            ending = _anthropic_ending(raw, details)
        case "google-generative-ai":
            ending = _google_ending(raw)
    if ending.stop_reason == "stop" and wants_tool:
        return Ending(stop_reason="toolUse", raw=ending.raw)
    return ending


def _unfinished(response: ModelResponse, model: Model, details: Mapping[str, Any]) -> Ending:
    if response.finish_reason == "content_filter":
        reason = details.get("block_reason") or details.get("refusal") or "content_filter"
        return Ending(
            stop_reason="error", error=f"Provider finish_reason: content_filter: {reason}"
        )
    if model.api == "openai-completions" and model.compat.get("supportsFinishReason") is False:
        wants_tool = any(isinstance(part, ToolCallPart) for part in response.parts)
        return Ending(stop_reason="toolUse" if wants_tool else "stop")
    error = {
        "openai-completions": "Stream ended without finish_reason",
        "openai-responses": "OpenAI Responses stream ended before a terminal response event",
        "anthropic-messages": "Anthropic stream ended before message_stop",
        "google-generative-ai": "Google stream ended without a finish reason",
    }[model.api]
    return Ending(stop_reason="error", error=error)


def _chat_ending(raw: str) -> Ending:
    known = {"stop": "stop", "end": "stop", "length": "length"}
    known |= {"tool_calls": "toolUse", "function_call": "toolUse"}
    if raw in known:
        return Ending(stop_reason=known[raw], raw=raw)
    return Ending(stop_reason="error", raw=raw, error=f"Provider finish_reason: {raw}")


def _responses_ending(raw: str) -> Ending:
    if raw == "completed":
        return Ending(stop_reason="stop", raw=raw)
    word = f"incomplete.{raw}"
    if raw == "max_output_tokens":
        return Ending(stop_reason="length", raw=word)
    return Ending(stop_reason="error", raw=word, error=f"Response incomplete: {raw}")


def _anthropic_ending(raw: str, details: Mapping[str, Any]) -> Ending:
    known = {"end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop"}
    known |= {"max_tokens": "length", "tool_use": "toolUse"}
    if raw in known:
        return Ending(stop_reason=known[raw], raw=raw)
    if raw == "refusal":
        said = details.get("explanation") or "The model refused to complete the request"
        return Ending(
            stop_reason="error", raw=raw, error=f"Provider finish_reason: refusal: {said}"
        )
    return Ending(stop_reason="error", raw=raw, error=f"Provider stopped with: {raw}")


def _google_ending(raw: str) -> Ending:
    if raw == "STOP":
        return Ending(stop_reason="stop", raw=raw)
    if raw in ("MAX_TOKENS", "CONTINUATION"):
        return Ending(stop_reason="length", raw=raw)
    return Ending(stop_reason="error", raw=raw, error=f"Provider stopped with: {raw}")
