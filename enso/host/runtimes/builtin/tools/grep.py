"""The tool ``grep``: lines that match, with ripgrep where it is installed. Results: pi 1.6.0.

Files come in the order of their names, whatever searches, so that a limit cuts at the same place.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
)
from enso.host.runtimes.builtin.tools.truncation import (
    MAX_BYTES,
    MAX_LINE_UNITS,
    cut_line,
)
from enso.host.runtimes.builtin.tools.workers import Cancellation, in_own_worker
from enso.host.runtimes.paths import real_path, resolve_path

DEFAULT_LIMIT: Final = 100
MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""Size of what a search prints for one line; a longer line is not shown."""

_DOT_AT_START: Final = re.compile(r"^(!?)(?:\./)+")
_LINE_END: Final = re.compile(r"\r?\n?\Z")


@dataclass(frozen=True, slots=True)
class _Wanted:
    pattern: str
    path: Path
    is_directory: bool
    glob: str
    ignore_case: bool
    literal: bool
    context: int
    limit: int


_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["pattern"],
    "properties": {
        "pattern": {"type": "string", "description": "A regular expression, or a literal text"},
        "path": {"type": "string", "description": "Where to search (the project's directory)"},
        "glob": {
            "type": "string",
            "description": "Which files, below path: '*.ts' anywhere, 'src/**/*.ts' there",
        },
        "ignoreCase": {"type": "boolean", "description": "Take a for A (false)"},
        "literal": {"type": "boolean", "description": "The pattern is literal text (false)"},
        "context": {"type": "number", "description": "Lines to show around a match (0)"},
        "limit": {
            "type": "number",
            "description": f"How many matches to show ({DEFAULT_LIMIT})",
        },
    },
}


