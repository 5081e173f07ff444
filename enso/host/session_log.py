"""Reading a session file: header, entries, versions 1 to 3, and the branch from root to leaf.

Owns what the lines of a file mean. It only reads: nothing here opens a file
for writing. What an entry says is ``enso.host.decode``'s; writing is ``enso.host.session_file``'s.
"""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

from enso.host.json_lines import MalformedLine, clean_text, is_blank, parse_line
from enso.thread_ids import is_thread_id

CURRENT_VERSION: Final = 3

_BUFFER: Final = 1 << 18

Entry = dict[str, Any]


class Line(NamedTuple):
    """One line of a file: where it begins, its bytes with its newline, and its JSON value.

    ``value`` is ``None`` for a line that holds none; ``damaged`` says that it holds something that
    is no JSON, or a JSON value that is no object.
    """

    offset: int
    raw: bytes
    value: Any
    damaged: bool

    @property
    def counts(self) -> bool:
        """Whether the line holds a value for pi, which skips null, false, 0 and "" as blank."""
        return isinstance(self.value, (dict, list)) or bool(self.value)


def read_lines(stream: Iterable[bytes], offset: int = 0) -> Iterator[Line]:
    """The lines of a binary stream, which ends lines at newline bytes and nowhere else."""
    for raw in stream:
        yield _line(offset, raw)
        offset += len(raw)


