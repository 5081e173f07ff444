"""``POST /api/agui``: one AG-UI run over the thread that the request names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response, request
from pydantic import ValidationError

from enso.server.bodies import first_fault
from enso.server.refusals import Refused
from enso.server.services import Services

if TYPE_CHECKING:
    from ag_ui.core import RunAgentInput

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def blueprint(services: Services) -> Blueprint:
    """The route over one server's parts."""
    agui = Blueprint("agui", __name__, url_prefix="/api")

    @agui.post("/agui")
    def run() -> Response:  # pyright: ignore[reportUnusedFunction]
        """A run as a stream of events, which goes on when its client leaves."""
        from enso.server.agui.run import open_run  # noqa: PLC0415 - only who speaks it loads it

        opened = open_run(services, _asked())
        answer = Response(opened.lines, mimetype="text/event-stream", headers=HEADERS)
        answer.call_on_close(opened.held.close)
        return answer

    return agui


def _asked() -> RunAgentInput:
    from ag_ui.core import RunAgentInput  # noqa: PLC0415

    if request.mimetype != "application/json":
        raise Refused(415, "unsupported-media-type", "Send this as application/json.")
    try:
        return RunAgentInput.model_validate_json(request.get_data() or b"{}")
    except ValidationError as invalid:
        raise Refused(400, "invalid-body", first_fault(invalid)) from None
