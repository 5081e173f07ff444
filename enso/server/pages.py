"""GET: the page, the rail, the pane and its earlier messages, as pages or as fragments.

A route reads, has a view made, and renders it. Nothing here builds a thread or writes a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, Response, request

from enso import thread_ids
from enso.server.htmx import VARY, HtmxRequest
from enso.server.presenter import RAIL_ROWS, RailRequest, one_line
from enso.server.rail_cursor import read_cursor
from enso.server.reading import NotServed, ThreadReading
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.views import Deleted, PaneView
from enso.urls import Urls, kept_parameters, thread_of

MAX_SHOWN = 20_000
MAX_QUERY = 500
MAX_VERSION = 100
MAX_FROM = 1_000
NO_PLACE = (
    "after names no place in the list of threads. Ask for the list again, without it, and take the "
    "link to more from there."
)
NOT_THERE = (
    "What was found is not among the messages that are shown here. "
    "It is under Entries, in this thread’s menu."
)


@dataclass(frozen=True, slots=True)
class Opening:
    """A thread to mount, and what is said about how it was named."""

    reading: ThreadReading
    notice: str = ""
    at: str = ""


def html_answer(html: str, status: int = 200) -> Response:
    """An HTML answer; which one depends on the htmx headers, and caches must know that."""
    return Response(html, status=status, mimetype="text/html", headers={"Vary": VARY})


def page_urls() -> Urls:
    """The links of the page that is asked for, or that the asking page has."""
    htmx = HtmxRequest(request.headers)
    return Urls(kept_parameters(htmx.current_url or request.url))


def rail_request(current: str, *, in_a_hurry: bool = False, fragment: bool = False) -> RailRequest:
    """The part of the rail that this request asks for: ``fragment``, to put it into a page's rail.

    Raises ``Refused`` 400 for a place in the rail that is none.
    """
    shown = request.args.get("shown", RAIL_ROWS, type=int)
    place = request.args.get("after", "") if request.path == "/rail" else ""
    after = read_cursor(place) if place else None
    if place and after is None:
        raise Refused(400, "malformed-place", NO_PLACE)
    return RailRequest(
        query=request.args.get("q", "")[:MAX_QUERY],
        shown=min(max(shown, 1), MAX_SHOWN),
        current=current,
        in_a_hurry=in_a_hurry,
        after=after,
        drawn=request.args.get("drawn", "")[:MAX_VERSION],
        further=fragment and after is not None,
    )


def open_thread(services: Services, text: str | None) -> Opening:
    """What a URL opens: its thread, a fresh one under its id, or a fresh page that says why.

    Raises ``Refused`` 403 for a thread of a directory that is not served, and, where the rail
    asked, 404 for one that is gone.
    """
    if text is None:
        return Opening(services.reader.fresh(thread_ids.new_thread_id()))
    if not thread_ids.is_thread_id(text):
        fresh = services.reader.fresh(thread_ids.new_thread_id())
        return Opening(fresh, thread_ids.refused_id_sentence(text))
    reading = services.reader.page(text, light=True)
    if isinstance(reading, NotServed):
        raise Refused(403, "directory-not-served", reading.sentence)
    if isinstance(reading, ThreadReading):
        return _at_its_place(services, reading)
    if HtmxRequest(request.headers).wants_fragment:
        raise Refused(404, "thread-gone", "This thread's file is gone.")
    return Opening(services.reader.fresh(text))


def _at_its_place(services: Services, reading: ThreadReading) -> Opening:
    """The thread opened at the message that the URL says, or why it is not."""
    at = request.args.get("at", "")[:200]
    if not at:
        return Opening(reading)
    there = services.reader.page(reading.thread_id, since=at)
    if isinstance(there, ThreadReading) and len(there.messages) <= MAX_FROM:
        return Opening(there, at=at)
    return Opening(reading, NOT_THERE)


def just_deleted(services: Services, urls: Urls) -> Deleted | None:
    """The thread that the URL says was deleted, while it still is in the trash."""
    thread_id = request.args.get("deleted", "")
    found = services.host.deleted_thread(thread_id) if thread_id else None
    if found is None or services.host.stored_thread(thread_id) is not None:
        return None
    title = one_line(found.name or found.first_message)
    return Deleted(title=title, restore_href=urls.below(thread_id, "restore"))


def whole_page(services: Services, urls: Urls, pane: PaneView, *, status: int = 200) -> Response:
    """A pane with the rail beside it, in which its thread is marked."""
    rail = services.presenter.rail(urls, rail_request(pane.thread_id, in_a_hurry=True))
    html = services.renderer.page(services.presenter.page(rail, pane))
    return html_answer(html, status)


def blueprint(services: Services) -> Blueprint:
    """The routes of this module over one server's parts."""
    pages = Blueprint("pages", __name__)

    def mount(text: str | None) -> Response:
        """The page of a thread, or of a new one."""
        opening = open_thread(services, text)
        urls = page_urls()
        pane = services.presenter.pane(
            urls,
            opening.reading,
            notice=opening.notice,
            project_id=request.args.get("project", ""),
            deleted=just_deleted(services, urls),
            at=opening.at,
        )
        if HtmxRequest(request.headers).wants_fragment:
            return html_answer(services.renderer.pane(pane))
        return whole_page(services, urls, pane)

    @pages.get("/")
    def fresh_page() -> Response:  # pyright: ignore[reportUnusedFunction]
        """A new thread."""
        return mount(None)

    @pages.get("/threads/<path:thread_id>")
    def thread_page(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """A thread."""
        return mount(thread_id)

    _add_parts(pages, services)
    return pages


def _add_parts(pages: Blueprint, services: Services) -> None:
    """What a page asks for later: the rail anew, and earlier messages."""

    @pages.get("/rail")
    def rail_rows() -> Response:  # pyright: ignore[reportUnusedFunction]
        """The rail alone; a whole page for who has no scripts."""
        htmx = HtmxRequest(request.headers)
        current = request.args.get("current") or thread_of(htmx.current_url)
        urls = page_urls()
        if htmx.is_htmx:
            rail = services.presenter.rail(urls, rail_request(current, fragment=True))
            return html_answer(services.renderer.rail_rows(rail))
        opening = open_thread(services, current or None)
        return whole_page(services, urls, services.presenter.pane(urls, opening.reading))

    @pages.get("/threads/<thread_id>/history")
    def history(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The messages before those that are shown."""
        before = request.args.get("before", "")
        reading = services.page(thread_id, before=before)
        urls = page_urls()
        if HtmxRequest(request.headers).is_htmx:
            view = services.presenter.history(urls, reading, before=before)
            return html_answer(services.renderer.history(view))
        pane = services.presenter.pane(urls, reading)
        return whole_page(services, urls, pane)