def _line(offset: int, raw: bytes) -> Line:
    try:
        value = parse_line(raw)
    except MalformedLine:
        return Line(offset, raw, None, damaged=not is_blank(raw))
    return Line(offset, raw, value, damaged=not isinstance(value, dict))


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of a session. ``version`` is ``None`` when it is no number.

    ``cwd`` is empty when the header records none. ``raw`` is the whole stored object.
    """

    id: str
    cwd: str
    version: float | None
    raw: Entry

    @property
    def writable(self) -> bool:
        """Whether Enso knows this version well enough to write it."""
        return self.version is not None and self.version <= CURRENT_VERSION


def read_header(value: Any) -> Header | None:
    """The header that the first value of a file is; ``None`` when it is none (pi's rule)."""
    if not isinstance(value, dict):
        return None
    raw = cast("Entry", value)
    session_id, cwd = raw.get("id"), raw.get("cwd")
    if raw.get("type") != "session" or not isinstance(session_id, str):
        return None
    return Header(
        id=clean_text(session_id),
        cwd=clean_text(cwd) if isinstance(cwd, str) else "",
        version=_version(raw.get("version")),
        raw=raw,
    )


def _version(stored: Any) -> float | None:
    """The stored version as a number; a header without one is of version 1."""
    if stored is None:
        return 1
    return stored if isinstance(stored, (int, float)) and not isinstance(stored, bool) else None


@dataclass(slots=True)
class SessionLog:
    """A session file as read: its header and its entries, each with an ``id`` and a ``parentId``.

    Entries are the stored objects, in file order, changed in memory to version 3. ``skipped``
    counts damaged lines. ``torn`` says that the last line lacks its newline.
    """

    header: Header
    entries: list[Entry] = field(default_factory=list[Entry])
    skipped: int = 0
    torn: bool = False

    def branch(self) -> list[Entry]:
        """The entries from the root to the leaf, which is the file's last entry."""
        return branch_of(self.entries)

    @property
    def name(self) -> str | None:
        """The name that a person gave the thread, by the last ``session_info`` of the file."""
        return last_name(self.entries)


def last_name(entries: Sequence[Entry]) -> str | None:
    """The name that a person gave the thread of these entries; ``None`` when it has none."""
    infos = (entry for entry in reversed(entries) if entry.get("type") == "session_info")
    return next(map(name_of, infos), None)


def name_of(session_info: Entry) -> str | None:
    """The name in a ``session_info`` entry, trimmed; ``None`` when it clears the name."""
    name = session_info.get("name")
    return (clean_text(name).strip() or None) if isinstance(name, str) else None


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read; raises ``OSError`` for what is no regular file (a pipe would block)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    stream = os.fdopen(descriptor, "rb", buffering=_BUFFER)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return stream


def open_sized(path: Path) -> tuple[BinaryIO, int]:
    """Open a file to read, with the bytes that it has now. Raises ``OSError``."""
    stream = open_regular(path)
    return stream, os.fstat(stream.fileno()).st_size


def read_session(path: Path) -> SessionLog | None:
    """Read a whole file; ``None`` when it is no session. Raises ``OSError``."""
    with open_regular(path) as stream:
        return read_session_lines(read_lines(stream))


def read_session_lines(
    lines: Iterable[Line], take: Callable[[Entry], None] | None = None
) -> SessionLog | None:
    """The session that these lines are; ``None`` when the first value is no header.

    Its entries go to ``take`` as they are read, where that is said, and are not held.
    """
    log: SessionLog | None = None
    adopter = EntryAdopter(None)
    skipped, torn = 0, False
    for line in lines:
        torn = not line.raw.endswith(b"\n")
        skipped += line.damaged
        if log is None and line.counts:
            header = read_header(line.value)
            if header is None or not is_thread_id(header.id):
                return None
            log = SessionLog(header)
            adopter = EntryAdopter(header.version)
        entry = adopter.adopt(line)
        if log is not None and entry is not None:
            if take is None:
                log.entries.append(entry)
            else:
                take(entry)
    if log is not None:
        log.skipped, log.torn = skipped, torn
    return log


class EntryAdopter:
    """Turns the lines of one file, in order, into entries of version 3.

    An entry without an id gets one from where its line begins: the same at every reading, in a
    file that is cut off or has grown. Entries of version 1 have neither ids nor parents and form
    one line, each the child of the one before. ``last_id`` is the id of the entry before.
    """

    def __init__(self, version: float | None) -> None:
        self._linear = version is not None and version < 2
        self._renames_hooks = version is not None and version < 3
        self.last_id: str | None = None
        self._ids_by_index: list[str | None] = []

    def adopt(self, line: Line) -> Entry | None:
        """The entry on this line; ``None`` for a header, damage, or a blank line."""
        if not line.counts:
            return None
        value: Any = line.value
        entry = cast("Entry", value) if isinstance(value, dict) else None
        if entry is None or entry.get("type") == "session":
            self._remember(None)
            return None
        self._give_place(entry, line.offset)
        if self._renames_hooks:
            rename_hook_message(entry)
        self._remember(entry["id"])
        return entry

    def pass_by(self) -> None:
        """A header passed, which version 1 counts as well."""
        self._remember(None)

    def _remember(self, entry_id: str | None) -> None:
        """Keep the id under the index that version 1 counts by, headers and all."""
        if self._linear:
            self._ids_by_index.append(entry_id)
        if entry_id is not None:
            self.last_id = entry_id

    def _give_place(self, entry: Entry, offset: int) -> None:
        if self._linear:
            entry["id"], entry["parentId"] = given_id(offset), self.last_id
            self._give_first_kept(entry)
            return
        entry_id = stored_id(entry.get("id"))
        if entry_id is None:
            entry_id = given_id(offset)
            entry.setdefault("parentId", self.last_id)
        entry["id"] = entry_id
        entry["parentId"] = stored_id(entry.get("parentId"))

    def _give_first_kept(self, entry: Entry) -> None:
        """Version 1 names the first entry that a compaction kept by its index in the file."""
        index = entry.get("firstKeptEntryIndex")
        if entry.get("type") != "compaction" or isinstance(index, bool):
            return
        if not isinstance(index, (int, float)):
            return
        del entry["firstKeptEntryIndex"]
        if 0 <= index < len(self._ids_by_index) and self._ids_by_index[int(index)]:
            entry["firstKeptEntryId"] = self._ids_by_index[int(index)]


def given_id(offset: int) -> str:
    """The id of an entry that has none: where its line begins, in eight hex digits."""
    return f"{offset:08x}"


def stored_id(value: Any) -> str | None:
    """An id as it is stored, also where another program wrote a number; ``None`` without one."""
    if isinstance(value, str):
        return clean_text(value) or None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return str(int(value)) if math.isfinite(value) and value == int(value) else None


def rename_hook_message(entry: Entry) -> None:
    """Version 2 calls the role of an extension's message ``hookMessage``."""
    message = entry.get("message")
    if entry.get("type") == "message" and isinstance(message, dict):
        stored = cast("Entry", message)
        if stored.get("role") == "hookMessage":
            stored["role"] = "custom"


def branch_of(entries: Sequence[Entry], leaf_id: str | None = None) -> list[Entry]:
    """The entries from the root to ``leaf_id``, or to the last one.

    Of two entries with one id the later one counts. A parent that is missing ends the walk, and so
    does one that was walked already: a cycle reads as the branch up to where it closes.
    """
    by_id = {entry["id"]: entry for entry in entries}
    branch: list[Entry] = []
    entry_id = leaf_id if leaf_id is not None else entries[-1]["id"] if entries else None
    while entry_id is not None and (entry := by_id.pop(entry_id, None)) is not None:
        branch.append(entry)
        entry_id = entry["parentId"]
    branch.reverse()
    return branch
