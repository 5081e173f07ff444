"""Looking at many session files: in this process, or shared with processes that only do that.

Owns when other processes pay, their start and their end. What they cannot do is done here. Where
they may, they glance at files first (``enso.host.session_glance``), and look at those exactly when
it is asked for.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from msgspec import MsgspecError, msgpack

from enso.host.file_stamp import FileStamp
from enso.host.helper_process import processors, start_helper
from enso.host.precedence import answers
from enso.host.row_worker import Batch, Looked, Way, read_message, write_message
from enso.host.session_look import RowFile, look_at

log = logging.getLogger(__name__)

FIRST_FILES: Final = 60
"""Files that are looked at before everything else: what a rail shows first, and a few more."""
MOST_HELPERS: Final = 2
_FIRST_BYTES: Final = 32 << 20
"""Bytes of one file beyond which the others are not held up by it, nor this process's requests."""
_PAYS_BYTES: Final = 64 << 20
"""Bytes from which on other processes are sooner done than they are started."""
_BATCH_BYTES: Final = 16 << 20
_BATCH_FILES: Final = 200


class ToLook(NamedTuple):
    """A file to be looked at: what is known of it, and how many bytes are to be read.

    ``stamp`` is its state when it was found. ``news``: that it is as it now is, is to be told.
    """

    path: str
    earlier: RowFile | None
    size: int
    stamp: FileStamp
    news: bool = True


LookAt = Callable[[str, RowFile | None], RowFile | None]
"""Looks at one file: ``enso.host.session_look.look_at``."""
Take = Callable[[Sequence[ToLook], Sequence[RowFile | None]], None]
"""Takes files as they were found; called from any worker."""
MakeFill = Callable[[Take], "Fill"]
"""Makes a look at many files, which gives what it finds."""


class Fill:
    """One look at many files, in the order they are given."""

    def __init__(
        self,
        take: Take,
        *,
        look: LookAt = look_at,
        pays_bytes: int = _PAYS_BYTES,
        helpers: int | None = None,
    ) -> None:
        """``helpers``: how many other processes there may be; they pay from ``pays_bytes`` on."""
        self._take = take
        self._look_at = look
        self._pays_bytes = pays_bytes
        self._most_helpers = processors() if helpers is None else helpers
        self._stopped = threading.Event()
        self._helpers: list[_Helper] = []
        self._unproven: list[ToLook] = []

    def stop(self) -> None:
        """Come to an end after the batch that is looked at; from any worker."""
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        """Whether it was to come to an end before it was done."""
        return self._stopped.is_set()

    @property
    def is_proven(self) -> bool:
        """Whether there is nothing left to be proven."""
        return not self._unproven

    def run(self, files: Sequence[ToLook], *, glance: bool = False) -> None:
        """Look at every file; returns when that is done or stopped.

        ``glance``: other processes may glance at files of which nothing is known. What they then
        found is not proven, and unless this was stopped, ``prove`` is to be called.
        """
        proving, helpers = False, self._worthwhile_helpers(files)
        try:
            self._start_helpers(min(helpers, 1))  # beside them the first files would wait
            first = [f for f in files[:FIRST_FILES] if f.size <= _FIRST_BYTES or not self._helpers]
            for file in first:
                self._look([file], self._take)
            self._start_helpers(helpers - len(self._helpers))
            large = [file for file in files[:FIRST_FILES] if file not in first]
            later = deque(_batches([*large, *files[FIRST_FILES:]]))
            self._share(later, "glance" if glance else "look", self._take)
            proving = bool(self._unproven) and not self.is_stopped
        finally:
            if not proving:
                self._end_helpers()

    def prove(self, take: Take) -> None:
        """Look exactly at what was only glanced at, with no hurry; returns when that is done or
        stopped."""
        try:
            unproven, self._unproven = self._unproven, []
            self._share(deque(_batches(unproven)), "prove", take)
        finally:
            self._end_helpers()

    def _worthwhile_helpers(self, files: Sequence[ToLook]) -> int:
        pays = self._most_helpers > 1 and sum(file.size for file in files) > self._pays_bytes
        return min(self._most_helpers, MOST_HELPERS) if pays else 0

    def _start_helpers(self, count: int) -> None:
        for _ in range(count):
            with suppress(OSError):
                self._helpers.append(_Helper())

    def _end_helpers(self) -> None:
        for helper in self._helpers:
            helper.end()
        self._helpers.clear()

    def _share(self, batches: deque[list[ToLook]], way: Way, take: Take) -> None:
        workers = [
            threading.Thread(
                target=self._ask, args=(helper, batches, way, take), name="enso-fill", daemon=True
            )
            for helper in self._helpers
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        while batches and not self._stopped.is_set():
            self._look(batches.popleft(), take)

    def _ask(self, helper: _Helper, batches: deque[list[ToLook]], way: Way, take: Take) -> None:
        """Have a helper look at batches until there are none; one that fails is done here."""
        while not self._stopped.is_set():
            try:
                batch = batches.popleft()
            except IndexError:
                return
            if way == "prove":
                answers.give_way()
            looked = helper.look(batch, way)
            if looked is None:
                batches.appendleft(batch)
                return
            take(batch, looked)
            pairs = zip(batch, looked, strict=True)
            self._unproven += [one for one, file in pairs if file is not None and not file.proven]

    def _look(self, batch: Sequence[ToLook], take: Take) -> None:
        for file in batch:
            if self._stopped.is_set():
                return
            take([file], [self._look_at(file.path, file.earlier)])


class _Helper:
    """A process that looks at files. Raises ``OSError`` when it cannot be started."""

    def __init__(self) -> None:
        self._process = start_helper("enso.host.row_worker")

    def look(self, batch: Iterable[ToLook], way: Way) -> list[RowFile | None] | None:
        """The rows of a batch; ``None`` when the process is of no use."""
        source, target = self._process.stdout, self._process.stdin
        files = list(batch)
        if source is None or target is None:
            return None
        try:
            write_message(target, Batch([f.path for f in files], [f.earlier for f in files], way))
            content = read_message(source)
            looked = msgpack.decode(content, type=Looked).files if content is not None else []
        except (OSError, ValueError, MsgspecError) as error:
            log.warning("a process that helps with the listing is of no use: %s", error)
            return None
        return looked if len(looked) == len(files) else None

    def end(self) -> None:
        """End the process, and wait until it has ended."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.wait()


def _batches(files: Iterable[ToLook]) -> Iterable[list[ToLook]]:
    batch: list[ToLook] = []
    size = 0
    for file in files:
        batch.append(file)
        size += file.size
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
