"""What an edit changed, as it is stored: a diff for people, a unified patch, the first line.

Only the surroundings of the replacements are compared, so the time follows the size of the change
and not of the file. Source of all three texts, and of the surroundings: pi 1.6.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from enso.host.json_lines import clean_text
from enso.host.runtimes.builtin.tools.edit_matching import EditedText, Replacement
from enso.host.runtimes.builtin.tools.line_diff import DiffPart, diff_lines

CONTEXT: Final = 4
"""Lines that stayed which are shown on each side of a change."""

_MARGIN: Final = 32  # lines compared on each side of a replacement


@dataclass(slots=True)
class _Window:
    """A range of whole lines around replacements, in the text before and the text after."""

    start: int
    end: int
    new_start: int
    new_end: int
    line: int = 0
    new_line: int = 0


def edit_details(name: str, edited: EditedText) -> dict[str, Any]:
    """``{"diff", "patch", "firstChangedLine"}`` of an edit that changed something."""
    lines = max(edited.before.count("\n"), edited.after.count("\n")) + 1
    display = _Display(len(str(lines)))
    hunks: list[str] = []
    for window in _windows(edited):
        parts = diff_lines(
            edited.before[window.start : window.end],
            edited.after[window.new_start : window.new_end],
        )
        display.add(parts, window.line + 1, window.new_line + 1)
        for hunk in _hunks(parts, window.line + 1, window.new_line + 1):
            hunks += hunk
    patch = "\n".join([f"--- {name}", f"+++ {name}", *hunks]) + "\n"
    return {
        "diff": clean_text("\n".join(display.lines)),
        "patch": clean_text(patch),
        "firstChangedLine": display.first_changed_line,
    }


def _windows(edited: EditedText) -> list[_Window]:
    windows: list[_Window] = []
    grown = 0  # characters that the replacements so far added
    for place in edited.replacements:
        start, end = _surroundings(edited.before, place)
        more = len(place.new_text) - (place.end - place.start)
        if windows and start <= windows[-1].end:
            windows[-1].end = max(windows[-1].end, end)
            windows[-1].new_end = windows[-1].end + grown + more
        else:
            windows.append(_Window(start, end, start + grown, end + grown + more))
        grown += more
    _count_lines(edited, windows)
    return windows


def _count_lines(edited: EditedText, windows: Sequence[_Window]) -> None:
    at = new_at = line = new_line = 0
    for window in windows:
        line += edited.before.count("\n", at, window.start)
        new_line += edited.after.count("\n", new_at, window.new_start)
        window.line, window.new_line = line, new_line
        at, new_at = window.start, window.new_start


def _surroundings(text: str, place: Replacement) -> tuple[int, int]:
    start = text.rfind("\n", 0, place.start) + 1
    for _ in range(_MARGIN):
        if start == 0:
            break
        start = text.rfind("\n", 0, start - 1) + 1
    end = text.find("\n", max(place.end - 1, place.start)) + 1 or len(text)
    for _ in range(_MARGIN):
        if end == len(text):
            break
        end = text.find("\n", end) + 1 or len(text)
    return start, end


class _Display:
    """The diff for people: a mark, a line number of its side, the line."""

    def __init__(self, width: int) -> None:
        self.lines: list[str] = []
        self.first_changed_line: int | None = None
        self._width = width
        self._gap = f" {'':{width}} ..."
        self._old = self._new = 1

    def add(self, parts: Sequence[DiffPart], old: int, new: int) -> None:
        """Show the parts of a window that begins at these lines."""
        self._old, self._new = old, new
        before = len(self.lines)
        for at, part in enumerate(parts):
            if part.kind == "same":
                self._add_same(part, after=at > 0, before=at + 1 < len(parts))
            else:
                self._add_changed(part)
        if 0 < before < len(self.lines) and self.lines[before - 1 : before + 1] == [self._gap] * 2:
            del self.lines[before]

    def _add_changed(self, part: DiffPart) -> None:
        if self.first_changed_line is None:
            self.first_changed_line = self._new
        for line in part.lines:
            if part.kind == "added":
                self._show("+", self._new, line)
                self._new += 1
            else:
                self._show("-", self._old, line)
                self._old += 1

    def _add_same(self, part: DiffPart, *, after: bool, before: bool) -> None:
        count = len(part.lines)
        head = min(CONTEXT, count) if after else 0
        tail = min(CONTEXT, count) if before else 0
        if after and before and count <= 2 * CONTEXT:
            head, tail = count, 0
        for line in part.lines[:head]:
            self._show_same(line)
        if (after or before) and head + tail < count:
            self.lines.append(self._gap)
        self._old += count - head - tail
        self._new += count - head - tail
        for line in part.lines[count - tail :]:
            self._show_same(line)

    def _show_same(self, line: str) -> None:
        self._show(" ", self._old, line)
        self._old += 1
        self._new += 1

    def _show(self, mark: str, number: int, line: str) -> None:
        text = line.removesuffix("\n")
        self.lines.append(f"{mark}{number:{self._width}} {text}")


def _hunks(parts: Sequence[DiffPart], old: int, new: int) -> Iterator[list[str]]:
    """The hunks of a unified patch; changes with little between them share one."""
    hunk = _Hunk(old, new)
    for at, part in enumerate(parts):
        if part.kind != "same":
            hunk.change(part)
            continue
        between = 0 < at < len(parts) - 1
        if between and len(part.lines) <= 2 * CONTEXT:
            hunk.keep(part.lines)
            continue
        if at > 0:
            hunk.keep(part.lines[:CONTEXT])
            yield hunk.text()
        hunk.skip(part.lines, follows=at > 0, precedes=at < len(parts) - 1)
    if hunk.lines and parts[-1].kind != "same":
        yield hunk.text()


class _Hunk:
    """Lines of a patch that grow until they are a whole hunk."""

    def __init__(self, old: int, new: int) -> None:
        self.lines: list[str] = []
        self._old_start, self._new_start = old, new
        self._old, self._new = old, new

    def change(self, part: DiffPart) -> None:
        """Take lines that went or came."""
        mark = "+" if part.kind == "added" else "-"
        self._take(mark, part.lines)
        if part.kind == "added":
            self._new += len(part.lines)
        else:
            self._old += len(part.lines)

    def keep(self, lines: Sequence[str]) -> None:
        """Take lines that stayed."""
        self._take(" ", lines)
        self._old += len(lines)
        self._new += len(lines)

    def skip(self, lines: Sequence[str], *, follows: bool, precedes: bool) -> None:
        """Pass over lines that stayed, and begin anew with the last of them."""
        taken = min(CONTEXT, len(lines)) if follows else 0
        shown = lines[-CONTEXT:] if precedes else ()
        self.lines = []
        self._old_start = self._old = self._old + len(lines) - taken - len(shown)
        self._new_start = self._new = self._new + len(lines) - taken - len(shown)
        self.keep(shown)

    def text(self) -> list[str]:
        """The hunk with its head."""
        old, new = self._old - self._old_start, self._new - self._new_start
        old_start = self._old_start if old else self._old_start - 1
        new_start = self._new_start if new else self._new_start - 1
        return [f"@@ -{old_start},{old} +{new_start},{new} @@", *self.lines]

    def _take(self, mark: str, lines: Sequence[str]) -> None:
        for line in lines:
            self.lines.append(mark + line.removesuffix("\n"))
            if not line.endswith("\n"):
                self.lines.append("\\ No newline at end of file")
