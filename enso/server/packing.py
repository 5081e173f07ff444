"""Texts as websocket messages: packed once, whoever they go to.

A server's frames carry no mask (RFC 6455, 5.1), so the bytes of a message are the same for all who
take compression, and the same for all who do not. They are made once for each text, not for each
connection, and a connection needs no compressor of its own. Every compressed message stands alone:
it looks back at none before it, which any receiver understands (RFC 7692, 7.2.1).
"""

from __future__ import annotations

import re
import struct
import zlib
from functools import lru_cache
from typing import Final

SMALL: Final = 64
"""Characters below which a text does not get smaller."""

SHARED: Final = 16_384
"""Characters up to which a packed text is kept for the next connection that gets it."""

KEPT: Final = 256
"""How many packed texts are kept: some seconds of what streams."""

_TEXT: Final = 0x81
_COMPRESSED: Final = 0x40
_WINDOW: Final = 15
_PLAIN_OFFER: Final = re.compile(
    r"permessage-deflate(?: *; *(?:client_max_window_bits(?:=(?:9|1[0-5]))?"
    r"|server_max_window_bits(?:=15)?|client_no_context_takeover|server_no_context_takeover))*"
)


def takes_compressed(offer: str) -> bool:
    """Whether who offers this (``Sec-WebSocket-Extensions``) was granted compression as used here.

    Anything unusual (two offers, a smaller window) is a no: plain messages are always understood.
    """
    return _PLAIN_OFFER.fullmatch(offer.strip()) is not None


def packed(text: str, *, compressed: bool) -> bytes:
    """The text as one websocket message; the same bytes again for a text that was just packed."""
    if len(text) > SHARED:
        return _packed(text, compressed)  # a snapshot: it goes to one connection alone
    return packed_once(text, compressed)


def _packed(text: str, compressed: bool) -> bytes:
    data = text.encode()
    if not compressed or len(text) < SMALL:
        return _header(_TEXT, len(data)) + data
    compressor = zlib.compressobj(wbits=-_WINDOW)
    pieces = compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)
    data = pieces[:-4]  # the mark that every flush ends in is left out (RFC 7692, 7.2.1)
    return _header(_TEXT | _COMPRESSED, len(data)) + data


packed_once = lru_cache(maxsize=KEPT)(_packed)


def _header(first: int, length: int) -> bytes:
    if length < 126:
        return struct.pack("!BB", first, length)
    if length < 1 << 16:
        return struct.pack("!BBH", first, 126, length)
    return struct.pack("!BBQ", first, 127, length)
