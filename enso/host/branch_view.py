"""What a live thread shows of its session file, kept so that only what came is read anew."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from enso.host.context_walk import ContextWalk
from enso.host.contract import BranchContext
from enso.host.decode import decode_entry
from enso.host.session_file import SessionFile
from enso.host.session_log import Entry
from enso.host.session_tree import labels_after
from enso.host.usage import SpendCount
from enso.transcript import TranscriptEntry, Usage


class BranchView:
    """The decoded branch and the spend of a session file, each entry decoded and added once."""

    def __init__(self, session: SessionFile, provider_name: Callable[[str], str]) -> None:
        self._session = session
        self._provider_name = provider_name
        self._lock = threading.Lock()
        self._begin_anew()

    def forget(self) -> None:
        """Keep nothing: what is asked for next is made of all entries once more."""
        with self._lock:
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._branch: list[Entry] = []
        self._decoded: list[TranscriptEntry] = []
        self._counted: list[Entry] = []
        self._walked: list[Entry] = []
        self._walk = ContextWalk()
        self._spend = SpendCount()
        self._labelled: list[Entry] = []
        self._labels: dict[str, str] = {}

    def entries(self, branch: list[Entry]) -> tuple[TranscriptEntry, ...]:
        """The transcript of a branch, root to leaf."""
        with self._lock:
            kept = _common(self._branch, branch)
            decoded = (decode_entry(e, providers=self._provider_name) for e in branch[kept:])
            self._decoded[kept:] = decoded
            self._branch = branch
            return tuple(self._decoded)

    def labels(self, entries: list[Entry]) -> Mapping[str, str]:
        """The labels of the whole file."""
        with self._lock:
            kept = _common(self._labelled, entries)
            if kept < len(self._labelled):
                kept, self._labels = 0, {}
            self._labels = labels_after(self._labels, entries[kept:])
            self._labelled = entries
            return self._labels

    def usage(self, entries: list[Entry]) -> Usage:
        """The spend of every entry of the file."""
        with self._lock:
            kept = _common(self._counted, entries)
            if kept < len(self._counted):
                kept, self._spend = 0, SpendCount()
            for entry in entries[kept:]:
                self._spend.add(entry)
            self._counted = entries
            return self._spend.total()

    def context(self) -> BranchContext:
        """The context at each request of the branch."""
        with self._lock:
            branch = self._session.branch()
            kept = _common(self._walked, branch)
            if kept < len(self._walked):
                kept, self._walk = 0, ContextWalk()
            self._walk.extend(branch[kept:])
            self._walked = branch
            return self._walk.context()


def _common(before: Sequence[Entry], after: Sequence[Entry]) -> int:
    """How many entries at the start are the very same objects."""
    pairs = zip(before, after, strict=False)
    differing = (index for index, (old, new) in enumerate(pairs) if old is not new)
    return next(differing, min(len(before), len(after)))
