"""What a thread used, read off its stored entries: by request, by turn, by tool.

One walk over entries that were parsed for a reading anyway, in time that grows with their number:
a message's text is not looked at, a prompt's beginning aside. Tokens and money are
``enso.host.usage``'s. What ``durationMs`` does not say comes from times: an answer's message is
stamped when it is asked for and its entry when it is stored, a tool's result when it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from enso.host.contract import (
    BranchStats,
    RequestKind,
    RequestOutcome,
    RequestStats,
    TurnStats,
)
from enso.host.stats_places import Places, message_of
from enso.host.stats_tools import ToolCounts, ToolResult
from enso.host.stored_values import Stored, count_of, milliseconds, object_of, text_of
from enso.host.usage import usage_of_entry
from enso.transcript import Usage

MOST_OF_A_PROMPT: Final = 200
"""Characters of a prompt that a turn is called by."""

_KINDS: Final[dict[str, RequestKind]] = {
    "compaction": "compaction",
    "branch_summary": "branch-summary",
    "usage": "other",
}
_OUTCOMES: Final[dict[str, RequestOutcome]] = {
    "error": "refused",
    "aborted": "aborted",
    "length": "cut",
}


def branch_stats(entries: Sequence[Stored], branch: Iterable[Stored]) -> BranchStats:
    """The stats of a file's entries, of which ``branch`` are the current branch.

    Entries have ids and parents, as ``enso.host.session_log`` gives them; of two with one id the
    later one counts. Never raises, whatever else they hold.
    """
    unique = {entry["id"]: entry for entry in entries}
    branch = list(branch)
    fold = _Fold(unique, branch)
    for entry in unique.values():
        fold.add(entry)
    # Requests are the entries that use anything: their sum is the sum over the file.
    return BranchStats(
        totals=sum(usages_of(fold.requests), Usage()),
        requests=tuple(fold.requests),
        turns=tuple(turn.stats() for turn in fold.turns),
        tools=fold.tools.stats(),
    )


def usages_of(requests: Iterable[RequestStats]) -> Iterator[Usage]:
    """What the requests used, of which that is stored."""
    return (request.usage for request in requests if request.usage is not None)


# -- when and how long ----------------------------------------------------------------------------


def _began(entry: Stored, message: Stored) -> int | None:
    """The time of the entry's message, else the entry's own: as a transcript has it."""
    own = count_of(message.get("timestamp"))
    return own if own is not None else milliseconds(entry.get("timestamp"))


def _stored_at(entry: Stored) -> int | None:
    return milliseconds(entry.get("timestamp"))


def _between(start: int | None, end: int | None) -> int | None:
    """The time from one moment to another; ``None`` when one is not known, or clocks disagree."""
    return end - start if start is not None and end is not None and end >= start else None


def _answer_duration(entry: Stored, message: Stored) -> int | None:
    told = count_of(message.get("durationMs"))
    started = count_of(message.get("timestamp"))
    return told if told is not None else _between(started, _stored_at(entry))


# -- requests and turns ---------------------------------------------------------------------------


def _request_kind(entry: Stored, role: Any, usage: Usage | None) -> RequestKind | None:
    """What a model was asked for this entry; ``None`` when none was."""
    kind = entry.get("type")
    if kind == "message":
        if role == "assistant":
            return "answer"
        return "tool" if usage is not None and role == "toolResult" else None
    # A summary that tells of no usage was made without a model, as far as the file says.
    return _KINDS.get(kind) if usage is not None and isinstance(kind, str) else None


def _outcome(message: Stored) -> RequestOutcome:
    reason = message.get("stopReason")
    return _OUTCOMES.get(reason, "done") if isinstance(reason, str) else "done"


def _calls(answer: Stored) -> list[Stored]:
    """The tool calls of an answer's message."""
    content = answer.get("content")
    if not isinstance(content, list):
        return []
    blocks = [object_of(block) for block in cast("list[Any]", content)]
    return [block for block in blocks if block.get("type") == "toolCall"]


