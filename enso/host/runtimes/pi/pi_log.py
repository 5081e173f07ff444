"""The log of one thread as pi writes it: what pi said of a message finds the entry it became.

Pi tells that a message ended a moment before it appends the entry, which only then has an id. So
what comes into the file is told when both are there: an entry without a message of its own at once,
a message's when pi said that it ended. Entries behind one that waits wait with it. Those that are
left when a run has settled are another program's. Owns that order, and the leaf.
"""

from __future__ import annotations

import itertools
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from enso.host.contract import (
    BranchChanged,
    EntryStored,
    MessageDropped,
)
from enso.host.decode import decode_entry
from enso.host.runtimes.teller import Teller
from enso.host.session_file import SessionFile
from enso.host.stored_values import object_of, text_of

log = logging.getLogger(__name__)

_SAID_ROLES: Final = frozenset({"system", "user", "assistant", "toolResult"})
"""Roles whose messages end with an event of their own."""

_Key = tuple[str, Any, str]


@dataclass(slots=True)
class _Said:
    """A message that pi said ended; ``told_as`` is the id under which it was told until now."""

    message: Mapping[str, Any]
    told_as: str = ""
    streamed: bool = False


class PiLog(Teller):
    """A session file that pi writes, and who listens. Thread-safe."""

    def __init__(self, session: SessionFile, provider_name: Callable[[str], str]) -> None:
        super().__init__(session.thread_id)
        self.session = session
        self._provider_name = provider_name
        self._numbers = itertools.count(1)
        self._waiting: deque[dict[str, Any]] = deque()
        self._said: dict[_Key, deque[_Said]] = {}
        self._promised: set[str] = set()
        self.foreign = False

    def new_id(self) -> str:
        """An id for a message until its entry has one: no entry's of any file."""
        return f"live-{next(self._numbers)}"

    # -- what pi said -----------------------------------------------------------------------------

    def ended(self, message: Mapping[str, Any], streamed_as: str = "") -> bool:
        """A message ended; whether its entry was there to be told already."""
        with self._lock:
            said = _Said(message, streamed_as, streamed=bool(streamed_as))
            self._said.setdefault(_key(message), deque()).append(said)
            self.sync()
            return not any(one is said for many in self._said.values() for one in many)

    def appended(self, entry: Mapping[str, Any]) -> None:
        """An extension appended an entry, which is not in a file as long as there is none."""
        self.will_store([*self.session.entries(), entry])

    def holds_entries(self) -> bool:
        """Whether there is a file with an entry in it, as far as it was read."""
        with self._lock:
            ids = (entry["id"] for entry in self.session.entries())
            return self.session.exists() and any(one not in self._promised for one in ids)

    def will_store(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """What pi will store with its first message; nothing when the file holds an entry."""
        with self._lock:
            self.sync()
            if self.holds_entries() or not all(isinstance(e.get("id"), str) for e in entries):
                return
            for new in self.session.learn([dict(entry) for entry in entries]):
                self._promised.add(new["id"])
                self._tell_stored(new)

    def sync(self) -> None:
        """Take in what the file holds by now, and tell what can be told."""
        with self._lock:
            self._waiting.extend(self.session.take_in())
            while self._waiting and self._tell_next(self._waiting[0]):
                self._waiting.popleft()

    def is_foreign(self) -> bool:
        """Whether another program wrote to the file, or took it away; not asked during a run.

        A message that pi said nothing of is another program's.
        """
        with self._lock:
            self.sync()
            return self.foreign or bool(self._waiting) or self.session.changed_elsewhere()

    def tell_unstored(self) -> None:
        """Tell of user messages that ended and are not in a file yet, until they are."""
        with self._lock:
            for said in self._unfound():
                if said.message.get("role") == "user" and not said.told_as:
                    said.told_as = self.new_id()
                    entry = {"type": "message", "id": said.told_as, "message": said.message}
                    self.tell(EntryStored(decode_entry(entry, providers=self._provider_name)))

    def settle(self) -> None:
        """A run is over: what pi said nothing of by now is another program's."""
        with self._lock:
            self.sync()
            self.foreign = self.foreign or bool(self._waiting)
            self._waiting.clear()
            for said in self._unfound():
                if said.streamed:
                    self.tell(MessageDropped(said.told_as))
            self._said.clear()

    def start_anew(self) -> None:
        """Another pi has opened the file, and continues from its last entry.

        Nothing is read again that was read, unless pi brought an old version up to date: then the
        entries may have other ids.
        """
        with self._lock:
            self.foreign = False
            self._said.clear()
            self._waiting.clear()
            if self.session.is_of_old_version:
                self.session.reload()
                self.tell(BranchChanged())
            elif self.session.exists() and self._promised and not self.holds_entries():
                # Pi was given a file of a header alone, and ended before it stored the rest.
                self.session.learn([])
                self.tell(BranchChanged())
            new = self.session.take_in()
            if any(_is_said(entry) for entry in new):
                self.session.go_to(new[-1]["id"])
                self.tell(BranchChanged())
            else:
                self._waiting.extend(new)
                self.sync()

    # -- within -----------------------------------------------------------------------------------

    def _unfound(self) -> list[_Said]:
        return [said for many in self._said.values() for said in many]

    def _tell_next(self, entry: dict[str, Any]) -> bool:
        """Tell of an entry and make it the leaf; False when it has to wait for pi's word."""
        said = self._take_said(_key(object_of(entry["message"]))) if _is_said(entry) else None
        if said is None and _is_said(entry):
            return False
        on_branch = entry["parentId"] == self.session.leaf_id
        self.session.go_to(entry["id"])
        if on_branch:
            self._tell_stored(entry, said.told_as if said else "")
        else:
            self.tell(BranchChanged())
        return True

    def _tell_stored(self, entry: dict[str, Any], streamed_as: str = "") -> None:
        decoded = decode_entry(entry, providers=self._provider_name)
        self.tell(EntryStored(decoded, streamed_as))

    def _take_said(self, key: _Key) -> _Said | None:
        many = self._said.get(key)
        if not many:
            return None
        said = many.popleft()
        if not many:
            del self._said[key]
        return said


def _is_said(entry: Mapping[str, Any]) -> bool:
    """Whether pi says of the message in this entry that it ended."""
    role = object_of(entry.get("message")).get("role")
    return entry.get("type") == "message" and role in _SAID_ROLES


def _key(message: Mapping[str, Any]) -> _Key:
    """What a message and its entry have in common, and no other message has."""
    return (
        text_of(message.get("role")),
        message.get("timestamp"),
        text_of(message.get("toolCallId")),
    )
