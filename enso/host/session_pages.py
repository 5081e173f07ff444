"""Pages of a thread read from the end of its file.

Costs what the page holds: the lines from the leaf back to where the page begins. What the rest of
the file tells was gathered when the file was scanned (``enso.host.session_scan``). Where that does
not tell, the answer is ``NotTold`` and the file is to be read whole; so it is the same page.
"""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from enso.host.contract import StoredThread, StoredThreadPage, TurnUsage
from enso.host.decode import ProviderNames, decode_entry
from enso.host.file_stamp import FileStamp, stamp_of
from enso.host.json_lines import MalformedLine, parse_line
from enso.host.lines_before import Counters, FileChanged
from enso.host.pages import OpenCalls, ends_in_turn, later_entries
from enso.host.precedence import answers
from enso.host.session_end import end_of_file
from enso.host.session_facts import label_by, request_usage, scan_line
from enso.host.session_images import (
    Cut,
    LeanLine,
    around,
    lean_line,
    leave_out,
    without_images,
)
from enso.host.session_log import open_regular
from enso.host.session_scan import KnownEnd, ScannedFile
from enso.host.session_spend import Spend
from enso.host.session_tail import BranchWalk, Place
from enso.transcript import ImagePart, TranscriptEntry, image_of

KEPT_WALKS: Final = 8
_LINE: Final = 1 << 13
_LABELS: Final = b'"targetId"'
_ESCAPE: Final = b"\\u"  # spells any character
_PLAIN = re.compile(r"[A-Za-z0-9_.|:-]+")


class NotTold(Exception):
    """The end of the file does not tell the page."""


@dataclass(slots=True)
class _Walked:
    """How far the branch of one state of a file was walked."""

    stamp: FileStamp
    walk: BranchWalk
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class PageWanted:
    """Which page: the last ``size`` messages, those before one, or those from one on.

    ``light``: of the last ones no more than fill a window.
    """

    size: int
    before: str | None = None
    since: str | None = None
    light: bool = False


class SessionPages:
    """Reads pages, going on from where the page below was read. Usable from any worker."""

    def __init__(self, providers: ProviderNames) -> None:
        self.counters = Counters()
        self._providers = providers
        self._lock = threading.Lock()
        self._walked: OrderedDict[Path, _Walked] = OrderedDict()

    def read(
        self, stored: StoredThread, file: ScannedFile, wanted: PageWanted
    ) -> StoredThreadPage | None:
        """The page; ``None`` when the message that names it is not on the branch.

        Raises ``NotTold``.
        """
        end = file.end
        if end is None:
            raise NotTold
        with self._reading(file.path, file.stamp, end) as reading:
            return _page(reading, stored, end, wanted)

    def read_from_end(self, stored: StoredThread, wanted: PageWanted) -> StoredThreadPage | None:
        """The page, of a file of which nothing is known yet; see the contract for what it lacks.

        Raises ``NotTold``.
        """
        with answers.first():
            stamp = stamp_of(stored.path)
            end = end_of_file(stored.path, self.counters)
            if stamp is None or end is None:
                raise NotTold
            with self._reading(stored.path, stamp, end) as reading:
                return _page(reading, stored, end, wanted)

    def read_image(self, file: ScannedFile, entry_id: str, number: int) -> ImagePart | None:
        """An image of an entry of the branch; ``None`` when the entry has none at this place.

        Costs its line, and the way to it where that was not walked yet. Raises ``NotTold``, also
        for an entry that is not on the branch.
        """
        if file.end is None:
            raise NotTold
        with self._reading(file.path, file.stamp, file.end) as reading:
            return reading.image(entry_id, number)

    @contextmanager
    def _reading(self, path: Path, stamp: FileStamp, end: KnownEnd) -> Generator[_Reading]:
        walked = self._kept(path, stamp, end)
        try:
            with answers.first(), walked.lock, open_regular(path) as stream:
                self._check(stream.fileno(), stamp)
                yield _Reading(stream.fileno(), walked.walk, self.counters, self._providers)
        except (OSError, FileChanged, MalformedLine) as error:
            with self._lock:
                self._walked.pop(path, None)
            raise NotTold from error

    def _kept(self, path: Path, stamp: FileStamp, end: KnownEnd) -> _Walked:
        with self._lock:
            walked = self._walked.pop(path, None)
            if walked is None or walked.stamp != stamp:
                walked = _Walked(stamp, BranchWalk(end.leaf_id, end.size))
            self._walked[path] = walked
            while len(self._walked) > KEPT_WALKS:
                self._walked.popitem(last=False)
            return walked

    @staticmethod
    def _check(descriptor: int, stamp: FileStamp) -> None:
        status = os.fstat(descriptor)
        if FileStamp(status.st_ino, status.st_size, status.st_mtime_ns) != stamp:
            raise FileChanged


