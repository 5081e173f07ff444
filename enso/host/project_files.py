"""The files of a project that fit what a person typed: the completion behind ``@``.

What git and its like ignore is left out, as the tools leave it out. The walk is bounded in time,
because a directory can hold millions of files and a person waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

WALK_SECONDS: Final = 0.5
IGNORE_FILES: Final = (".ignore",)
"""Beside what git ignores."""


def fitting_files(directory: Path, query: str, *, limit: int) -> tuple[str, ...]:
    """Paths below ``directory`` that fit ``query``, the best first; a directory ends in ``/``.

    The letters of the query must come in its order. Best is a name that begins with it, then one
    that holds it, then a path that holds it, then any other; shorter paths before longer ones.
    """
    asked = query.casefold()
    ranked = (
        (rank, len(path), path)
        for path in _paths(directory)
        if (rank := _rank(path, asked)) is not None
    )
    return tuple(path for _, _, path in sorted(ranked)[:limit])


def _paths(directory: Path) -> Iterator[str]:
    # With it come all the tools: loaded by the first completion, not by the first page.
    from enso.host.file_search.ignore_rules import (  # noqa: PLC0415
        ignoring_from_above,
    )
    from enso.host.file_search.walk import Walk  # noqa: PLC0415

    ends = time.monotonic() + WALK_SECONDS
    ignoring = ignoring_from_above(str(directory), IGNORE_FILES, needs_repository=False)
    for found in Walk(str(directory), ignoring, skip_git=True):
        yield f"{found.path}/" if found.is_directory else found.path
        if time.monotonic() > ends:
            return


def _rank(path: str, asked: str) -> int | None:
    """How well a path fits, 0 the best; ``None`` when it does not."""
    folded = path.casefold()
    name = folded.rstrip("/").rpartition("/")[2]
    if name.startswith(asked):
        return 0
    if asked in name:
        return 1
    if asked in folded:
        return 2
    letters = iter(folded)
    return 3 if all(letter in letters for letter in asked) else None
