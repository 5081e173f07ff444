"""The log of one live thread: what is stored is told, in the order in which it is stored.

Owns that order, and the entries that a person's settings are. Knows nothing of runs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from enso.host.contract import (
    EntryStored,
    MessageDropped,
    PromptRefused,
)
from enso.host.decode import decode_branch, decode_entry
from enso.host.modes import ALLOWED_TYPE, MODE_TYPE, allowed_calls, changed_mode, stored_mode
from enso.host.permission_rules import MODES, UNKNOWN_MODE
from enso.host.runtimes.teller import Teller
from enso.host.session_file import SessionFile
from enso.host.session_tree import place_of
from enso.transcript import TranscriptEntry

log = logging.getLogger(__name__)


class ThreadLog(Teller):
    """A session file and who listens to it. Thread-safe."""

    def __init__(self, session: SessionFile, provider_name: Callable[[str], str]) -> None:
        super().__init__(session.thread_id)
        self.session = session
        self._provider_name = provider_name

    def store(
        self, kind: str, fields: Mapping[str, Any], entry_id: str | None = None
    ) -> TranscriptEntry:
        """Append an entry and tell of it. Raises ``SessionNotWritten``."""
        with self._lock:
            entry = self.session.append(kind, fields, entry_id=entry_id)
            decoded = decode_entry(entry, providers=self._provider_name)
            self.tell(EntryStored(decoded))
            return decoded

    def drop_message(self, message_id: str | None) -> None:
        """Tell that the message that streams will not be stored, if one does."""
        if message_id is not None:
            self.tell(MessageDropped(message_id))

    @property
    def mode(self) -> str:
        """The permission mode that the branch ends in."""
        return stored_mode(self._customs()).mode

    @property
    def allowed(self) -> frozenset[str]:
        """The keys of the calls that were allowed for the thread."""
        return allowed_calls(self._customs())

    def allow(self, tool: str, key: str) -> None:
        """Keep that calls with this key are allowed for the thread."""
        data = {"tool": tool, "key": key, "at": now_ms()}
        self.store("custom", {"customType": ALLOWED_TYPE, "data": data})

    def _customs(self) -> tuple[TranscriptEntry, ...]:
        kept = [entry for entry in self.session.branch() if entry.get("type") == "custom"]
        return decode_branch(kept, providers=self._provider_name)

    # -- what a person sets -----------------------------------------------------------------------

    def set_mode(self, mode: str) -> None:
        """Change the permission mode. Raises ``PromptRefused`` for one that Enso does not know."""
        if mode not in {choice.id for choice in MODES}:
            raise PromptRefused("unknown-mode", UNKNOWN_MODE.format(mode=mode[:60]))
        with self._lock:
            data = changed_mode(self._customs(), mode, at=now_ms())
            self.store("custom", {"customType": MODE_TYPE, "data": data})

    def rename(self, name: str) -> None:
        """Name the thread, or take its name away."""
        self.store("session_info", {"name": " ".join(name.split())})

    def label(self, entry_id: str, label: str) -> None:
        """Label an entry of the file. Raises ``PromptRefused`` when there is none of this id."""
        if all(entry["id"] != entry_id for entry in self.session.entries()):
            raise PromptRefused("unknown-entry", "This thread has no such entry.")
        fields = {"targetId": entry_id}
        self.store("label", {**fields, "label": label.strip()} if label.strip() else fields)

    def go_to(self, entry_id: str | None) -> None:
        """Make another entry the leaf. Raises ``PromptRefused`` when there is none of this id."""
        place = place_of(self.session.entries(), entry_id) if entry_id is not None else (None,)
        if place is None:
            raise PromptRefused("unknown-entry", "This thread has no such entry.")
        self.session.go_to(*place)


def now_ms() -> int:
    """Now, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
