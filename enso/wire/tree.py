"""A thread's tree as it is shown: the entries of every branch, in the order of an indented list."""

from __future__ import annotations

import operator
from typing import Literal

from pydantic import Field

from enso.wire.shape import Shape, left_out

TreeFilter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
"""Which entries are shown; named as pi names them."""


class TreeEntry(Shape):
    """One entry of a thread, on its branch or not.

    ``parentId`` is the nearest shown entry before it, none for a beginning. ``depth`` counts the
    forks at which the line that leads here was not the one that goes straight on. ``here`` is the
    last shown entry of the present branch, ``leaf`` the one that the next entry follows.
    """

    id: str
    parent_id: str | None = left_out()
    kind: Literal["user", "assistant", "tool-result", "marker", "label", "setting"]
    name: str | None = left_out()
    text: str
    created_at: str | None = left_out()
    stop_reason: Literal["stop", "length", "tool-use", "error", "aborted", "other"] | None = (
        left_out()
    )
    label: str | None = left_out()
    depth: int
    on_branch: bool
    leaf: bool = Field(default=False, exclude_if=operator.not_)
    here: bool = Field(default=False, exclude_if=operator.not_)


class ThreadTree(Shape):
    """A window of a thread's tree: ``entries`` are those from ``start`` on, of ``total`` in all.

    Without a wanted start it is the window that holds the place where the thread is now.
    """

    thread_id: str
    leaf_id: str | None
    filter: TreeFilter
    total: int
    start: int
    entries: list[TreeEntry]
