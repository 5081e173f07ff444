"""The directories this server serves. A thread belongs to the directory its header records.

Owns what a project is called and whether a directory is one; paths are compared as real paths, so
that a symbolic link and its target are one project. Knows nothing of threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A directory that is served. ``id`` is its path as the operator gave it, made absolute."""

    id: str
    name: str
    directory: Path


class Projects:
    """The served directories, in the operator's order, each real directory once."""

    def __init__(self, directories: Sequence[Path]) -> None:
        given = [Path(os.path.normpath(d.expanduser().absolute())) for d in directories]
        once = {os.path.realpath(directory): directory for directory in reversed(given)}
        kept = [directory for directory in given if directory in once.values()]
        self.all: tuple[Project, ...] = _distinctly_named(dict.fromkeys(kept))
        self._by_path = {os.path.realpath(p.directory): p for p in self.all}
        self._by_path |= {str(p.directory): p for p in self.all}

    def of(self, directory: Path) -> Project | None:
        """The project that ``directory`` is, existing or not; ``None`` for any other path.

        A relative path is no project: it would mean another place in each process.
        """
        if not directory.is_absolute():
            return None
        try:
            real = os.path.realpath(directory)
        except (OSError, ValueError):  # a NUL in the path, a name longer than the system takes
            return None
        return self._by_path.get(real) or self._by_path.get(str(directory))

    def by_id(self, project_id: str) -> Project | None:
        """The project of this id; ``None`` for any other text, which is never opened as a path."""
        return next((project for project in self.all if project.id == project_id), None)

    def serves(self, directory: Path) -> bool:
        """Whether threads of this directory may be listed and read. It need not exist any more."""
        return self.of(directory) is not None

    def can_run_in(self, directory: Path) -> bool:
        """Whether a thread of this directory may come live: it is served, and it exists."""
        return self.serves(directory) and directory.is_dir()


def _distinctly_named(directories: Iterable[Path]) -> tuple[Project, ...]:
    """A project each; those that share a last name are told apart by the directory above it."""
    listed = list(directories)
    names = [directory.name for directory in listed]
    return tuple(
        Project(
            id=str(directory),
            name=_name(directory, parts=2 if names.count(directory.name) > 1 else 1),
            directory=directory,
        )
        for directory in listed
    )


def _name(directory: Path, *, parts: int) -> str:
    return "/".join(directory.parts[1:][-parts:]) or str(directory)
