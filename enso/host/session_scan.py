"""Scanning one session file for the rail: whole the first time, then from where it grew.

Owns how far a file was read and whether it still is the file that was read. A scan keeps no
entries: it takes the few fields it needs out of each line, with a parser that still refuses every
line that is no JSON. What the fields mean is ``enso.host.session_facts``'.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from enso.host.contract import StoredThread
from enso.host.json_lines import MalformedLine, parse_line
from enso.host.session_facts import (
    BranchEnd,
    ScannedEntry,
    SessionFacts,
    Tree,
    end_of_message,
    scanned_entry,
)
from enso.host.session_log import Header, open_regular, read_header
from enso.host.session_write import FileStamp
from enso.host.stored_values import milliseconds
from enso.thread_ids import is_thread_id

_PROBE: Final = 512
_NEWLINE: Final = 10
_decode = msgspec.json.Decoder(ScannedEntry).decode


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """One file as it was scanned: ``thread`` is its row, ``None`` when it is no session.

    ``progress`` is what the next scan goes on from.
    """

    path: Path
    stamp: FileStamp
    thread: StoredThread | None
    progress: _Progress | None


@dataclass(slots=True)
class _Progress:
    """Everything up to ``consumed``, the end of the last whole line; 0 without a whole header.

    ``head`` and ``tail`` are the first and last bytes of it, to know the file again by.
    """

    header: Header
    facts: SessionFacts
    consumed: int
    created_ms: int | None
    head: bytes = b""
    tail: bytes = b""

    def copy(self) -> _Progress:
        facts = replace(self.facts, branch=replace(self.facts.branch))
        return replace(self, facts=facts)


def scan_file(path: Path, earlier: ScannedFile | None = None) -> ScannedFile | None:
    """The facts of a file now; ``None`` when it is gone, unreadable or no regular file.

    With an ``earlier`` scan, a file that only grew is read from where that one ended.
    """
    try:
        with open_regular(path) as stream:
            status = os.fstat(stream.fileno())
            stamp = FileStamp(status.st_ino, status.st_size, status.st_mtime_ns)
            return _scan(path, stream, stamp, earlier)
    except (OSError, ValueError):
        return None


def _scan(
    path: Path, stream: BinaryIO, stamp: FileStamp, earlier: ScannedFile | None
) -> ScannedFile:
    progress = _continued(stream, stamp, earlier) or _begun(stream)
    if progress is None:
        return ScannedFile(path, stamp, None, None)
    rest = _take_lines(progress, stream)
    progress.facts.branch.settle()
    shown = progress
    if rest is not None:
        shown = progress.copy()
        _take(shown, rest, shown.consumed)
        shown.facts.branch.settle()
    if shown.facts.branch.end is None:
        stream.seek(0)
        _resolve_by_tree(shown.facts.branch, stream)
    thread = _row(path, stamp, shown)
    if not progress.consumed:
        return ScannedFile(path, stamp, thread, None)
    _remember(progress, stream)
    return ScannedFile(path, stamp, thread, progress)


# -- where to begin -------------------------------------------------------------------------------


def _continued(stream: BinaryIO, stamp: FileStamp, earlier: ScannedFile | None) -> _Progress | None:
    """What the earlier scan came to, if this is the same file and has only grown since."""
    progress = earlier.progress if earlier is not None else None
    if earlier is None or progress is None or not stamp.grown_from(earlier.stamp):
        return None
    if stamp.size == earlier.stamp.size or _ends(stream, progress.consumed) != (
        progress.head,
        progress.tail,
    ):
        return None
    stream.seek(progress.consumed)
    return progress.copy()


def _ends(stream: BinaryIO, size: int) -> tuple[bytes, bytes]:
    """The first and the last bytes of the first ``size`` bytes."""
    descriptor = stream.fileno()
    length = min(_PROBE, size)
    return os.pread(descriptor, length, 0), os.pread(descriptor, length, size - length)


def _remember(progress: _Progress, stream: BinaryIO) -> None:
    progress.head, progress.tail = _ends(stream, progress.consumed)


def _begun(stream: BinaryIO) -> _Progress | None:
    """Read up to and with the header, which the first value of the file must be."""
    stream.seek(0)
    consumed = 0
    for raw in stream:
        consumed += len(raw)
        try:
            value = parse_line(raw)
        except MalformedLine:
            continue
        if not isinstance(value, (dict, list)) and not value:
            continue
        header = read_header(value)
        if header is None:
            return None
        linear = header.version is not None and header.version < 2
        stored = header.raw.get("timestamp")
        created_ms = milliseconds(stored) if isinstance(stored, str) else None
        header = replace(header, raw={})  # which may be large, and is not needed any more
        whole = raw.endswith(b"\n")  # else what comes next may still be fused with it
        facts = SessionFacts(BranchEnd(linear))
        return _Progress(header, facts, consumed if whole else 0, created_ms)
    return None


# -- lines ----------------------------------------------------------------------------------------


def _take_lines(progress: _Progress, stream: BinaryIO) -> bytes | None:
    """Take every whole line; returns the last one when it lacks its newline."""
    offset, rest = progress.consumed, None
    for raw in stream:
        if raw[-1] != _NEWLINE:
            rest = raw
            break
        _take(progress, raw, offset)
        offset += len(raw)
    progress.consumed = offset
    return rest


def _take(progress: _Progress, raw: bytes, offset: int) -> None:
    entry = _entry(raw)
    if entry is not None:
        progress.facts.add(entry, offset)


def _entry(raw: bytes) -> ScannedEntry | None:
    """The entry on a line; ``None`` for a header, a blank line or damage."""
    try:
        entry = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        try:
            value = parse_line(raw)
        except MalformedLine:
            return None
        if not isinstance(value, dict):
            return None
        entry = scanned_entry(value)
    return None if entry.type == "session" else entry


# -- the end of the branch ------------------------------------------------------------------------


def _resolve_by_tree(resolved: BranchEnd, stream: BinaryIO) -> None:
    """Tell how the branch ends by walking the whole tree from the leaf: for a leaf that hangs on
    another entry than the one before it."""
    tree: Tree = {}
    progress = _begun(stream)
    if progress is None:
        return
    offset = progress.consumed
    for raw in stream:
        entry = _entry(raw)
        if entry is not None:
            entry_id, parent_id = progress.facts.branch.add(entry, offset)
            told = end_of_message(entry.message) if entry.type == "message" else None
            tree[entry_id] = parent_id, told
        offset += len(raw)
    resolved.walk(tree)


# -- the row --------------------------------------------------------------------------------------


def _row(path: Path, stamp: FileStamp, progress: _Progress) -> StoredThread | None:
    header, facts = progress.header, progress.facts
    if not is_thread_id(header.id):
        return None
    return StoredThread(
        id=header.id,
        path=path,
        cwd=Path(header.cwd),
        modified=_modified(progress, stamp.mtime_ns),
        message_count=facts.message_count,
        first_message=facts.first_message,
        name=facts.name,
        end=facts.branch.end or "empty",
    )


def _modified(progress: _Progress, mtime_ns: int) -> datetime:
    """The newest message's time, else the header's, else the file's; never later than the file."""
    newest = progress.facts.newest_ms or progress.created_ms
    file_ms = max(mtime_ns // 1_000_000, 0)
    chosen = file_ms if newest is None else min(newest, file_ms)
    return datetime.fromtimestamp(chosen / 1000, UTC)
