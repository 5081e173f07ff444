"""Static files by content: a URL changes when its file does, so that browsers keep it for ever."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from flask import Flask, Response, request

VERSION = "v"
FOR_EVER = "public, max-age=31536000, immutable"


def static_urls(directory: Path) -> Callable[[str], str]:
    """A function from a file's name under ``directory`` to its URL with its content's version."""
    known: dict[str, tuple[tuple[int, int], str]] = {}

    def url(name: str) -> str:
        try:
            seen = (directory / name).stat()
        except OSError:
            return f"/static/{name}"
        stamp = (seen.st_mtime_ns, seen.st_size)
        if name not in known or known[name][0] != stamp:
            digest = hashlib.sha256((directory / name).read_bytes()).hexdigest()[:12]
            known[name] = (stamp, digest)
        return f"/static/{name}?{VERSION}={known[name][1]}"

    return url


def keep_versions(app: Flask) -> None:
    """Let caches keep a static file that was asked for by its version."""

    @app.after_request
    def cache(response: Response) -> Response:  # pyright: ignore[reportUnusedFunction]
        versioned = VERSION in request.args and request.endpoint == "static"
        if versioned and response.status_code in {200, 304}:
            response.headers["Cache-Control"] = FOR_EVER
        return response
