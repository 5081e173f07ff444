"""A thread's whole tree: every branch of its log, those that were left included."""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct

from enso.transcript import StopReason, ToolCallPart

TreeKind = Literal["user", "assistant", "tool-result", "marker", "label", "setting"]
"""What an entry is to a person. A setting is what is kept for the runtime and shown nowhere."""

LINE_CHARACTERS: Final = 200

_WORD: Final = re.compile(r"\S")


def first_line(text: str) -> str:
    """The first line of a text that is not blank, at most ``LINE_CHARACTERS`` long."""
    begin = _WORD.search(text)
    if begin is None:
        return ""
    start = begin.start()
    line = text[start : start + LINE_CHARACTERS + 1].split("\n", 1)[0].rstrip()
    return line if len(line) <= LINE_CHARACTERS else f"{line[: LINE_CHARACTERS - 1]}…"


class ThreadTreeEntry(Struct, frozen=True, kw_only=True, gc=False):
    """One entry of a log, wherever it stands.

    ``parent_id`` names another entry of the same tree, and following parents ends: a parent that
    is missing, or that follows from the entry itself, is none. ``name`` is a tool's name, a
    marker's kind or a setting's stored kind. ``text`` is one line: what was said, a marker's title,
    a label's words, a setting's value. ``call`` is what a tool result answers, long arguments cut.
    """

    id: str
    parent_id: str | None
    kind: TreeKind
    name: str = ""
    text: str = ""
    created_at: int | None = None
    stop_reason: StopReason | None = None
    is_error: bool = False
    call: ToolCallPart | None = None
    label: str | None = None
    on_branch: bool = False


class ThreadTree(Struct, frozen=True, kw_only=True):
    """Every entry of a log once, in the log's order, and where the thread is now.

    ``leaf_id`` is the entry that the next one follows; ``None`` before everything.
    """

    entries: tuple[ThreadTreeEntry, ...]
    leaf_id: str | None
