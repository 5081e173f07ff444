"""A server over the fake host: its routes by a test client, its websockets by listening."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from websockets.sync.client import ClientConnection, connect
from werkzeug.serving import make_server

from enso.projects import Projects
from enso.server.application import EnsoServer, Limits
from enso.server.doors import Doors
from tests.fakes.fake_host import FakeHost

WAIT = 30.0
Frame = dict[str, Any]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The one directory that is served."""
    directory = tmp_path / "shop"
    directory.mkdir()
    return directory


@pytest.fixture
def host(project: Path) -> FakeHost:
    """An empty store."""
    return FakeHost(project)


MakeServer = Callable[..., EnsoServer]


@pytest.fixture
def make(host: FakeHost, project: Path) -> Iterator[MakeServer]:
    """Makes servers over the host; they are closed with the test."""
    made: list[EnsoServer] = []

    def make_one(**limits: Any) -> EnsoServer:
        server = EnsoServer(
            host=host,
            projects=Projects([project]),
            doors=Doors.of(host="127.0.0.1", token=None),
            limits=Limits(**limits),
        )
        made.append(server)
        return server

    yield make_one
    for server in made:
        server.close()


@pytest.fixture
def server(make: MakeServer) -> EnsoServer:
    """A server with the usual limits."""
    return make()


@pytest.fixture
def client(server: EnsoServer) -> FlaskClient:
    """A client of it that is no browser."""
    return server.app.test_client()


class Socket:
    """One follow as a client of the JSON or HTML websocket sees it."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def text(self) -> str:
        """The next frame's text."""
        text = self.connection.recv(timeout=WAIT)
        assert isinstance(text, str)
        return text

    def frame(self) -> Frame:
        """The next frame, heartbeats and the rail's news aside."""
        while True:
            frame = json.loads(self.text())
            if frame["type"] not in {"heartbeat", "rail"}:
                return frame

    def until(self, kind: str, **fields: Any) -> list[Frame]:
        """The frames up to and with the first of a kind whose fields have these values."""
        frames: list[Frame] = []
        while True:
            frame = json.loads(self.text())
            if frame["type"] in {"heartbeat", "rail"} and frame["type"] != kind:
                continue
            frames.append(frame)
            if frame["type"] == kind and all(frame.get(k) == v for k, v in fields.items()):
                return frames


class Listening:
    """A server that listens, for what needs a real socket."""

    def __init__(self, server: EnsoServer) -> None:
        self._server = make_server("127.0.0.1", 0, server.app, threaded=True)
        self.port = self._server.server_port
        self._worker = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._worker.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def follow(
        self, thread_id: str, *, html: bool = False, first: str = "", **options: Any
    ) -> Iterator[Socket]:
        """Follow a thread over a websocket."""
        prefix = "" if html else "/api"
        url = f"ws://127.0.0.1:{self.port}{prefix}/threads/{thread_id}/follow?from={first}"
        with connect(url, max_size=None, **options) as connection:
            yield Socket(connection)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._worker.join(WAIT)
        self._server.server_close()


@pytest.fixture
def listen() -> Iterator[Callable[[EnsoServer], Listening]]:
    """Makes a server listen until the test ends."""
    listening: list[Listening] = []

    def listen_to(server: EnsoServer) -> Listening:
        listening.append(Listening(server))
        return listening[-1]

    yield listen_to
    for one in listening:
        one.close()


@pytest.fixture
def listening(server: EnsoServer, listen: Callable[[EnsoServer], Listening]) -> Listening:
    """The usual server, listening."""
    return listen(server)


def prompt(client: FlaskClient, thread_id: str, message: str, **fields: Any) -> Any:
    """Post a prompt as JSON."""
    return client.post(f"/api/threads/{thread_id}/prompt", json={"message": message, **fields})


def settled(server: EnsoServer, thread_id: str) -> None:
    """Return once no run of the thread is in flight, as its status says."""
    done = threading.Event()
    with server.registry.follow(
        thread_id, dialect="json", snapshot=server.services.snapshot
    ) as follow:
        while not done.is_set():
            text = follow.next(WAIT)
            assert isinstance(text, str), "the run did not settle"
            frame = json.loads(text)
            status = frame["status"] if frame["type"] == "snapshot" else frame
            if frame["type"] in {"snapshot", "status"} and not status["busy"]:
                done.set()
