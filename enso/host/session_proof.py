"""Looking exactly, in the background, at the files that a first look only glanced at.

Owns when that begins and ends. What came of a glance is listed meanwhile, and kept for no later
start: only what was proven is.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from enso.host.session_fill import Fill, Take, ToLook
from enso.host.session_look import RowFile

log = logging.getLogger(__name__)


class Proven(NamedTuple):
    """What was proven: files that are as they were listed, others, and paths that are no more."""

    same: list[RowFile]
    other: list[RowFile]
    gone: list[str]


def compare(
    known: Mapping[str, RowFile], asked: Sequence[ToLook], looked: Sequence[RowFile | None]
) -> Proven:
    """What a proof comes to beside what is listed; without what was looked at since, or went."""
    proven = Proven([], [], [])
    for one, file in zip(asked, looked, strict=True):
        glanced = known.get(one.path)
        if glanced is None or glanced.proven:
            continue
        if file is None:
            proven.gone.append(one.path)
        elif (file.stamp, file.facts) == (glanced.stamp, glanced.facts):
            proven.same.append(file)
        else:
            proven.other.append(file)
    return proven


class Proof:
    """The proof of one first look. Usable from any worker."""

    def __init__(self, fill: Fill, take: Take, done: Callable[[], None]) -> None:
        """``take`` is given the files as they are; ``done`` is called once all were looked at."""
        self._fill = fill
        self._take = take
        self._done = done
        self._worker = threading.Thread(target=self._run, name="enso-proof", daemon=True)
        self._worker.start()

    def wait(self) -> None:
        """Return once it is done, or was closed."""
        self._worker.join()

    def close(self) -> None:
        """Come to an end after the files that are looked at, and wait for that."""
        self._fill.stop()
        self._worker.join()

    def _run(self) -> None:
        try:
            self._fill.prove(self._take)
        except Exception:  # what was not proven is looked at when the server starts again
            log.exception("the exact look at the session files came to no end")
        if not self._fill.is_stopped:
            self._done()
