"""What a thread used, as a page or as the inside of the pane. Looking builds nothing."""

from __future__ import annotations

from flask import Response, request

from enso import wire
from enso.server.htmx import HtmxRequest
from enso.server.looks import dom_token
from enso.server.pages import html_answer, page_urls, rail_request
from enso.server.presenter import HTMX_CONFIG, one_line
from enso.server.services import Services
from enso.server.stats_tables import (
    cost_chart,
    cost_says,
    facts,
    requests_table,
    tool_chart,
    tools_table,
    turns_table,
)
from enso.server.views import StatsView
from enso.thread_ids import new_thread_id
from enso.urls import Urls

SHOWN_ROWS = 50
MORE_ROWS = 2000
"""Rows of a table at first, and at most: the whole is there as JSON."""


def stats_page(services: Services, thread_id: str) -> Response:
    """What a thread used, as a page or into the pane."""
    shown = min(max(request.args.get("shown", SHOWN_ROWS, type=int), 1), MORE_ROWS)
    told = services.stats(thread_id, newest=shown)
    whole = not HtmxRequest(request.headers).wants_fragment
    view = _view(services, page_urls(), told, shown, whole=whole)
    return html_answer(services.renderer.stats(view, page=whole))


def _view(
    services: Services, urls: Urls, stats: wire.ThreadStats, shown: int, *, whole: bool
) -> StatsView:
    thread_id, key = stats.thread_id, dom_token(stats.thread_id)
    turns, requests = turns_table(stats, shown), requests_table(stats, shown)
    more = shown < MORE_ROWS and (turns.left_out or requests.left_out)
    return StatsView(
        key=key,
        thread_id=thread_id,
        title=_title(services, thread_id),
        thread_href=urls.thread(thread_id),
        json_href=urls.stats_json(thread_id),
        more_href=urls.stats(thread_id, shown=MORE_ROWS) if more else None,
        again_href=urls.stats(thread_id, shown=shown),
        facts=facts(stats),
        cost_chart=cost_chart(stats, key=key),
        cost_says=cost_says(stats),
        tool_chart=tool_chart(stats, key=key),
        turns=turns,
        requests=requests,
        tools=tools_table(stats),
        rail=services.presenter.rail(urls, rail_request(thread_id)) if whole else None,
        # Any follow brings the rail's news; a fresh thread's brings nothing else.
        follow_href=urls.follow(new_thread_id()),
        htmx_config=HTMX_CONFIG,
    )


def _title(services: Services, thread_id: str) -> str:
    row = services.host.stored_thread(thread_id)
    if row is not None:
        return one_line(row.name or row.first_message)
    return one_line(services.read(thread_id).title)  # live, and not stored before its first answer
