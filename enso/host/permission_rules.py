"""What each permission mode lets the agent do, and the words of its questions.

Read once from ``permission_rules.json``, which the extension that guards a pi reads too: there is
one rule, whatever runs a thread.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from enso.host.contract import DialogOption, PermissionModeChoice, PermissionModeId

CallKind = Literal["reading", "inside", "outside", "other"]
"""A call that reads; one that writes a file inside or outside of the project; any other."""

Verdict = Literal["allow", "ask", "refuse"]

_RULES: Final[dict[str, Any]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)

FRESH_MODE: Final[PermissionModeId] = _RULES["fresh"]

MODES: Final = tuple(
    PermissionModeChoice(id=mode["id"], label=mode["label"], description=mode["description"])
    for mode in _RULES["modes"]
)

VERDICTS: Final[Mapping[str, Mapping[CallKind, Verdict]]] = {
    mode["id"]: mode["verdicts"] for mode in _RULES["modes"]
}
"""By mode, then by the kind of the call. A mode that is not there is the fresh one."""

READING: Final = frozenset[str](_RULES["tools"]["reading"])
WRITING: Final = frozenset[str](_RULES["tools"]["writing"])

OPTIONS: Final = tuple(
    DialogOption(value=option["value"], label=option["label"]) for option in _RULES["options"]
)
"""How a question about a call is answered."""

REASONS: Final[Mapping[str, str]] = _RULES["reasons"]
"""Why a call is asked about or not run; ``{…}`` stands for what it is about."""

UNKNOWN_MODE: Final[str] = _RULES["unknown-mode"]


def question(tool: str) -> str:
    """The title of the question about a call of this tool."""
    questions: Mapping[str, str] = _RULES["questions"]
    return questions.get(tool) or _RULES["question-of-others"].format(tool=tool)
