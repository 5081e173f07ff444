"""Websockets under gunicorn, without a browser: who is let in, how they end, what is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Ping, Request, TextMessage

from tests.e2e.conftest import Shop, Start
from tests.e2e.pages import WAIT
from tests.e2e.places import Place, SessionText
from tests.model_server import Gate, ModelServer, Reply, chop
from tests.server_process import ServerProcess

MEGABYTE = 1024 * 1024
SNAPSHOTS = 30

StartLimited = Callable[..., ServerProcess]


@pytest.fixture
def start_limited(place: Place) -> Iterator[StartLimited]:
    """Starts a server on the test's place with limits of the test's."""
    with contextlib.ExitStack() as ends:

        def start_one(**limits: Any) -> ServerProcess:
            command = (sys.executable, "-m", "tests.e2e.limited_server", json.dumps(limits))
            process = ServerProcess(
                agent_dir=place.agent_dir, projects=[place.project], command=command
            )
            return ends.enter_context(process)

        yield start_one


def address(url: str, thread_id: str, *, html: bool = False) -> str:
    """A follow's address on the server at ``url``."""
    prefix = "" if html else "/api"
    return f"{url.replace('http', 'ws')}{prefix}/threads/{thread_id}/follow"


@contextmanager
def follow(url: str, thread_id: str, **options: Any) -> Iterator[ClientConnection]:
    """Follow a thread as JSON."""
    html = options.pop("html", False)
    with connect(address(url, thread_id, html=html), max_size=None, **options) as connection:
        yield connection


def frame_of(connection: ClientConnection, kind: str) -> dict[str, Any]:
    """The next frame of a kind."""
    while True:
        frame = json.loads(connection.recv(timeout=WAIT))
        if frame["type"] == kind:
            return frame


def closing(connection: ClientConnection) -> tuple[int, str]:
    """Read to the end; the code and the reason that the server closes with."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            connection.recv(timeout=WAIT)
    assert connection.close_code is not None
    return connection.close_code, connection.close_reason or ""


# -- who is let in -------------------------------------------------------------------------------


@pytest.mark.parametrize("html", [True, False])
@pytest.mark.parametrize("thread_id", ["-x", "a%2Fb", "..%2F..%2Fx", "x" * 129, "%00", "a%20b"])
def test_a_malformed_id_is_closed_for_good(shop: Shop, thread_id: str, html: bool) -> None:
    """It is accepted and closed with 4404, after which a browser does not come back."""
    with follow(shop.url, thread_id, html=html) as connection:
        code, reason = closing(connection)
    assert code == 4404
    assert reason


def test_a_thread_of_a_directory_that_is_not_served_is_closed_for_good(shop: Shop) -> None:
    """It is accepted and closed with 4403; no frame of it is sent."""
    elsewhere = shop.place.project.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    thread = shop.place.thread(shop.place.new_id(), "Secret", "Yes.", cwd=elsewhere)
    for html in (True, False):
        with follow(shop.url, thread.thread_id, html=html) as connection:
            with pytest.raises(ConnectionClosed):
                connection.recv(timeout=WAIT)
            assert connection.close_code == 4403


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", "http://localhost"],
)
def test_a_page_of_another_origin_is_refused(shop: Shop, origin: str) -> None:
    """The handshake itself is answered 403: scheme, name and port must all be ours."""
    with pytest.raises(InvalidStatus) as refused:
        connect(address(shop.url, "t-1"), origin=origin, legacy=True)  # type: ignore[arg-type]
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "169.254.1.1"])
def test_a_rebound_name_is_refused(shop: Shop, host: str) -> None:
    """A handshake that names another host is not upgraded, though its origin agrees."""
    headers = {
        "Host": f"{host}:{shop.server.port}",
        "Origin": f"http://{host}:{shop.server.port}",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    answer = httpx.get(f"{shop.url}/threads/t-1/follow", headers=headers)
    assert answer.status_code == 421


def test_the_own_origin_and_programs_are_let_in(shop: Shop) -> None:
    """A page of this server, and a program that names no origin, get a snapshot."""
    for origin in (shop.url, None):
        with follow(shop.url, shop.place.new_id(), origin=origin) as connection:
            assert frame_of(connection, "snapshot")["messages"] == []


# -- how they end --------------------------------------------------------------------------------


def test_a_stopping_server_asks_its_followers_to_come_back(place: Place, start: Start) -> None:
    """Every follow is closed with 1012 at once, and the server ends in good order."""
    place.thread("t-1", "Stay with me", "Yes.")
    server = start()
    with contextlib.ExitStack() as ends:
        eyes = [
            ends.enter_context(follow(server.url, "t-1", html=html)) for html in (True, False) * 3
        ]
        for eye in eyes:
            eye.recv(timeout=WAIT)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        for eye in eyes:
            assert closing(eye) == (1012, "The server is stopping.")
    stopping.join(WAIT)
    assert server.process.returncode == 0
    assert "Traceback" not in server.output


def test_a_run_that_is_in_flight_does_not_hold_the_server(
    place: Place, start: Start, model_server: ModelServer
) -> None:
    """A server stopped mid-answer ends within seconds; the prompt and what came are in the file."""
    place.use_models(model_server)
    server = start()
    gate = Gate()
    model_server.script([Reply(text=["Half an answer"], gate=gate)])
    with follow(server.url, "t-1") as eye:
        frame_of(eye, "snapshot")
        post = httpx.post(f"{server.url}/api/threads/t-1/prompt", json={"message": "Go"})
        assert post.status_code == 202
        assert gate.reached.wait(WAIT)
        frame_of(eye, "part")
        started = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - started < WAIT
    gate.open()
    assert [one["content"][0]["text"] for one in place.file_of("t-1").messages("user")] == ["Go"]


class Deaf:
    """A peer that finishes the handshake and then answers nothing, not even pings."""

    def __init__(self, server: ServerProcess, thread_id: str, *, buffer: int = 0) -> None:
        self._socket = socket.socket()
        if buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._socket.settimeout(WAIT)
        self._socket.connect(("127.0.0.1", server.port))
        self._wire = WSConnection(ConnectionType.CLIENT)
        target = f"/api/threads/{thread_id}/follow"
        self._socket.sendall(
            self._wire.send(Request(host=f"127.0.0.1:{server.port}", target=target))
        )
        self.pings = 0
        self._pieces: list[str] = []

    def events(self) -> Iterator[Any]:
        """What comes in, to the end of the connection."""
        while data := self._socket.recv(65536):
            self._wire.receive_data(data)
            yield from self._wire.events()

    def frames(self) -> Iterator[dict[str, Any]]:
        """The frames that come in, to the server's close. From here on it reads."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MEGABYTE)
        for event in self.events():
            if isinstance(event, TextMessage):
                self._pieces.append(event.data)
                if event.message_finished:
                    text = "".join(self._pieces)
                    self._pieces.clear()
                    yield json.loads(text)
            elif isinstance(event, Ping):
                self.pings += 1
            elif isinstance(event, CloseConnection):
                self.closed = event.code
                return
            else:
                assert isinstance(event, AcceptConnection)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


