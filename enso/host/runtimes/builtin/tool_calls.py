"""The tool calls of one assistant message: each guarded, all at once, stored in call order.

Owns what is stored of a call that ran, failed, was refused or was stopped, in the words of pi
1.6.0, and that every call gets exactly one result. What a tool does is the tool's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from enso.host.contract import ToolCallVerdict, ToolProgress
from enso.host.decode import text_of
from enso.host.json_lines import plain
from enso.host.runtimes.builtin.guard import Guard
from enso.host.runtimes.builtin.tools import TOOLS, Tool, ToolContext, ToolOutcome, aborted
from enso.host.runtimes.builtin.tools.arguments import WrongArguments, check_arguments
from enso.host.runtimes.builtin.tools.tool import BuiltinTool, failure
from enso.host.session_context import blocks_of

LONGEST_PROGRESS: Final = 8000
"""Characters of the end of a running tool's output that are told."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the message holds it."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a call; ``duration_ms`` is ``None`` for one that never ran.

    ``was_asked``: it was ended before anybody had said whether it may run.
    """

    outcome: ToolOutcome
    duration_ms: int | None = None
    was_asked: bool = False


def calls_of(message: Mapping[str, Any]) -> list[Call]:
    """The tool calls of a stored assistant message, in order."""
    return [
        Call(
            text_of(block.get("id")),
            text_of(block.get("name")),
            cast("dict[str, Any]", plain(block.get("arguments") or {})),
        )
        for block in blocks_of(message.get("content"))
        if block.get("type") == "toolCall"
    ]


def cut_short(call: Call) -> Ended:
    """The result of a call in a message that the token limit cut: it may lack arguments."""
    return Ended(
        failure(
            f'Tool call "{call.name}" was not run: the answer was cut by the output token limit, '
            "so its arguments may be incomplete. Make the call again, complete."
        )
    )


def not_run() -> Ended:
    """The result of a call that was stopped before it ran: nobody said no to it."""
    return Ended(failure("Operation aborted"), was_asked=True)


def result_message(call: Call, ended: Ended) -> dict[str, Any]:
    """The message to store, in pi's order of keys."""
    outcome = ended.outcome
    message: dict[str, Any] = {
        "role": "toolResult",
        "toolCallId": call.id,
        "toolName": call.name,
        "content": outcome.content,
    }
    if outcome.details is not None:
        message["details"] = outcome.details
    message["isError"] = outcome.is_error
    if ended.duration_ms is not None:
        message["durationMs"] = ended.duration_ms
    return {**message, "timestamp": time.time_ns() // 1_000_000}


def probe(guard: Guard, name: str, arguments: Mapping[str, Any]) -> ToolCallVerdict | None:
    """What would be said of a call, by the same steps; ``None`` when there is no such tool."""
    tool = TOOLS.get(name)
    if tool is None:
        return None
    try:
        return guard.verdict(name, _fitted(tool, arguments))
    except WrongArguments as wrong:
        return ToolCallVerdict(verdict="refuse", reason=str(wrong))


class ToolCalls:
    """Runs the calls of one message at a time, for one thread."""

    def __init__(
        self, guard: Guard, *, cwd: Path, agent_dir: Path, tell: Callable[[ToolProgress], None]
    ) -> None:
        self._guard = guard
        self._cwd = cwd
        self._agent_dir = agent_dir
        self._tell = tell

    async def run(self, calls: Sequence[Call], store: Callable[[Call, Ended], None]) -> None:
        """Run all calls; ``store`` gets each with what came of it, soon, and in call order.

        When it is cancelled, the calls end first: each still gets its result, then it raises.
        """
        tasks = [asyncio.ensure_future(self._one(call)) for call in calls]
        cancelled = False
        try:
            for call, task in zip(calls, tasks, strict=True):
                cancelled |= await _ended(task, tasks)
                store(call, not_run() if task.cancelled() else task.result())
        finally:
            for task in tasks:
                await _ended(task, tasks, cancel=True)
        if cancelled:
            raise asyncio.CancelledError

    async def _one(self, call: Call) -> Ended:
        """One call from its guard to its outcome. Ends soon after it is cancelled."""
        tool = TOOLS.get(call.name)
        if tool is None:
            return Ended(failure(f"Tool {call.name} not found"))
        try:
            arguments = _fitted(tool, call.arguments)
            refused = await self._guard.admit(call.name, arguments, call.id)
        except WrongArguments as wrong:
            return Ended(failure(str(wrong)))
        except asyncio.CancelledError:
            return not_run()
        if refused:
            return Ended(failure(refused))
        return await self._perform(tool, call, arguments)

    async def _perform(self, tool: Tool, call: Call, arguments: Mapping[str, Any]) -> Ended:
        last = ""

        def progress(text: str) -> None:
            nonlocal last
            last = text
            self._tell(ToolProgress(call.id, text[-LONGEST_PROGRESS:]))

        context = ToolContext(cwd=self._cwd, agent_dir=self._agent_dir, progress=progress)
        started = time.monotonic()
        try:
            outcome = await tool.run(arguments, context)
        except asyncio.CancelledError:
            outcome = aborted(call.name, last)
        return Ended(outcome, round((time.monotonic() - started) * 1000))


async def _ended(
    task: asyncio.Task[Ended], tasks: Sequence[asyncio.Task[Ended]], *, cancel: bool = False
) -> bool:
    """Wait until a call has ended; whether the wait was cancelled, which cancels every call."""
    cancelled = False
    while not task.done():
        if cancel or cancelled:
            for other in tasks:
                other.cancel()
            cancel = False
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    return cancelled


def _fitted(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the tool will take them: what the guard judges is what runs."""
    repaired = tool.repaired(arguments) if isinstance(tool, BuiltinTool) else arguments
    return check_arguments(tool.name, tool.parameters, repaired)
