"""What the agent may do without asking: one rule, of which every call and every look is told.

The same rule stands in ``runtimes/pi/guard/rule.ts``, for a pi; one table of cases tests both.
Pure but for looking at where paths lead: nothing is opened, nothing is remembered, no one is
asked. Whatever a model sends as arguments, the answer is a verdict and never an exception.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from enso.host.contract import ToolCallVerdict
from enso.host.json_lines import clean_text, plain
from enso.host.permission_rules import FRESH_MODE, READING, REASONS, VERDICTS, WRITING
from enso.host.runtimes.paths import NoPath, real_path, resolve_path

MAX_SUBJECT: Final = 300
"""Characters of a subject; of a longer one the beginning and the end are shown."""

_SHOWN_END: Final = 80
_LINE_END: Final = re.compile(r"\r\n|[\r\n\u2028\u2029]")


def verdict(
    mode: str,
    tool: str,
    arguments: Mapping[str, Any],
    cwd: Path,
    *,
    agent_dir: Path | None = None,
) -> ToolCallVerdict:
    """Whether a call is allowed, asked about, or refused with a reason that the model is told.

    A mode that Enso does not know is ``ask``. Inside the project is what really lies below ``cwd``,
    but not what is git's own or in the agent directory (as it is set for this process, when it is
    not given): who can write there can run commands.
    """
    verdicts = VERDICTS.get(mode, VERDICTS[FRESH_MODE])
    why = ""
    if tool in READING:
        said = verdicts["reading"]
    elif tool not in WRITING:
        said = verdicts["other"]
    elif verdicts["inside"] == verdicts["outside"]:
        said = verdicts["inside"]
    else:
        why = _why_outside(arguments, cwd, agent_dir)
        said = verdicts["outside" if why else "inside"]
    if said == "refuse":
        why = REASONS["plan"].format(tool=clean_text(str(tool)))
    return ToolCallVerdict(verdict=said, reason=why)


def subject(tool: str, arguments: Mapping[str, Any]) -> str:
    """The one line that says what a call is about: a command, a path, else its arguments.

    What would change how the line is read (controls, marks of direction) is shown as its code.
    """
    argument = _given(arguments, "command" if tool == "bash" else "path")
    if tool in {"bash", *READING, *WRITING} and isinstance(argument, str):
        text = argument.strip()
    else:
        text = _as_json(plain(arguments)) or "(arguments that cannot be shown)"
    if len(text) <= MAX_SUBJECT:
        return _one_line(text)
    left_out = len(text) - MAX_SUBJECT
    head, tail = text[: MAX_SUBJECT - _SHOWN_END], text[-_SHOWN_END:]
    return f"{_one_line(head)} … {left_out} characters … {_one_line(tail)}"


def remember_key(
    tool: str, arguments: Mapping[str, Any], cwd: Path, *, agent_dir: Path | None = None
) -> str:
    """What is remembered when a call is allowed for the thread: calls with the same key are too.

    A command: exactly this one. An edit or a write: the tool within the project, or exactly this
    file outside of it. Any other call: exactly these arguments. What has no such key gets one that
    no other call has.
    """
    command, path = _given(arguments, "command"), _given(arguments, "path")
    if tool == "bash" and isinstance(command, str):
        return _key(tool, "command", command)
    if tool in WRITING and isinstance(path, str):
        if not _why_outside(arguments, cwd, agent_dir):
            return _key(tool, "project")
        try:
            return _key(tool, "path", str(real_path(resolve_path(path, cwd))))
        except (NoPath, OSError):
            return _key(tool, "never", secrets.token_hex(16))
    exact = _as_json(arguments)
    return _key(tool, "arguments", exact) if exact else _key(tool, "never", secrets.token_hex(16))


def _given(arguments: object, name: str) -> object:
    """An argument; whatever a model sent as arguments."""
    return (
        cast("Mapping[str, object]", arguments).get(name) if isinstance(arguments, dict) else None
    )


def _why_outside(arguments: Mapping[str, Any], cwd: Path, agent_dir: Path | None) -> str:
    """Why a call writes outside of the project; empty when it does not."""
    name = _given(arguments, "path")
    if not isinstance(name, str):
        return REASONS["no-file"]
    try:
        project, named = real_path(cwd), resolve_path(name, cwd)
        real = real_path(named)
        agents_own = real_path(agent_dir or _agent_dir())
    except (NoPath, OSError, ValueError):
        return REASONS["no-path"]
    if real.is_relative_to(agents_own):
        return REASONS["agent-directory"].format(path=real)
    if not real.is_relative_to(project):
        return REASONS["outside"].format(path=real)
    if any(part.casefold() == ".git" for part in (*named.parts, *real.parts)):
        return REASONS["git"].format(path=real)
    return ""


def _agent_dir() -> Path:
    return Path(os.environ.get("PI_CODING_AGENT_DIR") or "~/.pi/agent").expanduser()


def _key(*parts: str) -> str:
    return json.dumps([clean_text(str(part)) for part in parts])


def _as_json(arguments: object) -> str:
    """The arguments as JSON that is the same for the same arguments; empty when there is none."""
    try:
        text = json.dumps(arguments, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return text if plain(arguments) == arguments else ""
    except (TypeError, ValueError, RecursionError):
        return ""


def _one_line(text: str) -> str:
    return "".join(_visible(char) for char in _LINE_END.sub(" ⏎ ", clean_text(text)))


def _visible(char: str) -> str:
    if char == "\t":
        return " "
    if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Co", "Cn"}:
        return f"\\u{{{ord(char):x}}}"
    return char
