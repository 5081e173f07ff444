"""Scanning one session file for its pages: whole the first time, then from where it grew.

Owns how far a file was read and whether it still is the file that was read. A scan keeps no
entries: it takes the few fields it needs out of each line, with a parser that still refuses every
line that is no JSON. What the fields mean is ``enso.host.session_facts``' and, of the branch,
``enso.host.session_branch``'s; a file that is not regular gets no more than how its branch ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from enso.host.contract import StoredThread
from enso.host.file_stamp import FileStamp
from enso.host.precedence import LONG_STEP, answers
from enso.host.session_beginning import read_beginning
from enso.host.session_branch import (
    BranchFacts,
    BranchPicker,
    IrregularFile,
    Picked,
    RegularBranch,
)
from enso.host.session_facts import (
    BranchEnd,
    ScannedEntry,
    ScannedMessage,
    SessionFacts,
    Tree,
    end_of_message,
    scan_line,
)
from enso.host.session_log import Header, open_regular
from enso.host.session_prefix import LONG, prefix_of
from enso.thread_ids import is_thread_id
from enso.transcript import Usage

_PROBE: Final = 512
_NEWLINE: Final = 10


Branch = BranchEnd | RegularBranch


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """One file as it was scanned: ``thread`` is its row, ``None`` when it is no session.

    ``progress`` is what the next scan goes on from. ``torn``: the last line lacks its newline.
    """

    path: Path
    stamp: FileStamp
    thread: StoredThread | None
    progress: Progress | None
    torn: bool = False

    @property
    def end(self) -> KnownEnd | None:
        """What is known beside the branch's last entries; ``None``: the file must be read whole."""
        progress = self.progress
        if progress is None or self.torn or not isinstance(progress.branch, RegularBranch):
            return None
        branch, facts = progress.branch, progress.facts
        if branch.leaf_id is None:
            return None
        return KnownEnd(
            branch.leaf_id,
            progress.consumed,
            branch.leaf,
            facts.spend.usage(),
            facts.labels,
            facts.skipped,
        )


@dataclass(frozen=True, slots=True)
class KnownEnd:
    """A regular file: the leaf's id, where the last line ends, and what the lines before tell."""

    leaf_id: str
    size: int
    branch: BranchFacts
    usage: Usage
    labels: Mapping[str, str]
    skipped: int
    whole: bool = True
    """False: the lines before were not read, and what they tell is not known."""


@dataclass(slots=True)
class Progress:
    """Everything up to ``consumed``, the end of the last whole line; 0 without a whole header.

    ``head`` and ``tail`` are the first and last bytes of it, to know the file again by.
    """

    header: Header
    facts: SessionFacts
    branch: Branch
    consumed: int
    created_ms: int | None
    head: bytes = b""
    tail: bytes = b""

    def copy(self) -> Progress:
        """A scan that goes on from here by itself."""
        branch = self.branch
        copied = branch.copy() if isinstance(branch, RegularBranch) else replace(branch)
        return replace(self, facts=self.facts.copy(), branch=copied)


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
    continued = _continued(stream, stamp, earlier)
    if continued is not None:
        with suppress(IrregularFile):
            return _scanned(path, stream, stamp, continued)
    with suppress(IrregularFile):
        return _scanned(path, stream, stamp, _begun(stream, RegularBranch))
    with suppress(IrregularFile):
        picked = _picked(stream)
        progress = _begun(stream, lambda version: RegularBranch(version, picked))
        if progress is not None:
            progress.facts.superseded = picked.superseded
        return _scanned(path, stream, stamp, progress)
    return _scanned(path, stream, stamp, _begun(stream, _any_branch))


def _any_branch(version: float | None) -> BranchEnd:
    return BranchEnd(linear=version is not None and version < 2)


def _scanned(
    path: Path, stream: BinaryIO, stamp: FileStamp, progress: Progress | None
) -> ScannedFile:
    if progress is None:
        return ScannedFile(path, stamp, None, None)
    rest = _take_lines(progress, stream)
    _settle(progress, stream)
    shown = progress
    if rest is not None:
        shown = progress.copy()
        _take(shown, rest, shown.consumed)
        _settle(shown, stream)
    thread = _row(path, stamp, shown)
    if not progress.consumed:
        return ScannedFile(path, stamp, thread, None)
    _remember(progress, stream)
    return ScannedFile(path, stamp, thread, progress, torn=rest is not None)


