"""Pages and fragments, compressed to who takes that.

The length of a compressed page tells of what stands beside each other in it. It can be learned from
by who sees the lengths of encrypted answers and can make a browser ask again and again with words
of their choice (BREACH). Here no page holds a token or another secret of Enso's own; a request that
another site's page made is answered uncompressed (``Sec-Fetch-Site``, which every browser sends to
an encrypted server), and away from loopback it carries no cookie and is refused; and each answer is
longer by a random number of bytes, so that one length tells little. The follow is not compressed,
nor is JSON, nor what is streamed.
"""

from __future__ import annotations

import gzip
import io
import secrets

from flask import Flask, Response, request

LEAST_BYTES = 1000
"""Below it there is nothing to gain: it fits a packet as it is."""
MOST_RANDOM_BYTES = 100
_OF_OURS = frozenset({"same-origin", "none"})


def compress_pages(app: Flask) -> None:
    """Send HTML compressed where that is safe."""

    @app.after_request
    def compress(response: Response) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Pack a page that is worth it, for who takes it so."""
        if response.mimetype != "text/html" or response.is_streamed:
            return response
        if response.cache_control.private:  # an image, whose bytes are packed already
            return response
        response.vary.add("Accept-Encoding")
        if _may_be_compressed():
            data = response.get_data()
            if len(data) >= LEAST_BYTES:
                response.set_data(compressed(data))
                response.headers["Content-Encoding"] = "gzip"
        return response


def _may_be_compressed() -> bool:
    asked_by = request.headers.get("Sec-Fetch-Site", "none")
    return "gzip" in request.accept_encodings and asked_by in _OF_OURS


def compressed(data: bytes) -> bytes:
    """``data`` in gzip, its header longer by up to 100 bytes: a file's name that nobody reads."""
    written = io.BytesIO()
    name = "e" * secrets.randbelow(MOST_RANDOM_BYTES + 1)
    with gzip.GzipFile(filename=name, mode="wb", compresslevel=6, fileobj=written, mtime=0) as file:
        file.write(data)
    return written.getvalue()
