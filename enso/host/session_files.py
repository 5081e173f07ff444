"""Which session files there are, and whether that may have changed: no file is opened.

Owns the rule that only files in the direct subdirectories of the sessions directory count, each
real file once, by its first path. Between two looks at everything, a directory is listed again only
when its own time says that a file was made in it or went: what is appended to a file does not show.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from enso.host.file_stamp import FileStamp

_TICK_NS: Final = 50_000_000
"""A directory that changed so shortly before it was listed may change again in the same tick."""
_UNSETTLED: Final = -1
_ENDING: Final = ".jsonl"


@dataclass(slots=True)
class LookCounters:
    """How much was asked of the file system: files and directories whose state was asked for."""

    files: int = 0
    directories: int = 0


class FoundFile(Struct, frozen=True, gc=False):
    """A session file that is there: its state, and when anything of it last changed (ns)."""

    path: str
    stamp: FileStamp
    changed_ns: int
    device: int


class Look(NamedTuple):
    """Every session file by its path. ``fresh``: the paths of those whose state is as of this look,
    while others are as an earlier look found them; ``None``: all are."""

    files: dict[str, FoundFile]
    fresh: set[str] | None


@dataclass(slots=True)
class _Directory:
    """A directory as it was listed."""

    changed_ns: int
    linked: bool
    files: list[FoundFile] = field(default_factory=list[FoundFile])


class SessionFiles:
    """The session files of one sessions directory. Not thread-safe: one look at a time."""

    def __init__(self, sessions_dir: Path) -> None:
        self.counters = LookCounters()
        self._sessions_dir = str(sessions_dir)
        self._changed_ns = _UNSETTLED
        self._directories: dict[str, _Directory] = {}

    def look(self) -> Look:
        """Look at everything."""
        self._changed_ns = self._time_of(self._sessions_dir)
        entries = sorted(_entries(self._sessions_dir), key=lambda entry: entry.path)
        self._directories = {
            entry.path: self._listed(entry.path, entry.is_symlink())
            for entry in entries
            if _is_dir(entry)
        }
        return Look(self._once(), None)

    def look_again(self) -> Look | None:
        """Look at the directories that changed; ``None`` when none did."""
        linked = any(directory.linked for directory in self._directories.values())
        same = self._time_of(self._sessions_dir) == self._changed_ns != _UNSETTLED
        if linked or not same:
            return self.look()
        again = self._changed()
        for path in again:
            self._directories[path] = self._listed(path, self._directories[path].linked)
        fresh = {file.path for path in again for file in self._directories[path].files}
        return Look(self._once(), fresh) if again else None

    def paths(self) -> frozenset[str]:
        """What is named as a session file now; asks for no file's state."""
        directories = (one.path for one in _entries(self._sessions_dir) if _is_dir(one))
        return frozenset(
            f"{directory}/{name}" for directory in directories for name in _session_names(directory)
        )

    def _changed(self) -> list[str]:
        return [
            path
            for path, directory in self._directories.items()
            if directory.changed_ns == _UNSETTLED or self._time_of(path) != directory.changed_ns
        ]

    def _listed(self, path: str, linked: bool) -> _Directory:
        """Ask for the state of every file of a directory, each by its name in there: that spares
        the system the way to the directory, ten thousand times."""
        directory = _Directory(self._time_of(path), linked)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return directory
        try:
            names = _session_names(descriptor)
            self.counters.files += len(names)
            directory.files = _states(path, descriptor, names)
        finally:
            os.close(descriptor)
        return directory

    def _once(self) -> dict[str, FoundFile]:
        """Each real file once, by its first path."""
        directories = self._directories.values()
        found = {file.path: file for directory in directories for file in directory.files}
        if len({file.stamp.inode for file in found.values()}) == len(found):
            return found
        once: dict[tuple[int, int], FoundFile] = {}
        for file in found.values():
            once.setdefault((file.device, file.stamp.inode), file)
        return {file.path: file for file in once.values()}

    def _time_of(self, directory: str) -> int:
        """When a file last came or went; unsettled when that was only just, or cannot be told."""
        self.counters.directories += 1
        try:
            changed_ns = os.stat(directory).st_mtime_ns  # noqa: PTH116 - a path each costs more
        except OSError:
            return _UNSETTLED
        return changed_ns if time.time_ns() - changed_ns > _TICK_NS else _UNSETTLED


def _states(directory: str, descriptor: int, names: Iterable[str]) -> list[FoundFile]:
    """The regular files among these names of an open directory."""
    found: list[FoundFile] = []
    for name in names:
        try:
            status = os.stat(name, dir_fd=descriptor)
        except OSError:  # a link to nothing, or a file that went
            continue
        if stat.S_ISREG(status.st_mode):
            stamp = FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)
            path = f"{directory}/{name}"
            found.append(FoundFile(path, stamp, status.st_ctime_ns, status.st_dev))
    return found


def is_unreadable(path: str) -> bool:
    """Whether a file or directory is there that this process may not read."""
    return os.path.exists(path) and not os.access(path, os.R_OK)  # noqa: PTH110 - many are asked


def unreadable_paths(sessions_dir: Path) -> list[str]:
    """The directories of session files, and the session files, that may not be read, in order."""
    directories = [entry.path for entry in _entries(sessions_dir) if _is_dir(entry)]
    files = (f"{one}/{name}" for one in directories for name in _session_names(one))
    return sorted(path for path in (*directories, *files) if is_unreadable(path))


def linked_directories(sessions_dir: Path) -> list[Path]:
    """The directories of session files that are symbolic links: a watch does not follow them."""
    found = _entries(sessions_dir)
    return sorted(Path(entry.path) for entry in found if entry.is_symlink() and _is_dir(entry))


def _entries(directory: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _session_names(directory: str | int) -> list[str]:
    """What is named as a session file in a directory, sorted."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 - no path is made of what is passed over
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(_ENDING))


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
