"""Slash commands that are text: prompt templates and skills, of the agent directory and a project.

Owns what there is to call and what a prompt that begins with one becomes (source: pi 1.6.0). The
files are read anew each time, so that a new one is there at once.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from enso.host.commands import ENSO_COMMANDS
from enso.host.contract import Command
from enso.host.runtimes.instructions.project_context import (
    PromptTemplate,
    Skill,
    prompt_templates,
    skills,
)
from enso.host.runtimes.instructions.template_arguments import expand_template

_OWN: Final = frozenset(command.name for command in ENSO_COMMANDS)
_SKILL: Final = "skill:"
_CALL: Final = re.compile(r"/(\S+)(?:\s+(.*))?", re.DOTALL)


def slash_commands(cwd: Path, agent_dir: Path) -> tuple[Command, ...]:
    """Enso's own, then templates, then skills; a template of Enso's own name cannot be called."""
    templates = [
        Command(
            name=template.name,
            description=template.description,
            source="prompt",
            argument_hint=template.argument_hint,
        )
        for template in _templates(cwd, agent_dir)
    ]
    called = [
        Command(name=f"{_SKILL}{skill.name}", description=skill.description, source="skill")
        for skill in skills(cwd, agent_dir).values
    ]
    return (*ENSO_COMMANDS, *templates, *called)


def expand(message: str, cwd: Path, agent_dir: Path) -> str:
    """The prompt that ``message`` stands for; itself when it calls no template and no skill."""
    call = _CALL.fullmatch(message) if message.startswith("/") else None
    if call is None:
        return message
    name, arguments = call[1], call[2] or ""
    if name.startswith(_SKILL):
        return _called_skill(name.removeprefix(_SKILL), arguments, cwd, agent_dir) or message
    for template in _templates(cwd, agent_dir):
        if template.name == name:
            return expand_template(template.body, arguments)
    return message


def _templates(cwd: Path, agent_dir: Path) -> list[PromptTemplate]:
    found = prompt_templates(cwd, agent_dir).values
    return [template for template in found if template.name not in _OWN]


def _called_skill(name: str, arguments: str, cwd: Path, agent_dir: Path) -> str:
    found = skills(cwd, agent_dir).values
    skill: Skill | None = next((skill for skill in found if skill.name == name), None)
    if skill is None:
        return ""
    block = (
        f'<skill name="{skill.name}" location="{skill.path}">\n'
        f"References are relative to {skill.directory}.\n\n{skill.body}\n</skill>"
    )
    return f"{block}\n\n{arguments.strip()}" if arguments.strip() else block