@dataclass(slots=True)
class _Turn:
    """A turn under way."""

    prompt_id: str | None
    prompt: str
    on_branch: bool
    at: int | None
    end: int | None = None
    requests: list[RequestStats] = field(default_factory=list[RequestStats])
    tool_errors: int = 0

    def reach(self, moment: int | None) -> None:
        """Something of this turn ended then."""
        if moment is not None and (self.end is None or moment > self.end):
            self.end = moment

    def stats(self) -> TurnStats:
        """The turn with its sums."""
        return TurnStats(
            prompt_id=self.prompt_id,
            prompt=self.prompt,
            on_branch=self.on_branch,
            at=self.at,
            duration_ms=_between(self.at, self.end),
            requests=len(self.requests),
            refused=sum(request.outcome == "refused" for request in self.requests),
            tool_calls=sum(request.tool_calls for request in self.requests),
            tool_errors=self.tool_errors,
            usage=sum(usages_of(self.requests), Usage()),
        )


def _beginning(prompt: Stored) -> str:
    """How a prompt begins, on one line."""
    content = message_of(prompt).get("content")
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    texts = [content] if isinstance(content, str) else [object_of(b).get("text") for b in blocks]
    words = " ".join(text_of(text)[: MOST_OF_A_PROMPT * 4] for text in texts[:20])
    return " ".join(words.split())[:MOST_OF_A_PROMPT]


class _Fold:
    """The requests, turns and tools of entries, added in the order of the file."""

    def __init__(self, by_id: dict[str, Stored], branch: Sequence[Stored]) -> None:
        self.requests: list[RequestStats] = []
        self.turns: list[_Turn] = []
        self.tools = ToolCounts()
        self._by_id = by_id
        self._on_branch = {entry["id"] for entry in branch}
        self._places = Places(by_id, branch)
        self._indexes: dict[tuple[str | None, bool], int] = {}

    def add(self, entry: Stored) -> None:
        """Take in the next entry."""
        message = message_of(entry)
        role, usage = message.get("role"), usage_of_entry(entry)
        if role == "user":
            self._turn_of(entry)
            return
        duration = _answer_duration(entry, message) if role == "assistant" else None
        if role == "toolResult":
            duration = self._add_result(entry, message, usage)
        kind = _request_kind(entry, role, usage)
        if kind is not None:
            self._add_request(entry, kind, usage, duration)

    def _turn_of(self, entry: Stored) -> int:
        """The index of the entry's turn, which begins with it when there is none."""
        prompt_id = self._places.prompt(entry["id"])
        key = prompt_id, entry["id"] in self._on_branch
        if key not in self._indexes:
            self._indexes[key] = len(self.turns)
            first = entry if prompt_id is None else self._by_id[prompt_id]
            words = _beginning(first) if prompt_id is not None else ""
            self.turns.append(_Turn(prompt_id, words, key[1], _began(first, message_of(first))))
        return self._indexes[key]

    def _add_request(
        self, entry: Stored, kind: RequestKind, usage: Usage | None, duration: int | None
    ) -> None:
        index = self._turn_of(entry)
        message = message_of(entry) or entry
        began = _began(entry, message)
        calls = _calls(message) if kind == "answer" else []
        request = RequestStats(
            entry_id=entry["id"],
            kind=kind,
            on_branch=entry["id"] in self._on_branch,
            turn=index,
            at=began,
            provider=text_of(message.get("provider")),
            model=text_of(message.get("model")),
            usage=usage,
            duration_ms=duration,
            tool_calls=len(calls),
            outcome=_outcome(message),
        )
        self.requests.append(request)
        self.turns[index].requests.append(request)
        if kind == "answer":
            stored = _stored_at(entry)
            self.turns[index].reach(stored if stored is not None else began)
            self.tools.call(entry["id"], calls)

    def _add_result(self, entry: Stored, message: Stored, usage: Usage | None) -> int | None:
        """Count a result that has its call, as the pane shows it; returns how long it took."""
        answer_id = self._places.answer(entry["id"])
        result = ToolResult.of(message, usage)
        if result.duration_ms is None and answer_id is not None:
            asked = _stored_at(self._by_id[answer_id])
            result.duration_ms = _between(asked, count_of(message.get("timestamp")))
        if answer_id is not None and self.tools.answered(answer_id, result):
            turn = self.turns[self._turn_of(entry)]
            turn.tool_errors += result.is_error
            turn.reach(_began(entry, message))
        return result.duration_ms
