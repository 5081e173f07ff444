"""What a model is asked when a conversation is to be summed up, and how its answer is put together.

Plain text for a model. The shape of the stored summary is pi's, so that either program reads it:
sections by name, a turn that was parted behind a line, the files in two lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from enso.host.runtimes.builtin.compaction import CompactionPlan
from enso.host.runtimes.builtin.context import told_messages
from enso.host.session_context import Stored, blocks_of, role_of
from enso.host.stored_values import object_of, text_of

LONGEST_RESULT: Final = 2000
"""Characters of a tool's result that are shown; the whole of it is not needed to sum up."""

SYSTEM: Final = (
    "You sum up conversations between a person and a coding agent, so that another agent can go on "
    "with the work. Do not answer anything in the conversation and do not continue it: write the "
    "summary alone, in the sections that are asked for."
)

_SECTIONS: Final = """
## Goal
What the person wants done; one line for each thing.

## Constraints & Preferences
- What the person asked to be respected, or "(none)".

## Progress
### Done
- [x] What is finished.
### In Progress
- [ ] What is being worked on.
### Blocked
- What stands in the way, if anything does.

## Key Decisions
- **Decision**: why it was made.

## Next Steps
1. What comes next, in order.

## Critical Context
- Facts, data and references without which the work cannot go on, or "(none)".

Be brief. Repeat file paths, names in code and error messages exactly."""

_FIRST: Final = f"Sum up the conversation above in exactly these sections:\n{_SECTIONS}"
_AGAIN: Final = (
    "The conversation above came after the summary in <previous-summary>. Bring that summary up to "
    "date: keep what still holds, move what is finished to Done, add what is new, leave out what "
    f"no longer matters. Use exactly these sections:\n{_SECTIONS}"
)
_TURN: Final = """The messages above are the beginning of a turn whose later messages are kept as \
they are. Write down what is needed to understand those, in exactly these sections:

## Original Request
What the person asked for.

## Progress So Far
- What was done and decided in these messages.

## Context Needed to Continue
- What the later messages rely on.

Say only what stands above; do not guess what follows."""


def history_prompt(plan: CompactionPlan, instructions: str) -> str:
    """What is asked about the conversation before the cut."""
    parts = [f"<conversation>\n{as_text(plan.history)}\n</conversation>"]
    if plan.earlier:
        parts.append(f"<previous-summary>\n{plan.earlier}\n</previous-summary>")
    return "\n\n".join([*parts, (_AGAIN if plan.earlier else _FIRST) + _focus(instructions)])


def turn_prompt(plan: CompactionPlan, instructions: str) -> str:
    """What is asked about the beginning of the turn that the cut parts."""
    return f"<conversation>\n{as_text(plan.turn)}\n</conversation>\n\n{_TURN}{_focus(instructions)}"


def _focus(instructions: str) -> str:
    return f"\n\nAbove all, keep this: {instructions}" if instructions else ""


def whole_summary(plan: CompactionPlan, *, history: str, turn: str) -> str:
    """The summary to store; ``history`` and ``turn`` are the answers, empty where not asked."""
    text = history
    if plan.turn:
        text = history or plan.earlier or "No prior history."
        text += f"\n\n---\n\n**Turn Context (split turn):**\n\n{turn}"
    return text + _files("read-files", plan.read) + _files("modified-files", plan.modified)


def _files(tag: str, files: Sequence[str]) -> str:
    listed = "\n".join(files)
    return f"\n\n<{tag}>\n{listed}\n</{tag}>" if files else ""


def as_text(messages: Iterable[Stored]) -> str:
    """A conversation as text, so that a model does not take it for its own."""
    told = (message for stored in messages for message in told_messages(stored))
    return "\n\n".join(part for message in told for part in _parts(message))


def _parts(message: Stored) -> list[str]:
    blocks = blocks_of(message.get("content"))
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    match role_of(message):
        case "user":
            return [f"[User]: {''.join(texts)}"] if any(texts) else []
        case "toolResult":
            return [f"[Tool result]: {_cut(''.join(texts))}"] if any(texts) else []
        case "assistant":
            calls = [_call(block) for block in blocks if block.get("type") == "toolCall"]
            text = "\n".join(texts)
            said = [f"[Assistant]: {text}"] if texts else []
            return [*said, f"[Assistant tool calls]: {'; '.join(calls)}"] if calls else said
        case _:
            return []


def _call(block: Mapping[str, Any]) -> str:
    arguments = object_of(block.get("arguments"))
    written = ", ".join(f"{name}={_json(value)}" for name, value in arguments.items())
    return f"{text_of(block.get('name'))}({written})"


def _json(value: Any) -> str:
    try:
        return text_of(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return "?"


def _cut(text: str) -> str:
    left_out = len(text) - LONGEST_RESULT
    return text if left_out <= 0 else f"{text[:LONGEST_RESULT]}\n\n[{left_out} more characters]"


def added(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The usage of several requests as one, of the same shape."""
    total: dict[str, Any] = {}
    for usage in usages:
        for name, value in usage.items():
            if isinstance(value, dict):
                parts = [object_of(total.get(name)), object_of(value)]
                total[name] = added(parts)
            elif isinstance(value, bool):
                total[name] = bool(total.get(name)) or value
            elif isinstance(value, (int, float)):
                total[name] = total.get(name, 0) + value
    return total
