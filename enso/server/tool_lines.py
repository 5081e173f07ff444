"""How a tool call reads: one quiet line (what, on what, outcome), and what opens under it.

Knows the tools that real pi has by name; any other reads by its name and its arguments as compact
JSON. Arguments and details are whatever JSON a model or a tool made: nothing is taken for granted,
and nothing here is HTML.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import Struct

from enso import wire
from enso.server.diff_lines import MAX_LINE, DiffLine, edit_lines, mapping_of, stored_lines
from enso.server.terminal_text import terminal_text
from enso.server.unseen import visible

MAX_SUBJECT = 300
"""Characters of a line's subject; the rest opens under it, or is in the result."""

QUIET_TOOLS = frozenset({"read", "write", "edit", "grep", "find", "ls"})
"""Tools that say nothing before they are done."""

MAX_RESULT_CHARACTERS = 20_000
MAX_RESULT_LINES = 400


class Room(Struct, frozen=True):
    """How much of a text is shown under a tool's line."""

    lines: int
    characters: int


SHOWN = Room(MAX_RESULT_LINES, MAX_RESULT_CHARACTERS)
WHOLE = Room(sys.maxsize // 16, sys.maxsize // 16)
"""For a document, which leaves nothing out."""

_EXIT_CODE = re.compile(r"\n*Command exited with code (-?\d{1,10})\s*\Z")


class Note(Struct, frozen=True):
    """A few words behind the subject; ``kind`` is ``plus``, ``minus``, ``under-way`` or empty."""

    text: str
    kind: str = ""


class CutText(Struct, frozen=True):
    """A piece of a text, and how many lines and characters before or behind it are left out."""

    text: str
    lines_left_out: int = 0
    characters_left_out: int = 0
    is_end: bool = False  # the end of the text is shown: what is left out stood before it


class ToolLook(Struct, frozen=True, kw_only=True):
    """What the templates draw of a tool call; no ``arguments`` when the line says them all."""

    name: str
    subject: str
    notes: tuple[Note, ...]
    state: str
    arguments: CutText | None
    diff: tuple[DiffLine, ...]
    diff_left_out: int
    output: CutText | None
    images: tuple[wire.ImagePart, ...]

    @property
    def speaks(self) -> bool:
        """Whether it may tell of its work while it runs: its output is open then."""
        return self.name not in QUIET_TOOLS

    @property
    def opens(self) -> bool:
        """Whether there is anything under the line."""
        return bool(self.arguments or self.diff or self.output or self.images)


def tool_look(call: wire.ToolCallPart, room: Room = SHOWN) -> ToolLook:
    """How ``call`` reads, with as much under its line as there is room for."""
    arguments = mapping_of(call.arguments)
    subject, notes, shows_all = _READERS.get(call.name, _read_unknown)(arguments, call)
    text, exit_note = _output_text(call)
    diff = _diff_text(call) if call.name == "edit" else ""
    outcome = (*notes, *_diff_notes(diff), *_outcome_notes(call, exit_note))
    hidden = bool(diff) or not text.strip()
    lines, left_out = _diff_lines(call, diff, room)
    # In a document nothing may stay behind the end of a line that was cut.
    shows_all = shows_all and (room is SHOWN or len(subject) <= MAX_SUBJECT)
    return ToolLook(
        name=call.name or "unnamed tool",
        subject=_one_line(subject),
        notes=outcome,
        state=call.state,
        arguments=_opened_arguments(call, subject, room, shows_all=shows_all or bool(lines)),
        diff=lines,
        diff_left_out=left_out,
        output=None if hidden else _cut_output(call, text, room),
        images=_images(call),
    )


def cut_text(
    text: str, *, lines: int = MAX_RESULT_LINES, characters: int = MAX_RESULT_CHARACTERS
) -> CutText:
    """The first ``lines`` lines of ``text``, and of these the first ``characters`` characters."""
    text = text.rstrip("\n")
    end = 0
    for _ in range(lines):
        end = text.find("\n", end) + 1
        if not end:
            break
    shown = text[: end - 1] if end else text
    shown = shown[:characters]
    left = text[len(shown) :]
    if not left:
        return CutText(text)
    return CutText(shown, left.count("\n"), len(left))


def cut_to_end(
    text: str, *, lines: int = MAX_RESULT_LINES, characters: int = MAX_RESULT_CHARACTERS
) -> CutText:
    """The last ``lines`` lines of ``text``, and of these the last ``characters`` characters."""
    text = text.rstrip("\n")
    start = len(text)
    for _ in range(lines):
        start = text.rfind("\n", 0, start)
        if start < 0:
            break
    start = max(start + 1, len(text) - characters)
    left = text[:start]
    return CutText(text[start:], left.count("\n"), len(left), is_end=True)


def terminal_end(
    text: str, *, lines: int = MAX_RESULT_LINES, characters: int = MAX_RESULT_CHARACTERS
) -> CutText:
    """The end of a command's output, as a terminal would leave it standing."""
    # Sequences are taken out of twice what is shown: a flood of them is not read to its start.
    near = cut_to_end(text, lines=2 * lines, characters=8 * characters)
    cut = cut_to_end(terminal_text(near.text), lines=lines, characters=characters)
    return CutText(
        cut.text,
        near.lines_left_out + cut.lines_left_out,
        near.characters_left_out + cut.characters_left_out,
        is_end=True,
    )


# -- the line -----------------------------------------------------------------------------------

_Reading = tuple[str, tuple[Note, ...], bool]


def _read_read(arguments: Mapping[str, Any], _call: wire.ToolCallPart) -> _Reading:
    offset, limit = _whole(arguments.get("offset")), _whole(arguments.get("limit"))
    if offset is None and limit is None:
        return _text(arguments, "path"), (), True
    start = offset or 1
    span = f"{start}–{start + limit - 1}" if limit else f"from {start}"
    return _text(arguments, "path"), (Note(span),), True


def _read_bash(arguments: Mapping[str, Any], _call: wire.ToolCallPart) -> _Reading:
    command = _text(arguments, "command")
    return command, (), "\n" not in command.strip() and len(command) <= MAX_SUBJECT


def _read_edit(arguments: Mapping[str, Any], call: wire.ToolCallPart) -> _Reading:
    return _text(arguments, "path"), (), bool(_diff_text(call))


def _read_write(arguments: Mapping[str, Any], _call: wire.ToolCallPart) -> _Reading:
    content = _text(arguments, "content")
    return _text(arguments, "path"), (Note(_counted(line_count(content), "line")),), False


def _read_search(arguments: Mapping[str, Any], _call: wire.ToolCallPart) -> _Reading:
    places = [Note(f"in {place}") for name in ("path", "glob") if (place := _text(arguments, name))]
    return _text(arguments, "pattern"), tuple(places), True


def _read_ls(arguments: Mapping[str, Any], _call: wire.ToolCallPart) -> _Reading:
    return _text(arguments, "path") or ".", (), True


def _read_unknown(_arguments: Mapping[str, Any], call: wire.ToolCallPart) -> _Reading:
    compact = _compact_json(call.arguments)
    return compact, (), len(compact) <= 80


_READERS: Mapping[str, Callable[[Mapping[str, Any], wire.ToolCallPart], _Reading]] = {
    "read": _read_read,
    "bash": _read_bash,
    "edit": _read_edit,
    "write": _read_write,
    "grep": _read_search,
    "find": _read_search,
    "ls": _read_ls,
}


def _outcome_notes(call: wire.ToolCallPart, exit_note: str) -> tuple[Note, ...]:
    words = {
        "failed": exit_note or "failed",
        "interrupted": "no result",
        "running": "running",
        "streaming": "writing",
        "done": exit_note,
    }
    took = duration_words(call.duration_ms) if (call.duration_ms or 0) >= 1000 else ""
    told = ((took, ""), (words[call.state], "under-way" if call.state == "running" else ""))
    return tuple(Note(text, kind) for text, kind in told if text)


def _diff_notes(diff: str) -> tuple[Note, ...]:
    if not diff:
        return ()
    lines = f"\n{diff}"
    added, removed = lines.count("\n+"), lines.count("\n-")
    return (Note(f"+{added}", "plus"), Note(f"−{removed}", "minus"))


def duration_words(milliseconds: int | None) -> str:
    """``0.4 s``, ``12 s``, ``3 min 5 s``; empty for none."""
    if milliseconds is None or milliseconds < 0:
        return ""
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{int(seconds)} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


# -- what opens ---------------------------------------------------------------------------------


def _output_text(call: wire.ToolCallPart) -> tuple[str, str]:
    """The result's text, and ``exit 3`` when it ends in the shell's own sentence of it."""
    if call.result is None:
        return "", ""
    texts = [part.content for part in call.result.content if isinstance(part, wire.TextPart)]
    text = "\n".join(texts)
    found = _EXIT_CODE.search(text) if call.name == "bash" else None
    if found is None:
        return text, ""
    return text[: found.start()], f"exit {found[1]}"


def _cut_output(call: wire.ToolCallPart, text: str, room: Room) -> CutText:
    """A long output by its start; a command's by its end, where it says how it went."""
    cut = terminal_end if call.name == "bash" else cut_text
    return cut(text, lines=room.lines, characters=room.characters)


def _images(call: wire.ToolCallPart) -> tuple[wire.ImagePart, ...]:
    content = call.result.content if call.result else []
    return tuple(part for part in content if isinstance(part, wire.ImagePart))


def _opened_arguments(
    call: wire.ToolCallPart, subject: str, room: Room, *, shows_all: bool
) -> CutText | None:
    if shows_all:
        return None
    text = told_arguments(call.arguments)
    if call.name == "bash":
        text = subject
    elif call.name == "write":
        text = _text(mapping_of(call.arguments), "content")
    return cut_text(text, lines=room.lines, characters=room.characters) if text else None


def _diff_lines(call: wire.ToolCallPart, diff: str, room: Room) -> tuple[tuple[DiffLine, ...], int]:
    """The lines of an edit's diff, or of the one that it would have made; how many are left out."""
    longest = MAX_LINE if room is SHOWN else room.characters
    if diff:
        shown = stored_lines(diff, room.lines, longest)
        return shown, max(0, diff.count("\n") + 1 - room.lines)
    proposed = edit_lines(call.arguments) if call.name == "edit" else None
    if not proposed:
        return (), 0
    cut = (DiffLine(line.kind, line.text[:longest]) for line in proposed[: room.lines])
    return tuple(cut), max(0, len(proposed) - room.lines)


def _diff_text(call: wire.ToolCallPart) -> str:
    details = mapping_of(call.result.details if call.result else None)
    return _text(details, "diff")


# -- small readings -----------------------------------------------------------------------------


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def line_count(text: str) -> int:
    """How many lines a file of this text has; a last one without its newline counts."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _one_line(text: str) -> str:
    line = visible(" ".join(text[: MAX_SUBJECT * 4].split()))
    return line if len(line) <= MAX_SUBJECT else f"{line[: MAX_SUBJECT - 1]}…"


def told_arguments(value: Any) -> str:
    """Arguments one under another, text with its own lines; whatever is no object as JSON."""
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, indent=1)
    fields = cast("Mapping[str, Any]", value).items()
    return "\n".join(
        f"{name}: {item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)}"
        for name, item in fields
    )


def _compact_json(value: Any) -> str:
    if value is None or value == {}:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
