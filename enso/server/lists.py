"""GET: what waits for a person in all threads, and the completions of the composer."""

from __future__ import annotations

from flask import Blueprint, Response, request

from enso.server.htmx import HtmxRequest
from enso.server.looks import dom_token
from enso.server.pages import html_answer, page_urls, rail_request
from enso.server.prompts import checked_id
from enso.server.services import Services
from enso.server.shapes import mended
from enso.server.views import CommandsView, FilesView
from enso.server.waiting import command_shape

MAX_COMPLETIONS = 30


def blueprint(services: Services) -> Blueprint:
    """The routes of this module over one server's parts."""
    lists = Blueprint("lists", __name__)

    @lists.get("/waiting")
    def waiting() -> Response:  # pyright: ignore[reportUnusedFunction]
        """Every question that waits for a person, over all threads."""
        urls = page_urls()
        rail = services.presenter.rail(urls, rail_request(""))
        view = services.presenter.waiting(urls, services.waiting(), rail)
        whole = not HtmxRequest(request.headers).wants_fragment
        return html_answer(services.renderer.waiting(view, page=whole))

    @lists.get("/threads/<thread_id>/commands")
    def commands(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The slash commands that complete what is being typed."""
        query = request.args.get("q", "")[:200].removeprefix("/").casefold()
        fitting = [
            command_shape(command)
            for command in services.commands(checked_id(thread_id))
            if query in command.name.casefold()
        ]
        # What begins with what was typed comes first.
        fitting.sort(key=lambda command: not command.name.casefold().startswith(query))
        view = CommandsView(
            key=dom_token(thread_id), query=query, commands=fitting[:MAX_COMPLETIONS]
        )
        return html_answer(services.renderer.commands(view))

    @lists.get("/threads/<thread_id>/files")
    def files(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The files that complete what is being typed."""
        query = request.args.get("q", "")[:200].removeprefix("@")
        directory = services.directory(checked_id(thread_id), request.args.get("projectId"))
        found = services.host.files(directory, query, MAX_COMPLETIONS + 1)
        view = FilesView(
            key=dom_token(thread_id),
            query=query,
            paths=[mended(path) for path in found[:MAX_COMPLETIONS]],
            more=len(found) > MAX_COMPLETIONS,
        )
        return html_answer(services.renderer.files(view))

    return lists
