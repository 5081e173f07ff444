"""The routes of a follow's websocket, as HTML and as JSON.

The first follow loads what speaks the protocol (``enso.server.socket``); no page needs it.
"""

from __future__ import annotations

from flask import Flask, Response

from enso.server.follow import Dialect
from enso.server.services import Services


def register(app: Flask, services: Services) -> None:
    """Put both dialects' routes on the application."""

    def follow(thread_id: str, dialect: Dialect) -> Response:
        """Take a follow, which lasts until either side ends it."""
        from enso.server import socket  # noqa: PLC0415

        app.config["SOCK_SERVER_OPTIONS"] = socket.SOCK_SERVER_OPTIONS
        return socket.follow_view(services, dialect)(thread_id)

    @app.route("/threads/<path:thread_id>/follow", websocket=True)
    def follow_as_html(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The frames of a thread as fragments for htmx."""
        return follow(thread_id, "html")

    @app.route("/api/threads/<path:thread_id>/follow", websocket=True)
    def follow_as_json(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The same frames as JSON."""
        return follow(thread_id, "json")
