"""Who may speak to this server: its names, its pages, its token.

Apart from ``enso.server.security``, which puts them before the routes: the process that only
watches over the server looks at its settings by them, and loads no web framework.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from flask import Request

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
