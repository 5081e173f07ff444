"""The search program: ``grep`` prints what ``rg --json`` prints, ``find`` the paths it finds.

Both are told what to do by one JSON object, and end with 0, with 1 when nothing was found, or with
2 when something could not be read; what, is on the standard error output.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from .globs import BadGlob, compile_glob
from .ignore_rules import Rules, ignoring_from_above, parse_rules
from .patterns import BadPattern, compile_pattern
from .text_blocks import text_blocks
from .walk import Found, Problem, Walk, say_problems


def main(arguments: list[str]) -> int:
    """Run ``grep`` or ``find`` with a JSON object; the exit code."""
    command, told = arguments[0], json.loads(arguments[1])
    try:
        return _COMMANDS[command](told)
    except (BadGlob, BadPattern) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except BrokenPipeError:  # who reads has enough
        os._exit(0)


def _grep(told: dict[str, Any]) -> int:
    """Search ``path``, a directory or a file, for lines that match ``pattern``."""
    pattern = compile_pattern(
        told["pattern"], literal=told["literal"], ignore_case=told["ignoreCase"]
    )
    walk = _Files(told["path"], told["glob"])
    found = False
    for file in walk:
        try:
            for event in _events(file, pattern, told["context"], named=file.path == ""):
                found = True
                sys.stdout.write(json.dumps(event) + "\n")
        except OSError as error:
            walk.problems.append(Problem(file.absolute, error.strerror or str(error)))
    return say_problems(walk.problems) or (0 if found else 1)


class _Files:
    """The files to search: one that is named, or those of a tree that the glob lets through."""

    def __init__(self, path: str, glob: str | None) -> None:
        self.problems: list[Problem] = []
        self._path, self._glob = path, glob

    def __iter__(self) -> Iterator[Found]:
        if not Path(self._path).is_dir():
            yield Found("", self._path, is_directory=False, is_file=True)
            return
        kinds = (".rgignore", ".ignore")
        ignoring = ignoring_from_above(self._path, kinds, needs_repository=True)
        chosen = _chosen(self._glob, self._path) if self._glob else None
        walk = Walk(self._path, ignoring, chosen=chosen)
        yield from (found for found in walk if found.is_file)
        self.problems += walk.problems


def _chosen(glob: str, root: str) -> Rules:
    compile_glob(glob.removeprefix("!"))  # a bad one is told, and not passed over
    return parse_rules(glob, root)


def _events(
    file: Found, pattern: re.Pattern[str], context: int, *, named: bool
) -> Iterator[dict[str, Any]]:
    name = file.path or file.absolute
    with Path(file.absolute).open("rb") as opened:
        lines = _Lines(pattern, context)
        for block in text_blocks(opened, named=named):
            for kind, number, text in lines.take(block):
                data = {"path": {"text": name}, "lines": {"text": text}, "line_number": number}
                yield {"type": kind, "data": data}


_Line = tuple[str, int, str]


class _Lines:
    """Finds the matching lines of a file, block by block, with the lines around them."""

    def __init__(self, pattern: re.Pattern[str], context: int) -> None:
        self._pattern, self._context = pattern, context
        self._number = 0
        self._before: list[_Line] = []
        self._after = 0

    def take(self, block: str) -> Iterator[_Line]:
        """The lines to print of the next block."""
        matching = self._matching(block)
        yield from self._around(block, matching) if self._context else matching
        self._number += block.count("\n")

    def _matching(self, block: str) -> Iterator[_Line]:
        at, number = 0, self._number
        while at < len(block) and (found := self._pattern.search(block, at)):
            start = block.rfind("\n", 0, found.start()) + 1
            if start >= len(block):
                return
            number += block.count("\n", at, start) + 1
            at = block.find("\n", start) + 1 or len(block)
            line = block[start:at]
            # what was found may have begun here and gone on below: a line matches by itself
            if self._pattern.search(line.removesuffix("\n")):
                yield "match", number, line

    def _around(self, block: str, matching: Iterator[_Line]) -> Iterator[_Line]:
        found = {line[1]: line for line in matching}
        for offset, text in enumerate(_ended(block)):
            number = self._number + offset + 1
            if number in found:
                yield from self._before
                yield found[number]
                self._before, self._after = [], self._context
            elif self._after:
                yield "context", number, text
                self._after -= 1
            else:
                self._before = [*self._before, ("context", number, text)][-self._context :]


def _ended(block: str) -> Iterable[str]:
    lines = block.split("\n")
    yield from (f"{line}\n" for line in lines[:-1])
    if lines[-1]:
        yield lines[-1]


def _find(told: dict[str, Any]) -> int:
    """Print the paths below ``path`` that match ``pattern``, each ended by NUL; ``limit`` of them.

    A pattern without ``/`` is for names; one of small letters alone is for large ones too.
    """
    keep = _matched_by(told["pattern"])
    ignoring = ignoring_from_above(told["path"], (".fdignore", ".ignore"), needs_repository=False)
    walk = Walk(told["path"], ignoring, skip_git=True)
    left: int = told["limit"]
    for found in walk:
        if not keep(found):
            continue
        sys.stdout.buffer.write(os.fsencode(f"{found.path}{'/' if found.is_directory else ''}\0"))
        left -= 1
        if not left:
            break
    return say_problems(walk.problems) or (1 if left == told["limit"] else 0)


def _matched_by(glob: str) -> Callable[[Found], bool]:
    while glob.startswith("./"):
        glob = glob[2:]
    pattern = compile_glob(glob, ignore_case=glob == glob.lower())
    if "/" not in glob:
        return lambda found: bool(pattern.match(found.path.rpartition("/")[2]))
    if glob.startswith("/"):
        return lambda found: bool(pattern.match(found.absolute))
    return lambda found: bool(pattern.match(found.path))


_COMMANDS: Final[dict[str, Callable[[dict[str, Any]], int]]] = {"grep": _grep, "find": _find}
START: Final = str(Path(__file__).parent.parent)
"""The directory from which the program is imported as ``file_search.program``."""
