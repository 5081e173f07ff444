"""The doors: who may speak to this server, and what a browser may do with its pages.

An agent that runs commands stands behind these routes. So a request must name a host of ours (a
rebound DNS name does not), a request that changes something must come from a page of ours (another
site's does not), and away from loopback it must carry the operator's token. Pages run no script and
no style but the files of ``static/``.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from flask import Flask, Request, Response, abort, request

from enso.server.refusals import Refused

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
ADMISSION_COOKIE = "enso-token"


def is_loopback(host: str) -> bool:
    """Whether a listening address is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_name(value: str) -> str:
    """The name in a Host header, without its port and brackets; empty when it is malformed."""
    try:
        return (urlsplit(f"//{value}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Doors:
    """The rules of one server. ``token`` is required exactly when ``host`` is not loopback."""

    host: str
    token: str | None = None
    names: frozenset[str] = field(default=LOOPBACK_NAMES)

    @classmethod
    def of(cls, *, host: str, token: str | None) -> Doors:
        """The doors of a server on ``host``; raises ``ValueError`` when a token is missing."""
        if is_loopback(host):
            return cls(host, token, LOOPBACK_NAMES | {host.lower()})
        if not token:
            raise ValueError(
                f"{host} can be reached from other machines, so ENSO_TOKEN must be set: "
                "a long random word that a browser is asked for once."
            )
        return cls(host, token, LOOPBACK_NAMES | {host.lower(), socket.gethostname().lower()})

    def knows_host(self, header: str) -> bool:
        """Whether a Host header names this server. A bare address cannot be rebound."""
        name = _host_name(header)
        if name in self.names:
            return True
        return not is_loopback(self.host) and _is_address(name)

    def origin_is_ours(self, incoming: Request) -> bool:
        """Whether a request comes from a page of this server, or from no browser at all."""
        origin = incoming.headers.get("Origin")
        if origin is None:
            return incoming.headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}
        return origin == f"{incoming.scheme}://{incoming.host}"

    def is_admitted(self, incoming: Request) -> bool:
        """Whether a request carries the token, where one is set."""
        if self.token is None:
            return True
        bearer = incoming.headers.get("Authorization", "").removeprefix("Bearer ")
        given = bearer or incoming.cookies.get(ADMISSION_COOKIE, "")
        return hmac.compare_digest(given.encode(), self.token.encode())


def guard(app: Flask, doors: Doors) -> None:
    """Put the doors before every route of ``app``, and the headers on every answer."""

    @app.before_request
    def check() -> Response | None:  # pyright: ignore[reportUnusedFunction]
        return _check(doors)

    @app.after_request
    def add_headers(response: Response) -> Response:  # pyright: ignore[reportUnusedFunction]
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
    answer = Response(status=303, headers={"Location": "/"})
    answer.set_cookie(
        ADMISSION_COOKIE,
        given,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure,
        path="/",
    )
    return answer


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
