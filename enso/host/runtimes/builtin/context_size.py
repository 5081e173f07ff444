"""About how many tokens a context has: what the provider counted last, and letters after it.

Owns the estimate by which it is decided when a conversation is summed up (source: pi 1.6.0,
``estimateProjectedContextTokens``): four letters are a token, letters are counted as UTF-16.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from enso.host.runtimes.builtin.session_context import (
    Projected,
    Stored,
    blocks_of,
    objects_of,
    role_of,
    system_state,
)
from enso.host.stored_values import count_of, object_of, text_of

_LETTERS_OF_AN_IMAGE: Final = 4800
_LETTERS_OF_A_TOKEN: Final = 4
_CHANGES_WHAT_WAS_COUNTED: Final = ("context_edit", "compaction")


def context_tokens(projected: Sequence[Projected], branch: Sequence[Stored]) -> int:
    """The tokens of a context; a provider's count holds unless the context changed after it."""
    messages = [(entry, message) for entry, found in projected for message in found]
    counted = next(
        (i for i in range(len(messages) - 1, -1, -1) if counted_tokens(messages[i][1])), None
    )
    if counted is not None and _still_holds(messages[counted][0], branch):
        later = sum(message_tokens(message) for _, message in messages[counted + 1 :])
        return counted_tokens(messages[counted][1]) + later
    spoken = sum(message_tokens(m) for _, m in messages if role_of(m) != "system")
    return spoken + _system_tokens(message for _, message in messages)


def _still_holds(entry: Stored, branch: Sequence[Stored]) -> bool:
    """Whether nothing behind this entry of the branch changed what a provider is sent."""
    for later in reversed(branch):
        if later.get("id") == entry.get("id"):
            return True
        if later.get("type") in _CHANGES_WHAT_WAS_COUNTED:
            return False
    return False


def counted_tokens(message: Stored) -> int:
    """What the provider counted for this answer, input and output; 0 when it did not."""
    if role_of(message) != "assistant" or message.get("stopReason") in ("aborted", "error"):
        return 0
    usage = object_of(message.get("usage"))
    total = count_of(usage.get("totalTokens"))
    parts = ("input", "output", "cacheRead", "cacheWrite")
    return total or sum(count_of(usage.get(part)) or 0 for part in parts)


def message_tokens(message: Stored) -> int:
    """About how many tokens one message of a context has."""
    match role_of(message):
        case "system":
            return _system_tokens([message])
        case "assistant":
            letters = sum(_letters_of_block(block) for block in blocks_of(message.get("content")))
        case "user" | "custom" | "toolResult":
            letters = sum(_letters_said(block) for block in blocks_of(message.get("content")))
        case "bashExecution":
            letters = _letters(message.get("command")) + _letters(message.get("output"))
        case "branchSummary" | "compactionSummary":
            letters = _letters(message.get("summary"))
        case _:
            return 0
    return math.ceil(letters / _LETTERS_OF_A_TOKEN)


def _system_tokens(messages: Iterable[Stored]) -> int:
    """The tokens of what system messages come to, taken together."""
    state = system_state(messages)
    if state is None:
        return 0
    letters = _letters("\n\n".join(text for text in state.texts if text))
    letters += sum(_letters(text) for text in state.sections.values())
    letters += len(_json(list(state.tools.values()))) if state.tools else 0
    return math.ceil(letters / _LETTERS_OF_A_TOKEN)


def _letters_said(block: Stored) -> int:
    if block.get("type") == "image":
        return _LETTERS_OF_AN_IMAGE
    return _letters(block.get("text")) if block.get("type") == "text" else 0


def _letters_of_block(block: Stored) -> int:
    match block.get("type"):
        case "text":
            return _letters(block.get("text"))
        case "thinking":
            return _letters(block.get("thinking"))
        case "toolCall":
            return _letters(block.get("name")) + _letters(_json(block.get("arguments")))
        case _:
            return 0


def _letters(value: Any) -> int:
    text = text_of(value)
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""


def spoken(projected: Projected) -> list[Stored]:
    """The messages of an entry that are conversation; a summary before it is none."""
    if projected.entry.get("type") == "compaction":
        return []
    return [message for message in projected.messages if role_of(message) != "system"]


def files_touched(message: Stored) -> Iterable[tuple[str, str]]:
    """The tools that name a file in this message, and the files: ``("edit", "a.py")``."""
    blocks: Sequence[Mapping[str, Any]] = []
    if role_of(message) == "assistant":
        blocks = [b for b in blocks_of(message.get("content")) if b.get("type") == "toolCall"]
    elif role_of(message) == "toolResult":
        blocks = objects_of(object_of(message.get("nestedCalls")).get("calls"))
    for block in blocks:
        path = text_of(object_of(block.get("arguments")).get("path"))
        if path:
            yield text_of(block.get("name")), path
