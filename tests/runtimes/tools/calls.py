"""Calls of tools for tests, and what a test asks of processes."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from enso.host.runtimes.builtin.tools import TOOLS, Tool, ToolContext, ToolOutcome

Result = TypeVar("Result")
PATIENCE = 60
"""Seconds that something may take before a test gives up: the machine may be busy."""


def context(
    cwd: Path, *, agent_dir: Path | None = None, progress: Callable[[str], None] | None = None
) -> ToolContext:
    """The context of a call in ``cwd``."""
    return ToolContext(cwd, agent_dir or cwd / "no-agent", progress or (lambda _: None))


def call(tool: str | Tool, arguments: Mapping[str, Any], cwd: Path, **options: Any) -> ToolOutcome:
    """The outcome of one call."""
    return in_loop(running(tool, arguments, cwd, **options))


def in_loop(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a loop of its own, in a worker: the test's own may be in another's."""
    with ThreadPoolExecutor(1) as worker:
        return worker.submit(asyncio.run, coroutine).result()


async def running(
    tool: str | Tool, arguments: Mapping[str, Any], cwd: Path, **options: Any
) -> ToolOutcome:
    """The outcome of one call, for a loop that runs."""
    called = TOOLS[tool] if isinstance(tool, str) else tool
    return await called.run(arguments, context(cwd, **options))


def text(outcome: ToolOutcome) -> str:
    """The text of an outcome that has nothing else."""
    assert [block["type"] for block in outcome.content] == ["text"]
    return outcome.content[0]["text"]


def stored(outcome: ToolOutcome) -> dict[str, Any]:
    """The part of a stored tool result that the tool makes."""
    result: dict[str, Any] = {"content": outcome.content, "isError": outcome.is_error}
    return result if outcome.details is None else {**result, "details": outcome.details}


def is_gone(pid: int) -> bool:
    """Whether a process ends; waits for it."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        ready, _, _ = select.select([handle], [], [], PATIENCE)
        return bool(ready)
    finally:
        os.close(handle)


def is_running(pid: int) -> bool:
    """Whether a process runs."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != b"Z"
