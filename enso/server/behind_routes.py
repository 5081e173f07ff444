"""GET: the pages behind a thread: its entries, what the model was shown, what it used.

Whoever asks for the first of them loads what makes them; a thread's own page needs none of it.
"""

from __future__ import annotations

from flask import Blueprint, Response

from enso.server.services import Services


def blueprint(services: Services) -> Blueprint:
    """The routes of these pages over one server's parts."""
    behind = Blueprint("behind", __name__, url_prefix="/threads/<thread_id>")

    @behind.get("/entries")
    def entries(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """A page of the thread's entries."""
        from enso.server.inspection_pages import entries_page  # noqa: PLC0415

        return entries_page(services, thread_id)

    @behind.get("/entries/<path:entry_id>")
    def entry(thread_id: str, entry_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """One entry as it is stored."""
        from enso.server.inspection_pages import entry_page  # noqa: PLC0415

        return entry_page(services, thread_id, entry_id)

    @behind.get("/context")
    def context(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """What the model was shown at each request."""
        from enso.server.inspection_pages import context_page  # noqa: PLC0415

        return context_page(services, thread_id)

    @behind.get("/context/<request_id>")
    def detail(thread_id: str, request_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """One request, element by element."""
        from enso.server.inspection_pages import request_page  # noqa: PLC0415

        return request_page(services, thread_id, request_id)

    @behind.get("/stats")
    def stats(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """What the thread used."""
        from enso.server.stats_page import stats_page  # noqa: PLC0415

        return stats_page(services, thread_id)

    return behind
