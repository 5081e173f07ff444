"""What the pages behind a thread are given: its stored entries, its requests, one of them in full.

Made from the wire shapes, so that pages and JSON say the same numbers. Everything is in pages:
nothing here grows with the thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from enso import wire
from enso.server.views import RailView


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What every page behind a thread has around it.

    ``target`` is the element that its links change, the drawer of a pane; empty on a page of its
    own. ``hrefs``: ``thread``, ``entries``, ``context``.
    """

    key: str
    thread_id: str
    title: str
    hrefs: Mapping[str, str]
    target: str = ""
    rail: RailView | None = None
    htmx_config: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Where the pages beside this one are; empty where there is none."""

    newer: str = ""
    older: str = ""
    said: str = ""  # which of how many are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """One entry of the branch: its place from 1 on, its kind, and how its text begins."""

    number: int
    kind: str
    text: str
    created_at: str | None
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesView:
    """The entries of a branch as they are stored, the newest first, and where they are kept."""

    behind: Behind
    facts: Sequence[tuple[str, str]]
    rows: Sequence[EntryRow]
    steps: Steps
    events: Sequence[wire.EmittedEvent] = ()
    heading: str = "Entries"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """One entry as it is stored."""

    behind: Behind
    entry: wire.StoredEntry
    heading: str = "One entry"

    @property
    def is_cut(self) -> bool:
        """Whether only the beginning is here."""
        return self.entry.characters > len(self.entry.text)

    @property
    def cut_words(self) -> str:
        """How much is here, and of how much."""
        shown, whole = len(self.entry.text), self.entry.characters
        return f"The first {shown:,} of {whole:,} characters."


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """One request in the table, and where it opens."""

    request: wire.RequestContext
    href: str
    ended: str  # how, in words


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextView:
    """The context of a thread: a chart over all requests, and a page of their table."""

    behind: Behind
    chart: Markup
    rows: Sequence[RequestRow]
    steps: Steps
    next: wire.ContextSize
    next_href: str
    next_compacted: bool
    total: int
    heading: str = "Context"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementRow:
    """One element of a request, and where the entry is that it comes from."""

    number: int
    element: wire.ContextElement
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSum:
    """What the elements of one role come to."""

    role: str
    elements: int
    size: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    """One request in full: what its roles come to, and a page of its elements, in order."""

    behind: Behind
    detail: wire.RequestDetail
    sums: Sequence[RoleSum]
    rows: Sequence[ElementRow]
    left_out: Sequence[ElementRow]
    steps: Steps

    @property
    def heading(self) -> str:
        """Which request it is."""
        request = self.detail.request
        return "The next request" if request == "next" else f"Request {request:,}"


def role_sums(elements: Sequence[wire.ContextElement]) -> list[RoleSum]:
    """The elements summed up by role, the largest first."""
    ordered = sorted(elements, key=lambda element: element.role)
    grouped = [list(group) for _, group in groupby(ordered, key=lambda element: element.role)]
    sums = [
        RoleSum(
            role=group[0].role,
            elements=len(group),
            size=sum(element.size for element in group),
            tokens=sum(element.tokens for element in group),
        )
        for group in grouped
    ]
    return sorted(sums, key=lambda one: one.tokens, reverse=True)
