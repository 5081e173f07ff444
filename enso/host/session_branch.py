"""What is known of a branch without reading it: gathered while its file is scanned.

Owns which files are regular: of version 3, and reading back from the last line meets the branch:
every parent before its child, and none of its ids again behind it. Only of such a file does the end
tell the branch (``enso.host.session_tail``); any other is read whole.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from typing import Final, NamedTuple
from zlib import crc32

from msgspec import Struct, structs

from enso.host.contract import ThreadEnd
from enso.host.decode import decode_parts
from enso.host.json_lines import plain
from enso.host.modes import tells_agent, tells_mode
from enso.host.pages import heading_of
from enso.host.session_facts import (
    ScannedEntry,
    ScannedMessage,
    end_of_message,
    value_of,
)
from enso.host.session_log import CURRENT_VERSION
from enso.transcript import TranscriptCustom

NOWHERE: Final = -1
"""The offset of a line that there is not."""

_FEW: Final = 16
_SUMMARIES: Final = ("compaction", "branch_summary")
_TELLING: Final = ("assistant", "toolResult", "user")


class IrregularFile(Exception):
    """The file is none whose branch its end tells."""


class Told(Struct, frozen=True):
    """What a branch says once and seldom again: its heading, and where in the file it says the
    rest: its mode, its agent and its thinking level, each by the last entry that tells it."""

    heading: str = ""
    mode: int = NOWHERE
    agent: int = NOWHERE
    level: int = NOWHERE


class BranchFacts(Struct, frozen=True):
    """A branch up to one of its entries.

    ``messages`` counts what a reader sees as a message. ``model`` is the offset of the line that
    names its model, ``ending`` of the message that tells how it ends.
    """

    messages: int = 0
    model: int = NOWHERE
    ending: int = NOWHERE
    told: Told = Told()

    @property
    def telling_lines(self) -> list[int]:
        """Where the lines begin that tell mode, agent, model and level, in the file's order."""
        told = self.told
        return sorted({told.mode, told.agent, told.level, self.model} - {NOWHERE})


_ROOT: Final = BranchFacts()


class Picked(NamedTuple):
    """Where the entries of the branch begin, where those whose id comes again, and all ids."""

    offsets: frozenset[int]
    superseded: frozenset[int]
    ids: Collection[str]


class BranchPicker:
    """Finds the branch of a file in which an id comes twice, or a parent late or never.

    Raises ``IrregularFile``, also when that is so on the branch itself.
    """

    def __init__(self) -> None:
        self._places: dict[str, tuple[int, str | None]] = {}
        self._superseded: list[int] = []
        self._leaf_id: str | None = None

    def add(self, entry: ScannedEntry, offset: int) -> None:
        """Take the next entry: of two with one id the later one counts."""
        entry_id, parent_id = entry.id, entry.parentId
        if not isinstance(entry_id, str) or not entry_id or isinstance(parent_id, int):
            raise IrregularFile
        parent = parent_id if isinstance(parent_id, str) and parent_id else None
        if entry_id in self._places:
            self._superseded.append(self._places[entry_id][0])
        self._places[entry_id] = offset, parent
        self._leaf_id = entry_id

    def picked(self) -> Picked:
        """The branch from the leaf back, each entry before its child."""
        offsets: list[int] = []
        walked: set[str] = set()
        entry_id = self._leaf_id
        while entry_id is not None and entry_id not in walked:  # else a cycle closes here
            if entry_id not in self._places:
                raise IrregularFile
            walked.add(entry_id)
            offset, entry_id = self._places[entry_id]
            if offsets and offset >= offsets[-1]:
                raise IrregularFile
            offsets.append(offset)
        return Picked(frozenset(offsets), frozenset(self._superseded), self._places.keys())


