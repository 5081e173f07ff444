"""Which part of a conversation is summed up, and which is kept as it is.

Owns the cut and what is known of the part before it (source: pi 1.6.0, ``prepareCompaction``):
about ``keep`` tokens of the newest messages stay; a cut never parts a tool's result from its call.
Pure: it reads stored entries and asks no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from enso.host.context_size import (
    context_tokens,
    files_touched,
    message_tokens,
    spoken,
)
from enso.host.session_context import (
    Projected,
    Stored,
    message_of,
    messages_of,
    projection,
    role_of,
    system_state,
)
from enso.host.stored_values import NOTHING, object_of, text_of

_BEGINS_A_TURN: Final = frozenset(
    {"user", "bashExecution", "custom", "branchSummary", "compactionSummary"}
)
_MAY_BE_FIRST: Final = _BEGINS_A_TURN | {"assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What is to be summed up.

    ``history`` are the messages before the cut; ``turn`` those of the turn that the cut parts, when
    it parts one. ``read`` and ``modified`` are the files that they speak of, also those of the
    summary before, ``earlier``.
    """

    first_kept: str
    history: tuple[Stored, ...]
    turn: tuple[Stored, ...]
    tokens_before: int
    earlier: str
    read: tuple[str, ...]
    modified: tuple[str, ...]

    @property
    def details(self) -> dict[str, Any]:
        """What is stored as the compaction's ``details``."""
        return {"readFiles": list(self.read), "modifiedFiles": list(self.modified)}


def plan_compaction(branch: Sequence[Stored], *, keep: int) -> CompactionPlan | None:
    """What to sum up of a branch, keeping about ``keep`` tokens; ``None`` when there is nothing."""
    if branch and branch[-1].get("type") == "compaction":
        return None
    entries = projection(branch)
    start = 1 if entries and entries[0].entry.get("type") == "compaction" else 0
    cut = _cut(entries, start, keep)
    if cut is None:
        return None
    parted = cut if _begins_turn(entries[cut]) else _turn_of(entries, start, cut)
    history = tuple(message for entry in entries[start:parted] for message in spoken(entry))
    turn = tuple(message for entry in entries[parted:cut] for message in spoken(entry))
    if not history and not turn:
        return None
    before = entries[0].entry if start else NOTHING
    read, modified = _files(before, (*history, *turn))
    return CompactionPlan(
        first_kept=text_of(entries[cut].entry.get("id")),
        history=history,
        turn=turn,
        tokens_before=context_tokens(entries, branch),
        earlier=text_of(before.get("summary")),
        read=read,
        modified=modified,
    )


def compaction_fields(
    plan: CompactionPlan, branch: Sequence[Stored], *, summary: str, usage: Stored, timestamp: int
) -> dict[str, Any]:
    """The fields of the ``compaction`` entry, in pi's order; ``timestamp`` is ms."""
    fields: dict[str, Any] = {
        "summary": summary,
        "firstKeptEntryId": plan.first_kept,
        "tokensBefore": plan.tokens_before,
        "details": plan.details,
        "usage": usage,
        "fromHook": False,
    }
    state = system_state(m for entry in projection(branch) for m in entry.messages)
    if state is None:
        return fields
    system: dict[str, Any] = {"role": "system", "content": "\n\n".join(t for t in state.texts if t)}
    if state.sections:
        system["sections"] = dict(state.sections)
    if state.tools:
        system["toolsAdded"] = list(state.tools.values())
    return {**fields, "systemMessage": {**system, "timestamp": timestamp}}


# -- the cut --------------------------------------------------------------------------------------


def _cut(entries: Sequence[Projected], start: int, keep: int) -> int | None:
    """The index of the first entry that is kept; ``None`` when no entry can be."""
    places = [
        index
        for index in range(start, len(entries))
        if entries[index].entry.get("type") != "compaction"
        and any(role_of(message) in _MAY_BE_FIRST for message in entries[index].messages)
    ]
    if not places:
        return start if start < len(entries) else None
    full_at = _where_full(entries, start, keep)
    if full_at is None:
        return _with_unseen(entries, start, places[0])
    cut = next((place for place in places if place >= full_at), places[-1])
    if _is_given_up_attempt(entries[cut + 1 :]):
        cut += 1
    return _with_unseen(entries, start, cut)


def _where_full(entries: Sequence[Projected], start: int, keep: int) -> int | None:
    """Where ``keep`` tokens are reached, from the end on; ``None`` when they never are."""
    tokens = 0
    for index in range(len(entries) - 1, start - 1, -1):
        size = sum(message_tokens(message) for message in entries[index].messages)
        tokens += size
        if size and tokens >= keep:
            return index
    return None


def _with_unseen(entries: Sequence[Projected], start: int, cut: int) -> int:
    """The cut moved before entries that no model sees: they belong to what follows."""
    while cut > start:
        previous = entries[cut - 1]
        if previous.entry.get("type") == "compaction" or previous.messages:
            break
        cut -= 1
    return cut


def _begins_turn(projected: Projected) -> bool:
    if projected.entry.get("type") == "compaction":
        return False
    return any(role_of(message) in _BEGINS_A_TURN for message in projected.messages)


def _turn_of(entries: Sequence[Projected], start: int, cut: int) -> int:
    """Where the turn begins that the cut parts; the cut itself when it parts none."""
    turns = (index for index in range(cut, start - 1, -1) if _begins_turn(entries[index]))
    return next(turns, cut)


def _is_given_up_attempt(rest: Sequence[Projected]) -> bool:
    """Whether all that follows is an attempt that was taken out again, and nothing of the person's.

    Then the prompt before it may be summed up with the rest: it does not fit as it is.
    """
    seen = [entry for entry in rest if _is_visible_by_itself(entry.entry)]
    given_up = {text_of(e.entry.get("id")) for e in seen if not e.messages}
    replaced = any(
        entry.entry.get("type") == "context_edit"
        and entry.entry.get("replacement") is not None
        and text_of(entry.entry.get("targetId")) not in given_up
        for entry in rest
    )
    attempts = any(role_of(message_of(e.entry)) == "assistant" and not e.messages for e in seen)
    closed = all(e.entry.get("type") != "compaction" for e in rest) and len(given_up) == len(seen)
    return attempts and closed and not replaced


def _is_visible_by_itself(entry: Stored) -> bool:
    return entry.get("type") != "context_edit" and bool(messages_of(entry))


# -- files ----------------------------------------------------------------------------------------


def _files(before: Stored, messages: Iterable[Stored]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files that were only read, and those that were changed, each sorted."""
    details = NOTHING if before.get("fromHook") is True else object_of(before.get("details"))
    read, modified = (
        set(_texts(details.get("readFiles"))),
        set(_texts(details.get("modifiedFiles"))),
    )
    for message in messages:
        for tool, path in files_touched(message):
            if tool == "read":
                read.add(path)
            elif tool in ("edit", "write"):
                modified.add(path)
    return tuple(sorted(read - modified)), tuple(sorted(modified))


def _texts(value: Any) -> list[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
