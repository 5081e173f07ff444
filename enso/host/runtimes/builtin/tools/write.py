"""The tool ``write``: a file with the given content, and the directories that lead to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from enso.host.json_lines import clean_text
from enso.host.runtimes.builtin.tools.file_replacement import replace_file
from enso.host.runtimes.builtin.tools.file_turns import FileTurn
from enso.host.runtimes.builtin.tools.tool import (
    BuiltinTool,
    ToolContext,
    ToolOutcome,
    success,
    system_failure,
)
from enso.host.runtimes.builtin.tools.workers import Cancellation, in_worker
from enso.host.runtimes.paths import resolve_path

_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["path", "content"],
    "properties": {
        "path": {"type": "string", "description": "The file, relative or absolute"},
        "content": {"type": "string", "description": "All that the file will hold"},
    },
}


class WriteTool(BuiltinTool):
    """Creates a file, or replaces all of its content."""

    name: str = "write"
    description: str = (
        "Create a file, or replace everything in it. Directories that are missing are made."
    )
    parameters: Mapping[str, Any] = _PARAMETERS

    async def perform(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Write the file. Raises ``ToolFailed``."""
        path = resolve_path(given["path"], context.cwd)
        content = clean_text(given["content"]).encode()

        def work(cancellation: Cancellation) -> None:
            turn.wait()
            cancellation.check()
            _make_directory(path.parent)
            replace_file(path, content, cancellation)

        with FileTurn(path) as turn:
            await in_worker(work)
        return success(f"Successfully wrote to {given['path']}")


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise system_failure(error, "mkdir", directory) from error
