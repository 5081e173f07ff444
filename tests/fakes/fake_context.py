"""The context of a transcript of ours, for the fake host: worked out anew for every request.

A marker of a compaction stands for everything before it; nothing is kept, edited or left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from enso.host.contract import (
    BranchContext,
    BranchRequest,
    BranchRequestDetail,
    ContextElement,
    ContextPiece,
    ContextShare,
    ContextSize,
    RequestNumber,
)
from enso.transcript import (
    TextPart,
    TranscriptEntry,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptToolResult,
)

Role = Literal[
    "user", "assistant", "toolResult", "compactionSummary", "branchSummary", "bashExecution",
    "custom",
]  # fmt: skip
_MARKERS: dict[str, Role] = {
    "compaction": "compactionSummary",
    "branch-summary": "branchSummary",
    "shell": "bashExecution",
    "custom": "custom",
}


def fake_context(entries: Sequence[TranscriptEntry]) -> BranchContext:
    """Every request of a transcript, and the one to come."""
    answers = _answers(entries)
    requests: list[BranchRequest] = []
    before = 0
    for index, place in enumerate(answers, 1):
        answer = entries[place]
        assert isinstance(answer, TranscriptMessage)
        requests.append(
            BranchRequest(
                index=index,
                entry_id=answer.id,
                created_at=answer.created_at,
                provider=answer.provider,
                model=answer.model,
                stop_reason=answer.stop_reason,
                counted=None,
                compacted=_is_compacted(entries[before:place]),
                size=_size(entries[:place]),
            )
        )
        before = place
    return BranchContext(
        requests=tuple(requests), next=_size(entries), compacted=_is_compacted(entries[before:])
    )


def fake_detail(
    entries: Sequence[TranscriptEntry], request: RequestNumber
) -> BranchRequestDetail | None:
    """One request of a transcript."""
    answers = _answers(entries)
    if request == "next":
        end = len(entries)
    elif 1 <= request <= len(answers):
        end = answers[request - 1]
    else:
        return None
    elements = _elements(entries[:end])
    return BranchRequestDetail(
        request=request,
        tokens=sum(element.tokens for element in elements),
        elements=tuple(elements),
        left_out=(),
    )


def _answers(entries: Sequence[TranscriptEntry]) -> list[int]:
    return [
        place
        for place, entry in enumerate(entries)
        if isinstance(entry, TranscriptMessage) and entry.role == "assistant"
    ]


def _is_compacted(entries: Sequence[TranscriptEntry]) -> bool:
    return any(isinstance(e, TranscriptMarker) and e.kind == "compaction" for e in entries)


def _elements(entries: Sequence[TranscriptEntry]) -> list[ContextElement]:
    elements: list[ContextElement] = []
    for entry in entries:
        element = _element(entry)
        if element is not None and element.role == "compactionSummary":
            elements.clear()
        if element is not None:
            elements.append(element)
    return elements


def _element(entry: TranscriptEntry) -> ContextElement | None:
    if isinstance(entry, TranscriptMarker):
        role, text = _MARKERS[entry.kind], entry.text
    elif isinstance(entry, TranscriptMessage | TranscriptToolResult):
        role = "toolResult" if isinstance(entry, TranscriptToolResult) else entry.role
        text = "\n".join(part.text for part in entry.parts if isinstance(part, TextPart))
    else:
        return None
    return ContextElement(
        role=role,
        entry_id=entry.id,
        name=entry.tool_name if isinstance(entry, TranscriptToolResult) else "",
        text=text,
        characters=len(text),
        tokens=math.ceil(len(text) / 4),
        pieces=(ContextPiece(kind="text", name="", characters=len(text)),),
        edited=False,
    )


def _size(entries: Sequence[TranscriptEntry]) -> ContextSize:
    elements = _elements(entries)
    shares = [
        ContextShare(
            kind=role,
            elements=len(found),
            characters=sum(one.characters for one in found),
            tokens=sum(one.tokens for one in found),
        )
        for role in ("compactionSummary", "branchSummary", *_ROLES)
        if (found := [one for one in elements if one.role == role])
    ]
    return ContextSize(
        elements=len(elements),
        characters=sum(share.characters for share in shares),
        tokens=sum(share.tokens for share in shares),
        shares=tuple(shares),
        left_out=0,
    )


_ROLES: tuple[Role, ...] = ("user", "assistant", "toolResult", "custom", "bashExecution")
