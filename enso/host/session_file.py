"""One session file that a live thread owns: reading it whole, and appending to it.

Owns every write to a session file: how a file begins, the one whole line that an append adds, the
migration of an old version, and noticing that another program wrote. Memory stays in line with the
file: an entry that was not written is no parent of a later one. Between two uses the entries may
rest in the file alone (``rest``). Knows nothing of what entries say.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

from enso.host.contract import SessionNotWritten, SessionUnreadable
from enso.host.file_stamp import FileStamp, stamp_of
from enso.host.json_lines import dump_line
from enso.host.session_growth import read_growth
from enso.host.session_log import (
    CURRENT_VERSION,
    Entry,
    Header,
    SessionLog,
    branch_of,
    open_sized,
    read_header,
    read_session,
)
from enso.host.session_migration import write_migrated
from enso.host.session_names import iso_now, session_path
from enso.host.session_rest import read_as_it_was
from enso.host.session_write import append_whole, create_whole

_FIELDS_FIRST: Final = ("custom", "custom_message")

Result = TypeVar("Result")


@dataclass(slots=True)
class _Known:
    """What is in memory of a file that does not rest: its entries, and their ids."""

    entries: list[Entry]
    ids: set[str]


def _known(entries: list[Entry]) -> _Known:
    return _Known(entries, {entry["id"] for entry in entries})


class SessionFile:
    """The log of one thread, in memory and on disk. Thread-safe: one lock around everything."""

    def __init__(self, path: Path, header: Header, log: SessionLog | None) -> None:
        """Not for callers: use ``open`` or ``create``."""
        self._lock = threading.RLock()
        self._path = path
        self._header = header
        self._stamp: FileStamp | None = None
        self._foreign = False
        self._given_out: set[str] = set()
        self._adopt(log or SessionLog(header))

    # -- opening ----------------------------------------------------------------------------------

    @classmethod
    def open(cls, path: Path) -> SessionFile:
        """Read the session at ``path``. Writes nothing: what a file needs is done at first append.

        Raises ``SessionUnreadable`` when it is gone, no session, or of a version above 3.
        """
        stamp = stamp_of(path)
        log = _read(path)
        opened = cls(path, log.header, log)
        opened._stamp = stamp
        return opened

    @classmethod
    def create(
        cls,
        sessions_dir: Path,
        thread_id: str,
        cwd: Path,
        parent: str | None = None,
        entries: Sequence[Entry] = (),
    ) -> SessionFile:
        """A new session of ``thread_id`` in ``cwd``. Nothing is on disk until ``begin``.

        ``parent`` is the path of the session it was forked from, ``entries`` what it has of it.
        """
        now = iso_now()
        stored: Entry = {
            "type": "session",
            "version": CURRENT_VERSION,
            "id": thread_id,
            "timestamp": now,
            "cwd": str(cwd),
        }
        if parent is not None:
            stored["parentSession"] = parent
        header = read_header(stored)
        if header is None:
            raise SessionUnreadable(thread_id, "This is no session header.")
        path = session_path(sessions_dir, cwd, thread_id, now)
        return cls(path, header, SessionLog(header, list(entries)))

    @property
    def thread_id(self) -> str:
        """The session's id, by its header."""
        return self._header.id

    @property
    def cwd(self) -> Path:
        """The directory that the header records."""
        return Path(self._header.cwd)

    @property
    def path(self) -> Path:
        """Where the file is, or will be."""
        return self._path

    @property
    def directory(self) -> Path:
        """The directory the file is in, or will be in."""
        return self._path.parent

    # -- reading ----------------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether the file is on disk, as far as this object wrote or read it."""
        with self._lock:
            return self._stamp is not None

    def entries(self) -> list[Entry]:
        """The stored entries of the whole file, in file order. The list is the caller's own."""
        with self._lock:
            return list(self._entries)

    def branch(self) -> list[Entry]:
        """The stored entries from root to leaf, in the shapes of version 3."""
        with self._lock:
            return [] if self._leaf_id is None else branch_of(self._entries, self._leaf_id)

    def read(self, look: Callable[[Sequence[Entry], str | None], Result]) -> Result:
        """What a look at all entries and the leaf gives, both of the same moment."""
        with self._lock:
            entries, leaf_id = list(self._entries), self._leaf_id
        return look(entries, leaf_id)

    @property
    def leaf_id(self) -> str | None:
        """The id of the parent of the next entry: the last one, until ``go_to`` said another."""
        with self._lock:
            return self._leaf_id

    @property
    def name(self) -> str | None:
        """The name that a person gave the thread."""
        with self._lock:
            return SessionLog(self._header, self._entries).name

    @property
    def is_of_old_version(self) -> bool:
        """Whether the file, as it was read, is of a version before the one that is written now."""
        with self._lock:
            version = self._header.version
            return self._stamp is not None and version is not None and version < CURRENT_VERSION

    @property
    def skipped_lines(self) -> int:
        """How many damaged lines the last reading met."""
        with self._lock:
            return self._skipped

    def new_entry_id(self) -> str:
        """Eight hex digits that no entry of this file has, given out once."""
        with self._lock:
            while (entry_id := uuid.uuid4().hex[:8]) in self._ids or entry_id in self._given_out:
                pass
            self._given_out.add(entry_id)
            return entry_id

    def go_to(self, entry_id: str | None) -> bool:
        """Make another entry the leaf, or none; False when there is no such entry.

        In memory alone: whoever opens the file next is at its last entry again.
        """
        with self._lock:
            known = entry_id is None or entry_id in self._ids
            if known:
                self._leaf_id = entry_id
            return known

    def open_whole(self) -> tuple[BinaryIO, int]:
        """The file, open for reading, and its size between two appends. Raises ``OSError``."""
        with self._lock:
            return open_sized(self._path)

    def changed_elsewhere(self) -> bool:
        """Whether another program changed or removed the file since it was last read or written."""
        with self._lock:
            if self._stamp is None:
                return False
            return self._foreign or stamp_of(self._path) != self._stamp

    def reload(self) -> None:
        """Read the file again, after it changed elsewhere. Raises ``SessionUnreadable``."""
        with self._lock:
            if self._stamp is None:
                return
            stamp = stamp_of(self._path)
            log = _read(self._path)
            if log.header.id != self.thread_id:
                raise SessionUnreadable(self.thread_id, "The file now holds another thread.")
            self._adopt(log)
            self._stamp, self._foreign = stamp, False

    def _adopt(self, log: SessionLog) -> _Known:
        known = _known(log.entries)
        self._header = log.header
        self._in_memory: _Known | None = known
        self._skipped = log.skipped
        self._leaf_id: str | None = log.entries[-1]["id"] if log.entries else None
        return known

    # -- resting ----------------------------------------------------------------------------------

    @property
    def weight(self) -> int:
        """How many bytes of the file are held as entries; 0 while it rests, or has no file."""
        with self._lock:
            return self._stamp.size if self._stamp is not None and self._in_memory else 0

    def rest(self) -> bool:
        """Let go of the entries until they are asked for again; the leaf stays where it is.

        False when they cannot be read again just as they are: there is no file, or another program
        wrote into it between two entries of ours.
        """
        with self._lock:
            if self._stamp is None or self._foreign:
                return False
            self._in_memory = None
            return True

    def _awake(self) -> _Known:
        """The entries, read again where they rest. Raises ``SessionUnreadable``."""
        if self._in_memory is not None:
            return self._in_memory
        leaf_id = self._leaf_id
        log, as_it_was = read_as_it_was(self._path, self._stamp)
        if log is None or not log.header.writable or log.header.id != self.thread_id:
            raise SessionUnreadable(self.thread_id, "The thread's file is gone, or is another.")
        known = self._adopt(log)
        self._foreign = not as_it_was
        if leaf_id is None or leaf_id in known.ids:
            self._leaf_id = leaf_id
        return known

    @property
    def _entries(self) -> list[Entry]:
        return self._awake().entries

    @property
    def _ids(self) -> set[str]:
        return self._awake().ids

    # -- a file that another program writes -------------------------------------------------------

    def lies_at(self, path: Path) -> None:
        """Another program will make the file, here; nothing happens to one that exists."""
        with self._lock:
            if self._stamp is None:
                self._path = path

    def take_in(self) -> list[Entry]:
        """What the program that writes the file has appended since it was last read.

        The leaf stays: ``go_to`` says which of these entries continue the branch. Costs the
        appended bytes, or the whole file when it was replaced.
        """
        with self._lock:
            now = stamp_of(self._path)
            if now is None or now == self._stamp:
                return []
            if self._stamp is not None and not now.grown_from(self._stamp):
                return self._take_in_anew()
            grown = read_growth(self._path, self._stamp, self._header.version)
            self._stamp = grown.stamp
            new = [entry for entry in grown.entries if entry["id"] not in self._ids]
            self._keep(new)
            return new

    def learn(self, entries: Sequence[Entry]) -> list[Entry]:
        """Take in all that a file will begin with, as its program tells before it makes it.

        Returns what is new; the last entry is the leaf.
        """
        with self._lock:
            known = {entry["id"]: entry for entry in self._entries}
            self._in_memory = _known([known.get(entry["id"], entry) for entry in entries])
            self._leaf_id = entries[-1]["id"] if entries else None
            return [entry for entry in self._entries if entry["id"] not in known]

    def _take_in_anew(self) -> list[Entry]:
        known, leaf_id = self._ids, self._leaf_id
        self.reload()
        self._leaf_id = leaf_id if leaf_id in self._ids else self._leaf_id
        return [entry for entry in self._entries if entry["id"] not in known]

    def _keep(self, entries: Sequence[Entry]) -> None:
        self._entries.extend(entries)
        self._ids.update(entry["id"] for entry in entries)

    # -- writing ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make the file exist, with its header and everything appended so far, in one go.

        Does nothing when it exists. Raises ``SessionNotWritten``; then there is no file.
        """
        with self._lock:
            if self._stamp is None:
                lines = [self._dump(entry) for entry in (self._header.raw, *self._entries)]
                self._stamp = create_whole(self._path, b"".join(lines), self.thread_id)

    def append(
        self,
        type: str,  # noqa: A002 - the format's own word
        fields: Mapping[str, Any],
        *,
        entry_id: str | None = None,
    ) -> dict[str, Any]:
        """Append an entry as the child of the leaf, which it becomes; returns it as stored.

        In memory alone until ``begin``; afterwards one write of one whole line. Raises
        ``SessionNotWritten``; then the entry is neither in the file nor in memory.
        """
        with self._lock:
            if self._stamp is not None:
                self._prepare_file()
                self._awake()
            entry = self._build(type, fields, entry_id or self.new_entry_id())
            line = self._dump(entry)
            if self._stamp is not None:
                self._write(line)
            self._entries.append(entry)
            self._ids.add(entry["id"])
            self._leaf_id = entry["id"]
            return entry

    def _build(self, kind: str, fields: Mapping[str, Any], entry_id: str) -> Entry:
        """The entry with its keys in pi's order: an extension's fields stand before the id."""
        place: Entry = {"id": entry_id, "parentId": self._leaf_id, "timestamp": iso_now()}
        if kind in _FIELDS_FIRST:
            return {"type": kind, **fields, **place}
        return {"type": kind, **place, **fields}

    def _dump(self, entry: Entry) -> bytes:
        try:
            return dump_line(entry)
        except ValueError as error:
            raise SessionNotWritten(
                self.thread_id, f"This entry cannot be stored: {error}."
            ) from error

    def _prepare_file(self) -> None:
        """Before a write: follow a file that was rewritten elsewhere, and migrate an old version.

        A file that only grew is left as read: the entry becomes a child of the leaf it was made
        for. One that was replaced or cut may have lost that leaf, so it is read again.
        """
        now = stamp_of(self._path)
        if now is None:
            raise SessionNotWritten(self.thread_id, f"The session file {self._path} is gone.")
        if self._stamp is not None and not now.grown_from(self._stamp):
            self._reload_around_leaf()
        if self._header.version is not None and self._header.version < CURRENT_VERSION:
            self._migrate()

    def _reload_around_leaf(self) -> None:
        leaf_id = self._leaf_id
        try:
            self.reload()
        except SessionUnreadable as error:
            raise SessionNotWritten(self.thread_id, str(error)) from error
        if leaf_id in self._ids:
            self._leaf_id = leaf_id

    def _migrate(self) -> None:
        """Bring the file to version 3, then read it: its entries keep the ids they were given."""
        leaf_id = self._leaf_id
        write_migrated(self._path, self.thread_id)
        self.reload()
        if leaf_id in self._ids:
            self._leaf_id = leaf_id

    def _write(self, line: bytes) -> None:
        before = self._stamp
        after, alone = append_whole(self._path, line, self.thread_id, before)
        self._foreign = self._foreign or not alone
        self._stamp = after


def _read(path: Path) -> SessionLog:
    """The session at ``path``, if Enso may continue it; raises ``SessionUnreadable``."""
    try:
        log = read_session(path)
    except OSError as error:
        raise SessionUnreadable("", f"{path} cannot be read: {error.strerror}.") from error
    if log is None:
        raise SessionUnreadable("", f"{path} is no session file.")
    if not log.header.writable:
        version = log.header.raw.get("version")
        raise SessionUnreadable(
            log.header.id,
            f"This thread is stored in version {str(version)[:40]} of the session format. Enso "
            f"writes version {CURRENT_VERSION} and leaves the file as it is.",
        )
    return log
