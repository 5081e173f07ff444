"""The walk along a branch that measures the context at each of its requests.

What is in a context is ``enso.host.session_context``'s rule, how large it is
``enso.host.context_size``'s; this module says where each request stood.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from enso.host.context_rows import ContextRow
from enso.host.context_shares import KINDS, LEFT_OUT, STANDING, Told, difference, kind_of, sizes_of
from enso.host.context_size import counted_tokens, message_letters, tokens_of
from enso.host.context_sums import NOTHING, PlacedSizes, Size, Sizes, add
from enso.host.contract import (
    BranchContext,
    BranchRequest,
    ContextShare,
    ContextSize,
    RequestNumber,
    ShareKind,
)
from enso.host.decode import entry_time, stop_reason_of
from enso.host.session_context import Assembly, Stored, is_system, message_of, messages_of, role_of
from enso.host.stored_values import text_of
from enso.host.usage import read_usage
from enso.transcript import Usage

_BYTES_OF_AN_ENTRY: Final = 300
_BYTES_OF_A_REQUEST: Final = 450
_NO_KINDS: Final = (0, 0)


def is_answer(entry: Stored) -> bool:
    """Whether an entry is what a request came to: an answer, refused and aborted ones too."""
    return role_of(message_of(entry)) == "assistant"


class Reach(NamedTuple):
    """The places on a branch from ``start`` to before ``end``: nothing before it is in a context
    whose conversation was summed up, nor changes what is."""

    start: int
    end: int


class MeasuredContext(NamedTuple):
    """The context of a branch, and where each of its requests reaches to."""

    context: BranchContext
    reaches: Sequence[Reach]
    next: Reach

    def reach(self, request: RequestNumber) -> Reach | None:
        """Which stretch of the branch a request was assembled from; ``None`` without it."""
        if request == "next":
            return self.next
        return self.reaches[request - 1] if 0 < request <= len(self.reaches) else None


class ContextWalk:
    """Walks along a branch and measures the context at each of its requests.

    An entry costs as much as it is long, whatever came before it; one thing is dearer: an edit of a
    system message, which pi never writes, walks over the system messages.
    """

    def __init__(self) -> None:
        self._assembly = Assembly()
        self._requests: list[BranchRequest] = []
        self._placed = PlacedSizes()
        self._spoken: Sizes = {}  # what is in the context now, but for system and compaction
        self._told = Told()
        self._changed: dict[int, tuple[int, Sizes]] = {}
        self._since_count: int | None = None  # tokens from the last count of a provider on
        self._compacted = False
        self._reaches: list[Reach] = []
        self._present: tuple[tuple[int, int], list[ShareKind]] = _NO_KINDS, []
        self._shares: dict[str, tuple[Size, ContextShare]] = {}

    def extend(self, entries: Iterable[Stored]) -> None:
        """The branch goes on with these entries."""
        for entry in entries:
            if is_answer(entry):
                self._answered(self._request(entry))
            self._take(entry)

    def extend_by_rows(self, rows: Iterable[ContextRow]) -> None:
        """The branch goes on with these entries, which were read as rows."""
        assembly = self._assembly
        for row in rows:
            if row.entry is not None or assembly.is_edited(row.id):
                self.extend((row.stored(),))
                continue
            place, answers = len(assembly.branch), row.role == "assistant"
            if answers:
                self._answered(self._request_of(row))
            assembly.append_sized(row)
            self._say(place, kind_of(row.role), row.letters, row.counted if answers else 0)

    def measured(self) -> MeasuredContext:
        """The same, and what each request was assembled from."""
        return MeasuredContext(self.context(), tuple(self._reaches), self._reach())

    def _reach(self) -> Reach:
        return Reach(self._assembly.start, len(self._assembly.branch))

    def _answered(self, request: BranchRequest) -> None:
        self._requests.append(request)
        self._reaches.append(self._reach())
        self._compacted = False

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        entries, requests = len(self._assembly.branch), len(self._requests)
        return _BYTES_OF_AN_ENTRY * entries + _BYTES_OF_A_REQUEST * requests

    def context(self) -> BranchContext:
        """Every request so far, and the one to come."""
        return BranchContext(
            requests=tuple(self._requests), next=self._size(), compacted=self._compacted
        )

    def _take(self, entry: Stored) -> None:
        assembly = self._assembly
        place = len(assembly.branch)
        assembly.append(entry)
        if entry.get("type") == "compaction":
            self._compact()
        elif entry.get("type") == "context_edit":
            self._edit(assembly.place_of(text_of(entry.get("targetId"))))
        else:
            self._add(place)

    # -- what an entry does -----------------------------------------------------------------------

    def _add(self, place: int) -> None:
        assembly = self._assembly
        message = message_of(assembly.at(place))
        if message and assembly.last_edit(place) is None and role_of(message) != "system":
            self._say(
                place, kind_of(role_of(message)), message_letters(message), counted_tokens(message)
            )
            return
        stored = messages_of(assembly.at(place))
        if not stored:
            return
        sizes = sizes_of(stored)
        messages = stored
        if assembly.last_edit(place) is not None:  # an edit that came before what it aims at
            messages = assembly.messages_at(place)
        if is_system(assembly.at(place)):
            self._told.add(place, messages, stored)
        else:
            self._placed.append(place, sizes)
            add(self._spoken, sizes)
            if assembly.last_edit(place) is not None:
                self._change(place, sizes)
        self._count(messages, sizes if messages is stored else sizes_of(messages))

    def _say(self, place: int, kind: str, letters: int, counted: int) -> None:
        """A message of the conversation, as nearly every entry is."""
        size = Size(1, letters, tokens_of(letters))
        self._placed.append_one(place, kind, size)
        before = self._spoken.get(kind)
        self._spoken[kind] = size if before is None else before.plus(size)
        if counted:
            self._since_count = counted
        elif self._since_count is not None:
            self._since_count += size.tokens

    def _count(self, messages: list[Stored], sizes: Sizes) -> None:
        """What these messages add to a provider's count, or that they bring one."""
        counted = next((number for one in messages if (number := counted_tokens(one))), 0)
        if counted:
            self._since_count = counted
        elif self._since_count is not None:
            self._since_count += sum(size.tokens for size in sizes.values())

    def _edit(self, target: int | None) -> None:
        """An edit came; what it aims at may not be there, or come later."""
        self._since_count = None
        if target is None:
            return
        if target == self._assembly.compaction or target in self._told.places:
            self._tell_anew()
        elif not is_system(self._assembly.at(target)):
            self._change(target, sizes_of(messages_of(self._assembly.at(target))))

    def _change(self, place: int, stored: Sizes) -> None:
        """Bring the sums in line with the last edit of a place, which may stand before it."""
        edit = self._assembly.last_edit(place)
        if edit is None or self._assembly.at(place).get("type") == "compaction":
            return
        if place in self._changed:
            self._apply(*self._changed.pop(place), negative=True)
        change = difference(stored, self._assembly.edited_at(place, edit))
        # It holds where both the place and its edit are in the context.
        self._changed[place] = min(place, edit), change
        self._apply(*self._changed[place])

    def _apply(self, place: int, change: Sizes, *, negative: bool = False) -> None:
        if negative:
            change = {kind: NOTHING.minus(size) for kind, size in change.items()}
        self._placed.change(place, change)
        if place >= self._assembly.start:
            add(self._spoken, change)

    def _compact(self) -> None:
        self._compacted = True
        self._since_count = None
        self._spoken = self._placed.since(self._assembly.start)
        self._present = _NO_KINDS, []
        self._told.places.clear()
        self._tell_anew()

    def _tell_anew(self) -> None:
        """Measure again what stands before the conversation: the summary, and system messages."""
        places, assembly = self._told.places, self._assembly
        self._told = Told()
        self._present = _NO_KINDS, []
        if assembly.compaction is not None:
            self._told.add(
                None,
                assembly.messages_at(assembly.compaction),
                messages_of(assembly.at(assembly.compaction)),
            )
        for place in places:
            self._told.add(place, assembly.messages_at(place), messages_of(assembly.at(place)))

    # -- what is there now ------------------------------------------------------------------------

    def _request(self, entry: Stored) -> BranchRequest:
        message = message_of(entry)
        usage = read_usage(message.get("usage"))
        return BranchRequest(
            index=len(self._requests) + 1,
            entry_id=text_of(entry.get("id")),
            created_at=entry_time(entry, message),
            provider=text_of(message.get("provider")),
            model=text_of(message.get("model")),
            stop_reason=stop_reason_of(message.get("stopReason")),
            counted=_shown(usage) if usage else None,
            compacted=self._compacted,
            size=self._size(),
        )

    def _request_of(self, row: ContextRow) -> BranchRequest:
        return BranchRequest(
            index=len(self._requests) + 1,
            entry_id=row.id,
            created_at=row.at,
            provider=row.provider,
            model=row.model,
            stop_reason=stop_reason_of(row.reason or None),
            counted=row.shown or None,
            compacted=self._compacted,
            size=self._size(),
        )

    def _size(self) -> ContextSize:
        told = self._told
        elements = letters = estimate = 0
        shares: list[ContextShare] = []
        for kind in self._kinds():
            size = self._spoken.get(kind)
            if kind in told.sizes:
                size = told.sizes[kind] if size is None else size.plus(told.sizes[kind])
            if size is None or size == NOTHING:
                continue
            elements += size[0]
            letters += size[1]
            estimate += size[2] if kind not in STANDING else 0
            shares.append(self._share(kind, size))
        estimate += told.system_tokens
        left_out = told.sizes.get(LEFT_OUT, NOTHING).plus(self._spoken.get(LEFT_OUT, NOTHING))
        return ContextSize(
            elements=elements,
            characters=letters,
            tokens=estimate if self._since_count is None else self._since_count,
            shares=tuple(shares),
            left_out=left_out.elements,
        )

    def _kinds(self) -> Sequence[ShareKind]:
        """The kinds of which there may be something, in their order."""
        known = len(self._spoken), len(self._told.sizes)
        if self._present[0] != known:
            some = self._spoken.keys() | self._told.sizes.keys()
            self._present = known, [kind for kind in KINDS if kind in some]
        return self._present[1]

    def _share(self, kind: ShareKind, size: Size) -> ContextShare:
        """A share; as long as nothing is added to it, the same one."""
        known = self._shares.get(kind)
        if known is not None and known[0] is size:
            return known[1]
        share = ContextShare(kind=kind, elements=size[0], characters=size[1], tokens=size[2])
        self._shares[kind] = size, share
        return share


def _shown(usage: Usage) -> int | None:
    """What the provider says it was shown: tokens read anew, from its cache, or into it."""
    return usage.input + usage.cache_read + usage.cache_write or None
