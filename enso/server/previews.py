"""What a tool call would do, for the person who is asked whether it may: nothing hidden.

A reply's tool line may cut and fold; a question about a call must not, or one would allow what one
has not seen. So the whole command is shown, every argument that the line does not say, and each
character that a screen would swallow or use to turn text around is spelled out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from enso import wire
from enso.server.diff_lines import DiffLine, edit_lines, mapping_of
from enso.server.tool_lines import (
    MAX_SUBJECT,
    CutText,
    Note,
    cut_text,
    line_count,
    told_arguments,
    tool_look,
)
from enso.server.unseen import visible

MAX_SHOWN = 200_000
"""Characters beyond which even a question says that there is more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A call as it is asked about: what, on what, and under it all that it would do."""

    name: str
    subject: str
    notes: tuple[Note, ...]
    text: CutText | None = None
    diff: tuple[DiffLine, ...] = ()
    diff_left_out: int = 0


def preview(tool: wire.DialogTool, directory: str = "") -> Preview:
    """How a call that waits for a permission reads; ``directory`` is where a command would run."""
    read = _READERS.get(tool.name, _any_call)(tool)
    if tool.name != "bash" or not directory:
        return read
    return replace(read, notes=(Note(f"in {visible(directory)}"), *read.notes))


# -- the tools ----------------------------------------------------------------------------------


def _call(tool: wire.DialogTool) -> wire.ToolCallPart:
    return wire.ToolCallPart(id="", name=tool.name, arguments=tool.arguments, state="done")


def _looking(tool: wire.DialogTool) -> Preview:
    """A call that only looks: its line, and what the line does not say."""
    look = tool_look(_call(tool))
    if not look.subject or len(look.subject) >= MAX_SUBJECT:
        return _any_call(tool)
    told = _beyond(tool, ("path", "pattern", "glob", "offset", "limit"))
    return Preview(
        name=look.name, subject=visible(look.subject), notes=look.notes, text=_text(told)
    )


def _any_call(tool: wire.DialogTool) -> Preview:
    """All arguments, one under another."""
    told = told_arguments(tool.arguments) if tool.arguments not in (None, {}) else ""
    name = visible(tool.name) or "unnamed tool"
    return Preview(name=name, subject="", notes=(), text=_text(told))


def _bash(tool: wire.DialogTool) -> Preview:
    command = mapping_of(tool.arguments).get("command")
    if not isinstance(command, str):
        return _any_call(tool)
    count = command.strip("\n").count("\n") + 1
    notes = (Note(f"{count:,} lines"),) if count > 1 else ()
    timeout = mapping_of(tool.arguments).get("timeout")
    if isinstance(timeout, int | float) and not isinstance(timeout, bool):
        notes = (*notes, Note(f"at most {timeout:g} s"))
    else:
        timeout = None
    known = ("command", "timeout") if timeout is not None else ("command",)
    return Preview(name="bash", subject="", notes=notes, text=_text(command, _beyond(tool, known)))


def _write(tool: wire.DialogTool) -> Preview:
    path, content = (mapping_of(tool.arguments).get(name) for name in ("path", "content"))
    if not isinstance(path, str) or not isinstance(content, str):
        return _any_call(tool)
    notes = (Note("empty" if not content else _lines(line_count(content))),)
    text = _text(content, _beyond(tool, ("path", "content")))
    return Preview(name="write", subject=visible(path), notes=notes, text=text)


def _edit(tool: wire.DialogTool) -> Preview:
    path, lines = mapping_of(tool.arguments).get("path"), edit_lines(tool.arguments)
    if not isinstance(path, str) or lines is None:
        return _any_call(tool)
    added, removed = (sum(line.kind == kind for line in lines) for kind in ("add", "del"))
    shown = tuple(_bounded(lines))
    return Preview(
        name="edit",
        subject=visible(path),
        notes=(Note(f"+{added}", "plus"), Note(f"−{removed}", "minus")),
        text=_text(_beyond(tool, ("path", "edits"))),
        diff=shown,
        diff_left_out=len(lines) - len(shown),
    )


_READERS: Mapping[str, Callable[[wire.DialogTool], Preview]] = {
    "bash": _bash,
    "write": _write,
    "edit": _edit,
    "read": _looking,
    "grep": _looking,
    "find": _looking,
    "ls": _looking,
}


# -- small readings -----------------------------------------------------------------------------


def _beyond(tool: wire.DialogTool, known: Sequence[str]) -> str:
    """The arguments that are not among ``known``, told; a tool takes them or it does not."""
    rest = {name: value for name, value in mapping_of(tool.arguments).items() if name not in known}
    return told_arguments(rest) if rest else ""


def _text(*texts: str) -> CutText | None:
    whole = visible("\n\n".join(text for text in texts if text))
    return cut_text(whole, lines=MAX_SHOWN, characters=MAX_SHOWN) if whole else None


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


def _bounded(lines: Sequence[DiffLine]) -> Iterator[DiffLine]:
    room = MAX_SHOWN
    for line in lines:
        room -= len(line.text)
        if room < 0:
            return
        yield DiffLine(line.kind, visible(line.text))
