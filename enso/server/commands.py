"""POST of a prompt from a page: an htmx form gets 202, a plain one 303 to the thread.

Also the word that somebody types one, so that what it needs is loaded when it comes.

A refusal is answered with its status and its sentence; the form keeps what was typed.
"""

from __future__ import annotations

from flask import Blueprint, Response, request

from enso import thread_ids
from enso.server.htmx import HtmxRequest
from enso.server.pages import page_urls, whole_page
from enso.server.prompt_images import uploaded
from enso.server.prompts import start_prompt
from enso.server.reading import ThreadReading
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.slash import SlashDone

CHOOSE_AGAIN = " Then choose the images again: a plain form does not keep them."


def _answered(thread_id: str, done: SlashDone) -> Response:
    target = page_urls().thread(done.new_thread_id or thread_id)
    if done.shows:
        target = page_urls().below(thread_id, done.shows)
    if not HtmxRequest(request.headers).is_htmx:
        # Nothing can be said on a plain page, so what is offered comes at once.
        target = done.links[0].href if done.links else target
        return Response(status=303, headers={"Location": target})
    if done.leads_away:
        return Response(status=202, headers={"HX-Redirect": target})
    # The address bar names the thread from its first prompt on.
    return Response(status=202, headers={"HX-Push-Url": target})


def _prompt_from_form(services: Services, thread_id: str) -> Response:
    """Start a run with what a form holds; raises ``Refused``."""
    form = request.form
    images, names = uploaded(request.files.getlist("images"))
    done = start_prompt(
        services,
        thread_id,
        message=form.get("message", ""),
        images=images,
        image_names=names,
        prompt_id=form.get("promptId", "")[:200] or None,
        project_id=form.get("projectId", "") or None,
    )
    return _answered(thread_id, done)


def blueprint(services: Services) -> Blueprint:
    """The routes of this module over one server's parts."""
    commands = Blueprint("commands", __name__)

    def refused_form(thread_id: str, refused: Refused) -> Response:
        """A plain form's refusal: the thread's page, with what was typed still in it."""
        reading = services.reader.page(thread_id, light=True)
        if not isinstance(reading, ThreadReading):
            reading = services.reader.fresh(thread_id)
        urls = page_urls()
        pane = services.presenter.pane(
            urls,
            reading,
            draft=request.form.get("message", ""),
            error=refused.sentence + (CHOOSE_AGAIN if any(request.files.values()) else ""),
            project_id=request.form.get("projectId", ""),
        )
        return whole_page(services, urls, pane, status=refused.status)

    @commands.post("/threads/<thread_id>/prompt")
    def prompt(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Start a run; a refused plain form comes back with what was typed."""
        try:
            return _prompt_from_form(services, thread_id)
        except Refused as refused:
            if HtmxRequest(request.headers).is_htmx or not thread_ids.is_thread_id(thread_id):
                raise
            return refused_form(thread_id, refused)

    @commands.post("/prepare")
    def prepare() -> Response:  # pyright: ignore[reportUnusedFunction]
        """Somebody begins to type: load what a prompt needs."""
        services.host.prepare()
        return Response(status=204)

    return commands
