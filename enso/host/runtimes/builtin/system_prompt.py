"""What a model is told before a thread begins: the sections of stored system messages, and tools.

Owns the words, which models get tools, and what a later prompt changes of what was said before
(source of the shape: pi 1.6.0: sections by name, ``toolsAdded``, ``toolsRemoved``). A thread that
another program began keeps that program's words: only tools are brought in line. Text for a model.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from enso.host.runtimes.builtin.tools import TOOLS
from enso.host.runtimes.instructions.project_context import context_files, skills
from enso.host.runtimes.models.model import Model
from enso.host.session_context import (
    Stored,
    SystemState,
    session_context,
    system_state,
)

_OUR_SECTIONS: Final = ("preamble", "project_context", "skills", "cwd")

_ASSISTANT: Final = (
    "You are a helpful assistant for a person who works on software. Answer what is asked, "
    "plainly and exactly. Write Markdown, with code in fenced blocks that name their "
    "language. Say so when you do not know something."
)
_AGENT: Final = (
    "You are a coding agent. You work with a person in their project, and your tools act on their "
    "files. Read what you need before you change anything; make the smallest change that does "
    "what was asked, in the style of the code around it; check it with the project's own tests or "
    "tools. Calls that do not need each other's results are best made together. A call that the "
    "person refused is not tried again in another way. Say plainly what you did, what you did not "
    "do and what you do not know. Write Markdown, with code in fenced blocks that name their "
    "language, and name files by their path."
)


def declared_tools(model: Model) -> dict[str, dict[str, Any]]:
    """The tools that a model is told of, as they are stored; the bundled one uses none."""
    if model.local:
        return {}
    return {
        tool.name: {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        }
        for tool in TOOLS.values()
    }


def system_sections(cwd: Path, agent_dir: Path, model: Model) -> dict[str, str]:
    """The sections for a model, in order. Reads the instructions and the skills there are."""
    sections = {"preamble": _ASSISTANT if model.local else _AGENT}
    if not model.local:
        sections |= _project_context(cwd, agent_dir) | _skills(cwd, agent_dir)
    return {**sections, "cwd": f"<cwd>\n{cwd}\n</cwd>"}


def system_message(
    branch: Sequence[Stored], sections: Mapping[str, str], tools: Mapping[str, Stored]
) -> dict[str, Any] | None:
    """The system message to store before the next prompt; ``None`` when nothing changed."""
    state = system_state(session_context(branch))
    if state is None:
        state = SystemState()
        first = True
    else:
        first = False
    changed = _changed_sections(state, sections)
    added = [dict(tool) for name, tool in tools.items() if name not in state.tools]
    removed = [{"name": name} for name in state.tools if name not in tools]
    if not (changed or added or removed or first):
        return None
    message: dict[str, Any] = {"role": "system", "content": ""}
    if changed:
        message["sections"] = changed
    message["timestamp"] = time.time_ns() // 1_000_000
    if added:
        message["toolsAdded"] = added
    if removed:
        message["toolsRemoved"] = removed
    return message


def _changed_sections(state: SystemState, sections: Mapping[str, str]) -> dict[str, str | None]:
    said_elsewhere = any(state.texts) or any(name not in _OUR_SECTIONS for name in state.sections)
    if said_elsewhere:
        return {}
    changed: dict[str, str | None] = {
        name: text for name, text in sections.items() if state.sections.get(name) != text
    }
    return changed | {name: None for name in state.sections if name not in sections}


def _project_context(cwd: Path, agent_dir: Path) -> dict[str, str]:
    files = context_files(cwd, agent_dir).values
    if not files:
        return {}
    parts = [
        f"<instructions path={json.dumps(str(file.path))}>\n{file.content}\n</instructions>"
        for file in files
    ]
    said = "Instructions of this person and this project, which you follow:"
    return {"project_context": "\n\n".join([said, *parts])}


def _skills(cwd: Path, agent_dir: Path) -> dict[str, str]:
    found = [skill for skill in skills(cwd, agent_dir).values if skill.model_may_choose]
    if not found:
        return {}
    parts = [
        f"<skill>\n<name>{escape(skill.name)}</name>\n"
        f"<description>{escape(skill.description)}</description>\n"
        f"<location>{escape(str(skill.path))}</location>\n</skill>"
        for skill in found
    ]
    said = (
        "Skills are instructions for one kind of work. When the description of one fits what is "
        "asked, read its file first; paths in it are relative to the file's directory."
    )
    return {"skills": "\n\n".join([said, *parts])}
