"""The files that the first look has not come to yet, and which of them a thread is in.

A thread that is asked for meanwhile is found by its file's name, which ends in its id; a file that
was renamed, by its header.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from enso.host.contract import StoredThread
from enso.host.file_stamp import stamp_of
from enso.host.json_lines import MalformedLine, parse_line
from enso.host.session_beginning import read_beginning
from enso.host.session_log import Header, open_regular, read_header

_HEADER: Final = 2048
"""Bytes that a header takes seldom more than."""


class UnreadFiles:
    """The paths that are still to be looked at. Usable from any worker."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths = dict.fromkeys(paths)
        self._reading = threading.Lock()
        self._by_header: dict[str, list[str]] | None = None

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, path: str) -> bool:
        return path in self._paths

    def take(self, path: str) -> bool:
        """Whether this file was still to be looked at; it is no more."""
        return self._paths.pop(path, path) is None

    def named(self, thread_id: str) -> list[str]:
        """The files whose names end in this id."""
        ending = f"_{thread_id}.jsonl"
        return [path for path in list(self._paths) if path.endswith(ending)]

    def headed(self, thread_id: str) -> list[str]:
        """The files whose headers hold this id; reads the headers of all, once."""
        with self._reading:
            if self._by_header is None:
                self._by_header = {}
                for path in list(self._paths):
                    self._by_header.setdefault(header_id(path), []).append(path)
            paths = self._by_header.get(thread_id, [])
        return [path for path in paths if path in self]


def header_id(path: str) -> str:
    """The id that a file's header holds; empty where there is none to be read."""
    header = _header(path)
    return header.id if header is not None else ""


def beginning_of(path: str) -> StoredThread | None:
    """A row that says what a file's header says; ``None`` where there is none to be read."""
    header, stamp = _header(path), stamp_of(Path(path))
    if header is None or stamp is None:
        return None
    return StoredThread(
        id=header.id,
        path=Path(path),
        cwd=Path(header.cwd),
        modified=datetime.fromtimestamp(max(stamp.mtime_ns, 0) / 1e9, UTC),
        message_count=0,
        first_message="",
        name=None,
        end="empty",
    )


def _header(path: str) -> Header | None:
    try:
        with open_regular(Path(path)) as stream:
            begin = os.pread(stream.fileno(), _HEADER, 0)
            line, newline, _ = begin.partition(b"\n")
            if newline and line.startswith(b'{"type":"session"'):
                header = read_header(parse_line(line))
            else:
                beginning = read_beginning(stream)
                header = beginning.header if beginning is not None else None
    except (OSError, ValueError, MalformedLine):
        return None
    return header
