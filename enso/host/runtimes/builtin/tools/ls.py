"""The tool ``ls``: what is in a directory. Source of results: pi 1.6.0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from enso.host.runtimes.builtin.tools.collation import name_order
from enso.host.runtimes.builtin.tools.results import Notice, ResultLines, limit_of
from enso.host.runtimes.builtin.tools.tool import (
    BuiltinTool,
    ToolContext,
    ToolFailed,
    ToolOutcome,
    success,
    system_failure,
)
from enso.host.runtimes.builtin.tools.truncation import MAX_BYTES
from enso.host.runtimes.builtin.tools.workers import Cancellation, in_worker
from enso.host.runtimes.paths import resolve_path

DEFAULT_LIMIT: Final = 500


_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "What to list (the project's directory)"},
        "limit": {"type": "number", "description": f"How many names ({DEFAULT_LIMIT})"},
    },
}


class LsTool(BuiltinTool):
    """Lists a directory."""

    name: str = "ls"
    description: str = (
        "List a directory, hidden files too; directories end with '/'. Shows at most "
        f"{DEFAULT_LIMIT} names or {MAX_BYTES // 1024}KB."
    )
    parameters: Mapping[str, Any] = _PARAMETERS

    async def perform(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """List the directory. Raises ``ToolFailed``."""
        limit = limit_of(given.get("limit"), DEFAULT_LIMIT)

        def work(cancellation: Cancellation) -> ToolOutcome:
            return _list(resolve_path(given.get("path") or ".", context.cwd), limit, cancellation)

        return await in_worker(work)


def _list(directory: Path, limit: int, cancellation: Cancellation) -> ToolOutcome:
    names, there_are_more = ResultLines(), False
    for name in _sorted_names(directory):
        cancellation.check()
        if len(names) == limit:
            there_are_more = True
            break
        path = directory / name
        if path.exists():  # not a symlink to nowhere
            names.add(f"{name}/" if path.is_dir() else name)
    if not len(names):
        return success("(empty directory)")
    if not there_are_more:
        return names.outcome([])
    sentence = f"{limit} entries limit reached. Use limit={limit * 2} for more"
    return names.outcome([Notice(sentence, "entryLimitReached", limit, is_about_count=True)])


def _sorted_names(directory: Path) -> list[str]:
    if not directory.exists():
        raise ToolFailed(f"Path not found: {directory}")
    if not directory.is_dir():
        raise ToolFailed(f"Not a directory: {directory}")
    try:
        return sorted((path.name for path in directory.iterdir()), key=name_order)
    except OSError as error:
        why = system_failure(error, "scandir", directory)
        raise ToolFailed(f"Cannot read directory: {why}") from error
