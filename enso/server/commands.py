"""POST from a page: prompt and abort. An htmx form gets 202, a plain one 303 to the thread.

A refusal is answered with its status and its sentence; the form keeps what was typed.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable

from flask import Blueprint, Response, request
from werkzeug.datastructures import FileStorage

from enso import thread_ids
from enso.host.contract import PromptImage
from enso.server.htmx import HtmxRequest
from enso.server.messages import SHOWN_IMAGE_TYPES
from enso.server.pages import html_answer, page_urls, rail_request
from enso.server.reading import ThreadReading
from enso.server.refusals import Refused
from enso.server.services import Services

MAX_MESSAGE_CHARACTERS = 1_000_000
MAX_IMAGES = 16
MAX_IMAGE_BYTES = 10 * 1024 * 1024


def checked_message(message: str, images: Iterable[PromptImage]) -> str:
    """A prompt's text with the line ends of the form made plain; raises ``Refused`` for none."""
    text = message.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip() and not list(images):
        raise Refused(400, "empty-prompt", "Write something first, or add an image.")
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise Refused(
            413,
            "prompt-too-long",
            f"That is {len(text):,} characters; one prompt takes at most "
            f"{MAX_MESSAGE_CHARACTERS:,}. Put the text into a file of the project instead.",
        )
    return text


def checked_images(images: list[PromptImage]) -> list[PromptImage]:
    """A prompt's images; raises ``Refused`` naming the kind, size or number that is too much."""
    if len(images) > MAX_IMAGES:
        raise Refused(413, "too-many-images", f"One prompt takes at most {MAX_IMAGES} images.")
    for image in images:
        if image.mime_type not in SHOWN_IMAGE_TYPES:
            raise Refused(
                400,
                "image-kind",
                f"An image of the kind “{image.mime_type[:80]}” cannot be sent: "
                "use PNG, JPEG, GIF or WebP.",
            )
        if len(image.data) > MAX_IMAGE_BYTES * 4 // 3 + 4:
            raise Refused(413, "image-too-large", "An image may have at most 10 MB.")
    return images


def _uploaded(files: Iterable[FileStorage]) -> list[PromptImage]:
    # A form without a chosen file sends one empty part.
    return [
        PromptImage(file.mimetype, base64.b64encode(file.read()).decode("ascii"))
        for file in files
        if file.filename or file.content_length
    ]


def start_prompt(
    services: Services,
    thread_id: str,
    *,
    message: str,
    images: list[PromptImage],
    prompt_id: str | None,
    project_id: str | None,
) -> int:
    """Start a run on a thread, from a form or from JSON; returns its generation."""
    if not thread_ids.is_thread_id(thread_id):
        raise Refused(400, "malformed-id", thread_ids.refused_id_sentence(thread_id))
    return services.registry.prompt(
        thread_id,
        message=checked_message(message, images),
        images=checked_images(images),
        prompt_id=prompt_id,
        new_session_directory=services.new_session_directory(project_id),
    )


def blueprint(services: Services) -> Blueprint:
    """The routes of this module over one server's parts."""
    commands = Blueprint("commands", __name__)

    def done(thread_id: str) -> Response:
        target = page_urls().thread(thread_id)
        if not HtmxRequest(request.headers).is_htmx:
            return Response(status=303, headers={"Location": target})
        # The address bar names the thread from its first prompt on.
        return Response(status=202, headers={"HX-Push-Url": target})

    def prompt_from_form(thread_id: str) -> Response:
        form = request.form
        start_prompt(
            services,
            thread_id,
            message=form.get("message", ""),
            images=_uploaded(request.files.getlist("images")),
            prompt_id=form.get("promptId", "")[:200] or None,
            project_id=form.get("projectId", "") or None,
        )
        return done(thread_id)

    def refused_form(thread_id: str, refused: Refused) -> Response:
        """A plain form's refusal: the thread's page, with what was typed still in it."""
        reading = services.reader.read(thread_id)
        if not isinstance(reading, ThreadReading):
            reading = services.reader.fresh(thread_id)
        urls = page_urls()
        pane = services.presenter.pane(
            urls,
            reading,
            draft=request.form.get("message", ""),
            error=refused.sentence,
            project_id=request.form.get("projectId", ""),
        )
        rail = services.presenter.rail(urls, rail_request(thread_id))
        page = services.renderer.page(services.presenter.page(rail, pane))
        return html_answer(page, refused.status)

    @commands.post("/threads/<thread_id>/prompt")
    def prompt(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        try:
            return prompt_from_form(thread_id)
        except Refused as refused:
            if HtmxRequest(request.headers).is_htmx or not thread_ids.is_thread_id(thread_id):
                raise
            return refused_form(thread_id, refused)

    @commands.post("/threads/<thread_id>/abort")
    def abort(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        services.registry.abort(thread_id)
        return done(thread_id)

    return commands
