"""What one model is told of a branch: the session's context, as messages of four roles.

Owns how what is no message becomes one, and what does not go out (source: pi 1.6.0,
``convertToLlm`` and ``transformMessages``): refused and aborted attempts are left out, a tool call
without a result gets one, thinking goes back only to the model that thought it, and images only to
one that sees. Knows nothing of the library that sends it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from enso.host.decode import text_of
from enso.host.runtimes.models.model import Model
from enso.host.session_context import (
    Stored,
    blocks_of,
    role_of,
    system_state,
)

_SUMMARY_BEFORE: Final = (
    "The conversation history before this point was compacted into the following summary:\n\n"
    "<summary>\n"
)
_SUMMARY_AFTER: Final = "\n</summary>"
_BRANCH_BEFORE: Final = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
)
_BRANCH_AFTER: Final = "</summary>"
_NO_IMAGES: Final = "(image omitted: model does not support images)"
_NO_TOOL_IMAGES: Final = "(tool image omitted: model does not support images)"
_NO_RESULT: Final = "No result provided"
_REPLAYED: Final = frozenset({"user", "assistant", "toolResult"})


def context_messages(context: Sequence[Stored], model: Model) -> list[Stored]:
    """The messages that ``model`` is sent of a session's context: one ``system`` at most, first.

    Roles are ``system``, ``user``, ``assistant`` and ``toolResult``; ``content`` of the last three
    is a list of blocks.
    """
    state = system_state(context)
    system = "\n\n".join(t for t in (*state.texts, *state.sections.values()) if t) if state else ""
    head: list[Stored] = [{"role": "system", "content": system}] if system else []
    return head + spoken_messages(context, model)


def spoken_messages(context: Iterable[Stored], model: Model) -> list[Stored]:
    """The same without the system's; of a stretch that begins with no tool's result, as in all."""
    told = [message for stored in context for message in told_messages(stored)]
    spoken = [message for message in told if role_of(message) in _REPLAYED]
    return _with_results(_adapted(spoken, model))


def told_messages(message: Stored) -> list[Stored]:
    """One message of the format as the model is told it; none when it is not for the model."""
    role = role_of(message)
    if role == "system":
        return [message]
    if role in _REPLAYED:
        return [{**message, "content": blocks_of(message.get("content"))}]
    if role == "custom":
        return [_user(blocks_of(message.get("content")))]
    if role == "bashExecution" and not message.get("excludeFromContext"):
        return [_user_text(_shell_text(message))]
    if role == "branchSummary":
        return [_user_text(f"{_BRANCH_BEFORE}{text_of(message.get('summary'))}{_BRANCH_AFTER}")]
    if role == "compactionSummary":
        return [_user_text(f"{_SUMMARY_BEFORE}{text_of(message.get('summary'))}{_SUMMARY_AFTER}")]
    return []


def _user(blocks: list[Stored]) -> Stored:
    return {"role": "user", "content": blocks}


def _user_text(text: str) -> Stored:
    return _user([{"type": "text", "text": text}])


def _shell_text(message: Stored) -> str:
    """A command that a person ran, and what came of it."""
    output = text_of(message.get("output"))
    shown = f"```\n{output}\n```" if output else "(no output)"
    text = f"Ran `{text_of(message.get('command'))}`\n{shown}"
    code = message.get("exitCode")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {text_of(message['fullOutputPath'])}]"
    return text


def _adapted(messages: Iterable[Stored], model: Model) -> list[Stored]:
    adapted: list[Stored] = []
    for message in messages:
        blocks = cast("list[Stored]", message["content"])
        if message["role"] == "assistant":
            if message.get("stopReason") not in ("error", "aborted"):
                adapted.append({**message, "content": _own_thinking(message, blocks, model)})
        elif model.described and not model.images:
            adapted.append({**message, "content": _without_images(message, blocks)})
        else:
            adapted.append(message)
    return adapted


def is_same_model(message: Stored, model: Model) -> bool:
    """Whether ``model`` wrote this message over the same protocol: then it knows its signatures."""
    return (
        message.get("provider") == model.provider
        and message.get("api") == model.api
        and message.get("model") == model.id
    )


def _own_thinking(message: Stored, blocks: list[Stored], model: Model) -> list[Stored]:
    if is_same_model(message, model):
        return blocks
    signatures = {"thoughtSignature", "textSignature"}
    return [
        {key: value for key, value in block.items() if key not in signatures}
        for block in blocks
        if block.get("type") != "thinking"
    ]


def _without_images(message: Stored, blocks: list[Stored]) -> list[Stored]:
    """Images as a note; one note for images that follow one another."""
    note: Stored = {
        "type": "text",
        "text": _NO_TOOL_IMAGES if message["role"] == "toolResult" else _NO_IMAGES,
    }
    noted: list[Stored] = []
    for block in blocks:
        if block.get("type") != "image":
            noted.append(block)
        elif not noted or noted[-1] != note:
            noted.append(note)
    return noted


def _with_results(messages: Iterable[Stored]) -> list[Stored]:
    """Every tool call followed by its result: a made one where a run was ended before it.

    A result whose call is not there is left out: no provider takes it.
    """
    complete: list[Stored] = []
    open_calls: dict[str, str] = {}

    def close() -> None:
        complete.extend(_missing_result(call, name) for call, name in open_calls.items())
        open_calls.clear()

    for message in messages:
        if message["role"] == "toolResult":
            if open_calls.pop(text_of(message.get("toolCallId")), None) is not None:
                complete.append(message)
            continue
        close()
        complete.append(message)
        if message["role"] == "assistant":
            for block in message["content"]:
                if block.get("type") == "toolCall":
                    open_calls[text_of(block.get("id"))] = text_of(block.get("name"))
    close()
    return complete


def _missing_result(call_id: str, name: str) -> Stored:
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": [{"type": "text", "text": _NO_RESULT}],
        "isError": True,
    }


def arguments_text(arguments: Any) -> str:
    """Tool call arguments as JSON, whatever the model sent."""
    stored = cast("Stored", arguments if isinstance(arguments, dict) else {})
    return text_of(json.dumps(stored, ensure_ascii=False))
