"""The tool ``bash``: a command in the thread's directory, with its output as it comes.

Source of results: pi 1.6.0. The shell is the one that pi would take, by the agent directory's
``settings.json`` (``shellPath``, ``shellCommandPrefix``).
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from enso.host.json_lines import clean_text
from enso.host.runtimes.builtin.tools.output_buffer import OutputBuffer
from enso.host.runtimes.builtin.tools.shell_command import Shell, ShellEnd, run_shell
from enso.host.runtimes.builtin.tools.tool import (
    BuiltinTool,
    ToolContext,
    ToolFailed,
    ToolOutcome,
    success,
    system_failure,
    text_block,
)
from enso.host.runtimes.builtin.tools.truncation import MAX_BYTES, MAX_LINES
from enso.host.runtimes.builtin.tools.workers import Cancellation, in_own_worker
from enso.host.runtimes.models.lenient_json import NotReadable, load_file

MAX_TIMEOUT: Final = 2_147_483.647  # seconds; what JavaScript's timers take
PROGRESS_SECONDS: Final = 0.1
"""Progress is told no more often than this."""

NOT_PASSED_ON: Final = frozenset(
    {
        "ENSO_TOKEN",
        "PI_MODEL",
        "PI_PROVIDER",
        "PI_REASONING_LEVEL",
        "PI_SESSION_FILE",
        "PI_SESSION_ID",
    }
)
"""Variables of the server that are none of the command's: its door key, and another session's."""


_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["command"],
    "properties": {
        "command": {"type": "string", "description": "The command"},
        "timeout": {
            "type": "number",
            "description": "Seconds until the command is ended (no limit without it)",
        },
    },
}


class BashTool(BuiltinTool):
    """Runs a shell command."""

    name: str = "bash"
    description: str = (
        "Run a bash command in the project's directory and show what it prints. Of a long output "
        f"the last {MAX_LINES} lines or {MAX_BYTES // 1024}KB are shown, and a file has all of it."
    )
    parameters: Mapping[str, Any] = _PARAMETERS

    async def perform(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Run the command. Raises ``ToolFailed``."""
        timeout = _checked_timeout(given.get("timeout"))
        command = clean_text(given["command"])
        if "\0" in command:
            raise ToolFailed("A command cannot hold a NUL character.")

        def work(cancellation: Cancellation) -> ToolOutcome:
            return _Run(context, timeout).run(command, cancellation)

        return await in_own_worker("enso-bash", work)


def _checked_timeout(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    if timeout <= 0:
        raise ToolFailed("Invalid timeout: must be a finite number of seconds")
    if timeout > MAX_TIMEOUT:
        raise ToolFailed(f"Invalid timeout: maximum is {MAX_TIMEOUT} seconds")
    return timeout


class _Run:
    """One command: its output, the progress that is told of it, and the outcome."""

    def __init__(self, context: ToolContext, timeout: float | None) -> None:
        self._context = context
        self._timeout = timeout
        self._output = OutputBuffer()
        self._told_at = 0.0
        self._is_told = True

    def run(self, command: str, cancellation: Cancellation) -> ToolOutcome:
        """Run the command to its end. When it is cancelled, the last progress is all it said."""
        shell = _shell(command, self._context)
        try:
            end = run_shell(
                shell,
                take=self._take,
                idle=self._idle,
                timeout=self._timeout,
                cancellation=cancellation,
            )
        except OSError as error:
            raise _not_started(error, shell) from error
        finally:
            self._output.close()
        if cancellation.is_set:
            self._context.progress(self._output.shown().text)
        return self._outcome(end)

    def _take(self, data: bytes) -> None:
        self._output.append(data)
        self._is_told = False

    def _idle(self) -> float | None:
        """Tell the progress when it is time to; in how many seconds it will be."""
        if self._is_told:
            return None
        left = self._told_at + PROGRESS_SECONDS - time.monotonic()
        if left > 0:
            return left
        self._context.progress(self._output.shown().cut.content)
        self._told_at = time.monotonic()
        self._is_told = True
        return None

    def _outcome(self, end: ShellEnd) -> ToolOutcome:
        shown = self._output.shown()
        if end.timed_out:
            return _failed(shown.text, f"Command timed out after {self._timeout} seconds", {})
        details = None
        if shown.notice:
            path = None if shown.path is None else str(shown.path)
            details = {"truncation": shown.cut.record(), "fullOutputPath": path}
        text = shown.text or "(no output)"
        if end.exit_code:
            return _failed(text, f"Command exited with code {end.exit_code}", details)
        return success(text, details)


def _failed(text: str, status: str, details: dict[str, Any] | None) -> ToolOutcome:
    whole = f"{text}\n\n{status}" if text else status
    return ToolOutcome([text_block(whole)], is_error=True, details=details)


def _shell(command: str, context: ToolContext) -> Shell:
    if not context.cwd.is_dir():
        raise ToolFailed(
            f"Working directory does not exist: {context.cwd}\nCannot execute bash commands."
        )
    settings = _settings(context.agent_dir)
    prefix = settings.get("shellCommandPrefix")
    if isinstance(prefix, str) and prefix:
        command = f"{prefix}\n{command}"
    variables = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
    program = _program(settings.get("shellPath"))
    return Shell([program, "-c", command], context.cwd, variables)


def _settings(agent_dir: Path) -> Mapping[str, Any]:
    try:
        return load_file(agent_dir / "settings.json") or {}
    except NotReadable:  # said where settings are shown; a command does not depend on it
        return {}


def _program(chosen: object) -> str:
    if isinstance(chosen, str) and chosen:
        program = Path(chosen).expanduser()
        if not program.exists():
            raise ToolFailed(f"Custom shell path not found: {program}")
        return str(program)
    if Path("/bin/bash").exists():
        return "/bin/bash"
    return shutil.which("bash") or "sh"


def _not_started(error: OSError, shell: Shell) -> ToolFailed:
    if error.errno == errno.E2BIG:
        return ToolFailed(
            "The command is longer than the system takes. Write it to a file with write, and run "
            "that file."
        )
    return system_failure(error, "spawn", shell.arguments[0])
