"""Finding passages, and keeping the index up to date in a worker that takes a part of the time.

Owns when a file is read for the index: the newest first, at the start all that changed since, then
whatever the watch tells. What is found is read from the session file again, so that a passage is
what the file says now, and only of a thread that is listed.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from enso.host.contract import Found, Listed, Passage, StoredThread
from enso.host.file_stamp import stamp_of
from enso.host.search.index import Addition, IndexUnusable, Place, SearchIndex
from enso.host.search.lines import message_entry_id, new_lines, read_line, written_at
from enso.host.search.words import extract, match_expression, query_terms, searched_text
from enso.host.stored_values import object_of, text_of

log = logging.getLogger(__name__)

_BATCH_BYTES: Final = 2 * 1024 * 1024
_REST: Final = 2.0
"""How long the worker rests after a batch, as a multiple of what the batch took."""
_SETTLING_SECONDS: Final = 1.0
_MOMENT: Final = 0.15
_PAGE: Final = 200
_MOST_PLACES: Final = 4_000
_OF_ONE_THREAD: Final = 3


class Finder:
    """Finds passages of the threads that ``rows`` lists. ``start`` begins to fill the index."""

    def __init__(
        self,
        path: Path,
        rows: Callable[[], Sequence[StoredThread]],
        listed: Callable[[], Listed] | None = None,
    ) -> None:
        """``rows`` waits for every file to be listed; ``listed`` gives those that are by now."""
        self._index = SearchIndex(path)
        self._rows = rows
        self._listed = listed
        self._wake = threading.Condition()
        self._indexing = threading.Lock()
        self._changed = False
        self._worker: threading.Thread | None = None
        self._closed = False
        # By path the row whose file was read: the listing makes another when the file changes.
        self._done: dict[str, StoredThread] = {}

    def start(self) -> None:
        """Begin to fill the index in the background; does nothing the second time."""
        with self._wake:
            if self._worker is None and not self._closed:
                self._worker = threading.Thread(target=self._run, name="enso-search", daemon=True)
                self._worker.start()

    def fill(self) -> None:
        """Bring everything that is not in the index into it now, without a rest."""
        self._bring_in(self._pending(self._rows()))

    def changed(self) -> None:
        """Something is stored: what is new is read soon, or with the next question."""
        with self._wake:
            self._changed = True
            self._wake.notify()

    def find(self, query: str, limit: int) -> Found:
        """Passages that hold a query's words, the newest first, of at most ``limit`` threads.

        Takes a moment to read what is not in the index yet, the newest first.
        """
        listed = self._listed() if self._listed is not None else None
        rows = listed.threads if listed is not None else self._rows()
        waiting = listed.waiting if listed is not None else 0
        terms = query_terms(query)
        passages: list[Passage] = []
        if terms and limit > 0:
            try:
                self._bring_in(self._pending(rows), seconds=_MOMENT)
            except IndexUnusable as error:
                log.warning("Threads cannot be searched by content now: %s", error)
            passages = list(self._passages(rows, terms, limit))
        searched = len(rows) - len(self._pending(rows))
        return Found(passages=tuple(passages), searched=searched, threads=len(rows) + waiting)

    def close(self) -> None:
        """End the worker and close the index."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._worker is not None:
            self._worker.join()
        self._index.close()

    # -- finding ----------------------------------------------------------------------------------

    def _passages(
        self, rows: Sequence[StoredThread], terms: Sequence[Sequence[str]], limit: int
    ) -> Iterator[Passage]:
        by_path = {str(row.path): row for row in rows}
        counts: dict[str, int] = {}
        for place in self._places(match_expression(terms)):
            row = by_path.get(place.path)
            if row is None or counts.get(row.id, 0) >= _OF_ONE_THREAD:
                continue
            if row.id not in counts and len(counts) >= limit:
                return
            passage = _passage(row.id, place, terms)
            if passage is not None:
                counts[row.id] = counts.get(row.id, 0) + 1
                yield passage

    def _places(self, expression: str) -> Iterator[Place]:
        before: int | None = None
        for _ in range(_MOST_PLACES // _PAGE):
            try:
                page = self._index.places(expression, before=before, limit=_PAGE)
            except IndexUnusable:
                return
            yield from page
            if len(page) < _PAGE:
                return
            before = page[-1].row

    # -- filling ----------------------------------------------------------------------------------

    def _run(self) -> None:
        self._try(self._rows)  # the first look at the files goes before everything here
        self._try(self._tidy)
        while True:
            self._try(lambda: self._bring_in(self._pending(self._rows()), rest=_REST))
            with self._wake:
                self._wake.wait_for(lambda: self._changed or self._closed)
                # What comes in a row is read at once.
                self._wake.wait_for(lambda: self._closed, _SETTLING_SECONDS)
                self._changed = False
                if self._closed:
                    return

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except IndexUnusable as error:
            log.warning("The search index cannot be kept up to date now: %s", error)
        except Exception:  # the worker must live: the next change may be read again
            log.exception("the search index was not brought up to date")

    def _tidy(self) -> None:
        self._index.forget_if_worn()
        gone = [path for path in self._index.paths() if not Path(path).exists()]
        if gone:
            self._index.remove(gone)

    def _pending(self, rows: Sequence[StoredThread]) -> list[StoredThread]:
        """The rows whose files are to be read, the newest first."""
        return [row for row in rows if self._done.get(str(row.path)) is not row]

    def _bring_in(
        self, rows: Sequence[StoredThread], *, seconds: float = math.inf, rest: float = 0.0
    ) -> None:
        """Read files into the index for so many seconds; ``rest``: between batches, so many times
        what the last one took."""
        end = time.monotonic() + seconds
        for batch in _batches(rows):
            begun = time.monotonic()
            with self._indexing:
                self._index_rows(batch)
            with self._wake:
                pause = rest * (time.monotonic() - begun)
                if self._wake.wait_for(lambda: self._closed, pause) or time.monotonic() >= end:
                    return

    def _index_rows(self, rows: Sequence[StoredThread]) -> None:
        additions = [addition for row in rows if (addition := self._addition(row.path))]
        if additions:
            self._index.add(additions)
        self._done.update((str(row.path), row) for row in rows)

    def _addition(self, path: Path) -> Addition | None:
        """What the index lacks of a file."""
        stamp = stamp_of(path)
        before = self._index.file(str(path))
        if stamp is None or (before is not None and before.stamp == stamp):
            return None
        return new_lines(path, stamp, before)


def _batches(rows: Sequence[StoredThread]) -> Iterator[list[StoredThread]]:
    batch: list[StoredThread] = []
    size = 0
    for row in rows:
        stamp = stamp_of(row.path)
        batch.append(row)
        size += stamp.size if stamp is not None else 0
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _passage(thread_id: str, place: Place, terms: Sequence[Sequence[str]]) -> Passage | None:
    entry = read_line(place.path, place.start, place.length)
    found = extract(searched_text(entry), terms) if entry is not None else None
    if entry is None or found is None:
        return None
    return Passage(
        thread_id=thread_id,
        entry_id=message_entry_id(place.path, place.start, entry),
        said_by=_said_by(entry),
        created_at=written_at(entry),
        before=found.before,
        match=found.match,
        after=found.after,
    )


def _said_by(entry: Mapping[str, Any]) -> str:
    """Whose words an entry holds: a message's role, else the entry's type."""
    return text_of(object_of(entry.get("message")).get("role")) or text_of(entry.get("type"))