Listen = Callable[..., Deaf]


@pytest.fixture
def deaf_to() -> Iterator[Listen]:
    """Makes deaf peers, and hangs up for them."""
    with contextlib.ExitStack() as ends:

        def make(server: ServerProcess, thread_id: str, **options: Any) -> Deaf:
            return ends.enter_context(contextlib.closing(Deaf(server, thread_id, **options)))

        yield make


def test_a_peer_that_answers_no_ping_is_dropped(
    place: Place, start_limited: StartLimited, deaf_to: Listen
) -> None:
    """A dead peer is noticed by the second heartbeat, and its place is free again."""
    place.thread("t-1", "Are you there?", "Yes.")
    server = start_limited(heartbeat_seconds=0.2, follows=1)
    deaf = deaf_to(server, "t-1")
    kinds = [frame["type"] for frame in deaf.frames()]
    assert kinds == ["snapshot", "heartbeat"]
    assert deaf.pings == 1
    assert deaf.closed == 1012
    with follow(server.url, "t-1") as eye:
        frame_of(eye, "snapshot")


def test_a_quiet_peer_that_answers_pings_stays(place: Place, start_limited: StartLimited) -> None:
    """Who says nothing but answers is heard: heartbeats go on."""
    place.thread("t-1", "Are you there?", "Yes.")
    server = start_limited(heartbeat_seconds=0.1)
    with follow(server.url, "t-1", ping_interval=None) as eye:
        beats = [frame_of(eye, "heartbeat")["at"] for _ in range(10)]
    assert beats == sorted(set(beats))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", beats[0])


def test_what_a_peer_says_is_not_read(place: Place, start: Start) -> None:
    """Text, bytes and floods of a peer change nothing; a message that is too large ends it."""
    place.thread("t-1", "Be quiet", "Yes.")
    server = start()
    with follow(server.url, "t-1") as eye:
        frame_of(eye, "snapshot")
        for _ in range(2000):
            eye.send('{"type": "prompt", "message": "x"}')
        eye.send(b"\x00" * 1000)
        place.file_of("t-1").say("Still there?", "Yes.")
        assert len(frame_of(eye, "snapshot")["messages"]) >= 3
        with contextlib.suppress(ConnectionClosed):
            eye.send("x" * 10_000_000)
        assert closing(eye)[0] == 1009
    with follow(server.url, "t-1") as eye:
        frame_of(eye, "snapshot")


# -- what is bounded -----------------------------------------------------------------------------


def test_one_follow_too_many_is_asked_to_try_later(
    place: Place, start_limited: StartLimited
) -> None:
    """Beyond the limit a follow is closed with 1013; when another ends, there is room again."""
    place.thread("t-1", "A small room", "Yes.")
    server = start_limited(follows=3)
    with contextlib.ExitStack() as ends:
        eyes = [ends.enter_context(follow(server.url, "t-1")) for _ in range(3)]
        for eye in eyes:
            frame_of(eye, "snapshot")
        with follow(server.url, "t-1") as late:
            assert closing(late)[0] == 1013
        assert httpx.get(f"{server.url}/threads/t-1").status_code == 200
        eyes[0].close()
        until_let_in(server.url, "t-1")
    assert "Traceback" not in server.output


