"""The doors: who may speak to this server, and what a browser may do with its pages.

An agent that runs commands stands behind these routes. So a request must name a host of ours (a
rebound DNS name does not), a request that changes something must come from a page of ours (another
site's does not), and away from loopback it must carry the operator's token. Pages run no script and
no style but the files of ``static/``.
"""

from __future__ import annotations

import hmac
import re
from urllib.parse import quote

from flask import Flask, Response, abort, request

from enso.server.doors import ADMISSION_COOKIE, Doors
from enso.server.refusals import Refused

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

_OWN_PAGE = re.compile(r"/(?!/)[!-\[\]-~]*")
"""A path of this server and no other's: browsers read ``//``, ``/\\`` and ``/<tab>/`` as a host."""


def guard(app: Flask, doors: Doors) -> None:
    """Put the doors before every route of ``app``, and the headers on every answer."""

    @app.before_request
    def check() -> Response | None:  # pyright: ignore[reportUnusedFunction]
        """Let in who may come in."""
        return _check(doors)

    @app.after_request
    def add_headers(response: Response) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Say what a browser may do with it."""
        return with_security_headers(response)


def _check(doors: Doors) -> Response | None:
    if not doors.knows_host(request.headers.get("Host", "")):
        raise Refused(
            421, "unknown-host", "This server does not answer to that name. Use its own address."
        )
    changes = request.method not in SAFE_METHODS
    is_socket = request.headers.get("Upgrade", "").lower() == "websocket"
    if (changes or is_socket) and not doors.origin_is_ours(request):
        raise Refused(
            403, "foreign-origin", "This request came from a page of another site, and was refused."
        )
    if request.path == "/token" and request.method == "POST":
        return _take_token(doors)
    if not request.path.startswith("/static/") and not doors.is_admitted(request):
        raise Refused(401, "token-needed", "Give the token that this server was started with.")
    return None


def _take_token(doors: Doors) -> Response:
    given = request.form.get("token", "")
    if doors.token is None:
        abort(404)
    if not hmac.compare_digest(given.encode(), doors.token.encode()):
        raise Refused(
            401, "token-wrong", "That is not the token that this server was started with."
        )
    answer = Response(status=303, headers={"Location": wanted_page()})
    answer.set_cookie(
        ADMISSION_COOKIE,
        given,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure,
        path="/",
    )
    return answer


def wanted_page() -> str:
    """The page to open once the token was given: the one that was asked for; else the first."""
    if request.path == "/token":
        page = request.form.get("to", "")
    else:
        query = request.query_string.decode("ascii", "replace")
        page = f"{quote(request.path)}?{query}" if query else quote(request.path)
    return page if _OWN_PAGE.fullmatch(page) else "/"


def with_security_headers(response: Response) -> Response:
    """Set what every answer carries; a page keeps nothing in caches that are not the browser's."""
    headers = response.headers
    headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Referrer-Policy", "same-origin")
    headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    headers.setdefault("Cache-Control", "no-store")
    return response
