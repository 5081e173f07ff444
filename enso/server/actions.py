"""What a person does to a thread besides prompting it, each once, for pages and for JSON alike.

Every action is a POST below the thread's address. A page's form gets 202 with htmx and 303 without;
a program gets 202 with ``wire.Done``. A refusal is the same sentence for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flask import Blueprint, Response, request

from enso import thread_ids, wire
from enso.host.contract import DialogAnswer, HostedThread, PromptImage
from enso.server.bodies import form_body, json_body
from enso.server.htmx import HtmxRequest
from enso.server.pages import page_urls
from enso.server.prompt_images import checked_images, uploaded
from enso.server.prompts import checked_id, checked_message
from enso.server.refusals import Refused
from enso.server.registry import no_directory
from enso.server.services import Services
from enso.server.shapes import draft_of
from enso.server.tree_pages import drafted, gone_to, labelled, stopped
from enso.transcript import Part

Act = Callable[[Services, str, Any], wire.Done]
FormAnswer = Callable[[Services, str, wire.Done], Response | None]
"""What a page's form is answered with instead of the usual; ``None`` when it is the usual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action: its path below the thread, what it takes, what it does, and how it refuses."""

    path: str
    summary: str
    act: Act
    body: type[wire.Shape] | None = None
    leads_to: Literal["thread", "new thread", "fresh page"] = "thread"
    refusals: tuple[tuple[int, str], ...] = ()
    form_answer: FormAnswer | None = None


def _abort(services: Services, thread_id: str, _body: None) -> wire.Done:
    waited = services.registry.abort(thread_id)
    words = "\n\n".join(one.message for one in waited)
    return wire.Done(draft=wire.Draft(message=words)) if words else wire.Done()


def _mode(services: Services, thread_id: str, body: wire.ModeRequest) -> wire.Done:
    services.registry.act(
        thread_id,
        lambda hosted: hosted.runtime.set_mode(body.mode),
        new_session_directory=services.new_session_directory(body.project_id),
    )
    return wire.Done()


def _model(services: Services, thread_id: str, body: wire.ModelRequest) -> wire.Done:
    services.registry.act(
        thread_id,
        lambda hosted: hosted.runtime.set_model(body.provider, body.model, body.thinking_level),
        new_session_directory=services.new_session_directory(body.project_id),
    )
    return wire.Done()


def _queue(services: Services, thread_id: str, body: wire.QueueRequest) -> wire.Done:
    given = [PromptImage(image.mime_type, image.data) for image in body.images]
    # A page's form carries its images as files, a program as fields.
    files, names = uploaded(request.files.getlist("images"))
    images = checked_images([*files, *given], names)
    message = checked_message(body.message, images)
    queued = services.registry.act_live(
        thread_id, lambda hosted: hosted.runtime.queue(message, images, when=body.when)
    )
    return wire.Done(id=queued)


def _name(services: Services, thread_id: str, body: wire.NameRequest) -> wire.Done:
    services.registry.act(
        thread_id,
        lambda hosted: hosted.runtime.rename(body.name),
        new_session_directory=services.new_session_directory(body.project_id),
        anew=True,
    )
    return wire.Done()


def _label(services: Services, thread_id: str, body: wire.LabelRequest) -> wire.Done:
    services.registry.act(
        thread_id,
        lambda hosted: hosted.runtime.label(body.entry_id, body.label),
        new_session_directory=no_directory,
    )
    return wire.Done(id=body.entry_id)


def _tree(services: Services, thread_id: str, body: wire.EntryRequest) -> wire.Done:
    def go(hosted: HostedThread) -> Sequence[Part] | None:
        said = hosted.said(body.entry_id) if body.entry_id is not None else None
        hosted.runtime.go_to(body.entry_id)
        return said

    said = services.registry.act(thread_id, go, new_session_directory=no_directory, anew=True)
    return wire.Done(id=body.entry_id, draft=draft_of(said) if said is not None else None)