def until_let_in(url: str, thread_id: str) -> None:
    """Come back after each 1013, as a browser does, until there is room."""
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        with follow(url, thread_id) as eye, contextlib.suppress(ConnectionClosed):
            frame_of(eye, "snapshot")
            return
    raise AssertionError("there was no room")


def test_six_hundred_follows_leave_workers_for_plain_requests(place: Place, start: Start) -> None:
    """With every follow taken and one more at the door, pages are answered and news reach all."""
    place.thread("t-1", "A full house", "Yes.")
    server = start()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    try:
        # A loop of its own: the driver of the browser tests keeps one running in this worker.
        with ThreadPoolExecutor(1) as worker:
            worker.submit(asyncio.run, _fill_the_house(server, place.file_of("t-1"))).result()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "Traceback" not in server.output


async def _fill_the_house(server: ServerProcess, thread: SessionText) -> None:
    url = address(server.url, thread.thread_id)
    async with AsyncExitStack() as ends, asyncio.timeout(60):
        eyes: list[Any] = []
        for _ in range(12):
            batch = [connect_async(url, max_size=None, open_timeout=30) for _ in range(50)]
            eyes += await asyncio.gather(*(ends.enter_async_context(one) for one in batch))
        for eye in eyes:
            assert '"snapshot"' in await eye.recv()
        async with connect_async(url) as late:
            with pytest.raises(ConnectionClosed) as closed:
                await late.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1013
        async with httpx.AsyncClient(base_url=server.url) as client:
            answers = await asyncio.gather(*(client.get("/threads/t-1") for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        await asyncio.to_thread(thread.say, "Can you all hear me?")
        for eye in eyes:
            while "Can you all hear me?" not in await eye.recv():
                pass


def resident(process: ServerProcess) -> int:
    """Bytes of memory that a server's worker holds now."""
    children = Path(f"/proc/{process.process.pid}/task/{process.process.pid}/children")
    (worker,) = children.read_text().split()
    pages = Path(f"/proc/{worker}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def test_a_reader_that_stops_reading_costs_a_bounded_memory(
    place: Place, start: Start, deaf_to: Listen
) -> None:
    """While it sleeps through many megabytes nothing piles up; awake it gets the newest state."""
    thread = place.thread("t-1", "Much to read", "word " * (MEGABYTE // 5))
    server = start()
    sleeper = deaf_to(server, "t-1", buffer=4096)
    with follow(server.url, "t-1") as reader:
        frame_of(reader, "snapshot")
        for turn in range(10 + SNAPSHOTS):
            if turn == 10:  # by now the server has what memory it works with
                before = resident(server)
            thread.say(f"Line {turn}")
            while frame_of(reader, "snapshot")["messages"][-1]["parts"][0]["content"] != (
                f"Line {turn}"
            ):
                pass
        grown = resident(server) - before
    assert grown < SNAPSHOTS * MEGABYTE / 3
    snapshots = 0
    for frame in sleeper.frames():
        snapshots += frame["type"] == "snapshot"
        if frame["messages"][-1]["parts"][0]["content"] == f"Line {turn}":
            break
    assert snapshots < SNAPSHOTS / 4


def test_a_reader_that_fell_behind_a_streamed_reply_gets_all_of_it(
    place: Place, start: Start, model_server: ModelServer, deaf_to: Listen
) -> None:
    """What was thrown away for a slow reader is in its next snapshot; no word is doubled."""
    place.use_models(model_server)
    # More than the system buffers: the first snapshot is stuck while the reply streams.
    place.thread("t-1", "Much to read", "word " * (2 * MEGABYTE))
    server = start()
    text = "".join(f"{number:07d} words of an answer.\n" for number in range(90_000))
    gate = Gate()
    model_server.script([Reply(text=chop(text, 5000), gate=gate)])
    with follow(server.url, "t-1") as eye:
        frame_of(eye, "snapshot")
        sleeper = deaf_to(server, "t-1", buffer=4096)
        post = httpx.post(f"{server.url}/api/threads/t-1/prompt", json={"message": "Say much"})
        assert post.status_code == 202
        assert gate.reached.wait(WAIT)
        heard = ""
        while len(heard) < len(text):
            heard = taken(heard, json.loads(eye.recv(timeout=WAIT)))
        assert heard == text
    heard, snapshots = "", 0
    for frame in sleeper.frames():
        snapshots += frame["type"] == "snapshot"
        heard = taken(heard, frame)
        if len(heard) >= len(text):
            break
    assert heard == text
    assert snapshots == 2
    gate.open()


def taken(heard: str, frame: dict[str, Any]) -> str:
    """The text of a reply after one more frame of it."""
    if frame["type"] == "part-delta":
        return heard + frame["delta"]
    if frame["type"] == "part":
        return frame["part"]["content"]
    if frame["type"] == "snapshot":
        parts = frame["messages"][-1]["parts"]
        return parts[0]["content"] if len(frame["messages"]) == 4 and parts else ""
    return heard
