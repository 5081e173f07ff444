"""Forks by pi itself: a second pi opens the thread's file, forks there, and goes on as the fork's.

So pi's extensions hear of the fork and may refuse it, and the thread that is forked from goes on in
its own process, untouched. The pi of a fork is kept for a while: the first prompt takes it over,
with all that it said since. A question that is asked while it forks nobody can answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from enso.host.contract import PromptRefused
from enso.host.runtimes.pi.process import PiFailed, PiProcess, Record
from enso.host.runtimes.pi.program import PiProgram
from enso.host.runtimes.pi.starting import PiOptions, ready, start
from enso.host.session_file import SessionFile
from enso.host.stored_values import object_of, text_of

KEPT_SECONDS: Final = 120.0
"""How long the pi of a fork waits for the fork's first prompt."""

_DIALOGS: Final = frozenset({"select", "confirm", "input", "editor"})
_HEARD: Final = 1000

Hear = Callable[[Record], None]
Ended = Callable[[str], None]


class Relay:
    """Hears a pi that has no thread yet, and tells its thread what it said. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._heard: list[Record] = []
        self._to: tuple[Hear, Ended] | None = None
        self._answer: Callable[[Record], None] | None = None
        self.asked = ""

    def refuse_questions(self, answer: Callable[[Record], None] | None) -> None:
        """Put every question away at once, by this way to answer; ``None``: keep them again."""
        with self._lock:
            self._answer = answer

    def hear(self, record: Record) -> None:
        """Take a record in."""
        with self._lock:
            if self._to is not None:
                self._to[0](record)
            elif self._answer is not None and record.get("method") in _DIALOGS:
                self.asked = text_of(record.get("title"))
                answer = {"type": "extension_ui_response", "id": record.get("id")}
                self._answer(answer | {"cancelled": True})
            elif len(self._heard) < _HEARD:
                self._heard.append(record)

    def ended(self, sentence: str) -> None:
        """The process ended by itself."""
        with self._lock:
            if self._to is not None:
                self._to[1](sentence)

    def attach(self, hear: Hear, ended: Ended) -> None:
        """From now on a thread hears: first what was said until now."""
        with self._lock:
            for record in self._heard:
                hear(record)
            self._heard.clear()
            self._to = (hear, ended)


@dataclass(slots=True)
class _Forked:
    process: PiProcess
    relay: Relay
    timer: threading.Timer | None = field(default=None)


class Forks:
    """The pis of forks that were not prompted yet. Thread-safe."""

    def __init__(self, options: PiOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._waiting: dict[str, _Forked] = {}

    def fork(
        self, program: PiProgram, source: SessionFile, entry_id: str | None
    ) -> SessionFile | None:
        """The session that pi made of a part of another; ``None`` where Enso has to do it itself.

        ``entry_id`` is the user message it begins before, ``None`` stands for the whole branch.
        Raises ``PromptRefused`` when pi, or an extension of it, refuses.
        """
        if not program.protocol.forks or source.is_of_old_version or _leaf_is_said(source):
            return None
        relay = Relay()
        process = start(program, source, self._options, hear=relay.hear, ended=relay.ended)
        try:
            session = _fork(process, relay, source, entry_id)
        except BaseException:
            process.close()
            raise
        self._keep(session.thread_id, _Forked(process, relay))
        return session

    def take_over(self, thread_id: str, hear: Hear, ended: Ended) -> PiProcess | None:
        """The pi that made this thread, which tells the thread from now on; ``None`` without it."""
        with self._lock:
            forked = self._waiting.pop(thread_id, None)
        if forked is None:
            return None
        if forked.timer is not None:
            forked.timer.cancel()
        if not forked.process.running:
            forked.process.close()
            return None
        forked.relay.attach(hear, ended)
        return forked.process

    def close(self) -> None:
        """End all that wait."""
        with self._lock:
            waiting = list(self._waiting)
        for thread_id in waiting:
            self._let_go_of(thread_id)

    def _keep(self, thread_id: str, forked: _Forked) -> None:
        forked.timer = threading.Timer(KEPT_SECONDS, self._let_go_of, (thread_id,))
        forked.timer.daemon = True
        with self._lock:
            self._waiting[thread_id] = forked
        forked.timer.start()

    def _let_go_of(self, thread_id: str) -> None:
        with self._lock:
            forked = self._waiting.pop(thread_id, None)
        if forked is not None:
            if forked.timer is not None:
                forked.timer.cancel()
            forked.process.close()


def _leaf_is_said(source: SessionFile) -> bool:
    """Whether the thread stands at a prompt that is not the file's last entry.

    Pi cannot be brought there: going to a prompt leads before it.
    """
    branch, entries = source.branch(), source.entries()
    if not branch or branch[-1]["id"] == entries[-1]["id"]:
        return False
    return object_of(branch[-1].get("message")).get("role") == "user"


def _fork(
    process: PiProcess, relay: Relay, source: SessionFile, entry_id: str | None
) -> SessionFile:
    """Have a pi that was just started fork; the session that it is in then."""
    relay.refuse_questions(process.send)
    process.begin()
    ready(process, source)
    try:
        entries = source.entries()
        if entry_id is None and source.leaf_id != entries[-1]["id"]:
            process.ask("prompt", message=f"/enso-go-to {source.leaf_id}")
        answer = process.ask("clone") if entry_id is None else process.ask("fork", entryId=entry_id)
        if object_of(answer).get("cancelled") is True:
            raise PromptRefused("fork-refused", _who_refused(relay))
        state = object_of(process.ask("get_state"))
        return _session(source, state, object_of(process.ask("get_entries")))
    except PiFailed as error:
        raise PromptRefused("refused-by-pi", f"pi did not fork: {error}") from error
    finally:
        relay.refuse_questions(None)


def _who_refused(relay: Relay) -> str:
    if relay.asked:
        return (
            "An extension of pi's asks before a fork, which only a terminal can answer: "
            f"“{relay.asked[:200]}”"
        )
    return "An extension of pi's did not let it be forked."


def _session(source: SessionFile, state: Mapping[str, Any], told: Mapping[str, Any]) -> SessionFile:
    """What the pi is in: a file that it wrote, or one that it will write with the first answer."""
    path = Path(text_of(state.get("sessionFile")))
    if path.exists():
        return SessionFile.open(path)
    entries = [object_of(one) for one in cast("list[Any]", told.get("entries") or [])]
    session = SessionFile.create(
        source.directory.parent,
        text_of(state.get("sessionId")),
        source.cwd,
        str(source.path),
        [dict(one) for one in entries],
    )
    session.lies_at(path)
    return session