def _page(
    reading: _Reading, stored: StoredThread, end: KnownEnd, wanted: PageWanted
) -> StoredThreadPage | None:
    stretch = reading.stretch(wanted)
    if stretch is None:
        return None
    entries = tuple(reading.entries(stretch.newest, stretch.beyond))
    calls = OpenCalls(entries)
    return StoredThreadPage(
        id=stored.id,
        cwd=stored.cwd,
        entries=entries,
        later=tuple(later_entries(entries, calls, reading.behind(entries, calls, stretch.newest))),
        turn_before=reading.turn_before(stretch.beyond) if entries else TurnUsage(),
        messages_before=reading.messages_before(stretch, end),
        message_count=end.branch.messages if end.whole else stretch.messages,
        state=tuple(reading.state(end)),
        heading=end.branch.told.heading,
        usage=end.usage,
        name=stored.name,
        labels=end.labels if end.whole else reading.labels(stretch.beyond, end),
        skipped_lines=end.skipped,
        whole=end.whole,
    )


class _Stretch(NamedTuple):
    """Entries of a walk from ``newest`` to before ``beyond``, which is further from the leaf.

    ``messages`` is how many there are from the leaf to the stretch's first one.
    """

    newest: int
    beyond: int
    messages: int


class _Reading:
    """The reading of one page: each of its lines is read and decoded once."""

    def __init__(
        self, descriptor: int, walk: BranchWalk, counters: Counters, providers: ProviderNames
    ) -> None:
        self._descriptor = descriptor
        self._walk = walk
        self._counters = counters
        self._providers = providers
        self._decoded: dict[int, TranscriptEntry] = {}

    def stretch(self, wanted: PageWanted) -> _Stretch | None:
        """Walk as far as the page reaches, and the message that tells how the branch ends."""
        walk = self._walk
        named = wanted.before if wanted.before is not None else wanted.since
        at = -1
        if named is None and wanted.light:
            return self._light_stretch(wanted.size)
        if named is not None:
            self._walk_until(lambda: walk.find_message(named) is not None)
            found = walk.find_message(named)
            if found is None:
                return None
            at = found
            if wanted.before is None:
                return _Stretch(0, at + 1, walk.messages_to(at))
        below = walk.messages_to(at) if named is not None else 0
        self._walk_until(lambda: walk.messages >= below + wanted.size)
        messages = min(below + wanted.size, walk.messages)
        beyond = walk.message(messages) + 1 if messages > below else at + 1
        return _Stretch(at + 1, beyond, messages)

    def _light_stretch(self, size: int) -> _Stretch:
        """The last messages: as many as fill a window, and not more than ``size``."""
        walk = self._walk
        self._walk_until(lambda: walk.messages >= size or walk.fills_window(len(walk) - 1))
        messages = min(walk.messages_of_window(), size)
        return _Stretch(0, walk.message(messages) + 1 if messages else 0, messages)

    def messages_before(self, stretch: _Stretch, end: KnownEnd) -> int | None:
        """How many messages there are before a stretch; ``None``: some, and nobody counted them."""
        if end.whole:
            return end.branch.messages - stretch.messages
        walk = self._walk
        return walk.messages - stretch.messages if walk.whole else None

    def labels(self, beyond: int, end: KnownEnd) -> dict[str, str]:
        """The labels that were set behind the first entry before ``beyond``."""
        if not beyond:
            return {}
        first = self._walk.place(beyond - 1).offset
        labels: dict[str, str] = {}
        for line in self._read_around_images(beyond, first, end.size).split(b"\n"):
            entry = scan_line(line)[0] if _LABELS in line else None
            if entry is not None and entry.type == "label":
                label_by(entry, labels)
        return labels

    def _read_around_images(self, beyond: int, first: int, end: int) -> bytes:
        """The file from ``first`` to ``end`` without images of the entries before ``beyond``."""
        places = (self._walk.place(index) for index in range(beyond - 1, -1, -1))
        cuts = [
            Cut(place.offset - first + cut.start, place.offset - first + cut.end, cut.sketch)
            for place in places
            for cut in place.cuts
        ]
        pieces = around(cuts, end - first)
        return b"".join(self._read(first + begin, stop - begin) for begin, stop in pieces)

    def _walk_until(self, reached: Callable[[], bool]) -> None:
        walk = self._walk
        walk.walk(
            self._descriptor,
            self._counters,
            lambda: walk.last_spoken is not None and reached(),
        )

    def entries(self, newest: int, beyond: int) -> Iterator[TranscriptEntry]:
        """The walked entries, in the branch's order."""
        for index in range(beyond - 1, newest - 1, -1):
            place = self._walk.place(index)
            yield self._entry(place.offset, lambda place=place: self._read_lean(place))

    def image(self, entry_id: str, number: int) -> ImagePart | None:
        """The image at this place of an entry, with its bytes."""
        walk = self._walk
        self._walk_until(lambda: walk.find(entry_id) is not None)
        index = walk.find(entry_id)
        if index is None:
            raise NotTold
        return image_of(self._decoded_entry(self._read_place(walk.place(index))), number)

    def state(self, end: KnownEnd) -> Iterator[TranscriptEntry]:
        """The lines that tell the branch's state, and everything from its last message on."""
        spoken = self._walk.last_spoken
        beyond = spoken + 1 if spoken is not None else len(self._walk)
        first = self._walk.place(beyond - 1).offset
        for offset in end.branch.telling_lines:
            if offset < first:
                yield self._entry(
                    offset, lambda offset=offset: without_images(self._read_line(offset))
                )
        yield from self.entries(0, beyond)

    def turn_before(self, beyond: int) -> TurnUsage:
        """What the turn used that goes on in the entry before ``beyond``, up to that entry."""
        walk = self._walk
        self._walk_until(lambda: walk.prompt_before(beyond - 1) is not None)
        prompt = walk.prompt_before(beyond - 1)
        first = prompt if prompt is not None else len(walk)
        requests, spend = 0, Spend()
        for index in range(first - 1, beyond - 1, -1):
            self._counters.lines_parsed += 1
            entry, _ = scan_line(self._read_lean(walk.place(index)).text)
            asked, usage = request_usage(entry) if entry is not None else (False, None)
            requests += asked
            if usage is not None:
                spend.add_scanned(usage)
        return TurnUsage(requests, spend.usage())

    def behind(
        self, stretch: Sequence[TranscriptEntry], calls: OpenCalls, newest: int
    ) -> Iterator[TranscriptEntry]:
        """The entries behind a stretch that may belong to it: all of the turn it ends in, up to
        the next prompt; of the rest those that may have to do with its open calls."""
        tells_turn = ends_in_turn(stretch)
        names = _plain_names(calls.ids)
        for index in range(newest - 1, -1, -1):
            place = self._walk.place(index)
            line = self._read_lean(place)
            prompt = self._walk.prompt_before(index)
            in_turn = tells_turn and prompt in (self._walk.prompt_before(newest), index)
            named = names is None or _ESCAPE in line.text or any(one in line.text for one in names)
            if in_turn or named:
                yield self._entry(place.offset, lambda line=line: line)

    def _entry(self, offset: int, read: Callable[[], LeanLine]) -> TranscriptEntry:
        decoded = self._decoded.get(offset)
        if decoded is None:
            decoded = self._decoded[offset] = self._without_images(offset, read())
        return decoded

    def _without_images(self, offset: int, line: LeanLine) -> TranscriptEntry:
        told = leave_out(self._decoded_entry(line.text), line.sketches)
        if told is None:  # the line holds images in another place than its content
            told = leave_out(self._decoded_entry(self._read_line(offset)))
        if told is None:
            raise FileChanged
        return told

    def _decoded_entry(self, line: bytes) -> TranscriptEntry:
        self._counters.lines_parsed += 1
        value = parse_line(line)
        if not isinstance(value, dict):
            raise FileChanged
        return decode_entry(cast("dict[str, Any]", value), providers=self._providers)

    def _read_lean(self, place: Place) -> LeanLine:
        """The line of an entry without the bytes of its long images."""
        pieces = around(place.cuts, place.length)
        read = [self._read(place.offset + start, end - start) for start, end in pieces]
        return lean_line(read, place.cuts)

    def _read_place(self, place: Place) -> bytes:
        return self._read(place.offset, place.length)

    def _read(self, offset: int, length: int) -> bytes:
        raw = os.pread(self._descriptor, length, offset)
        self._counters.bytes_read += len(raw)
        if len(raw) != length:
            raise FileChanged
        return raw

    def _read_line(self, offset: int) -> bytes:
        """The line that begins at ``offset``."""
        raw, size = b"", _LINE
        while (newline := raw.find(b"\n")) < 0:
            more = os.pread(self._descriptor, size, offset + len(raw))
            self._counters.bytes_read += len(more)
            if not more:
                raise FileChanged
            raw, size = raw + more, size * 4
        return raw[: newline + 1]


def _plain_names(call_ids: Iterable[str]) -> list[bytes] | None:
    """The ids as a line spells them; ``None`` when one may be spelled in another way."""
    names = list(call_ids)
    return [name.encode() for name in names] if all(map(_PLAIN.fullmatch, names)) else None
