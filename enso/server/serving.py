"""Serving: gunicorn with one worker process and many threads in it, on a socket of ours.

One process, because the live threads are in its memory. The socket is bound here, so that a port
that is taken is said in a sentence. The application is built in the worker process: what it starts
(a file watch, a model's child process) must not be forked. What it is built of is imported there
too: the process that only watches over the worker stays small.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication

from enso.server.capacity import MAX_FOLLOWS, RESERVED_WORKERS

if TYPE_CHECKING:
    from enso.server.application import EnsoServer

GRACEFUL_SECONDS = 3
BACKLOG = 256


class CannotListen(Exception):
    """The address or the port cannot be had; ``str()`` says why and what to do."""


def listen(host: str, port: int) -> socket.socket:
    """Bind and listen; raises ``CannotListen``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise CannotListen(
            f"Enso cannot listen on {host}, port {port}: {error.strerror or error}. "
            "End what uses that port, or start Enso with another --port."
        ) from None
    bound.set_inheritable(True)
    return bound


def address(bound: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = bound.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


class Serving(BaseApplication):
    """Runs one ``EnsoServer`` under gunicorn until it is told to end."""

    def __init__(self, bound: socket.socket, build: Callable[[], EnsoServer]) -> None:
        self._url = address(bound)
        # gunicorn takes the descriptor over; what the socket says of itself is asked before.
        self._descriptor = bound.detach()
        self._build = build
        self._server: EnsoServer | None = None
        super().__init__()

    def load_config(self) -> None:
        """What gunicorn is told."""
        settings: dict[str, Any] = {
            "bind": f"fd://{self._descriptor}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": MAX_FOLLOWS + RESERVED_WORKERS,
            "worker_connections": 4 * MAX_FOLLOWS,
            "keepalive": 30,
            "timeout": 120,
            "graceful_timeout": GRACEFUL_SECONDS,
            "loglevel": "warning",
            "proc_name": "enso",
            "control_socket_disable": True,
            "pre_fork": _share,
            "post_worker_init": self._ready,
            "worker_exit": self._exit,
        }
        for name, value in settings.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        """Build the server, in the worker process."""
        # What is loaded now stays: the collector need not look at it, neither meanwhile nor later.
        gc.disable()
        try:
            self._server = self._build()
        finally:
            gc.freeze()
            gc.enable()
        return self._server.app

    def _ready(self, _worker: Any) -> None:
        self._drain_first(signal.SIGTERM)
        self._drain_first(signal.SIGINT)
        self._drain_first(signal.SIGQUIT)
        # Whoever read it may be gone when a worker takes another's place: that is no fault.
        with suppress(OSError):
            print(f"Enso is at {self._url}", flush=True)  # noqa: T201

    def _drain_first(self, number: signal.Signals) -> None:
        """Close the follows before gunicorn's own handler waits for their workers."""
        before = signal.getsignal(number)

        def handle(received: int, frame: FrameType | None) -> None:
            """Drain, then do what was done before."""
            if self._server is not None:
                # Not in the handler itself: a lock may be held by the code it interrupted.
                threading.Thread(target=self._server.drain, name="enso-drain").start()
            if callable(before):
                before(received, frame)

        signal.signal(number, handle)

    def _exit(self, _arbiter: Any, _worker: Any) -> None:
        if self._server is None:
            return  # it was never built: gunicorn ends with the code that says so
        self._server.close()
        # Idle workers of the pool would be waited for by the interpreter.
        os._exit(0)


def _share(_arbiter: Any, _worker: Any) -> None:
    """Leave what both processes hold alone, so that they go on sharing the memory of it."""
    gc.freeze()
