"""GET: a thread as a file, for pages and for programs alike; live or cold, nothing is built.

What writes a file is loaded by the first who asks for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response, request

from enso.server.pages import html_answer, page_urls, rail_request
from enso.server.presenter import one_line
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.views import BundleView
from enso.urls import Urls

if TYPE_CHECKING:
    from enso.server.exports import Download

POLICY = "default-src 'none'; sandbox"
"""For a browser that would show a download in place: it does nothing there."""


def blueprint(services: Services, *, prefix: str, name: str) -> Blueprint:
    """The downloads below one prefix: they are the same for a page and for a program."""
    downloads = Blueprint(name, __name__, url_prefix=prefix or None)

    @downloads.get("/threads/<thread_id>/export")
    def export(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The thread as a document, in one of the formats."""
        from enso.server.exports import export_thread  # noqa: PLC0415

        format_name = request.args.get("format", "html")
        reader, host = services.reader, services.host
        return attachment(export_thread(reader, host, services.renderer, thread_id, format_name))

    @downloads.get("/threads/<thread_id>/bundle.zip")
    def bundle(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The bug report, as a zip file."""
        from enso.server.bundle import Bundle  # noqa: PLC0415

        keep = _keeps(request.args.get("keep", "0"))
        return attachment(Bundle(services, thread_id, keep=keep).download())

    return downloads


def _keeps(text: str) -> bool:
    """Whether keys and tokens are to stay in it; raises ``Refused`` 400 for neither yes nor no."""
    if text not in {"0", "1"}:
        raise Refused(400, "invalid-keep", "keep: 1 leaves keys and tokens in, 0 takes them out.")
    return text == "1"


def page_blueprint(services: Services) -> Blueprint:
    """The page that says what a bug report would hold, before it is downloaded."""
    pages = Blueprint("bundle", __name__)

    @pages.get("/threads/<thread_id>/bundle")
    def bundle_page(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """What the report would hold."""
        from enso.server.bundle import FILES, Bundle, findings_words  # noqa: PLC0415

        bundle = Bundle(services, thread_id)
        urls = page_urls()
        rail = services.presenter.rail(urls, rail_request(thread_id))
        stored = services.host.stored_thread(thread_id)
        title = (stored.name or stored.first_message) if stored is not None else ""
        view = BundleView(
            title=one_line(title) or "Untitled",
            thread_href=urls.thread(thread_id),
            action=Urls().below(thread_id, "bundle.zip"),
            files=[(file.name, file.holds) for file in FILES],
            found=findings_words(bundle.look_through()),
            any_found=bundle.findings.total > 0,
            rail=rail,
        )
        return html_answer(services.renderer.bundle(view))

    return pages


def attachment(download: Download) -> Response:
    """A download as an answer: never shown in place, sent while it is made."""
    answer = Response(download.pieces, mimetype=download.media_type)
    answer.call_on_close(download.close)
    answer.headers["Content-Disposition"] = f'attachment; filename="{download.name}"'
    answer.headers["Content-Security-Policy"] = POLICY
    if download.size is not None:
        answer.content_length = download.size
    return answer