def _settle(progress: Progress, stream: BinaryIO) -> None:
    """Tell how the branch ends, reading again what of the file it takes."""
    branch = progress.branch
    if isinstance(branch, RegularBranch):
        ending = branch.settle()
        if ending is not None:
            branch.end_with(_message_at(stream, ending))
        return
    branch.settle()
    if branch.end is None:
        _resolve_by_tree(branch, stream)


def _message_at(stream: BinaryIO, offset: int) -> ScannedMessage | None:
    stream.seek(offset)
    entry, _ = scan_line(stream.readline())
    return entry.message if entry is not None else None


# -- where to begin -------------------------------------------------------------------------------


def _continued(stream: BinaryIO, stamp: FileStamp, earlier: ScannedFile | None) -> Progress | None:
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


def _remember(progress: Progress, stream: BinaryIO) -> None:
    progress.head, progress.tail = _ends(stream, progress.consumed)


def _begun(stream: BinaryIO, branch: Callable[[float | None], Branch]) -> Progress | None:
    """Read up to and with the header, which the first value of the file must be.

    ``branch`` makes what a file of this version gathers. Raises ``IrregularFile`` when that does.
    """
    beginning = read_beginning(stream)
    if beginning is None:
        return None
    facts = SessionFacts(skipped=beginning.skipped)
    begun = branch(beginning.header.version)
    return Progress(beginning.header, facts, begun, beginning.consumed, beginning.created_ms)


# -- lines ----------------------------------------------------------------------------------------


def _take_lines(progress: Progress, stream: BinaryIO) -> bytes | None:
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


def _take(progress: Progress, raw: bytes, offset: int) -> None:
    if len(raw) > LONG_STEP:
        answers.give_way()
    entry, damaged = scan_line(raw)
    if entry is None:
        progress.facts.skipped += damaged
        return
    progress.facts.add(entry, offset)
    progress.branch.add(entry, offset)
    if len(raw) > LONG and isinstance(progress.branch, RegularBranch):
        _check_prefix(entry, raw)


def _check_prefix(entry: ScannedEntry, raw: bytes) -> None:
    """A long line whose beginning says something else than the line cannot be told by it."""
    prefix = prefix_of(raw)
    if prefix is None:
        return
    role = entry.message.role if entry.message is not None else None
    if (entry.type, entry.id, entry.parentId, role) != ("message", *prefix):
        raise IrregularFile


def _picked(stream: BinaryIO) -> Picked:
    """The branch of a file of which not every line is regular; raises ``IrregularFile``."""
    progress = _begun(stream, RegularBranch)
    picker = BranchPicker()
    offset = progress.consumed if progress is not None else 0
    for raw in stream:
        entry, _ = scan_line(raw)
        if entry is not None and raw[-1] == _NEWLINE:
            picker.add(entry, offset)
        offset += len(raw)
    return picker.picked()


# -- the end of the branch ------------------------------------------------------------------------


def _resolve_by_tree(resolved: BranchEnd, stream: BinaryIO) -> None:
    """Tell how the branch ends by walking the whole tree from the leaf: for a leaf that hangs on
    another entry than the one before it."""
    tree: Tree = {}
    progress = _begun(stream, _any_branch)
    if progress is None or not isinstance(progress.branch, BranchEnd):
        return
    offset = progress.consumed
    for raw in stream:
        entry, _ = scan_line(raw)
        if entry is not None:
            entry_id, parent_id = progress.branch.add(entry, offset)
            told = end_of_message(entry.message) if entry.type == "message" else None
            tree[entry_id] = parent_id, told
        offset += len(raw)
    resolved.walk(tree)


# -- the row --------------------------------------------------------------------------------------


def _row(path: Path, stamp: FileStamp, progress: Progress) -> StoredThread | None:
    header, facts = progress.header, progress.facts
    if not is_thread_id(header.id):
        return None
    return StoredThread(
        id=header.id,
        path=path,
        cwd=Path(header.cwd),
        modified=_modified(progress, stamp),
        message_count=facts.message_count,
        first_message=facts.first_message,
        name=facts.name,
        end=progress.branch.end or "empty",
    )


def _modified(progress: Progress, stamp: FileStamp) -> datetime:
    """The newest message's time, else the header's, else the file's."""
    active_ms = stamp.active_ms(progress.facts.newest_ms or progress.created_ms)
    return datetime.fromtimestamp(active_ms / 1000, UTC)