class GrepTool(BuiltinTool):
    """Searches files. ``find_ripgrep`` says where ripgrep is, or ``None``."""

    name: str = "grep"
    description: str = (
        "Search files for a pattern and show the lines that match, with file and line number. What "
        f".gitignore names is left out. Shows at most {DEFAULT_LIMIT} matches or "
        f"{MAX_BYTES // 1024}KB, and {MAX_LINE_UNITS} characters of a line."
    )
    parameters: Mapping[str, Any] = _PARAMETERS

    def __init__(self, find_ripgrep: Callable[[], str | None] = lambda: shutil.which("rg")) -> None:
        self._find_ripgrep = find_ripgrep

    async def perform(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Search. Raises ``ToolFailed``."""

        def work(cancellation: Cancellation) -> ToolOutcome:
            wanted = _wanted(given, context.cwd)
            ripgrep = self._find_ripgrep()
            command = _own_command(wanted) if ripgrep is None else _ripgrep(ripgrep, wanted)
            directory = wanted.path if wanted.is_directory else wanted.path.parent
            with search_process(command, directory, cancellation) as search:
                return _outcome(wanted, search)

        return await in_own_worker("enso-grep", work)


def _wanted(given: Mapping[str, Any], cwd: Path) -> _Wanted:
    path = resolve_path(given.get("path") or ".", cwd)
    if not path.exists():
        raise ToolFailed(f"Path not found: {path}")
    if not path.is_dir() and not path.is_file():  # who opens a pipe would wait for its other end
        raise ToolFailed(f"Neither a directory nor a regular file: {path}")
    if "\0" in given["pattern"] + given.get("glob", ""):
        raise ToolFailed("A pattern cannot hold a NUL character.")
    return _Wanted(
        pattern=given["pattern"],
        path=real_path(path) if path.is_dir() else path,
        is_directory=path.is_dir(),
        glob=_DOT_AT_START.sub(r"\1", given.get("glob", "")),
        ignore_case=given.get("ignoreCase", False),
        literal=given.get("literal", False),
        context=max(0, int(given.get("context", 0))),
        limit=limit_of(given.get("limit"), DEFAULT_LIMIT),
    )


def _ripgrep(program: str, wanted: _Wanted) -> list[str]:
    command = [program, "--no-config", "--json", "--line-number", "--color=never", "--hidden"]
    command.append("--sort=path")
    if wanted.ignore_case:
        command.append("--ignore-case")
    if wanted.literal:
        command.append("--fixed-strings")
    if wanted.glob:
        command += ["--glob", wanted.glob]
    if wanted.context:
        command += ["--context", str(wanted.context)]
    return [*command, "--", wanted.pattern, "." if wanted.is_directory else str(wanted.path)]


def _own_command(wanted: _Wanted) -> list[str]:
    return own_program(
        "grep",
        {
            "pattern": wanted.pattern,
            "path": str(wanted.path),
            "glob": wanted.glob,
            "ignoreCase": wanted.ignore_case,
            "literal": wanted.literal,
            "context": wanted.context,
        },
    )


def _outcome(wanted: _Wanted, search: SearchProcess) -> ToolOutcome:
    matches = _Matches(wanted)
    for event in _events(search.output):
        if not matches.take(event):
            search.stop()
            return matches.outcome(could_not_read=False)
    code = search.exit_code()
    if matches.count == 0 and code not in {0, 1}:
        raise ToolFailed(search.problems() or f"ripgrep exited with code {code}")
    return matches.outcome(could_not_read=code not in {0, 1})


def _events(output: IO[bytes]) -> Iterator[Mapping[str, Any]]:
    """The events of a search; ``{}`` for one that is too long to be read."""
    while line := output.readline(MAX_EVENT_BYTES):
        if not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = output.readline(MAX_EVENT_BYTES)
            yield {}
        else:
            yield json.loads(line)


class _Matches:
    """The lines to show: matches up to the limit, with the lines around them."""

    def __init__(self, wanted: _Wanted) -> None:
        self.count = 0
        self._wanted = wanted
        self._lines = ResultLines()
        self._lines_cut = self._too_long = self._limit_reached = False
        self._last_file = ""
        self._context_end = 0  # of the last match, once the limit is reached

    def take(self, event: Mapping[str, Any]) -> bool:
        """Take an event of the search; whether more are wanted."""
        if not event:
            self._too_long = True
        if event.get("type") not in {"match", "context"}:
            return True
        data, is_match = event["data"], event["type"] == "match"
        file, number = _text(data["path"]), data["line_number"]
        if self.count < self._wanted.limit:
            self._add(file, number, _text(data["lines"]), is_match=is_match)
            self.count += is_match
            self._context_end = number + self._wanted.context
            return True
        return self._take_after_limit(file, number, _text(data["lines"]), is_match=is_match)

    def _take_after_limit(self, file: str, number: int, text: str, *, is_match: bool) -> bool:
        """Take what still belongs to the last match; another match says that there are more."""
        belongs = file == self._last_file and number <= self._context_end
        if belongs:
            self._add(file, number, text, is_match=False)
        self._limit_reached = self._limit_reached or is_match
        return not self._limit_reached or (belongs and number < self._context_end)

    def _add(self, file: str, number: int, text: str, *, is_match: bool) -> None:
        self._last_file = file
        name = file.removeprefix("./") if self._wanted.is_directory else Path(file).name
        shown, was_cut = cut_line(_LINE_END.sub("", text))
        self._lines_cut = self._lines_cut or was_cut
        mark = ":" if is_match else "-"
        self._lines.add(f"{name}{mark}{number}{mark} {shown}")

    def outcome(self, *, could_not_read: bool) -> ToolOutcome:
        """The lines, and what is not shown."""
        if self.count == 0:
            self._lines.add("No matches found")
        limit, notices = self._wanted.limit, list[Notice]()
        if self._limit_reached:
            sentence = f"{limit} matches limit reached. Use limit={limit * 2} for more"
            sentence += ", or refine pattern"
            notices.append(Notice(sentence, "matchLimitReached", limit, is_about_count=True))
        if self._lines_cut:
            sentence = f"Some lines truncated to {MAX_LINE_UNITS} chars. "
            sentence += "Use read tool to see full lines"
            notices.append(Notice(sentence, "linesTruncated"))
        if self._too_long:
            notices.append(Notice("Lines of many megabytes are left out"))
        if could_not_read:
            notices.append(Notice("Some files could not be read"))
        return self._lines.outcome(notices)


def _text(data: Mapping[str, str]) -> str:
    """A text of an event; one that is no UTF-8 comes as base64."""
    if "text" in data:
        return data["text"]
    return base64.b64decode(data.get("bytes", "")).decode("utf-8", "replace")
