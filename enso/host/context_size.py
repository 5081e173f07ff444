"""About how many tokens a context has: what the provider counted last, and letters after it.

Owns the estimate by which it is decided when a conversation is summed up (source: pi 1.6.0,
``estimateProjectedContextTokens``): four letters are a token, letters are counted as UTF-16.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from enso.host.session_context import (
    Projected,
    Stored,
    SystemState,
    blocks_of,
    objects_of,
    role_of,
)
from enso.host.stored_values import count_of, object_of, text_of

LETTERS_OF_AN_IMAGE: Final = 4800
_LETTERS_OF_A_TOKEN: Final = 4
_CHANGES_WHAT_WAS_COUNTED: Final = ("context_edit", "compaction")


class Letters(int):
    """So many letters, in place of a content of which no more is known."""


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
    return tokens_of(message_letters(message))


def tokens_of(letters: int) -> int:
    """About how many tokens so many letters are."""
    return -(-letters // _LETTERS_OF_A_TOKEN)


def message_letters(message: Stored) -> int:
    """How many letters one message of a context has, an image counted as 4,800."""
    content = message.get("content")
    if type(content) is Letters:
        return content
    match role_of(message):
        case "system":
            size = SystemSize()
            size.take(message)
            return size.letters
        case "assistant" | "user" | "custom" | "toolResult":
            return sum(block_letters(block, message) for block in blocks_of(content))
        case "bashExecution":
            return letters_of(message.get("command")) + letters_of(message.get("output"))
        case "branchSummary" | "compactionSummary":
            return letters_of(message.get("summary"))
        case _:
            return 0


def block_letters(block: Stored, message: Stored) -> int:
    """How many letters a block of this message's content counts for."""
    kind = block.get("type")
    if kind == "text":
        return letters_of(block.get("text"))
    if role_of(message) != "assistant":
        return LETTERS_OF_AN_IMAGE if kind == "image" else 0
    if kind == "thinking":
        return letters_of(block.get("thinking"))
    if kind == "toolCall":
        return letters_of(block.get("name")) + json_letters(block.get("arguments"))
    return 0


class SystemSize:
    """The letters of what system messages come to, taken together, as one after the other comes.

    A message is taken at the cost of what it says; asking costs nothing.
    """

    def __init__(self) -> None:
        self._state = SystemState()
        self._texts = 0
        self._text_letters = 0
        self._sections: dict[str, int] = {}
        self._tools: dict[str, int] = {}

    def take(self, message: Stored) -> None:
        """One more system message."""
        state = self._state
        state.texts.clear()
        state.take(message)
        said = [text for text in state.texts if text]
        self._texts += len(said)
        self._text_letters += sum(map(letters_of, said))
        _follow(self._sections, state.sections, object_of(message.get("sections")), letters_of)
        tools = (*objects_of(message.get("toolsRemoved")), *objects_of(message.get("toolsAdded")))
        names = {text_of(tool.get("name")) for tool in tools}
        _follow(self._tools, state.tools, names, tool_letters)

    @property
    def tool_letters(self) -> int:
        """The letters of the tools alone: a list of JSON."""
        return sum(self._tools.values()) + len(self._tools) + 1 if self._tools else 0

    @property
    def letters(self) -> int:
        """All letters: texts with a blank line between, sections, tools."""
        texts = self._text_letters + 2 * max(0, self._texts - 1)
        return texts + sum(self._sections.values()) + self.tool_letters


def _follow(
    sizes: dict[str, int],
    state: Mapping[str, Any],
    names: Iterable[str],
    letters: Callable[[Any], int],
) -> None:
    """Bring the sizes of these names in line with a state."""
    for name in names:
        if name in state:
            sizes[name] = letters(state[name])
        else:
            sizes.pop(name, None)


def tool_letters(tool: Any) -> int:
    """The letters of a tool's definition, as JSON."""
    return json_letters(tool)


def _system_tokens(messages: Iterable[Stored]) -> int:
    """The tokens of what system messages come to, taken together."""
    size = SystemSize()
    for message in messages:
        if role_of(message) == "system":
            size.take(message)
    return tokens_of(size.letters)


def letters_of(value: Any) -> int:
    """The letters of a stored text as JavaScript counts them; 0 for what is no text."""
    if isinstance(value, str) and value.isascii():
        return len(value)
    return len(text_of(value).encode("utf-16-le")) // 2


def json_letters(value: Any) -> int:
    """The letters of a value, as JSON."""
    return letters_of(_json(value))


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
