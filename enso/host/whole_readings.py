"""Readings of a thread's whole file, cold: each takes no more of it than it tells.

Owns which rows (``enso.host.session_rows``) answer which question, and that the file still is the
thread's. A file of version 1 or 2 is brought to version 3 as it is read: where that changes more
than ids, it is read whole. What only one question needs is imported with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from enso.host.contract import (
    BranchContext,
    BranchRequestDetail,
    BranchStats,
    RequestNumber,
    StoredBranch,
    StoredEntries,
    StoredThread,
    StoredThreadRead,
    ThreadTree,
)
from enso.host.decode import ProviderNames, decode_entry
from enso.host.entry_text import entry_text
from enso.host.kept_rows import KeptRows, ReadRows
from enso.host.kept_sums import KeptSums, Summing
from enso.host.lines_before import Counters
from enso.host.place_rows import PLACES, PlaceRow, read_places
from enso.host.session_log import (
    CURRENT_VERSION,
    Entry,
    Header,
    SessionLog,
    name_of,
    open_regular,
    read_lines,
    read_session,
    read_session_lines,
)
from enso.host.session_rows import PlacedRow, RowTree, Shape
from enso.host.uncollected import uncollected
from enso.host.usage import SpendCount
from enso.transcript import TranscriptEntry

RowT = TypeVar("RowT", bound=PlacedRow)
AnswerT = TypeVar("AnswerT")


class WholeReadings:
    """Reads whole files. ``None``: the file went, or it now is another thread's."""

    def __init__(self, counters: Counters, providers: ProviderNames) -> None:
        self._rows = KeptRows(counters)
        self._sums = KeptSums(counters)
        self._counters = counters
        self._providers = providers

    def stats(self, stored: StoredThread) -> BranchStats | None:
        """What the thread used."""
        from enso.host.stats import STATS_SUM  # noqa: PLC0415

        return self._summed(stored, STATS_SUM)

    def tree(self, stored: StoredThread) -> ThreadTree | None:
        """Every branch of it."""
        from enso.host.session_tree import TREE_SUM  # noqa: PLC0415

        return self._summed(stored, TREE_SUM)

    def context(self, stored: StoredThread) -> BranchContext | None:
        """The context of every request of the branch."""
        from enso.host.context import CONTEXT_SUM  # noqa: PLC0415

        measured = self._summed(stored, CONTEXT_SUM)
        return measured.context if measured is not None else None

    def request(self, stored: StoredThread, request: RequestNumber) -> BranchRequestDetail | None:
        """One request element by element: no more than its context is read of the file.

        ``None`` also for one that the branch does not have.
        """
        from enso.host.context import CONTEXT_SUM, detail_of  # noqa: PLC0415

        measured, found = self._summed(stored, CONTEXT_SUM), self._placed(stored)
        reach = measured.reach(request) if measured is not None else None
        if measured is None or found is None or reach is None:
            return None
        header, rows, branch, _ = found
        places = branch[reach.start : reach.end]
        before = self._at(stored, header, rows, places)
        answer = measured.context.requests[request - 1].entry_id if request != "next" else None
        behind = [rows[place].id for place in branch[reach.end : reach.end + 1]]
        if before is None or (answer is not None and behind != [answer]):
            return None  # the file changed meanwhile
        return detail_of(before, request)

    def entries(self, stored: StoredThread, *, behind: int, size: int) -> StoredEntries | None:
        """``size`` entries of the branch before its last ``behind`` ones."""
        found = self._placed(stored)
        if found is None:
            return None
        header, rows, branch, skipped = found
        end = max(0, len(branch) - behind)
        start = max(0, end - size)
        entries = self._at(stored, header, rows, branch[start:end])
        if entries is None:
            return None
        return StoredEntries(
            id=stored.id,
            cwd=stored.cwd,
            entries=tuple(decode_entry(entry, providers=self._providers) for entry in entries),
            start=start,
            total=len(branch),
            skipped_lines=skipped,
        )

    def entry(self, stored: StoredThread, entry_id: str) -> str | None:
        """An entry as the file has it, the last one where several have its id."""
        read = self._read(stored, PLACES)
        if read is None:
            return None
        places = range(len(read.rows) - 1, -1, -1)
        place = next((place for place in places if read.rows[place].id == entry_id), None)
        entries = self._at(stored, read.header, read.rows, [] if place is None else [place])
        return entry_text(entries, entry_id) if entries else None

    def thread(self, stored: StoredThread) -> StoredThreadRead | None:
        """The branch as a transcript, and what is said of the whole file."""
        reading = _Transcript(self._providers)
        with suppress(OSError), open_regular(stored.path) as stream, uncollected():
            log = read_session_lines(read_lines(stream), reading.take)
            if log is not None and _is_of(stored, log.header):
                return reading.told(stored, log.skipped)
        return None

    def branch(self, stored: StoredThread) -> StoredBranch | None:
        """The branch, to be walked entry by entry."""
        found = self._placed(stored)
        if found is None:
            return None
        header, rows, branch, _ = found
        if header.version != CURRENT_VERSION:
            whole = self.thread(stored)
            entries = whole.entries if whole is not None else ()
            return StoredBranch(walk=lambda: iter(entries), close=lambda: None)
        with suppress(OSError):
            stream = open_regular(stored.path)
            return StoredBranch(walk=lambda: self._walk(stream, rows, branch), close=stream.close)
        return None

    def _walk(
        self, stream: BinaryIO, rows: Sequence[PlaceRow], branch: Sequence[int]
    ) -> Iterator[TranscriptEntry]:
        for entry in read_places(stream, rows, branch):
            self._counters.lines_parsed += 1
            yield decode_entry(entry, providers=self._providers)

    def log(self, stored: StoredThread) -> SessionLog | None:
        """The file with every entry."""
        with suppress(OSError):
            log = read_session(stored.path)
            if log is not None and _is_of(stored, log.header):
                return log
        return None

    def _placed(
        self, stored: StoredThread
    ) -> tuple[Header, Sequence[PlaceRow], Sequence[int], int] | None:
        """Header, rows, where in them the branch is, and how many lines are damaged."""
        read = self._read(stored, PLACES)
        if read is None:
            return None
        tree = RowTree(read.rows, read.last_id)
        return read.header, tree.rows, tree.branch, read.skipped

    def _at(
        self, stored: StoredThread, header: Header, rows: Sequence[PlaceRow], places: Sequence[int]
    ) -> Sequence[Entry] | None:
        """The stored entries at places; ``None`` when the file changed meanwhile."""
        if header.version != CURRENT_VERSION:
            log = self.log(stored)
            by_id = {entry["id"]: entry for entry in log.entries} if log is not None else {}
            found = [by_id[row.id] for place in places if (row := rows[place]).id in by_id]
        else:
            found = []
            with suppress(OSError), open_regular(stored.path) as stream:
                found = list(read_places(stream, rows, places))
        self._counters.lines_parsed += len(found)
        return found if len(found) == len(places) else None

    def _summed(self, stored: StoredThread, kind: Summing[Any, AnswerT]) -> AnswerT | None:
        with suppress(OSError):
            summed = self._sums.read(stored.path, kind)
            if summed is not None and _is_of(stored, summed.header):
                return summed.answer
        return None

    def _read(self, stored: StoredThread, shape: Shape[Any, RowT]) -> ReadRows[RowT] | None:
        with suppress(OSError):
            read = self._rows.read(stored.path, shape)
            if read is not None and _is_of(stored, read.header):
                return read
        return None


