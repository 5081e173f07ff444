"""The files and directories of a tree that are not ignored, in the order of their names' bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from .ignore_rules import Ignoring, Rules


@dataclass(frozen=True, slots=True)
class Found:
    """A file or directory: its path below the root, with ``/``, and its absolute path."""

    path: str
    absolute: str
    is_directory: bool
    is_file: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """A directory or file that could not be read, and why."""

    absolute: str
    why: str


class Walk:
    """Walks a tree, hidden files too; symlinks are found and not followed.

    ``chosen`` come before what is ignored: a path that matches is taken, one that matches a rule
    with ``!`` is not. ``skip_git`` leaves out what is in ``.git``. ``problems`` are what could not
    be read.
    """

    def __init__(
        self,
        root: str,
        ignoring: Ignoring,
        *,
        chosen: Rules | None = None,
        skip_git: bool = False,
    ) -> None:
        self.problems: list[Problem] = []
        self._chosen = chosen
        self._root = root
        self._ignoring = ignoring
        self._skip_git = skip_git

    def __iter__(self) -> Iterator[Found]:
        levels = [self._entries(self._root, "", self._ignoring)]
        while levels:
            try:
                found, ignoring = next(levels[-1])
            except StopIteration:
                levels.pop()
                continue
            yield found
            if found.is_directory:
                levels.append(self._entries(found.absolute, f"{found.path}/", ignoring))

    def _entries(
        self, directory: str, prefix: str, ignoring: Ignoring
    ) -> Iterator[tuple[Found, Ignoring]]:
        try:
            with os.scandir(directory) as scanned:
                entries = sorted(scanned, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            self.problems.append(Problem(directory, error.strerror or str(error)))
            return
        inside = ignoring.inside(directory, (entry.name for entry in entries))
        for entry in entries:
            if self._skip_git and entry.name == ".git":
                continue
            is_directory = _is_directory(entry)
            if self._takes(entry.path, inside, is_directory=is_directory):
                is_file = not is_directory and entry.is_file(follow_symlinks=False)
                yield Found(f"{prefix}{entry.name}", entry.path, is_directory, is_file), inside

    def _takes(self, path: str, ignoring: Ignoring, *, is_directory: bool) -> bool:
        if self._chosen is not None:
            said = self._chosen.ignores(path, is_directory=is_directory)
            if said is not None:
                return said
            if not is_directory and self._chosen.name_some:
                return False
        return not ignoring.ignores(path, is_directory=is_directory)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def say_problems(problems: list[Problem]) -> int:
    """Print what could not be read; the exit code that says whether there was anything."""
    for problem in problems:
        sys.stderr.write(f"{problem.absolute}: {problem.why}\n")
    return 2 if problems else 0
