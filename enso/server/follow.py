"""Follows: who watches a thread, and what waits to be sent to them.

A follow begins with a snapshot taken in the instant it joins, then gets every frame after it: no
frame lost, none doubled. A slow reader's frames do not pile up: past a bound they are thrown away
and the reader is due a new snapshot, which says the same in less. This module knows
frames and their order; it does not know where they come from, nor the socket they leave by.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from enso import wire

MAX_WAITING_FRAMES = 256
MAX_WAITING_CHARACTERS = 2_000_000

Dialect = Literal["html", "json"]


class Outgoing:
    """One frame on its way to many follows: rendered once for all that speak a dialect."""

    def __init__(self, frame: wire.Frame, html: str | None) -> None:
        self.frame = frame
        self._html = html

    @cached_property
    def json(self) -> str:
        """The frame as JSON text."""
        return self.frame.model_dump_json()

    def text(self, dialect: Dialect) -> str:
        """What is sent in a dialect; empty when the frame has nothing to say in it."""
        return self.json if dialect == "json" else self._html or ""


class Aside(Outgoing):
    """A frame that is no part of the state, so that no snapshot says it: a notice."""


class News(Outgoing):
    """News of the rail: no snapshot says them, so they wait however far behind a reader is."""

    def __init__(self, rail: wire.RailFrame, html: str) -> None:
        super().__init__(rail, html)
        self._rail = rail

    def after(self, earlier: News) -> News:
        """These news and earlier ones as one: what is newest of each thread."""
        named = {row.thread_id for row in self._rail.threads} | set(self._rail.gone)
        threads = [row for row in earlier._rail.threads if row.thread_id not in named]
        gone = [thread_id for thread_id in earlier._rail.gone if thread_id not in named]
        joined = wire.RailFrame(
            threads=[*threads, *self._rail.threads], gone=[*gone, *self._rail.gone]
        )
        return News(joined, self._html or "")


Snapshot = Callable[["Follow"], Outgoing]
"""Makes a follow's snapshot. Called with the thread's lock held."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The follow is over; the socket closes with this code and reason."""

    code: int
    reason: str


class _Waiting(NamedTuple):
    """A text on its way to one follow, and whether no snapshot would say it."""

    text: str
    aside: bool


class Follow:
    """One watch of a thread. ``first`` is the message its page begins at; empty: the last page."""

    def __init__(
        self,
        *,
        lock: threading.RLock,
        snapshot: Snapshot,
        dialect: Dialect,
        first: str = "",
        max_frames: int = MAX_WAITING_FRAMES,
        max_characters: int = MAX_WAITING_CHARACTERS,
    ) -> None:
        self.dialect: Dialect = dialect
        self.first = first
        self.emptied = False
        """Whether the last snapshot took away all that its page showed."""
        self._thread_lock = lock
        self._snapshot = snapshot
        self._max_frames = max_frames
        self._max_characters = max_characters
        self._waiting: deque[_Waiting] = deque()
        self._aside = ""
        self._characters = 0
        self._news: News | None = None
        self._due_snapshot = True
        self._closed: Closed | None = None
        self._wake = threading.Condition(threading.Lock())

    def put(self, outgoing: Outgoing) -> None:
        """Add a frame; never waits. With a snapshot due it is dropped: the snapshot says it.

        The newest ``Aside`` is sent behind the snapshot, whether it came before or after that was
        due.
        """
        aside = isinstance(outgoing, Aside)
        with self._wake:
            if self._closed or (self._due_snapshot and not aside):
                return
            text = outgoing.text(self.dialect)
            if not text:
                return
            if self._due_snapshot:
                self._aside = text
                return
            self._waiting.append(_Waiting(text, aside))
            self._characters += len(text)
            if len(self._waiting) > self._max_frames or self._characters > self._max_characters:
                self._drop_waiting()
            self._wake.notify()

    def tell(self, news: News) -> None:
        """Add news of the rail; never waits. They are sent once the reader has its snapshot."""
        with self._wake:
            self._news = news.after(self._news) if self._news is not None else news
            self._wake.notify()

    def restart(self) -> None:
        """Throw away what waits: the state changed as a whole, and a snapshot will say it."""
        with self._wake:
            self._drop_waiting()
            self._wake.notify()

    def close(self, closed: Closed) -> None:
        """End the follow; what still waits is not sent."""
        with self._wake:
            self._closed = self._closed or closed
            self._wake.notify()

    def next(self, timeout: float) -> str | Closed | None:
        """The next text to send, or why it is over; ``None``: nothing in ``timeout`` seconds.

        Called by the follow's one writer alone.
        """
        with self._wake:
            self._wake.wait_for(self._has_something, timeout)
            if self._closed:
                return self._closed
            if not self._due_snapshot:
                return self._take()
        return self._take_snapshot()

    def _has_something(self) -> bool:
        return bool(self._waiting or self._due_snapshot or self._closed or self._news)

    def _take(self) -> str | None:
        if self._news is not None:
            news, self._news = self._news, None
            return news.text(self.dialect)
        if not self._waiting:
            return None
        text = self._waiting.popleft().text
        self._characters -= len(text)
        return text

    def _take_snapshot(self) -> str:
        # The thread's lock is held from reading the state until frames are taken again: a change
        # is either in the snapshot or in a frame after it.
        with self._thread_lock:
            text = self._snapshot(self).text(self.dialect)
            with self._wake:
                # Nothing else waits: frames are not taken while a snapshot is due.
                self._due_snapshot = False
                if self._aside:
                    self._waiting.append(_Waiting(self._aside, aside=True))
                    self._characters, self._aside = len(self._aside), ""
        return text

    def _drop_waiting(self) -> None:
        self._aside = next((one.text for one in reversed(self._waiting) if one.aside), self._aside)
        self._waiting.clear()
        self._characters = 0
        self._due_snapshot = True


class Follows:
    """The follows of one thread; whoever changes or addresses them holds the thread's lock."""

    def __init__(self) -> None:
        self._all: set[Follow] = set()

    def __len__(self) -> int:
        return len(self._all)

    def all(self) -> list[Follow]:
        """Every follow, as of now."""
        return list(self._all)

    def speaks(self, dialect: Dialect) -> bool:
        """Whether any follow speaks a dialect: what nobody reads is not rendered."""
        return any(follow.dialect == dialect for follow in self._all)

    def join(self, follow: Follow) -> None:
        """Add a follow; its first text is a snapshot."""
        self._all.add(follow)

    def leave(self, follow: Follow) -> None:
        """Forget a follow."""
        self._all.discard(follow)

    def publish(self, outgoing: Iterable[Outgoing]) -> None:
        """Give frames to every follow, in order."""
        for one in outgoing:
            for follow in self._all:
                follow.put(one)

    def restart(self) -> None:
        """Make every follow take a new snapshot."""
        for follow in self._all:
            follow.restart()

    def close(self, closed: Closed) -> None:
        """End every follow."""
        for follow in list(self._all):
            follow.close(closed)
