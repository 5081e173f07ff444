"""Lines of results as a model is shown them: cut by size, with what was cut said under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enso.host.json_lines import clean_text
from enso.host.runtimes.builtin.tools.tool import ToolOutcome, success
from enso.host.runtimes.builtin.tools.truncation import (
    MAX_BYTES,
    NO_LINE_LIMIT,
    cut_to_head,
)
from enso.host.runtimes.sizes import size_text


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that is not shown: said in words, and stored in the details under ``key``."""

    sentence: str
    key: str = ""
    value: object = True
    is_about_count: bool = False


class ResultLines:
    """Takes lines one by one; keeps as many as can be shown, and counts the others."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._count = 0
        self._size = 0  # with an end for each line

    def add(self, line: str) -> None:
        """Take a line, without its end."""
        line = clean_text(line)
        if self._size - 1 <= MAX_BYTES:
            self._kept.append(line)
        self._count += 1
        self._size += len(line.encode()) + 1

    def __len__(self) -> int:
        return self._count

    def outcome(self, notices: Sequence[Notice]) -> ToolOutcome:
        """The lines with the notices under them, the one about their size in its place."""
        cut = cut_to_head("\n".join(self._kept), max_lines=NO_LINE_LIMIT)
        said = list(notices)
        if cut.truncated_by is not None:
            record = cut.with_totals(lines=self._count, size=self._size - 1).record()
            about_size = Notice(f"{size_text(MAX_BYTES)} limit reached", "truncation", record)
            said.insert(1 if said and said[0].is_about_count else 0, about_size)
        details = {notice.key: notice.value for notice in said if notice.key}
        words = ". ".join(notice.sentence for notice in said)
        text = f"{cut.content}\n\n[{words}]" if said else cut.content
        return success(text, details or None)


def limit_of(given: float | None, default: int) -> int:
    """How many results are wanted: one at least."""
    return default if given is None else max(1, int(given))
