"""What is behind a thread: its entries as they are stored, and what the model was shown.

Each is a page of its own, and for the pane's drawer a fragment. A page is read, made a view of and
rendered; nothing here builds a thread. It costs one read of the thread, whichever part of it is
shown. The routes are in ``enso.server.behind_routes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from flask import Response, request

from enso import transcript, wire
from enso.host import contract
from enso.server.context_chart import ENDINGS, Drawn, context_chart
from enso.server.contexts import (
    live_thread,
    read_branch,
    read_entry,
    read_request,
    request_shape,
    size_shape,
)
from enso.server.emitted import told_events
from enso.server.htmx import HtmxRequest
from enso.server.inspection import inspected
from enso.server.inspection_views import (
    Behind,
    ContextView,
    ElementRow,
    EntriesView,
    EntryRow,
    EntryView,
    RequestRow,
    RequestView,
    Steps,
    role_sums,
)
from enso.server.looks import dom_token
from enso.server.models import model_choices
from enso.server.pages import html_answer, page_urls, rail_request
from enso.server.presenter import HTMX_CONFIG, one_line
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.shapes import mended
from enso.server.words import count
from enso.urls import Urls

PAGE_ROWS: Final = 100
"""Rows on one page: entries, requests or elements."""

MOST_EVENTS: Final = 100
_MOST_ENTRIES: Final = 1 << 40
_LINE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A thread as it is held: a page of its branch, and what is said of where it is kept.

    ``behind`` of its ``total`` entries are newer than the page.
    """

    entries: Sequence[transcript.TranscriptEntry]
    behind: int
    total: int
    facts: list[tuple[str, str]]
    events: list[wire.EmittedEvent]


def entries_page(services: Services, thread_id: str) -> Response:
    """The entries of a thread's branch, and where it is kept."""
    view = _entries_view(_behind(services, thread_id), _held(services, thread_id))
    return _answer(services, "_entries.html", view)


def entry_page(services: Services, thread_id: str, entry_id: str) -> Response:
    """One entry as it is stored; raises ``Refused`` 404 for one that is not there."""
    stored = read_entry(services, thread_id, entry_id)
    view = EntryView(behind=_behind(services, thread_id), entry=stored)
    return _answer(services, "_entry.html", view)


def context_page(services: Services, thread_id: str) -> Response:
    """The requests of a thread, and how large each was."""
    _, branch = read_branch(services, thread_id)
    view = _context_view(services, _behind(services, thread_id), branch)
    return _answer(services, "_context.html", view)


def request_page(services: Services, thread_id: str, request_id: str) -> Response:
    """What the model was shown in one request; raises ``Refused`` 404 for one that is not there."""
    found = read_request(services, thread_id, request_id)
    view = _request_view(_behind(services, thread_id), found)
    return _answer(services, "_request.html", view)


def _answer(
    services: Services, template: str, view: EntriesView | EntryView | ContextView | RequestView
) -> Response:
    page = not HtmxRequest(request.headers).wants_fragment
    return html_answer(services.renderer.behind(template, view, page=page))


def _behind(services: Services, thread_id: str) -> Behind:
    urls = page_urls()
    whole = not HtmxRequest(request.headers).wants_fragment
    row = services.host.stored_thread(thread_id)
    key = dom_token(thread_id)
    return Behind(
        key=key,
        thread_id=thread_id,
        title=one_line(row.name or row.first_message) if row is not None else "",
        hrefs={
            "thread": urls.thread(thread_id),
            "entries": urls.below(thread_id, "entries"),
            "context": urls.below(thread_id, "context"),
        },
        target="" if whole else f"#drawer-{key}",
        rail=services.presenter.rail(urls, rail_request(thread_id)) if whole else None,
        htmx_config=HTMX_CONFIG,
    )


def _start(total: int) -> int:
    """How many rows, counted from the newest, come before the page that is asked for."""
    start = request.args.get("from", 0, type=int)
    return min(max(start, 0), max(total - 1, 0)) // PAGE_ROWS * PAGE_ROWS


def _steps(place: str, thread_id: str, total: int, start: int, words: str) -> Steps:
    """The pages beside the one that begins behind ``start`` rows."""
    urls = page_urls()

    def at(row: int) -> str:
        return urls.behind(thread_id, place, start=row)

    end = min(start + PAGE_ROWS, total)
    whole = end - start == total
    return Steps(
        newer=at(start - PAGE_ROWS) if start else "",
        older=at(end) if end < total else "",
        said=f"{total:,} {words}" if whole else f"{start + 1:,} to {end:,} of {total:,} {words}",
    )


# -- entries --------------------------------------------------------------------------------------


