"""Context messages of the format as messages of the model library, for one model.

Owns how signatures go back to each protocol, and that nothing goes out which a provider must refuse
(an empty message, a signature of another model). Imported only when a prompt runs.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, Final, cast

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from enso.host.decode import text_of
from enso.host.runtimes.builtin.context import arguments_text, is_same_model
from enso.host.runtimes.models.model import Model
from enso.host.session_context import Stored

_CHAT_THINKING_FIELDS: Final = frozenset({"reasoning", "reasoning_content", "reasoning_text"})
_PLAIN_CALL_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")


def library_messages(
    messages: Sequence[Stored], model: Model, *, system: str
) -> list[ModelMessage]:
    """The same conversation for the library. ``system`` is the name its provider object has.

    Requests and responses take turns as the library wants it: what follows one another on one side
    is one message of several parts.
    """
    turns: list[ModelMessage] = []
    for message in messages:
        if message["role"] == "assistant":
            parts = _response_parts(message, model, system)
            if parts:
                turns.append(_response(message, parts, system))
        elif request := _request_parts(message, model):
            turns.append(ModelRequest(parts=request))
    return turns


def _response(message: Stored, parts: list[ModelResponsePart], system: str) -> ModelResponse:
    response_id = message.get("responseId")
    return ModelResponse(
        parts=parts,
        model_name=text_of(message.get("model")),
        provider_name=system,
        provider_response_id=response_id if isinstance(response_id, str) else None,
    )


# -- from the person and from tools ---------------------------------------------------------------


def _request_parts(message: Stored, model: Model) -> list[ModelRequestPart]:
    if message["role"] == "system":
        return [SystemPromptPart(text_of(message["content"]))]
    content = _user_content(cast("list[Stored]", message["content"]))
    if message["role"] == "toolResult":
        return [_tool_return(message, content, model)]
    if not content:
        return []
    only_text = content[0] if len(content) == 1 else None
    return [UserPromptPart(only_text if isinstance(only_text, str) else content)]


def _user_content(blocks: Sequence[Stored]) -> list[UserContent]:
    content: list[UserContent] = []
    for block in blocks:
        if block.get("type") == "text" and (text := text_of(block.get("text"))):
            content.append(text)
        elif block.get("type") == "image" and (image := _image(block)):
            content.append(image)
    return content


def _image(block: Stored) -> BinaryContent | None:
    try:
        data = base64.b64decode(text_of(block.get("data")), validate=True)
    except (binascii.Error, ValueError):
        return None
    media_type = text_of(block.get("mimeType")) or "image/png"
    return BinaryContent(data=data, media_type=media_type) if data else None


def _tool_return(message: Stored, content: list[UserContent], model: Model) -> ToolReturnPart:
    texts = [item for item in content if isinstance(item, str)]
    text = "\n".join(texts) or ("(see attached image)" if content else "(no tool output)")
    images = [item for item in content if not isinstance(item, str)]
    # The OpenAI protocols have no word for a failed call: there the text alone says it.
    can_fail = model.api in ("anthropic-messages", "google-generative-ai")
    return ToolReturnPart(
        tool_name=text_of(message.get("toolName")),
        content=[text, *images] if images else text,
        tool_call_id=_call_id(message.get("toolCallId"), model),
        outcome="failed" if can_fail and message.get("isError") is True else "success",
    )


# -- from the model -------------------------------------------------------------------------------


def _response_parts(message: Stored, model: Model, system: str) -> list[ModelResponsePart]:
    own = is_same_model(message, model)
    parts: list[ModelResponsePart] = []
    for block in cast("list[Stored]", message["content"]):
        kind = block.get("type")
        if kind == "text" and (text := text_of(block.get("text"))):
            parts.append(_text(text, block, model, system) if own else TextPart(text))
        elif kind == "thinking" and own and (thought := _thinking(block, model, system)):
            parts.append(thought)
        elif kind == "toolCall":
            parts.append(_tool_call(block, model, system, own=own))
    # Thinking alone is no answer to anyone, and providers refuse it.
    return parts if any(not isinstance(part, ThinkingPart) for part in parts) else []


def _text(text: str, block: Stored, model: Model, system: str) -> TextPart:
    signature = text_of(block.get("textSignature"))
    if model.api == "google-generative-ai" and signature:
        details = {"thought_signature": signature}
        return TextPart(text, provider_name=system, provider_details=details)
    if model.api == "openai-responses" and (item := _json_object(signature)):
        return TextPart(text, id=text_of(item.get("id")) or None, provider_name=system)
    return TextPart(text)


def _thinking(block: Stored, model: Model, system: str) -> ThinkingPart | None:
    """What was thought, with the signature that its provider wants back; none without one."""
    text = text_of(block.get("thinking"))
    signature = text_of(block.get("thinkingSignature"))
    if model.api == "openai-completions":
        if signature not in _CHAT_THINKING_FIELDS or not text.strip():
            return None
        return ThinkingPart(text, id=signature, provider_name=system)
    if model.api == "google-generative-ai":
        details = {"thought_signature": signature} if signature else None
        return ThinkingPart(text, provider_name=system, provider_details=details) if text else None
    if not signature:
        return None
    if model.api == "openai-responses":
        return _reasoning_item(_json_object(signature), system)
    if block.get("redacted") is True:
        return ThinkingPart("", id="redacted_thinking", signature=signature, provider_name=system)
    return ThinkingPart(text, signature=signature, provider_name=system)


def _reasoning_item(item: dict[str, Any], system: str) -> ThinkingPart | None:
    """A stored reasoning item of the responses protocol."""
    encrypted, item_id = item.get("encrypted_content"), item.get("id")
    if not isinstance(encrypted, str) or not isinstance(item_id, str):
        return None
    summary = item.get("summary")
    texts = [
        text_of(cast("Stored", part).get("text"))
        for part in cast("list[Any]", summary if isinstance(summary, list) else [])
        if isinstance(part, dict)
    ]
    return ThinkingPart("\n\n".join(texts), id=item_id, signature=encrypted, provider_name=system)


def _tool_call(block: Stored, model: Model, system: str, *, own: bool) -> ToolCallPart:
    signature = text_of(block.get("thoughtSignature")) if own else ""
    google = model.api == "google-generative-ai" and bool(signature)
    return ToolCallPart(
        tool_name=text_of(block.get("name")),
        args=arguments_text(block.get("arguments")),
        tool_call_id=_call_id(block.get("id"), model),
        provider_name=system if google else None,
        provider_details={"thought_signature": signature} if google else None,
    )


def _call_id(stored: Any, model: Model) -> str:
    """A tool call's id as the protocol takes it: the ids of one are too long for another."""
    call_id = text_of(stored)
    if model.api == "openai-responses" or _PLAIN_CALL_ID.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode()).hexdigest()[:8]
    return f"{re.sub('[^A-Za-z0-9_-]', '_', call_id)[:31]}_{digest}"


def _json_object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text) if text.startswith("{") else None
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
