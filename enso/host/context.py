"""The context of a branch, request by request: measured in one walk, shown one at a time.

What the host asks for, of entries and of rows; the walk is ``enso.host.context_walk``'s. Knows no
runtime.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from enso.host.context_elements import element, left_out
from enso.host.context_rows import CONTEXT, ContextRow
from enso.host.context_size import context_tokens
from enso.host.context_walk import ContextWalk, MeasuredContext, is_answer
from enso.host.contract import BranchContext, BranchRequestDetail, RequestNumber
from enso.host.kept_sums import Summing
from enso.host.session_context import Assembly, Stored
from enso.host.session_rows import RowTree


def branch_context(branch: Iterable[Stored]) -> BranchContext:
    """Every request of a branch, and the one to come; costs as much as the branch is long."""
    walk = ContextWalk()
    walk.extend(branch)
    return walk.context()


def request_detail(branch: Sequence[Stored], request: RequestNumber) -> BranchRequestDetail | None:
    """One request element by element; ``None`` for one that the branch does not have."""
    end = _end_of(branch, request)
    return detail_of(branch[:end], request) if end is not None else None


def detail_of(before: Sequence[Stored], request: RequestNumber) -> BranchRequestDetail:
    """The same, by what is on the branch before it: all of it, or what ``Reach`` says."""
    assembly = Assembly(before)
    members = list(assembly.members())
    return BranchRequestDetail(
        request=request,
        tokens=context_tokens(members, before),
        elements=tuple(element(one.entry, message) for one in members for message in one.messages),
        left_out=left_out(assembly, members),
    )


def _end_of(branch: Sequence[Stored], request: RequestNumber) -> int | None:
    """Where the context of a request ends: at its answer, or at the end of the branch."""
    if request == "next":
        return len(branch)
    answers = (place for place, entry in enumerate(branch) if is_answer(entry))
    return next((place for number, place in enumerate(answers, 1) if number == request), None)


class ContextSum:
    """The context of a branch that was read as rows, to which more may be added behind its leaf."""

    def __init__(self) -> None:
        self._walk = ContextWalk()

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        return self._walk.size

    def follow(self, rows: Iterable[ContextRow]) -> None:
        """The branch goes on with these entries."""
        self._walk.extend_by_rows(rows)

    def answer(self) -> MeasuredContext:
        """Every request so far, and the one to come."""
        return self._walk.measured()


def sum_of_rows(rows: list[ContextRow], leaf_id: str | None) -> ContextSum:
    """The context of the branch with this leaf."""
    tree, total = RowTree(rows, leaf_id), ContextSum()
    total.follow(rows[place] for place in tree.branch)
    return total


CONTEXT_SUM: Final = Summing(shape=CONTEXT, nothing=ContextSum, of_rows=sum_of_rows)
"""The sum of a file that the context of its branch is."""
