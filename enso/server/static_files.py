"""Static files by content: a URL changes when its file does, so that browsers keep it for ever.

They are sent compressed to who takes that. Pages are not: what they hold beside a stranger's text
must not show in their length.
"""

from __future__ import annotations

import gzip
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
    """Let caches keep a static file that was asked for by its version; compress it, once."""
    compressed: dict[str, bytes] = {}

    @app.after_request
    def cache(response: Response) -> Response:  # pyright: ignore[reportUnusedFunction]
        versioned = VERSION in request.args and request.endpoint == "static"
        if versioned and response.status_code in {200, 304}:
            response.headers["Cache-Control"] = FOR_EVER
        if versioned and response.status_code == 200 and request.method == "GET":
            _compress(response, compressed)
        return response


def _compress(response: Response, compressed: dict[str, bytes]) -> None:
    """Send a text compressed to who takes that, as ``compressed`` holds it by its content."""
    response.vary.add("Accept-Encoding")
    if "gzip" not in request.accept_encodings or not (response.mimetype or "").startswith("text/"):
        return
    response.direct_passthrough = False
    data = response.get_data()
    digest = hashlib.sha256(data).hexdigest()
    if digest not in compressed:
        compressed[digest] = gzip.compress(data, mtime=0)
    response.set_data(compressed[digest])
    response.headers["Content-Encoding"] = "gzip"
    response.headers.pop("ETag", None)
