"""How much of a long text a model is shown, and the record of it that is stored.

Lines end at line feeds alone. Sizes are bytes of UTF-8. Source of limits and record: pi 1.6.0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

MAX_LINES: Final = 2000
MAX_BYTES: Final = 50 * 1024
MAX_LINE_UNITS: Final = 500
"""Length of a line that a search shows, in UTF-16 units, in which JavaScript counts."""

NO_LINE_LIMIT: Final = 2**53 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """What is shown of a text, and what there was. ``truncated_by`` is ``None`` for all of it."""

    content: str
    truncated_by: str | None = None
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int
    last_line_partial: bool = False
    first_line_exceeds_limit: bool = False
    max_lines: int = MAX_LINES
    max_bytes: int = MAX_BYTES

    def with_totals(self, *, lines: int, size: int) -> Truncation:
        """The same cut, of a text of which only the part around the cut was at hand."""
        return replace(self, total_lines=lines, total_bytes=size)

    def record(self) -> dict[str, Any]:
        """The cut as it is stored under ``details.truncation``."""
        return {
            "content": self.content,
            "truncated": self.truncated_by is not None,
            "truncatedBy": self.truncated_by,
            "totalLines": self.total_lines,
            "totalBytes": self.total_bytes,
            "outputLines": self.output_lines,
            "outputBytes": self.output_bytes,
            "lastLinePartial": self.last_line_partial,
            "firstLineExceedsLimit": self.first_line_exceeds_limit,
            "maxLines": self.max_lines,
            "maxBytes": self.max_bytes,
        }


def cut_to_head(text: str, *, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> Truncation:
    """The first whole lines of ``text`` that keep both limits.

    Nothing at all when the first line alone is too long: ``first_line_exceeds_limit``.
    """
    lines = split_lines(text)
    size = len(text.encode())
    if len(lines) <= max_lines and size <= max_bytes:
        return _whole(text, len(lines), size, max_lines, max_bytes)
    count, used, by = _fitting(lines, max_lines, max_bytes)
    return Truncation(
        content="\n".join(lines[:count]),
        truncated_by=by,
        total_lines=len(lines),
        total_bytes=size,
        output_lines=count,
        output_bytes=used,
        first_line_exceeds_limit=count == 0,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


def cut_to_tail(text: str, *, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> Truncation:
    """The last whole lines of ``text`` that keep both limits.

    Of a last line that alone is too long, its end: ``last_line_partial``.
    """
    lines = split_lines(text)
    size = len(text.encode())
    if len(lines) <= max_lines and size <= max_bytes:
        return _whole(text, len(lines), size, max_lines, max_bytes)
    count, used, by = _fitting(lines[::-1], max_lines, max_bytes)
    content = "\n".join(lines[len(lines) - count :])
    partial = count == 0
    if partial:
        content = end_of(lines[-1].encode(), max_bytes)
        count, used = 1, len(content.encode())
    return Truncation(
        content=content,
        truncated_by=by,
        total_lines=len(lines),
        total_bytes=size,
        output_lines=count,
        output_bytes=used,
        last_line_partial=partial,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ends; a last line feed begins none."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def end_of(data: bytes, size: int) -> str:
    """The last ``size`` bytes of UTF-8 as text, from the first whole character on."""
    start = max(0, len(data) - size)
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode()


def cut_line(line: str) -> tuple[str, bool]:
    """A line of a search result, and whether it was cut. A pair of surrogates is kept whole."""
    if len(line) <= MAX_LINE_UNITS // 2 or len(line.encode("utf-16-le")) <= 2 * MAX_LINE_UNITS:
        return line, False
    head = line[:MAX_LINE_UNITS].encode("utf-16-le")[: 2 * MAX_LINE_UNITS]
    return head.decode("utf-16-le", "ignore") + "... [truncated]", True


def _whole(text: str, lines: int, size: int, max_lines: int, max_bytes: int) -> Truncation:
    return Truncation(
        content=text,
        total_lines=lines,
        total_bytes=size,
        output_lines=lines,
        output_bytes=size,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


def _fitting(lines: list[str], max_lines: int, max_bytes: int) -> tuple[int, int, str]:
    used = 0
    for count, line in enumerate(lines):
        size = len(line.encode()) + (1 if count else 0)
        if count == max_lines:
            return count, used, "lines"
        if used + size > max_bytes:
            return count, used, "bytes"
        used += size
    return len(lines), used, "lines"
