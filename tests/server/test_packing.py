"""Texts as websocket messages: packed once for all, understood by every peer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import Message
from wsproto.extensions import PerMessageDeflate
from wsproto.handshake import server_extensions_handshake

from enso.server.packing import KEPT, SHARED, SMALL, packed, packed_once, takes_compressed

PARAMETERS = (
    "client_max_window_bits",
    "client_max_window_bits=8",
    "client_max_window_bits=12",
    "client_max_window_bits=99",
    "server_max_window_bits",
    "server_max_window_bits=10",
    "server_max_window_bits=15",
    "client_no_context_takeover",
    "server_no_context_takeover",
    "unheard_of=1",
)


def peer(*, compressed: bool) -> Connection:
    """The client's side of a connection that is open."""
    extension = PerMessageDeflate()
    if compressed:
        extension.finalize("permessage-deflate")
    return Connection(ConnectionType.CLIENT, extensions=[extension] if compressed else [])


def read(client: Connection, data: bytes) -> str:
    """The one message that these bytes are for this client."""
    client.receive_data(data)
    pieces: list[str] = []
    finished = False
    for event in client.events():
        assert isinstance(event, Message)
        assert isinstance(event.data, str)
        assert not finished
        pieces.append(event.data)
        finished = event.message_finished
    assert finished
    return "".join(pieces)


@given(st.lists(st.text(max_size=300), min_size=1, max_size=6), st.booleans())
def test_a_peer_reads_what_was_packed(texts: list[str], compressed: bool) -> None:
    """Message after message on one connection comes out as the text that went in."""
    client = peer(compressed=compressed)
    assert [read(client, packed(text, compressed=compressed)) for text in texts] == texts


@pytest.mark.parametrize("length", [0, SMALL, 125, 126, SHARED + 1, 65_535, 65_536, 200_000])
@pytest.mark.parametrize("compressed", [True, False])
def test_a_message_of_any_length_is_read_back(length: int, compressed: bool) -> None:
    """Each of the three ways to write a length is read back, at its limits."""
    text = ("ab c" * (length // 4 + 1))[:length]
    assert read(peer(compressed=compressed), packed(text, compressed=compressed)) == text


def test_a_frame_is_packed_once_for_all_connections() -> None:
    """Fifty connections get the same bytes: a text is encoded and compressed once a dialect."""
    text = f"a frame of its own {'word ' * 40}"
    before = packed_once.cache_info().misses
    first = packed(text, compressed=True)
    assert all(packed(text, compressed=True) is first for _ in range(49))
    assert packed_once.cache_info().misses == before + 1


def test_what_is_kept_is_bounded() -> None:
    """A text that was pushed out or is long is not kept: memory does not grow with what streams."""
    long = "x" * (SHARED + 1)
    assert packed(long, compressed=False) is not packed(long, compressed=False)
    for number in range(KEPT + 10):
        packed(f"text {number}", compressed=False)
    assert packed_once.cache_info().currsize <= KEPT


@given(st.lists(st.sampled_from(PARAMETERS), max_size=4))
def test_nothing_is_compressed_for_a_peer_that_was_not_granted_it(parameters: list[str]) -> None:
    """Whatever a peer offers, it gets compressed messages only when the handshake granted them."""
    offer = "; ".join(["permessage-deflate", *parameters])
    extension = PerMessageDeflate()
    answer = server_extensions_handshake([offer], [extension])
    if takes_compressed(offer):
        assert answer is not None
        assert extension.server_max_window_bits == 15


def test_what_browsers_offer_is_taken() -> None:
    """The offers of Chromium and Firefox are granted; none and two are answered plainly."""
    assert takes_compressed("permessage-deflate; client_max_window_bits")
    assert takes_compressed("permessage-deflate")
    assert not takes_compressed("")
    assert not takes_compressed("permessage-deflate, permessage-deflate; client_max_window_bits")
