"""The questions of Enso's guard in pi, as the permission dialogs that a person knows.

The guard asks with a ``select`` whose title is the question, then what the call is about, and whose
options are the labels of the permission rules; see ``guard/enso-guard.ts``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from enso.host.contract import Dialog, DialogAnswer
from enso.host.permission_rules import OPTIONS, question
from enso.host.runtimes.permissions import subject

_LABELS: Final = {option.value: option.label for option in OPTIONS}


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A tool call that pi began and that has not ended."""

    id: str
    tool: str
    arguments: Any


def as_permission(dialog: Dialog, calls: Iterable[RunningCall], directory: str) -> Dialog:
    """The dialog of a guard's question, with the call that it is about; any other as it is."""
    if [option.label for option in dialog.options] != list(_LABELS.values()):
        return dialog
    asked = replace(dialog, kind="permission", options=OPTIONS)
    for call in calls:
        if dialog.title == question(call.tool) and _is_about(dialog.message.strip(), call):
            return replace(
                asked,
                tool_name=call.tool,
                arguments=call.arguments,
                tool_call_id=call.id,
                directory=directory,
            )
    return asked


def _is_about(message: str, call: RunningCall) -> bool:
    about = subject(call.tool, call.arguments).strip()
    return message == about or message.startswith(f"{about}\n\n")


def guard_answer(answer: DialogAnswer) -> str:
    """What the guard is told: a label; a denial with its reason, so that it does not ask for it."""
    label = _LABELS.get(answer.value or "", "")
    return f"{label}\n{answer.reason.strip()}" if answer.value == "deny" else label
