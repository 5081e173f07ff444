"""Static files by content: a URL changes when its file does, so that browsers keep it for ever.

The scripts of a page go as one file, joined here as they stand: one request, in their order. Texts
are sent compressed to who takes that; of pages see ``enso.server.compression``.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from flask import Flask, Response, request

VERSION = "v"
FOR_EVER = "public, max-age=31536000, immutable"
JOINED = "scripts.js"
SCRIPTS = (
    "vendor/htmx.min.js", "vendor/hx-ws.min.js", "enso.js", "pages.js", "agent.js",
    "images.js",
    "rail.js",
)  # fmt: skip
"""What ``JOINED`` is made of. A file that is missing is left out: pages work without scripts."""
BEFORE = b"(() => {\nlet began = false;\nconst begin = () => {\nif (began) return;\nbegan = true;\n"
AFTER = b"""if (typeof htmx !== "undefined") window.htmx = htmx;
};
if (document.hidden) return begin();
requestAnimationFrame(() => setTimeout(begin));
setTimeout(begin, 2000);
})();
"""
"""What stands around them: they begin once the page is painted, at once in a tab that is not seen.

What is there is to be seen before a script works on it.
"""


def joined_scripts(directory: Path) -> bytes:
    """The scripts of a page as one, begun once it is painted.

    Each stands on lines of its own and ends its last statement.
    """
    files = [directory / name for name in SCRIPTS]
    joined = b"".join(file.read_bytes() + b"\n;\n" for file in files if file.is_file())
    return BEFORE + joined + AFTER


def static_urls(directory: Path) -> Callable[[str], str]:
    """A function from a file's name under ``directory`` to its URL with its content's version."""
    known: dict[str, tuple[tuple[tuple[int, int], ...], str]] = {}

    def url(name: str) -> str:
        """The address of a file, with the version of its content."""
        files = SCRIPTS if name == JOINED else (name,)
        seen = [status for one in files if (status := _status(directory / one))]
        if not seen:
            return f"/static/{name}"
        stamp = tuple((one.st_mtime_ns, one.st_size) for one in seen)
        if name not in known or known[name][0] != stamp:
            data = joined_scripts(directory) if name == JOINED else (directory / name).read_bytes()
            known[name] = (stamp, hashlib.sha256(data).hexdigest()[:12])
        return f"/static/{name}?{VERSION}={known[name][1]}"

    return url


def _status(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except OSError:
        return None


def keep_versions(app: Flask, directory: Path) -> None:
    """Let caches keep a static file that was asked for by its version; compress it, once.

    Serves the joined scripts of ``directory`` beside its files.
    """
    compressed: dict[str, bytes] = {}

    @app.get(f"/static/{JOINED}")
    def scripts() -> Response:  # pyright: ignore[reportUnusedFunction]
        """All scripts as one file."""
        return Response(joined_scripts(directory), mimetype="text/javascript")

    @app.after_request
    def cache(response: Response) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Let what is asked for by its version be kept for ever."""
        versioned = VERSION in request.args and request.endpoint in {"static", "scripts"}
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