class _Transcript:
    """Takes the entries of a file as they are read, and holds them decoded alone."""

    def __init__(self, providers: ProviderNames) -> None:
        self._providers = providers
        self._decoded: dict[str, tuple[str | None, TranscriptEntry]] = {}
        self._spend = SpendCount()
        self._labels: list[Entry] = []
        self._name: str | None = None
        self._leaf_id: str | None = None

    def take(self, entry: Entry) -> None:
        """Take the next entry of the file."""
        self._leaf_id = entry["id"]
        self._decoded[entry["id"]] = (
            entry["parentId"],
            decode_entry(entry, providers=self._providers),
        )
        self._spend.add(entry)
        if entry.get("type") == "label":
            self._labels.append(entry)
        elif entry.get("type") == "session_info":
            self._name = name_of(entry)

    def told(self, stored: StoredThread, skipped: int) -> StoredThreadRead:
        """The branch of what was taken; to be asked once."""
        from enso.host.session_tree import labels_of  # noqa: PLC0415

        branch: list[TranscriptEntry] = []
        entry_id = self._leaf_id
        while entry_id is not None and (placed := self._decoded.pop(entry_id, None)) is not None:
            entry_id, entry = placed
            branch.append(entry)
        branch.reverse()
        return StoredThreadRead(
            id=stored.id,
            cwd=stored.cwd,
            entries=tuple(branch),
            usage=self._spend.total(),
            name=self._name,
            labels=labels_of(self._labels),
            skipped_lines=skipped,
        )


def _is_of(stored: StoredThread, header: Header) -> bool:
    """Whether a file still is that thread's."""
    return header.id == stored.id and Path(header.cwd) == stored.cwd
