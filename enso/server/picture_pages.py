"""GET: one image of a thread: a page that shows it as large as it is, and what a message shows.

An entry of a log does not change, so a browser may keep what it got for itself.
"""

from __future__ import annotations

from flask import Blueprint, Response, request

from enso.server.htmx import HtmxRequest
from enso.server.pages import html_answer, page_urls, rail_request
from enso.server.presenter import HTMX_CONFIG, one_line
from enso.server.services import Services
from enso.server.shapes import image_part
from enso.server.views import PictureView

KEPT = "private, max-age=86400"
"""For a day: the id of a thread that was deleted may be given again."""


def blueprint(services: Services) -> Blueprint:
    """The route of this module over one server's parts."""
    pictures = Blueprint("pictures", __name__)

    @pictures.get("/threads/<thread_id>/images/<path:entry_id>/<int:number>")
    def picture(thread_id: str, entry_id: str, number: int) -> Response:  # pyright: ignore[reportUnusedFunction]
        """One image of a thread: in its place, or as a page of its own."""
        found = services.image(thread_id, entry_id, number)
        page = not HtmxRequest(request.headers).wants_fragment
        row = services.host.stored_thread(thread_id)
        urls = page_urls()
        view = PictureView(
            image=image_part(found, entry_id=entry_id, number=number),
            href=urls.image(thread_id, entry_id, number),
            thread_id=thread_id,
            title=one_line(row.name or row.first_message) if row is not None else "",
            thread_href=urls.thread(thread_id),
            rail=services.presenter.rail(urls, rail_request(thread_id)) if page else None,
            htmx_config=HTMX_CONFIG,
        )
        answer = html_answer(services.renderer.picture(view, page=page))
        if not page:
            answer.headers["Cache-Control"] = KEPT
        return answer

    return pictures