def _compact(services: Services, thread_id: str, body: wire.CompactRequest) -> wire.Done:
    services.registry.compact(thread_id, body.instructions)
    return wire.Done()


def _retry(services: Services, thread_id: str, _body: None) -> wire.Done:
    if not services.registry.act_live(thread_id, lambda hosted: hosted.runtime.retry_now()):
        raise Refused(409, "not-waiting", "This thread is not waiting to try again.")
    return wire.Done()


def _fork(services: Services, thread_id: str, body: wire.EntryRequest) -> wire.Done:
    new_id = thread_ids.new_thread_id()
    return wire.Done(id=services.host.fork(thread_id, body.entry_id, new_id))


def _delete(services: Services, thread_id: str, _body: None) -> wire.Done:
    services.registry.without(thread_id, lambda: services.host.delete(thread_id))
    return wire.Done(id=thread_id)


def _restore(services: Services, thread_id: str, _body: None) -> wire.Done:
    if not services.host.restore(thread_id):
        raise Refused(404, "not-in-trash", "This thread is not in the trash.")
    return wire.Done(id=thread_id)


NOT_NOW = (409, "Not now, and why.")
NOT_STORED = (404, "No such thread is stored.")

ACTIONS = (
    Action(
        path="abort",
        summary="Stop the run in flight; what was queued in it comes back as a draft.",
        act=_abort,
        form_answer=stopped,
        refusals=(NOT_NOW,),
    ),
    Action(
        path="mode",
        summary="Go into a permission mode.",
        act=_mode,
        body=wire.ModeRequest,
        refusals=(NOT_NOW,),
    ),
    Action(
        path="model",
        summary="Choose the model and thinking level of the next prompt.",
        act=_model,
        body=wire.ModelRequest,
        refusals=(NOT_NOW,),
    ),
    Action(
        path="queue",
        summary="Have a prompt delivered to the run in flight.",
        act=_queue,
        body=wire.QueueRequest,
        refusals=(NOT_NOW, (413, "Too large.")),
    ),
    Action(
        path="name",
        summary="Name the thread.",
        act=_name,
        body=wire.NameRequest,
        refusals=(NOT_NOW,),
    ),
    Action(
        path="label",
        summary="Label an entry.",
        act=_label,
        body=wire.LabelRequest,
        form_answer=labelled,
        refusals=(NOT_STORED, NOT_NOW),
    ),
    Action(
        path="tree",
        summary="Go on from another entry.",
        act=_tree,
        body=wire.EntryRequest,
        form_answer=gone_to,
        refusals=(NOT_STORED, NOT_NOW),
    ),
    Action(
        path="compact",
        summary="Sum the conversation up.",
        act=_compact,
        body=wire.CompactRequest,
        refusals=(NOT_STORED, NOT_NOW),
    ),
    Action(path="retry", summary="Try again at once.", act=_retry, refusals=(NOT_NOW,)),
    Action(
        path="fork",
        summary="Begin a new thread from this one's branch.",
        act=_fork,
        body=wire.EntryRequest,
        leads_to="new thread",
        refusals=(NOT_STORED, NOT_NOW),
    ),
    Action(
        path="delete",
        summary="Put the thread into the trash.",
        act=_delete,
        leads_to="fresh page",
        refusals=(NOT_STORED, NOT_NOW),
    ),
    Action(
        path="restore",
        summary="Take the thread back from the trash.",
        act=_restore,
        refusals=(NOT_STORED, NOT_NOW),
    ),
)


def answer_dialog(
    services: Services, thread_id: str, dialog_id: str, body: wire.DialogAnswer
) -> wire.Done:
    """Give a dialog its answer; raises ``Refused`` 409 when it has one already."""
    answer = DialogAnswer(value=body.value, cancelled=body.cancelled, reason=body.reason or "")
    if answer.value is None and not answer.cancelled:
        raise Refused(400, "no-answer", "Give a value, or say that it is cancelled.")
    taken = services.registry.act_live(
        thread_id, lambda hosted: hosted.runtime.answer(dialog_id, answer)
    )
    if not taken:
        raise Refused(409, "answered", "This question has been answered already, or is gone.")
    return wire.Done(id=dialog_id)


