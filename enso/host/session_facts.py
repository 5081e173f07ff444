"""What is said of a whole session, gathered entry by entry (pi's ``listAll``, without its faults).

Owns the title, the name, the count, the spend, the last activity and how the branch ends. Reads no
file: it is fed the fields of each entry by ``enso.host.session_scan``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder

from enso.host.json_lines import MalformedLine, clean_text, is_blank, parse_line
from enso.host.session_log import given_id, name_of, stored_id
from enso.host.session_spend import ScannedUsage, Spend, scanned_usage
from enso.host.stored_values import LATEST_MS, count_of, milliseconds, object_of
from enso.host.thread_ends import ThreadEnd

_SPOKEN: Final = ("user", "assistant")
_SPENDING: Final = ("usage", "compaction", "branch_summary")
_SPENDING_ROLES: Final = ("assistant", "toolResult")
_TELLING: Final = ("assistant", "toolResult", "user")
_STOPPED: Final[dict[str, ThreadEnd]] = {
    "error": "refused",
    "aborted": "aborted",
    "length": "cut-by-length",
}


class ScannedMessage(Struct, gc=False):
    """What a scan takes of a message. ``content`` is left unread; a parsed value stands in it
    where the line was read by other means."""

    role: str | None = None
    content: Raw | UnsetType = UNSET
    timestamp: int | float | None = None
    stopReason: str | None = None  # noqa: N815 - the stored key
    display: bool | None = None
    usage: ScannedUsage | None = None


class ScannedEntry(Struct, gc=False):
    """What a scan takes of a line."""

    type: str | None = None
    id: str | int | None = None
    parentId: str | int | UnsetType | None = UNSET  # noqa: N815 - the stored key
    timestamp: str | int | float | None = None
    name: Raw | UnsetType = UNSET
    message: ScannedMessage | None = None
    customType: str | None = None  # noqa: N815 - the stored key
    data: Raw | UnsetType = UNSET
    display: bool | None = None
    usage: ScannedUsage | None = None
    targetId: str | None = None  # noqa: N815 - the stored key
    label: str | None = None


def scanned_entry(value: Any) -> ScannedEntry:
    """A parsed object as a scanned entry, whatever types its fields have."""
    stored = object_of(value)
    message = stored.get("message")
    return ScannedEntry(
        type=_text(stored.get("type")),
        id=stored_id(stored.get("id")),
        parentId=stored_id(stored["parentId"]) if "parentId" in stored else UNSET,
        timestamp=stored.get("timestamp"),
        name=stored.get("name", UNSET),
        message=_scanned_message(object_of(message)) if isinstance(message, dict) else None,
        customType=_text(stored.get("customType")),
        data=stored.get("data", UNSET),
        display=stored.get("display") is True,
        usage=scanned_usage(stored.get("usage")),
        targetId=_text(stored.get("targetId")),
        label=_text(stored.get("label")),
    )


def _scanned_message(stored: Any) -> ScannedMessage:
    return ScannedMessage(
        role=_text(stored.get("role")),
        content=stored.get("content", UNSET),
        timestamp=count_of(stored.get("timestamp")),
        stopReason=_text(stored.get("stopReason")),
        display=stored.get("display") is True,
        usage=scanned_usage(stored.get("usage")),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def value_of(stored: Raw | Any) -> Any:
    """The value of a field that was left unread."""
    return parse_line(bytes(stored)) if isinstance(stored, Raw) else stored


_decode = Decoder(ScannedEntry).decode


def scan_line(raw: bytes) -> tuple[ScannedEntry | None, bool]:
    """The entry on a line, ``None`` for a header, a blank line or damage; whether it is damage."""
    try:
        entry = _decode(raw)
    except (DecodeError, RecursionError):
        try:
            value = parse_line(raw)
        except MalformedLine:
            return None, not is_blank(raw)
        if not isinstance(value, dict):
            return None, True
        entry = scanned_entry(value)
    return (None if entry.type == "session" else entry), False


Tree = dict[str, tuple[str | None, ThreadEnd | None]]
"""Each entry's parent, and what its message says of how a branch ends."""