class RegularBranch:
    """The facts of the branch that the last entry is the leaf of. Raises ``IrregularFile``.

    While a file is scanned the facts at every entry are at hand, so that a branch may begin
    anywhere; between scans only those of the leaf are kept, and of each id a digest. Where the
    branch was ``picked``, all else is passed over.
    """

    def __init__(self, version: float | None, picked: Picked | None = None) -> None:
        if version != CURRENT_VERSION:
            raise IrregularFile
        self._picked = picked
        self.leaf_id: str | None = None
        self.leaf = _ROOT
        self.end: ThreadEnd | None = "empty"
        self._digests = array("I")
        self._known: frozenset[int] | None = None
        self._at: dict[str, BranchFacts] = {}
        self._last: tuple[int, ScannedMessage] | None = None
        self._told_at = NOWHERE

    def copy(self) -> RegularBranch:
        """A branch that goes on from here by itself; to be called when this one is settled."""
        copied = RegularBranch(CURRENT_VERSION)
        copied.leaf_id, copied.leaf, copied.end = self.leaf_id, self.leaf, self.end
        copied._digests, copied._told_at = self._digests[:], self._told_at
        return copied

    def add(self, entry: ScannedEntry, offset: int) -> None:
        """Take the next entry, whose line begins at ``offset``."""
        if self._picked is not None and offset not in self._picked.offsets:
            return
        entry_id, parent_id = entry.id, entry.parentId
        if type(entry_id) is not str or not entry_id or entry_id in self._at:
            raise IrregularFile
        if self._digests and self._seen_before(entry_id):
            raise IrregularFile
        if self._picked is not None or parent_id == self.leaf_id:
            facts = self.leaf  # of what was picked, each entry is the parent of the next
        else:
            facts = self._facts_at(parent_id)
        if entry.type == "message":
            facts = self._with_message(facts, entry.message, offset)
        elif entry.type in _CHANGING:
            facts = _with_change(facts, entry, offset)
        self._at[entry_id] = self.leaf = facts
        self.leaf_id = entry_id

    def settle(self) -> int | None:
        """Let go of what only a scan in progress needs, and tell how the branch ends.

        Returns where the message begins that tells it, when that is none of the last scan's: it is
        to be read again, and given to ``end_with``.
        """
        ids = self._at if self._picked is None else self._picked.ids
        self._digests.extend(map(crc32, map(str.encode, ids)))
        self._at, self._known, self._picked = {}, None, None
        last, self._last = self._last, None
        ending = self.leaf.ending
        if ending == NOWHERE:
            self.end = "empty"
        elif last is not None and last[0] == ending:
            self.end_with(last[1])
        elif ending != self._told_at:
            return ending
        return None

    def end_with(self, message: ScannedMessage | None) -> None:
        """Take how the branch ends from the message that tells it."""
        self.end = end_of_message(message)
        self._told_at = self.leaf.ending

    def _seen_before(self, entry_id: str) -> bool:
        """Whether an entry of an earlier scan may have this id."""
        digest = crc32(entry_id.encode())
        if self._known is None and len(self._at) < _FEW:
            return digest in self._digests
        if self._known is None:
            self._known = frozenset(self._digests)
        return digest in self._known

    def _facts_at(self, parent_id: object) -> BranchFacts:
        if not isinstance(parent_id, (str, int)) or parent_id == "":
            return _ROOT
        facts = self._at.get(parent_id) if isinstance(parent_id, str) else None
        if facts is None:
            raise IrregularFile
        return facts

    def _with_message(
        self, facts: BranchFacts, message: ScannedMessage | None, offset: int
    ) -> BranchFacts:
        role = message.role if message is not None else None
        if message is None or role is None:
            return facts
        if role not in _TELLING:
            shown = role == "bashExecution" or (role == "custom" and message.display is True)
            return structs.replace(facts, messages=facts.messages + shown)
        self._last = offset, message
        told = facts.told
        if role == "user" and not told.heading:
            told = _with_heading(told, message)
        shown = role != "toolResult"
        model = offset if role == "assistant" else facts.model
        return BranchFacts(facts.messages + shown, model, offset, told)


def _with_heading(told: Told, message: ScannedMessage) -> Told:
    heading = heading_of(decode_parts(value_of(message.content)))
    return structs.replace(told, heading=heading) if heading else told


def _with_change(facts: BranchFacts, entry: ScannedEntry, offset: int) -> BranchFacts:
    """The facts behind an entry that is no message."""
    if entry.type in _SUMMARIES or (entry.type == "custom_message" and entry.display is True):
        return structs.replace(facts, messages=facts.messages + 1)
    if entry.type == "model_change":
        return structs.replace(facts, model=offset)
    if entry.type == "thinking_level_change":
        return structs.replace(facts, told=structs.replace(facts.told, level=offset))
    if entry.type != "custom" or entry.customType not in ("modes", "active_agent"):
        return facts
    custom = TranscriptCustom(id="", custom_type=entry.customType, data=plain(value_of(entry.data)))
    told = facts.told
    if tells_mode(custom):
        told = structs.replace(told, mode=offset)
    if tells_agent(custom):
        told = structs.replace(told, agent=offset)
    return structs.replace(facts, told=told)


_CHANGING: Final = frozenset(
    (*_SUMMARIES, "custom", "custom_message", "model_change", "thinking_level_change")
)