def take_back(services: Services, thread_id: str, item_id: str) -> wire.QueuedPrompt:
    """Take a queued prompt out; raises ``Refused`` 409 when it was delivered."""
    item = services.registry.act_live(thread_id, lambda hosted: hosted.runtime.take_back(item_id))
    if item is None:
        raise Refused(409, "delivered", "This message was delivered already, or is gone.")
    return wire.QueuedPrompt(id=item.id, message=item.message, when=item.when)


def done_at(target: str, *, elsewhere: bool = False) -> Response:
    """The answer to a page's form: 303 to ``target``; with htmx 202, which stays where it is.

    ``elsewhere``: also with htmx the browser goes to ``target``.
    """
    if not HtmxRequest(request.headers).is_htmx:
        return Response(status=303, headers={"Location": target})
    return Response(status=202, headers={"HX-Redirect": target} if elsewhere else {})


def page_blueprint(services: Services) -> Blueprint:
    """The actions as forms of pages."""
    forms = Blueprint("actions", __name__)

    def add(action: Action) -> None:
        def view(thread_id: str) -> Response:
            body = form_body(action.body) if action.body else None
            done = action.act(services, checked_id(thread_id), body)
            own = action.form_answer(services, thread_id, done) if action.form_answer else None
            if own is not None:
                return own
            if action.leads_to == "fresh page":
                return done_at(page_urls().fresh(deleted=thread_id), elsewhere=True)
            leads_on = action.leads_to == "new thread" and done.id
            target = page_urls().thread(done.id if leads_on and done.id else thread_id)
            return done_at(target, elsewhere=bool(leads_on))

        path = f"/threads/<thread_id>/{action.path}"
        forms.add_url_rule(path, endpoint=action.path, view_func=view, methods=["POST"])

    for action in ACTIONS:
        add(action)

    @forms.post("/threads/<thread_id>/dialogs/<dialog_id>")
    def dialog(thread_id: str, dialog_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Answer a question; a plain form comes back to its thread."""
        body = form_body(wire.DialogAnswer)
        answer_dialog(services, checked_id(thread_id), dialog_id, body)
        return done_at(page_urls().thread(thread_id))

    @forms.post("/threads/<thread_id>/queue/<item_id>/take-back")
    def take(thread_id: str, item_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Take back what was queued; a plain form gets its words again."""
        item = take_back(services, checked_id(thread_id), item_id)
        if HtmxRequest(request.headers).is_htmx:
            return done_at(page_urls().thread(thread_id))
        return drafted(services, thread_id, wire.Draft(message=item.message), taken_back=item_id)

    return forms


def json_blueprint(services: Services) -> Blueprint:
    """The actions as JSON."""
    api = Blueprint("api-actions", __name__, url_prefix="/api")

    def answer(body: wire.Shape) -> Response:
        return Response(body.model_dump_json(), status=202, mimetype="application/json")

    def add(action: Action) -> None:
        def view(thread_id: str) -> Response:
            body = json_body(action.body) if action.body else None
            return answer(action.act(services, checked_id(thread_id), body))

        path = f"/threads/<thread_id>/{action.path}"
        api.add_url_rule(path, endpoint=action.path, view_func=view, methods=["POST"])

    for action in ACTIONS:
        add(action)

    @api.post("/threads/<thread_id>/dialogs/<dialog_id>")
    def dialog(thread_id: str, dialog_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Answer a question."""
        body = json_body(wire.DialogAnswer)
        return answer(answer_dialog(services, checked_id(thread_id), dialog_id, body))

    @api.post("/threads/<thread_id>/queue/<item_id>/take-back")
    def take(thread_id: str, item_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Take back what was queued."""
        return answer(take_back(services, checked_id(thread_id), item_id))

    return api