def _held(services: Services, thread_id: str) -> _Held:
    hosted = live_thread(services, thread_id)
    if hosted is None:
        return _stored(services, thread_id)
    seen = hosted.inspect()
    total, start = len(seen.entries), _start(len(seen.entries))
    extensions = ", ".join(hosted.loaded_extension_paths)
    facts = [
        ("Thread", seen.session_id),
        ("State", "live"),
        ("Directory", str(seen.cwd)),
        ("File", str(seen.session_file or "none yet: it is made when the first answer begins")),
        ("Kept in", str(seen.session_dir)),
        ("Commands", " ".join(f"/{name}" for name in seen.commands)),
        *([("Extensions", extensions)] if extensions else []),
    ]
    return _Held(
        entries=seen.entries[max(0, total - start - PAGE_ROWS) : total - start],
        behind=start,
        total=total,
        facts=facts,
        events=told_events(hosted.emitted_events())[-MOST_EVENTS:],
    )


def _stored(services: Services, thread_id: str) -> _Held:
    row, stored = services.host.stored_thread(thread_id), None
    if row is not None:
        start = _start(_MOST_ENTRIES)
        stored = services.host.read_stored_entries(thread_id, size=PAGE_ROWS, behind=start)
        if stored is not None and start != _start(stored.total):
            start = _start(stored.total)
            stored = services.host.read_stored_entries(thread_id, size=PAGE_ROWS, behind=start)
    if row is None or stored is None:
        services.read(thread_id)  # says what is missing; it may have come in this very moment
        raise Refused(404, "thread-not-found", "There is no stored thread under this id.")
    facts = [
        ("Thread", thread_id),
        ("State", "not running"),
        ("Directory", str(stored.cwd)),
        ("File", str(row.path)),
    ]
    if stored.skipped_lines:
        facts.append(("Damage", count(stored.skipped_lines, "line") + " that cannot be read"))
    behind = stored.total - stored.start - len(stored.entries)
    return _Held(entries=stored.entries, behind=behind, total=stored.total, facts=facts, events=[])


def _entries_view(behind: Behind, held: _Held) -> EntriesView:
    last = held.total - held.behind
    numbered = list(enumerate(held.entries, last - len(held.entries)))[::-1]
    return EntriesView(
        behind=behind,
        facts=[(name, mended(value)) for name, value in held.facts],
        rows=[_entry_row(behind.thread_id, place, entry) for place, entry in numbered],
        steps=_steps("entries", behind.thread_id, held.total, held.behind, "entries"),
        events=held.events,
    )


def _entry_row(thread_id: str, place: int, entry: transcript.TranscriptEntry) -> EntryRow:
    seen = inspected(entry)
    return EntryRow(
        number=place + 1,
        kind=seen.kind,
        text=one_line(seen.text or "", _LINE),
        created_at=seen.created_at,
        href=page_urls().entry(thread_id, seen.id) if seen.id else "",
    )


# -- context --------------------------------------------------------------------------------------


def _context_view(
    services: Services, behind: Behind, reading: contract.BranchContext
) -> ContextView:
    total = len(reading.requests)
    start = _start(total)
    end = total - start
    newest_first = [request_shape(one) for one in reading.requests[max(0, end - PAGE_ROWS) : end]]
    return ContextView(
        behind=behind,
        chart=context_chart(
            [_drawn(one) for one in reading.requests],
            key=behind.key,
            window=_window(services, reading),
        ),
        rows=[
            RequestRow(
                request=one,
                href=page_urls().below(behind.thread_id, f"context/{one.index}"),
                ended=ENDINGS.get(one.stop_reason or "", ""),
            )
            for one in reversed(newest_first)
        ],
        steps=_steps("context", behind.thread_id, total, start, "requests"),
        next=size_shape(reading.next),
        next_href=page_urls().below(behind.thread_id, "context/next"),
        next_compacted=reading.compacted,
        total=total,
    )


def _drawn(one: contract.BranchRequest) -> Drawn:
    size = one.size
    return Drawn(one.index, size.tokens, size.elements, one.stop_reason, one.compacted)


def _window(services: Services, reading: contract.BranchContext) -> int | None:
    """The context window of the model that answered last, if it is configured and says it."""
    last = reading.requests[-1] if reading.requests else None
    windows = (
        choice.context_window
        for choice in model_choices(services.host)
        if last and (choice.provider, choice.model) == (last.provider, last.model)
    )
    return next(windows, None)


# -- one request ----------------------------------------------------------------------------------


def _request_view(behind: Behind, detail: wire.RequestDetail) -> RequestView:
    urls = page_urls()
    total = len(detail.elements)
    start = _start(total)
    place = f"context/{detail.request}"
    shown = detail.elements[start : start + PAGE_ROWS]
    return RequestView(
        behind=behind,
        detail=detail,
        sums=role_sums(detail.elements),
        rows=_element_rows(urls, behind.thread_id, shown, start),
        left_out=_element_rows(urls, behind.thread_id, detail.left_out[:PAGE_ROWS], 0),
        steps=_steps(place, behind.thread_id, total, start, "elements"),
    )


def _element_rows(
    urls: Urls, thread_id: str, elements: Sequence[wire.ContextElement], start: int
) -> list[ElementRow]:
    return [
        ElementRow(
            number=number,
            element=element,
            href=urls.entry(thread_id, element.entry_id) if element.entry_id else "",
        )
        for number, element in enumerate(elements, start + 1)
    ]
