"""The tool ``find``: files and directories by name or path. Results: pi 1.6.0, which asks fd."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

from enso.host.runtimes.builtin.tools.results import Notice, ResultLines, limit_of
from enso.host.runtimes.builtin.tools.search_process import (
    SearchProcess,
    own_program,
    search_process,
)
from enso.host.runtimes.builtin.tools.tool import (
    BuiltinTool,
    ToolContext,
    ToolFailed,
    ToolOutcome,
    success,
)
from enso.host.runtimes.builtin.tools.truncation import MAX_BYTES
from enso.host.runtimes.builtin.tools.workers import Cancellation, in_own_worker
from enso.host.runtimes.paths import real_path, resolve_path

DEFAULT_LIMIT: Final = 1000
_PIECE: Final = 64 * 1024


_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["pattern"],
    "properties": {
        "pattern": {
            "type": "string",
            "description": "A glob: '*.ts' for names anywhere, 'src/**/*.ts' for paths",
        },
        "path": {"type": "string", "description": "Where to look (the project's directory)"},
        "limit": {"type": "number", "description": f"How many to show ({DEFAULT_LIMIT})"},
    },
}


class FindTool(BuiltinTool):
    """Finds paths by a glob pattern."""

    name: str = "find"
    description: str = (
        "Find files and directories by a glob pattern; shows their paths below path. What "
        f".gitignore names is left out. Shows at most {DEFAULT_LIMIT} or {MAX_BYTES // 1024}KB."
    )
    parameters: Mapping[str, Any] = _PARAMETERS

    async def perform(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Find. Raises ``ToolFailed``."""
        limit = limit_of(given.get("limit"), DEFAULT_LIMIT)
        pattern = given["pattern"]
        if "\0" in pattern:
            raise ToolFailed("A pattern cannot hold a NUL character.")

        def work(cancellation: Cancellation) -> ToolOutcome:
            directory = _directory(given, context.cwd)
            # one more than is shown says whether there are more
            told = {"pattern": pattern, "path": str(directory), "limit": limit + 1}
            command = own_program("find", told)
            with search_process(command, directory, cancellation) as search:
                return _outcome(search, limit)

        return await in_own_worker("enso-find", work)


def _directory(given: Mapping[str, Any], cwd: Path) -> Path:
    path = resolve_path(given.get("path") or ".", cwd)
    if not path.exists():
        raise ToolFailed(f"Path not found: {path}")
    if not path.is_dir():
        raise ToolFailed(f"Not a directory: {path}")
    return real_path(path)


def _outcome(search: SearchProcess, limit: int) -> ToolOutcome:
    found, there_are_more = ResultLines(), False
    for path in _paths(search.output):
        there_are_more = len(found) == limit
        if not there_are_more:
            found.add(path)
    code = search.exit_code()
    if not len(found):
        if code not in {0, 1}:
            raise ToolFailed(search.problems() or f"The search exited with code {code}")
        return success("No files found matching pattern")
    notices: list[Notice] = []
    if there_are_more:
        sentence = f"{limit} results limit reached. Use limit={limit * 2} for more"
        sentence += ", or refine pattern"
        notices.append(Notice(sentence, "resultLimitReached", limit, is_about_count=True))
    if code not in {0, 1}:
        notices.append(Notice("Some directories could not be read"))
    return found.outcome(notices)


def _paths(output: IO[bytes]) -> Iterator[str]:
    rest = b""
    while piece := output.read(_PIECE):
        *whole, rest = (rest + piece).split(b"\0")
        for path in whole:
            yield path.decode("utf-8", "replace")
