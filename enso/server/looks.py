"""How messages lie under one another: what folds, what joins, and the words around them.

Takes wire messages and gives what the templates draw, in order: a message, a run of many tool calls
that folds to a count, refused attempts of one prompt that fold into one bubble. Makes no HTML.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile

from msgspec import Struct
from msgspec.structs import replace

from enso import wire
from enso.server.tool_lines import SHOWN, CutText, Room, ToolLook, cut_text, tool_look

FOLDED_RUN = 5
"""Tool calls in a row beyond which a run folds to a count."""

_TOKEN = re.compile(r"[A-Za-z0-9-]{1,40}")

TAIL_WORDS: dict[str, tuple[str, str]] = {
    "unanswered-prompt": (
        "This prompt was never answered.",
        "The next prompt continues from here.",
    ),
    "tool-call-without-result": (
        "The run ended before this call told its result; whether it was made is not known.",
        "The next prompt continues from here.",
    ),
    "tool-result-without-reply": (
        "The run ended before the model answered the last tool result.",
        "The next prompt continues from here.",
    ),
}
"""What is said of a branch that ends inside a turn: what happened, and what to do."""

STATUS_WORDS: dict[str, tuple[str, str]] = {
    "cold": ("cold", "Not running"),
    "held": ("held", "Ready"),
    "busy": ("busy", "Working"),
    "needs you": ("needs", "Needs you"),
    "refused": ("refused", "Refused"),
    "interrupted": ("cut", "Interrupted"),
}
"""The sign that is drawn and the word that is said, for each word of a status."""


def dom_token(text: str) -> str:
    """A piece of a DOM id for any id: itself when it is short and plain, else a hash of it."""
    if _TOKEN.fullmatch(text):
        return text
    return "x" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:20]


class PartLook(Struct, frozen=True):
    """One part of a message. ``kind``: text, written, thinking, image, tool or run.

    ``index`` is its place in the message. ``written`` is a person's text, shown as they wrote it.
    ``progress`` is the part of a DOM id where the output of a call that runs goes.
    """

    kind: str
    index: int
    part: wire.MessagePart
    text: str = ""
    cut: CutText | None = None
    rest: str = ""
    tool: ToolLook | None = None
    run: tuple[PartLook, ...] = ()
    summary: str = ""
    progress: str = ""


class MessageLook(Struct, frozen=True):
    """One message; ``work`` when it holds nothing but tool calls and thoughts."""

    message: wire.Message
    token: str
    parts: tuple[PartLook, ...]
    work: bool
    kind: str = "message"

    @property
    def calls(self) -> tuple[wire.ToolCallPart, ...]:
        """The tool calls of the message."""
        return tuple(p for p in self.message.parts if isinstance(p, wire.ToolCallPart))


class RunLook(Struct, frozen=True):
    """Messages of tool calls alone, folded: ``summary`` counts them."""

    looks: tuple[MessageLook, ...]
    summary: str
    failed: int
    kind: str = "run"


class AttemptsLook(Struct, frozen=True):
    """Refused attempts of one prompt: the earlier ones fold under the last."""

    earlier: tuple[MessageLook, ...]
    last: MessageLook
    kind: str = "attempts"

    @property
    def count(self) -> int:
        """How many attempts were refused."""
        return len(self.earlier) + 1


Look = MessageLook | RunLook | AttemptsLook


def looks(messages: Sequence[wire.Message]) -> list[Look]:
    """What is drawn for ``messages``, in order."""
    return list(each_look(messages))


def each_look(messages: Iterable[wire.Message], room: Room = SHOWN) -> Iterator[Look]:
    """The same one by one, holding no more than folds together; ``room`` for tool results."""
    each = (message_look(message, folds=False, room=room) for message in messages)
    for kind, group in groupby(each, key=_joins):
        members = tuple(group)
        if kind == "refused" and len(members) > 1:
            yield AttemptsLook(members[:-1], members[-1])
        elif kind == "work":
            yield from _run(members)
        else:
            yield from (_with_folds(member) for member in members)


def is_refused(message: wire.Message) -> bool:
    """Whether a message is a refused attempt and nothing more: it folds with others."""
    calls = any(isinstance(part, wire.ToolCallPart) for part in message.parts)
    return message.refusal is not None and not calls


def refused_at_end(messages: Sequence[wire.Message]) -> list[wire.Message]:
    """The refused attempts that messages end in, oldest first; one that streams is passed over."""
    done = [message for message in messages if not message.streaming]
    return list(takewhile(is_refused, reversed(done)))[::-1]


def _joins(look: MessageLook) -> str:
    if is_refused(look.message):
        return "refused"
    return "work" if look.work else look.token


def _run(members: tuple[MessageLook, ...]) -> Iterator[Look]:
    calls = [call for member in members for call in member.calls]
    # What goes on now is watched: it folds when it is over.
    goes_on = bool(calls) and calls[-1].state in ("running", "streaming")
    if len(members) > 1 and len(calls) > FOLDED_RUN and not goes_on:
        failed = sum(call.state == "failed" for call in calls)
        yield RunLook(members, run_summary(calls), failed)
        return
    yield from (_with_folds(member) for member in members)


def run_summary(calls: Sequence[wire.ToolCallPart]) -> str:
    """``23 tool calls: 9 read, 6 bash, 2 edit``, the most frequent first."""
    names = Counter(call.name for call in calls).most_common()
    told = [f"{count} {name}" for name, count in names[:4]]
    if len(names) > 4:
        told.append("…")
    return f"{len(calls)} tool calls: {', '.join(told)}"


def message_look(message: wire.Message, *, folds: bool = True, room: Room = SHOWN) -> MessageLook:
    """One message as it is drawn; ``folds``: many tool calls in a row fold to a count."""
    shown = [part_look(message, index, room) for index in range(len(message.parts))]
    parts = [look for look in shown if look is not None]
    is_work = (
        message.role == "assistant"
        and message.refusal is None
        and message.stop_reason in (None, "tool-use")
        and not message.streaming
        and any(look.kind == "tool" for look in parts)
        and all(look.kind in ("tool", "thinking") for look in parts)
    )
    return MessageLook(
        message=message,
        token=dom_token(message.id),
        parts=tuple(_folded(parts) if folds else parts),
        work=is_work,
    )


def part_look(message: wire.Message, index: int, room: Room = SHOWN) -> PartLook | None:
    """One part as it is drawn; ``None`` for withheld thinking when there is more to see."""
    part = message.parts[index]
    if isinstance(part, wire.ToolCallPart):
        return PartLook(
            "tool",
            index,
            part,
            tool=tool_look(part, room),
            progress=_progress(message, index, part),
        )
    if isinstance(part, wire.ImagePart):
        return PartLook("image", index, part)
    if isinstance(part, wire.ThinkingPart):
        withheld = not part.content.strip() and not message.streaming
        if withheld and len(message.parts) > 1:
            return None
        return PartLook("thinking", index, part, text=part.content)
    if message.role == "assistant":
        return PartLook("text", index, part, text=part.content)
    return _written_look(index, part, room)


def _progress(message: wire.Message, index: int, call: wire.ToolCallPart) -> str:
    """Where a running call's output goes; an id that a model gave twice is the first call's."""
    before = message.parts[:index]
    if call.state != "running" or any(getattr(part, "id", None) == call.id for part in before):
        return ""
    return dom_token(call.id)


def _written_look(index: int, part: wire.TextPart, room: Room) -> PartLook:
    """A person's text: a long one shows its start, and opens to the rest."""
    cut = cut_text(part.content, lines=24, characters=2400)
    if cut.characters_left_out < 400 or room is not SHOWN:
        cut = CutText(part.content)
    return PartLook(
        "written", index, part, text=cut.text, cut=cut, rest=part.content[len(cut.text) :]
    )


def _with_folds(look: MessageLook) -> MessageLook:
    return replace(look, parts=tuple(_folded(look.parts)))


def _folded(parts: Iterable[PartLook]) -> Iterator[PartLook]:
    for is_tool, group in groupby(parts, key=lambda look: look.kind == "tool"):
        members = tuple(group)
        if not is_tool or len(members) <= FOLDED_RUN:
            yield from members
            continue
        calls = [look.part for look in members if isinstance(look.part, wire.ToolCallPart)]
        yield PartLook(
            "run", members[0].index, members[0].part, run=members, summary=run_summary(calls)
        )
