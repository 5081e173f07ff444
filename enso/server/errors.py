"""What went wrong, said once: as JSON under ``/api``, as a page, or as a line for the rail.

Every refusal and every HTTP error of the framework passes here; a fault of ours is logged with its
traceback and said as one sentence, without its insides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from enso import wire
from enso.host.contract import HostError
from enso.server.htmx import VARY, HtmxRequest
from enso.server.refusals import Refused

log = logging.getLogger(__name__)

SENTENCES = {
    400: ("bad-request", "The request could not be understood."),
    404: ("not-found", "There is nothing at this address."),
    405: ("method-not-allowed", "This address does not take that method."),
    413: ("too-large", "That is more than this server takes at once (32 MB)."),
    415: ("unsupported-media-type", "Send this as application/json."),
    500: ("fault", "Enso made a mistake. Its log says more."),
}

ErrorPage = Callable[[int, str, bool], str]
"""Renders (status, sentence, whether a whole page is wanted)."""


def json_error(status: int, code: str, sentence: str) -> Response:
    """An error as the JSON interface says it."""
    body = wire.Error(error=wire.ErrorBody(code=code, message=sentence))
    return Response(body.model_dump_json(), status=status, mimetype="application/json")


def answer_errors(app: Flask, page: ErrorPage) -> None:
    """Answer every refusal and error of ``app`` in the form that the request asks for."""

    def answer(status: int, code: str, sentence: str) -> Response:
        """The refusal as JSON below ``/api``, else as a page or a line of one."""
        if request.path.startswith("/api/"):
            return json_error(status, code, sentence)
        whole = not HtmxRequest(request.headers).wants_fragment
        html = page(status, sentence, whole)
        return Response(html, status=status, mimetype="text/html", headers={"Vary": VARY})

    @app.errorhandler(Refused)
    def refused(error: Refused) -> Response:  # pyright: ignore[reportUnusedFunction]
        """What Enso refused."""
        return answer(error.status, error.code, error.sentence)

    @app.errorhandler(HostError)
    def host_refused(error: HostError) -> Response:  # pyright: ignore[reportUnusedFunction]
        """What the host refused."""
        return answer(error.status, error.code, str(error))

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> Response:  # pyright: ignore[reportUnusedFunction]
        """What Flask or werkzeug refused; a redirect goes out as it is."""
        status = error.code or 500
        if status < 400:
            return Response(error.get_response().response, status, error.get_headers())
        code, sentence = SENTENCES.get(status, ("error", error.description or error.name))
        response = answer(status, code, sentence)
        if status == 405:
            response.headers["Allow"] = dict(error.get_headers()).get("Allow", "")
        return response

    @app.errorhandler(Exception)
    def fault(error: Exception) -> Response:  # pyright: ignore[reportUnusedFunction]
        """A mistake of ours: said as one, and told in the log."""
        log.error("a request failed: %s %s", request.method, request.path, exc_info=error)
        return answer(500, *SENTENCES[500])
