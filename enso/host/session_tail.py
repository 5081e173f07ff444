"""Walking a branch from its leaf back through the end of its file, and no further than is asked.

Owns how a regular file (``enso.host.session_branch``) is read backwards. What was walked is kept
with the state of the file it was walked in, so that the page above goes on from there.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from enso.host import session_images
from enso.host.contract import fills_window
from enso.host.lines_before import BLOCK, Counters, FileChanged
from enso.host.session_images import Cut, cuts_around, cuts_of
from enso.host.session_prefix import LONG, Prefix, prefix_of

_PLAIN: Final = 1 << 14
"""Bytes without a quote or an escape from which on they are not held."""
_KEPT: Final = 1 << 12
"""Bytes of such a stretch that are: an image says its size at its beginning."""

_SUMMARIES: Final = ("compaction", "branch_summary")
_SPOKEN: Final = ("user", "assistant")


class _Message(msgspec.Struct, gc=False):
    role: str | None = None
    display: bool | None = None


class _Entry(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    parentId: str | None = None  # noqa: N815 - the stored key
    message: _Message | None = None
    display: bool | None = None


_decode = msgspec.json.Decoder(_Entry).decode


class Place(NamedTuple):
    """Where the line of an entry of the branch is, and the long images in it."""

    id: str
    offset: int
    length: int
    cuts: tuple[Cut, ...] = ()


class SparseLine(NamedTuple):
    """A line without its long plain stretches, which hold no quote, no escape and no newline.

    ``holes`` are where they were in ``text``, and how long each was.
    """

    offset: int
    length: int
    text: bytes
    holes: tuple[tuple[int, int], ...] = ()


class _Pieces:
    """The pieces of one line, the last first; a number is a hole of as many bytes."""

    def __init__(self) -> None:
        self._pieces: list[bytes | int] = []
        self._length = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def put_before(self, block: bytearray, start: int, end: int) -> None:
        """A part of a block, which stands before all others."""
        self._length += end - start
        first, last = block.find(b'"', start, end), block.rfind(b'"', start, end) + 1
        if first < 0:
            first = last = end
        elif end - last > _PLAIN and block.find(b"\\", last, end) < 0:
            self._pieces.append(end - last - _KEPT)
            end = last + _KEPT
        hole = first - start
        if hole <= _PLAIN or block.find(b"\\", start, first) >= 0:
            hole = 0
        if end > start + hole:
            self._pieces.append(bytes(memoryview(block)[start + hole : end]))
        if hole:
            self._pieces.append(hole)

    def line(self, offset: int) -> SparseLine:
        """The line, which begins there."""
        texts, holes, at = list[bytes](), list[tuple[int, int]](), 0
        for piece in reversed(self._pieces):
            if isinstance(piece, int):
                holes.append((at, piece))
            else:
                texts.append(piece)
                at += len(piece)
        return SparseLine(offset, self._length, b"".join(texts), tuple(holes))


def sparse_lines_before(descriptor: int, end: int, counters: Counters) -> Iterator[SparseLine]:
    """The same lines as of ``lines_before``; what is plain of them is read, and not held."""
    pieces, block = _Pieces(), bytearray(min(BLOCK, end))
    while end > 0:
        begin = max(0, end - len(block))
        stop = end - begin
        if os.preadv(descriptor, [memoryview(block)[:stop]], begin) != stop:
            raise FileChanged
        counters.bytes_read += stop
        while (newline := block.rfind(b"\n", 0, stop if pieces else stop - 1)) >= 0:
            pieces.put_before(block, newline + 1, stop)
            stop = newline + 1
            yield pieces.line(begin + stop)
            pieces = _Pieces()
        pieces.put_before(block, 0, stop)
        end = begin
    if pieces:
        yield pieces.line(0)


class BranchWalk:
    """The branch of one state of a file, as far as it was walked: index 0 is the leaf.

    What a reader sees as a message is counted on the way, the newest first.
    """

    def __init__(self, leaf_id: str, end: int) -> None:
        self._wanted: str | None = leaf_id
        self._end = self._file_end = end
        self._ids: list[str] = []
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._cuts: dict[int, tuple[Cut, ...]] = {}
        self._messages = array("I")
        self._tall = array("I")
        self._after_result = False
        self._index: dict[str, int] = {}
        self._prompts = array("Q")
        self.last_spoken: int | None = None

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def whole(self) -> bool:
        """Whether the root was reached."""
        return self._wanted is None

    @property
    def messages(self) -> int:
        """How many messages were walked."""
        return self._messages[-1] if self._messages else 0

    def place(self, index: int) -> Place:
        """Where a walked entry is."""
        cuts = self._cuts.get(index, ())
        return Place(self._ids[index], self._offsets[index], self._lengths[index], cuts)

    def messages_to(self, index: int) -> int:
        """How many messages there are from the leaf up to and with this entry."""
        return self._messages[index]

    def message(self, number: int) -> int:
        """The index of a walked message by its number from the leaf, the first being 1."""
        return bisect_left(self._messages, number)

    def fills_window(self, index: int) -> bool:
        """Whether the messages from the leaf up to and with this entry fill a window."""
        length = self._file_end - self._offsets[index]
        tall = self._tall[index]
        return fills_window(messages=self._messages[index], tall=tall, length=length)

    def messages_of_window(self) -> int:
        """How many messages fill a window; all that were walked where they do not."""
        at = bisect_left(range(len(self)), True, key=self.fills_window)
        return self._messages[at] if at < len(self) else self.messages

    def find(self, entry_id: str) -> int | None:
        """The index of a walked entry."""
        return self._index.get(entry_id)

    def find_message(self, entry_id: str) -> int | None:
        """The index of a walked entry that a reader sees as a message."""
        index = self.find(entry_id)
        if index is None:
            return None
        before = self._messages[index - 1] if index else 0
        return index if self._messages[index] > before else None

    def prompt_before(self, index: int) -> int | None:
        """The index of the nearest prompt from this entry on towards the root, if it was walked."""
        at = bisect_left(self._prompts, index)
        return self._prompts[at] if at < len(self._prompts) else None

    def walk(self, descriptor: int, counters: Counters, enough: Callable[[], bool]) -> None:
        """Walk on until that is enough, or the root is reached.

        Raises ``FileChanged`` when the file does not hold the branch.
        """
        if self.whole or enough():
            return
        for line in sparse_lines_before(descriptor, self._end, counters):
            self._end = line.offset
            if self._takes(line, descriptor, counters) and (self.whole or enough()):
                return
        raise FileChanged

    def _takes(self, line: SparseLine, descriptor: int, counters: Counters) -> bool:
        """Take the line if it is the next entry of the branch."""
        entry, cuts = _read_sparse(line, descriptor, counters)
        if entry is None or entry.id != self._wanted or entry.type == "session":
            return False
        shown, spoken = _marks_of(entry)
        index = len(self._ids)
        if spoken and entry.message is not None and entry.message.role == "user":
            self._prompts.append(index)
        if spoken and self.last_spoken is None:
            self.last_spoken = index
        if cuts:
            self._cuts[index] = cuts
        tall = self._tall[-1] if self._tall else 0
        self._tall.append(tall + (shown and not self._after_result))
        self._messages.append(self.messages + shown)
        self._after_result = entry.message is not None and entry.message.role == "toolResult"
        self._index[entry.id or ""] = index
        self._ids.append(entry.id or "")
        self._offsets.append(line.offset)
        self._lengths.append(line.length)
        # A parent that was walked already closes a cycle: the branch begins here.
        self._wanted = None if entry.parentId in self._index else entry.parentId or None
        return True


def _read_sparse(
    line: SparseLine, descriptor: int, counters: Counters
) -> tuple[_Entry | None, tuple[Cut, ...]]:
    """What a walk takes of a line, and the long images in it."""

    def read(at: int, length: int) -> bytes:
        counters.bytes_read += length
        return os.pread(descriptor, length, line.offset + at)

    raw = line.text
    if line.holes:
        prefix = prefix_of(raw)
        cuts = cuts_around(raw, line.holes, read)
        if prefix is not None and prefix.role != "custom" and cuts is not None:
            return _entry_of(prefix), cuts
        raw = read(0, line.length)
        if len(raw) != line.length:
            raise FileChanged
    entry = _read(raw, counters)
    return entry, cuts_of(raw) if entry is not None and len(raw) > session_images.LONG else ()


def _entry_of(prefix: Prefix) -> _Entry:
    return _Entry("message", prefix.id, prefix.parent_id, _Message(prefix.role))


def _read(raw: bytes, counters: Counters) -> _Entry | None:
    """What a walk takes of a line; ``None`` for damage, which no regular branch goes through."""
    prefix = prefix_of(raw) if len(raw) > LONG else None
    if prefix is not None and prefix.role != "custom":
        return _entry_of(prefix)
    counters.lines_parsed += 1
    try:
        return _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None


def _marks_of(entry: _Entry) -> tuple[bool, bool]:
    """Whether a reader sees the entry as a message, and whether somebody speaks in it."""
    if entry.type != "message":
        shown = entry.type == "custom_message" and entry.display is True
        return shown or entry.type in _SUMMARIES, False
    role = entry.message.role if entry.message is not None else None
    spoken = role in _SPOKEN
    shown = role == "custom" and entry.message is not None and entry.message.display is True
    return spoken or shown or role == "bashExecution", spoken