@dataclass(slots=True)
class BranchEnd:
    """How the branch ends that the last entry is the leaf of.

    ``chain`` holds the ids from the leaf back to the message that tells the end. ``None`` as the
    end: the last entry hangs on a parent that is not in the chain, and only a walk through the
    whole tree can tell. ``telling`` is the message that tells the end, until ``settle`` asked it.
    """

    linear: bool
    leaf_id: str | None = None
    end: ThreadEnd | None = "empty"
    chain: frozenset[str] = frozenset()
    telling: ScannedMessage | None = None

    def add(self, entry: ScannedEntry, offset: int) -> tuple[str, str | None]:
        """Take the next entry; returns its id and its parent's."""
        entry_id, parent_id = self._place(entry, offset)
        message = entry.message
        if message is not None and message.role in _TELLING and entry.type == "message":
            self.telling, self.chain = message, frozenset((entry_id,))
        elif parent_id == self.leaf_id and parent_id is not None and entry_id not in self.chain:
            self.chain |= {entry_id}
        else:
            self.telling = None
            self.end = "empty" if parent_id is None else None
            self.chain = frozenset((entry_id,)) if parent_id is None else frozenset()
        self.leaf_id = entry_id
        return entry_id, parent_id

    def settle(self) -> None:
        """Ask the last message that tells the end, and let go of it."""
        if self.telling is not None:
            self.end, self.telling = end_of_message(self.telling), None

    def walk(self, tree: Tree) -> None:
        """Tell the end from the whole tree."""
        entry_id, walked = self.leaf_id, set[str]()
        self.end = "empty"
        while entry_id is not None and entry_id in tree and entry_id not in walked:
            walked.add(entry_id)
            entry_id, told = tree[entry_id]
            if told is not None:
                self.end = told
                break
        self.chain = frozenset(walked)

    def _place(self, entry: ScannedEntry, offset: int) -> tuple[str, str | None]:
        stored, parent = entry.id, entry.parentId
        if self.linear:
            return given_id(offset), self.leaf_id
        if isinstance(parent, str) and isinstance(stored, str) and parent and stored:
            return stored, parent  # as on nearly every line
        entry_id = stored_id(stored)
        if entry_id is None:
            return given_id(offset), self.leaf_id if parent is UNSET else stored_id(parent)
        return entry_id, stored_id(parent)


def end_of_message(message: ScannedMessage | None) -> ThreadEnd | None:
    """How a branch ends whose last message this is; ``None`` for a message that tells nothing."""
    role = message.role if message is not None else None
    if role in ("user", "toolResult"):
        return "interrupted"
    if message is None or role != "assistant":
        return None
    if message.stopReason in _STOPPED:
        return _STOPPED[message.stopReason]
    return "interrupted" if _calls_tools(message.content) else "complete"


def _calls_tools(content: Raw | UnsetType) -> bool:
    if isinstance(content, Raw):
        raw = bytes(content)
        if b"toolCall" not in raw and b"\\u" not in raw:  # an escape could spell it otherwise
            return False
    blocks = value_of(content)
    if not isinstance(blocks, list):
        return False
    return any(object_of(b).get("type") == "toolCall" for b in cast("list[Any]", blocks))


def request_usage(entry: ScannedEntry) -> tuple[bool, ScannedUsage | None]:
    """Whether a model was asked for this entry, and what that used."""
    if entry.type != "message":
        usage = entry.usage if entry.type in _SPENDING else None
        return usage is not None, usage
    message = entry.message
    if message is None or message.role not in _SPENDING_ROLES:
        return False, None
    return message.role == "assistant" or message.usage is not None, message.usage


@dataclass(slots=True)
class SessionFacts:
    """The facts of the entries so far. ``newest_ms`` is the newest user or assistant message.

    ``skipped`` counts damaged lines. ``superseded`` is where entries begin whose id comes again:
    only the later one's spend counts.
    """

    spend: Spend = field(default_factory=Spend)
    message_count: int = 0
    first_message: str = ""
    name: str | None = None
    newest_ms: int = 0
    skipped: int = 0
    labels: dict[str, str] = field(default_factory=dict[str, str])
    superseded: frozenset[int] = frozenset()

    def copy(self) -> SessionFacts:
        """Facts that go on from here by themselves."""
        return replace(self, spend=replace(self.spend), labels=dict(self.labels))

    def add(self, entry: ScannedEntry, offset: int) -> None:
        """Take the next entry of the file, whose line begins at ``offset``."""
        if offset in self.superseded:
            entry.usage = None
            if entry.message is not None:
                entry.message.usage = None
        if entry.type == "message":
            self.message_count += 1
            message = entry.message
            if message is not None:
                self._add_message(entry, message)
        elif entry.type == "session_info":
            self.name = name_of({"name": value_of(entry.name)})
        elif entry.type == "label":
            label_by(entry, self.labels)
        elif entry.usage is not None and entry.type in _SPENDING:
            self.spend.add_scanned(entry.usage)

    def _add_message(self, entry: ScannedEntry, message: ScannedMessage) -> None:
        if message.usage is not None and message.role in _SPENDING_ROLES:
            self.spend.add_scanned(message.usage)
        if message.role not in _SPOKEN or message.content is UNSET:
            return
        counted = message.timestamp
        if type(counted) is not int or not self.newest_ms < counted <= LATEST_MS:
            counted = count_of(counted)
            if counted is None:
                counted = milliseconds(entry.timestamp) or 0
        self.newest_ms = max(self.newest_ms, counted)
        if not self.first_message and message.role == "user":
            self.first_message = title_of(value_of(message.content))


def label_by(entry: ScannedEntry, labels: dict[str, str]) -> None:
    """Set the label that an entry sets, or take away the one that it takes away."""
    target, label = entry.targetId, entry.label
    if target is not None and label:
        labels[clean_text(target)] = clean_text(label)
    elif target is not None:
        labels.pop(clean_text(target), None)


def title_of(content: Any) -> str:
    """The text of a user message as pi's listing joins it: its text blocks, a blank between."""
    if isinstance(content, str):
        return clean_text(content)
    if not isinstance(content, list):
        return ""
    blocks = [object_of(block) for block in cast("list[Any]", content)]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return clean_text(" ".join(text if isinstance(text, str) else "" for text in texts))
