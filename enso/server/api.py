"""The same readings and commands as JSON, in the closed shapes of ``enso.wire``.

Every route is listed in ``enso.server.openapi``, from which ``GET /api/openapi.json`` is made; a
test compares the two, so that the description cannot leave one out.
"""

from __future__ import annotations

import base64
import binascii

from flask import Blueprint, Response, request
from pydantic import BaseModel

from enso import thread_ids, wire
from enso.host.contract import PromptImage
from enso.server.bodies import json_body
from enso.server.models import model_choices
from enso.server.pages import MAX_QUERY
from enso.server.prompts import checked_id, start_prompt
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.shapes import iso_seconds
from enso.server.slots import Slot
from enso.server.tree_pages import read_window
from enso.server.waiting import command_shape


def json_answer(body: BaseModel, status: int = 200) -> Response:
    """A wire shape as an answer."""
    return Response(body.model_dump_json(), status=status, mimetype="application/json")


def _summary(services: Services, slot: Slot) -> wire.ThreadSummary | None:
    live = slot.live
    if live is None:
        return None
    cwd, session_file = live.state.cwd, live.hosted.session_file
    project = services.projects.of(cwd)
    return wire.ThreadSummary(
        thread_id=slot.thread_id,
        project_id=project.id if project is not None else str(cwd),
        busy=live.busy,
        generation=live.generation,
        last_activity_at=iso_seconds(live.last_activity),
        session_file=str(session_file) if session_file else None,
    )


def _image(image: wire.PromptImage) -> PromptImage:
    try:
        base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        raise Refused(400, "invalid-image", "An image's data must be base64.") from None
    return PromptImage(image.mime_type, image.data)


def blueprint(services: Services) -> Blueprint:
    """The routes of this module over one server's parts."""
    api = Blueprint("api", __name__, url_prefix="/api")
    _add_listings(api, services)
    _add_readings(api, services)
    _add_trees(api, services)
    _add_commands(api, services)
    return api


def _add_listings(api: Blueprint, services: Services) -> None:
    @api.get("/openapi.json")
    def openapi() -> Response:  # pyright: ignore[reportUnusedFunction]
        """The description of these routes."""
        from enso.server.openapi import openapi_document  # noqa: PLC0415

        return Response(openapi_document(), mimetype="application/json")

    @api.get("/stored-threads")
    def stored_threads() -> Response:  # pyright: ignore[reportUnusedFunction]
        """The stored threads; 400 for a query that is too long."""
        query = request.args.get("q", "")
        if len(query) > MAX_QUERY:
            raise Refused(400, "query-too-long", f"A query has at most {MAX_QUERY} characters.")
        rows = [services.rail.row(thread) for thread in services.rail.threads(query)]
        return json_answer(wire.StoredThreads(threads=rows))

    @api.get("/models")
    def models() -> Response:  # pyright: ignore[reportUnusedFunction]
        """The models that a prompt could go to."""
        return json_answer(wire.Models(models=model_choices(services.host)))

    @api.get("/waiting")
    def waiting() -> Response:  # pyright: ignore[reportUnusedFunction]
        """Every open question."""
        return json_answer(wire.Waiting(dialogs=services.waiting()))

    @api.get("/threads")
    def threads() -> Response:  # pyright: ignore[reportUnusedFunction]
        """The live threads."""
        summaries: list[wire.ThreadSummary] = []
        for thread_id in services.registry.live_ids():
            with services.registry.at(thread_id) as slot:
                summary = _summary(services, slot)
            if summary is not None:
                summaries.append(summary)
        return json_answer(wire.Threads(threads=summaries))


def _add_readings(api: Blueprint, services: Services) -> None:
    @api.get("/threads/<thread_id>")
    def thread(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """A live thread in full; 404 for any other."""
        if not thread_ids.is_thread_id(thread_id):
            raise Refused(404, "malformed-id", thread_ids.refused_id_sentence(thread_id))
        with services.registry.at(thread_id) as slot:
            if slot.live is None:
                raise Refused(404, "not-live", "This thread is not live on this server.")
            from enso.server.inspection import inspection  # noqa: PLC0415

            return json_answer(inspection(thread_id, slot.live))

    @api.get("/threads/<thread_id>/commands")
    def commands(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The slash commands of a thread."""
        found = services.commands(checked_id(thread_id))
        return json_answer(wire.Commands(commands=[command_shape(command) for command in found]))

    @api.get("/threads/<thread_id>/context")
    def context(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """What the model was shown at each request, in sizes."""
        from enso.server.contexts import read_context  # noqa: PLC0415

        return json_answer(read_context(services, thread_id))

    @api.get("/threads/<thread_id>/context/<request_id>")
    def detail(thread_id: str, request_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """One request, element by element."""
        from enso.server.contexts import read_request  # noqa: PLC0415

        return json_answer(read_request(services, thread_id, request_id))

    @api.get("/threads/<thread_id>/entries/<path:entry_id>")
    def entry(thread_id: str, entry_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """One entry as it is stored."""
        from enso.server.contexts import read_entry  # noqa: PLC0415

        return json_answer(read_entry(services, thread_id, entry_id))

    @api.get("/threads/<thread_id>/history")
    def history(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """A thread's messages, live or not."""
        return json_answer(services.read(thread_id).history())

    @api.get("/threads/<thread_id>/stats")
    def stats(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """What a thread used."""
        return json_answer(services.stats(thread_id))


def _add_trees(api: Blueprint, services: Services) -> None:
    @api.get("/threads/<thread_id>/tree")
    def tree(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """A window of a thread's tree."""
        return json_answer(read_window(services, checked_id(thread_id)))


def _add_commands(api: Blueprint, services: Services) -> None:
    @api.post("/threads/<thread_id>/prompt")
    def prompt(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Start a run: 202 with its generation."""
        body = json_body(wire.PromptRequest)
        done = start_prompt(
            services,
            thread_id,
            message=body.message,
            images=[_image(image) for image in body.images],
            prompt_id=body.prompt_id or None,
            project_id=body.project_id or None,
        )
        accepted = wire.PromptAccepted(
            thread_id=done.new_thread_id or thread_id, generation=done.generation
        )
        return json_answer(accepted, 202)
