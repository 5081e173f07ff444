"""Passages that hold what was looked for: read once, told as JSON and drawn in the rail."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby

from flask import Blueprint, Response, request

from enso import wire
from enso.host.contract import Passage
from enso.server.ages import age_words
from enso.server.htmx import HtmxRequest
from enso.server.looks import dom_token
from enso.server.pages import MAX_QUERY, html_answer, page_urls, rail_request
from enso.server.presenter import HTMX_CONFIG, one_line
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.shapes import iso_time, mended
from enso.server.views import FoundGroup, FoundPassage, FoundView
from enso.urls import Urls

MOST_THREADS = 20
MAX_LIMIT = 100
SAID_BY = {"user": "You", "assistant": "Agent", "toolResult": "Tool", "bashExecution": "Shell"}


def find(services: Services, query: str, limit: int) -> wire.Found:
    """Passages that hold the words of a query, grouped by thread, the newest thread first."""
    found = services.host.find_passages(query, limit)
    threads = list(dict.fromkeys(passage.thread_id for passage in found.passages))
    titles = {thread_id: _title(services, thread_id) for thread_id in threads}
    passages = sorted(found.passages, key=lambda one: threads.index(one.thread_id))
    return wire.Found(
        passages=[_shape(passage, titles[passage.thread_id]) for passage in passages],
        searched=found.searched,
        threads=found.threads,
    )


def found_view(services: Services, urls: Urls, query: str) -> FoundView:
    """The same for a page: passages under their threads, each with the way to it."""
    found = find(services, query, MOST_THREADS)
    now = datetime.now(UTC).astimezone()
    groups = [
        FoundGroup(
            thread_id=thread_id,
            title=one_line(members[0].title or ""),
            href=urls.thread(thread_id),
            passages=[_passage_view(urls, one, now) for one in members],
        )
        for thread_id, run in groupby(found.passages, key=lambda one: one.thread_id)
        if (members := list(run))
    ]
    again = urls.find(query) if found.searched < found.threads else None
    return FoundView(
        query=query,
        groups=groups,
        searched=found.searched,
        threads=found.threads,
        again_href=again,
        htmx_config=HTMX_CONFIG,
    )


def blueprint(services: Services) -> Blueprint:
    """The routes of this module over one server's parts."""
    finding = Blueprint("finding", __name__)

    @finding.get("/find")
    def found() -> Response:  # pyright: ignore[reportUnusedFunction]
        """The page of what was found."""
        urls = page_urls()
        query = request.args.get("q", "")[:MAX_QUERY]
        view = found_view(services, urls, query)
        whole = not HtmxRequest(request.headers).wants_fragment
        rail = services.presenter.rail(urls, rail_request("")) if whole else None
        return html_answer(services.renderer.found(view, rail))

    @finding.get("/api/find")
    def found_as_json() -> Response:  # pyright: ignore[reportUnusedFunction]
        """The same as JSON."""
        body = find(services, *_question()).model_dump_json()
        return Response(body, mimetype="application/json")

    return finding


# -- within ---------------------------------------------------------------------------------------


def _question() -> tuple[str, int]:
    """What a program asks, and of how many threads at most; raises ``Refused`` 400."""
    query, limit = request.args.get("q", ""), request.args.get("limit", str(MOST_THREADS))
    if len(query) > MAX_QUERY:
        raise Refused(400, "query-too-long", f"A query has at most {MAX_QUERY} characters.")
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:9]) <= MAX_LIMIT):
        raise Refused(400, "invalid-limit", f"limit: a number from 1 to {MAX_LIMIT}.")
    return query, int(limit)


def _title(services: Services, thread_id: str) -> str:
    stored = services.host.stored_thread(thread_id)
    return mended(stored.name or stored.first_message) if stored is not None else ""


def _shape(passage: Passage, title: str) -> wire.FoundPassage:
    return wire.FoundPassage(
        thread_id=passage.thread_id,
        title=title or None,
        entry_id=passage.entry_id or None,
        said_by=passage.said_by,
        created_at=iso_time(passage.created_at),
        before=passage.before,
        match=passage.match,
        after=passage.after,
    )


def _passage_view(urls: Urls, passage: wire.FoundPassage, now: datetime) -> FoundPassage:
    at = passage.entry_id or ""
    href = urls.thread(passage.thread_id, at=at)
    written = datetime.fromisoformat(passage.created_at) if passage.created_at else None
    return FoundPassage(
        href=f"{href}#m-{dom_token(passage.thread_id)}-{dom_token(at)}" if at else href,
        said_by=SAID_BY.get(passage.said_by, ""),
        created_at=passage.created_at or "",
        age=age_words(written, now=now) if written is not None else "",
        before=passage.before,
        match=passage.match,
        after=passage.after,
    )
