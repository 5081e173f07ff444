"""The index file: which words are in which line of which session file. SQLite with FTS5.

It holds words and places, no text: a passage is read from the session file, which alone is true. A
damaged index is thrown away and begun anew. Rows are numbered by time, so that the newest come
first without sorting. Thread-safe; several servers may share one.
"""

from __future__ import annotations

import logging
import random
import sqlite3
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from enso.host.file_stamp import FileStamp

log = logging.getLogger(__name__)

_VERSION: Final = 1
_BUSY_SECONDS: Final = 10.0
_SLOT_BITS: Final = 20  # a million rows for one millisecond
_LATEST: Final = 1 << 42  # milliseconds since the epoch that a row can be numbered by
_WORN: Final = 10_000
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE,
    inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, upto INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS lines (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS lines_of_file ON lines (file);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    text, content='', tokenize="unicode61 remove_diacritics 2"
);
"""


class IndexedFile(Struct, frozen=True, kw_only=True):
    """How far a session file is in the index: its state then, and up to which byte it was read."""

    stamp: FileStamp
    upto: int


class Line(Struct, frozen=True, kw_only=True):
    """A line of a session file to be searched: where it is, when it was written (ms), its text."""

    start: int
    length: int
    at: int
    text: str


class Addition(Struct, frozen=True, kw_only=True):
    """New lines of one file; ``anew``: what the index had of it before is wrong."""

    path: str
    state: IndexedFile
    lines: list[Line]
    anew: bool


class Place(Struct, frozen=True, kw_only=True):
    """A line that holds the words: its file, where it is there, and its row, to go on behind."""

    path: str
    start: int
    length: int
    row: int


class SearchIndex:
    """The index in one file, made when it is not there; it may be deleted at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    def paths(self) -> list[str]:
        """Every file of the index."""
        with self._using() as connection:
            return [path for (path,) in connection.execute("SELECT path FROM files").fetchall()]

    def file(self, path: str) -> IndexedFile | None:
        """How far a file is in the index; ``None`` when it is not."""
        query = "SELECT inode, size, mtime_ns, upto FROM files WHERE path = ?"
        with self._using() as connection:
            row = connection.execute(query, (path,)).fetchone()
        if row is None:
            return None
        inode, size, mtime_ns, upto = row
        return IndexedFile(stamp=FileStamp(inode, size, mtime_ns), upto=upto)

    def add(self, additions: Iterable[Addition]) -> None:
        """Add the lines of some files in one step."""
        with self._using() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            rows: list[tuple[int, int, Line]] = []
            for addition in additions:
                file = _file_row(connection, addition)
                rows += [(_row(line), file, line) for line in addition.lines]
            # In their order: else FTS5 writes a segment for every step back.
            _insert(connection, sorted(rows, key=lambda row: row[0]))

    def remove(self, paths: Iterable[str]) -> None:
        """Forget files that are gone."""
        with self._using() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            for path in paths:
                connection.execute(
                    "DELETE FROM lines WHERE file = (SELECT id FROM files WHERE path = ?)", (path,)
                )
                connection.execute("DELETE FROM files WHERE path = ?", (path,))

    def forget_if_worn(self) -> None:
        """Begin anew when most words are of lines that are gone: they cannot be taken out."""
        with self._using() as connection:
            words = connection.execute("SELECT count(*) FROM words_docsize").fetchone()[0]
            lines = connection.execute("SELECT count(*) FROM lines").fetchone()[0]
            if words > 2 * lines + _WORN:
                self._throw_away()

    def places(self, expression: str, *, before: int | None, limit: int) -> list[Place]:
        """Lines that match, the newest first; ``before`` a row. Raises nothing for any expression.

        What was removed stays in the words of the index, and is left out here.
        """
        query = (
            "SELECT f.path, l.start, l.length, w.rowid FROM"
            " (SELECT rowid FROM words WHERE words MATCH ? AND rowid < ?"
            "  ORDER BY rowid DESC LIMIT ?) AS w"
            " LEFT JOIN lines AS l ON l.id = w.rowid LEFT JOIN files AS f ON f.id = l.file"
            " ORDER BY w.rowid DESC"
        )
        most = before if before is not None else (1 << 63) - 1
        with self._using() as connection:
            found = connection.execute(query, (expression, most, limit)).fetchall()
        return [
            Place(path=path or "", start=start or 0, length=length or 0, row=row)
            for path, start, length, row in found
        ]

    def close(self) -> None:
        """Close the file; the index can be used no more."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # -- within -----------------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._open()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                    raise IndexUnusable(str(error)) from error
                log.warning("The search index at %s is made anew: %s", self._path, error)
                self._throw_away()
                raise IndexUnusable(str(error)) from error

    def _open(self) -> sqlite3.Connection:
        if self._closed:
            raise IndexUnusable("It is closed.")
        if self._connection is not None and self._path.exists():
            return self._connection
        if self._connection is not None:
            self._connection.close()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise IndexUnusable(str(error)) from error
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")  # it is derived: a crash costs a fill
        if connection.execute("PRAGMA user_version").fetchone()[0] not in (0, _VERSION):
            connection.close()
            raise sqlite3.DatabaseError("It is of another version.")
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        self._connection = connection
        return connection

    def _throw_away(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)


class IndexUnusable(Exception):
    """The index cannot be used now; the next use may begin a new one."""


def _file_row(connection: sqlite3.Connection, addition: Addition) -> int:
    """Write down the file's state; its row."""
    stamp, path = addition.state.stamp, addition.path
    if addition.anew:
        connection.execute(
            "DELETE FROM lines WHERE file = (SELECT id FROM files WHERE path = ?)", (path,)
        )
    connection.execute(
        "INSERT INTO files (path, inode, size, mtime_ns, upto) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (path) DO UPDATE SET inode = excluded.inode, size = excluded.size,"
        " mtime_ns = excluded.mtime_ns, upto = excluded.upto",
        (path, stamp.inode, stamp.size, stamp.mtime_ns, addition.state.upto),
    )
    return int(connection.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()[0])


def _row(line: Line) -> int:
    """A row number by the line's time; chance keeps lines of one millisecond apart."""
    return (max(0, min(line.at, _LATEST)) << _SLOT_BITS) | random.getrandbits(_SLOT_BITS)


def _insert(connection: sqlite3.Connection, rows: list[tuple[int, int, Line]]) -> None:
    for wanted, file, line in rows:
        row = wanted
        while connection.execute("SELECT 1 FROM lines WHERE id = ?", (row,)).fetchone():
            row = _row(line)
        connection.execute(
            "INSERT INTO lines (id, file, start, length) VALUES (?, ?, ?, ?)",
            (row, file, line.start, line.length),
        )
        connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (row, line.text))
