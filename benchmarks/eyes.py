"""Who watches in the measurements: many follows in one selector loop, and tokens with their time.

A token is ``w<number>`` and filler, so that an eye knows from the frames alone, HTML or JSON, which
tokens it has seen. Eyes offer compression, as browsers do.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Ping, Request, TextMessage
from wsproto.extensions import PerMessageDeflate

TOKEN = re.compile(r"\bw(\d+)\b")
PARAGRAPH = 60
RECEIVE = 1 << 18


class Paced(Sequence[str]):
    """The tokens of one reply, ``rate`` a second; ``sent`` holds when each was let go.

    A paragraph ends at every ``PARAGRAPH`` of them; ``size`` is about how long one token is.
    """

    def __init__(self, count: int, *, rate: float, size: int = 6) -> None:
        filler = " word" * max(0, (size - 6) // 5)
        self._tokens = [
            f"w{number}{filler}{' ' if (number + 1) % PARAGRAPH else chr(10) * 2}"
            for number in range(count)
        ]
        self._rate = rate
        self.sent: list[float] = []

    def __getitem__(self, at: Any) -> Any:
        return self._tokens[at]

    def __len__(self) -> int:
        return len(self._tokens)

    def __iter__(self) -> Iterator[str]:
        begun = time.perf_counter()
        for number, token in enumerate(self._tokens):
            time.sleep(max(0.0, begun + number / self._rate - time.perf_counter()))
            self.sent.append(time.perf_counter())
            yield token


class Eye:
    """One follow as a client sees it: which tokens came when, the text joined, when it settled."""

    def __init__(self, url: str, thread_id: str, *, html: bool) -> None:
        self.html = html
        self.thread_id = thread_id
        self.seen: dict[int, float] = {}
        self.text = ""
        self.frames = 0
        self.bytes = 0
        self.snapshots = 0
        self.settled = False
        self.lost = False
        at = urlsplit(url)
        host, port = at.hostname or "", at.port or 0
        self.socket = socket.create_connection((host, port))
        self._connection = WSConnection(ConnectionType.CLIENT)
        target = f"{'' if html else '/api'}/threads/{thread_id}/follow"
        hello = Request(host=f"{host}:{port}", target=target, extensions=[PerMessageDeflate()])
        self.socket.sendall(self._connection.send(hello))
        self._pieces: list[str] = []

    def take(self) -> None:
        """Read what has come."""
        data = self.socket.recv(RECEIVE)
        now = time.perf_counter()
        self.bytes += len(data)
        self._connection.receive_data(data or None)
        for event in self._connection.events():
            if isinstance(event, TextMessage):
                self._pieces.append(event.data)
                if event.message_finished:
                    self._frame("".join(self._pieces), now)
                    self._pieces.clear()
            elif isinstance(event, Ping):
                self.socket.sendall(self._connection.send(event.response()))
            elif isinstance(event, CloseConnection):
                self.lost = True
            else:
                assert isinstance(event, AcceptConnection), event

    def _frame(self, text: str, now: float) -> None:
        self.frames += 1
        # In JSON a line's end is two letters, which would be one word with the token behind it.
        for number in map(int, TOKEN.findall(text if self.html else text.replace("\\n", " "))):
            self.seen.setdefault(number, now)
        if self.html:
            self.snapshots += 'hx-target="#tail-' in text and "innerMorph" in text
        else:
            self._json(json.loads(text))

    def _json(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "snapshot":
                self.snapshots += 1
                streaming = [m for m in frame["messages"] if m.get("streaming")]
                self.text = "".join(p["content"] for m in streaming for p in m["parts"])
            case "part":
                self.text = frame["part"]["content"]
            case "part-delta":
                self.text += frame["delta"]
            case "status":
                self.settled = not frame["busy"] and frame["generation"] > 0
            case _:
                pass


class Eyes:
    """Many eyes, read by one OS thread."""

    def __init__(self) -> None:
        self.all: list[Eye] = []
        self._selector = selectors.DefaultSelector()
        self._open = True
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def add(self, eye: Eye) -> None:
        """Watch with one more."""
        self.all.append(eye)
        self._selector.register(eye.socket, selectors.EVENT_READ, eye)

    def wait_for_snapshots(self, seconds: float = 60) -> None:
        """Wait until every eye has its first frame."""
        end = time.monotonic() + seconds
        while not all(eye.frames for eye in self.all):
            if time.monotonic() > end:
                raise TimeoutError
            time.sleep(0.02)

    def close(self) -> None:
        """Close every connection."""
        self._open = False
        self._thread.join()
        for eye in self.all:
            eye.socket.close()

    def _look(self) -> None:
        while self._open:
            for key, _ in self._selector.select(0.1):
                key.data.take()
                if key.data.lost:
                    self._selector.unregister(key.fileobj)


def wait_until(holds: Any, seconds: float = 120) -> None:
    """Look every 50 ms until it holds; raises ``TimeoutError``."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)
