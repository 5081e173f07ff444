"""The guard of one thread: what stands between a tool call and its running.

Owns that there is one rule (``permissions.verdict``) and one memory of what a person allowed for
the thread, which is the thread's file; that a look at the rule answers as the guard itself does;
and the words of the question.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from enso.host.contract import Dialog, DialogAnswer, ToolCallVerdict
from enso.host.permission_rules import OPTIONS, REASONS, question
from enso.host.runtimes.builtin.dialogs import Dialogs, new_dialog_id
from enso.host.runtimes.permissions import remember_key, subject, verdict


class GuardLog(Protocol):
    """What a guard needs of the thread: both may change while a question waits."""

    @property
    def mode(self) -> str:
        """The permission mode."""
        ...

    @property
    def allowed(self) -> frozenset[str]:
        """The keys of the calls that were allowed for the thread."""
        ...

    def allow(self, tool: str, key: str) -> None:
        """Keep that calls with this key are allowed."""
        ...


class Guard:
    """Asked before every call of one thread. Thread-safe."""

    def __init__(self, *, log: GuardLog, cwd: Path, agent_dir: Path, dialogs: Dialogs) -> None:
        self._log = log
        self._cwd = cwd
        self._agent_dir = agent_dir
        self._dialogs = dialogs

    def verdict(self, tool: str, arguments: Mapping[str, Any]) -> ToolCallVerdict:
        """What is said of this call now; asks nobody."""
        said = verdict(self._log.mode, tool, arguments, self._cwd, agent_dir=self._agent_dir)
        if said.verdict == "ask" and self._key(tool, arguments) in self._log.allowed:
            return ToolCallVerdict(verdict="allow")
        return said

    async def admit(self, tool: str, arguments: Mapping[str, Any], call_id: str) -> str:
        """Wait until the call may run, or not: why not, for the model; empty when it may."""
        said = self.verdict(tool, arguments)
        if said.verdict == "allow":
            return ""
        if said.verdict == "refuse":
            return said.reason
        answer = await self._dialogs.ask(self._question(tool, arguments, call_id, said.reason))
        if answer.value == "thread":
            self._log.allow(tool, self._key(tool, arguments))
            self.look_again()
        return "" if answer.value in ("once", "thread") else _denial(answer)

    def look_again(self) -> None:
        """Answer the questions that need no person any more: the mode or the memory changed."""
        for dialog in self._dialogs.open():
            if dialog.kind != "permission":
                continue
            said = self.verdict(dialog.tool_name, dialog.arguments)
            if said.verdict == "allow":
                self._dialogs.answer(dialog.id, DialogAnswer(value="once"))
            elif said.verdict == "refuse":
                self._dialogs.answer(dialog.id, DialogAnswer(value="deny", reason=said.reason))

    def _question(
        self, tool: str, arguments: Mapping[str, Any], call_id: str, reason: str
    ) -> Dialog:
        about = subject(tool, arguments)
        return Dialog(
            id=new_dialog_id(),
            kind="permission",
            title=question(tool),
            message=f"{about}\n\n{reason}" if reason else about,
            options=OPTIONS,
            tool_name=tool,
            arguments=dict(arguments),
            tool_call_id=call_id,
            directory=str(self._cwd),
            created_at=time.time_ns() // 1_000_000,
        )

    def _key(self, tool: str, arguments: Mapping[str, Any]) -> str:
        return remember_key(tool, arguments, self._cwd, agent_dir=self._agent_dir)


def _denial(answer: DialogAnswer) -> str:
    reason = answer.reason.strip()
    return REASONS["denied-why"].format(reason=reason) if reason else REASONS["denied"]
