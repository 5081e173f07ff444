"""The websocket of a follow: one writer, frames out, close codes, and the peer's pulse.

Nothing that comes in matters but the peer's being there. A heartbeat frame and a ping go out at
the same interval; a peer that answered no ping since the last one is gone. The codes are chosen by
what the browser's client does with them (htmx 4.0.1): it comes back after 1012 and 1013, and stays
away after 4403 and 4404.
"""

from __future__ import annotations

import logging
import socket as sockets
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from flask import Response, request
from flask_sock import Sock  # pyright: ignore[reportMissingTypeStubs]
from simple_websocket import ConnectionClosed, Server
from wsproto.events import Ping

from enso import thread_ids, wire
from enso.server.follow import Closed, Dialect, Follow
from enso.server.packing import packed, takes_compressed
from enso.server.services import Services
from enso.server.shapes import iso_seconds

log = logging.getLogger(__name__)

MALFORMED = Closed(4404, "This cannot be a thread id.")
NOT_SERVED = Closed(4403, "This thread's directory is not served.")
FULL = Closed(1013, "This server has no room for another follow now.")
SILENT = Closed(1012, "The other side did not answer.")
GONE = Closed(1000, "The other side is gone.")
FAULT = Closed(1011, "Enso made a mistake. Its log says more.")
MAX_INCOMING = 64 * 1024
SEND_SECONDS = 30


class Pulse(threading.Event):
    """The event by which simple-websocket tells of what came in; hears it for the writer.

    A writer that waits for frames would else not learn before its next send that the peer closed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.heard: Callable[[], None] | None = None

    def set(self) -> None:
        """Something came in, or the connection is over."""
        super().set()
        if self.heard is not None:
            self.heard()


SOCK_SERVER_OPTIONS: dict[str, Any] = {"max_message_size": MAX_INCOMING, "event_class": Pulse}


class WholeFrames:
    """A socket whose every ``send`` goes out whole, one at a time.

    simple-websocket answers pings from its reading worker while ours writes, and does not look at
    how much a ``send`` took: either would tear the stream.
    """

    def __init__(self, raw: sockets.socket) -> None:
        self._raw = raw
        self._lock = threading.Lock()
        # A reader that takes nothing must not hold its worker for ever.
        limit = struct.pack("ll", SEND_SECONDS, 0)
        raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_SNDTIMEO, limit)

    def send(self, data: bytes) -> int:
        """Send all of ``data``; raises ``OSError`` when the peer takes nothing any more."""
        with self._lock:
            try:
                self._raw.sendall(data)
            except OSError:
                # What follows a torn frame would be read as its rest.
                with suppress(OSError):
                    self._raw.shutdown(sockets.SHUT_RDWR)
                raise
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


class Writer:
    """Writes one follow to one socket until either ends."""

    def __init__(self, socket: Server, follow: Follow, *, heartbeat_seconds: float) -> None:
        self._socket = socket
        self._follow = follow
        self._heartbeat_seconds = heartbeat_seconds
        offer = cast("str", socket.environ.get("HTTP_SEC_WEBSOCKET_EXTENSIONS", ""))
        self._compressed = takes_compressed(offer)

    def run(self) -> Closed:
        """Write until the follow is over, and tell why; raises when the connection is."""
        pulse = cast("Pulse", self._socket.event)
        pulse.heard = self._look_at_peer
        self._look_at_peer()
        while True:
            text = self._follow.next(self._heartbeat_seconds)
            if isinstance(text, Closed):
                return text
            if text is not None:
                self._send(text)
            elif not self._beat():
                return SILENT

    def _send(self, text: str) -> None:
        """Send a text in the bytes that all get; raises when the connection is over."""
        if not self._socket.connected:
            raise ConnectionClosed(self._socket.close_reason, self._socket.close_message)
        frames = cast("WholeFrames", self._socket.sock)
        frames.send(packed(text, compressed=self._compressed))

    def _look_at_peer(self) -> None:
        # Nothing that a peer says is read, so that none can fill our memory.
        self._socket.input_buffer.clear()
        if not self._socket.connected:
            self._follow.close(GONE)

    def _beat(self) -> bool:
        """Send a heartbeat and a ping; false when the last ping was not answered."""
        if not self._socket.pong_received:
            return False
        self._socket.pong_received = False
        frames = cast("WholeFrames", self._socket.sock)
        frames.send(self._socket.ws.send(Ping()))
        if self._follow.dialect == "json":
            now = iso_seconds(time.time())
            self._send(wire.HeartbeatFrame(at=now).model_dump_json())
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A follow: ``first`` is where its page begins, ``rail`` the version of the rail on it."""

    thread_id: str
    dialect: Dialect
    first: str
    rail: str | None


def serve_follow(services: Services, socket: Server, asked: Asked) -> Closed:
    """Serve one follow to its end, and tell the code to close with."""
    thread_id = asked.thread_id
    if not thread_ids.is_thread_id(thread_id):
        return MALFORMED
    if not services.sockets.acquire(blocking=False):
        return FULL
    try:
        if services.belongs_elsewhere(thread_id):
            return NOT_SERVED
        with services.registry.follow(
            thread_id, dialect=asked.dialect, snapshot=services.snapshot, first=asked.first
        ) as follow:
            if asked.rail not in {None, services.rail.version}:
                follow.tell(services.press.rail(wire.RailFrame(threads=[], gone=[])))
            writer = Writer(socket, follow, heartbeat_seconds=services.heartbeat_seconds)
            return writer.run()
    finally:
        services.sockets.release()


def follow_view(services: Services, dialect: Dialect) -> Callable[[str], Response]:
    """The view that takes a thread's follow, to be put behind a route for websockets."""

    def handle(socket: Server, thread_id: str) -> None:
        """Serve one follow from its opening to its end."""
        socket.sock = cast("Any", WholeFrames(cast("Any", socket.sock)))
        try:
            asked = Asked(
                thread_id=thread_id,
                dialect=dialect,
                first=request.args.get("from", "")[:200],
                rail=request.args.get("rail"),
            )
            closed = serve_follow(services, socket, asked)
        except (ConnectionClosed, OSError):
            return
        except Exception:
            log.exception("a follow of %s failed", thread_id)
            closed = FAULT
        with suppress(ConnectionClosed, OSError):
            socket.close(cast("Any", closed.code), closed.reason)

    # The extension hands its view to where it is told to put a route: ours is there already.
    views: list[Callable[[str], Response]] = []

    def route(_path: str, **_options: object) -> Callable[[Callable[[str], Response]], None]:
        return views.append

    cast("Any", Sock()).route("/", bp=SimpleNamespace(route=route))(handle)
    return views[0]
