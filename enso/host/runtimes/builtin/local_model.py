"""The bundled model's process, seen from its parent: started on first use, again after a crash.

It speaks the OpenAI chat protocol on a loopback port, behind a key that is made for each start, so
that no other program on the machine uses it by chance. It holds its parent's pipe and ends with it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeAlias, cast
from urllib.parse import urlsplit

from enso.host.runtimes.builtin.openmp import engine_environment
from enso.host.runtimes.models.local_weights import LOCAL_MODEL, find_local_weights

log = logging.getLogger(__name__)

PARALLEL: Final = 2
"""How many answers are computed at a time; more wait their turn."""

_LAST_LINES: Final = 20
_Pipes: TypeAlias = tuple[IO[bytes], IO[bytes], IO[bytes]]


class LocalModelFailed(Exception):
    """The process did not come up: ``str()`` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEndpoint:
    """Where the process serves: its base URL (``…/v1``) and its key."""

    base_url: str
    key: str


class LocalModel:
    """The one process of this server. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._endpoint: LocalEndpoint | None = None
        self._closed = False

    def endpoint(self) -> LocalEndpoint:
        """Where it serves; starts it when it is not running, and waits until it serves.

        Raises ``LocalModelFailed``.
        """
        with self._lock:
            if self._closed:
                raise LocalModelFailed("Enso is shutting down.")
            if self._endpoint is None or not self._running() or not _listens(self._endpoint):
                self._endpoint = self._start()
            return self._endpoint

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        with self._lock:
            return self._process.pid if self._process and self._running() else None

    def close(self) -> None:
        """End the process, for good; also one that is still starting."""
        self._closed = True
        starting = self._process
        if starting is not None:
            starting.kill()
        with self._lock:
            self._stop()

    def _running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _start(self) -> LocalEndpoint:
        weights = find_local_weights()
        if weights is None:
            raise LocalModelFailed("The bundled model is not installed.")
        self._stop()
        key = secrets.token_urlsafe(32)
        said: deque[str] = deque(maxlen=_LAST_LINES)
        with engine_environment() as environment:
            self._process = process = _spawn(environment)
            orders, answers, errors = cast(
                "_Pipes", (process.stdin, process.stdout, process.stderr)
            )
            threading.Thread(target=_drain, args=(errors, said), daemon=True).start()
            with contextlib.suppress(BrokenPipeError):
                orders.write(_order(weights, key))
                orders.flush()
            line = answers.readline()
        if not line:
            status = process.wait()
            log.error("The bundled model ended with %s: %s", status, " ".join(said))
            last = said[-1] if said else "it said nothing"
            raise LocalModelFailed(f"The bundled model did not start (status {status}): {last}")
        return LocalEndpoint(base_url=f"{json.loads(line)['url']}/v1", key=key)

    def _stop(self) -> None:
        process, self._process, self._endpoint = self._process, None, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _listens(endpoint: LocalEndpoint) -> bool:
    """Whether the process still takes connections: a killed one is seen to, before it is reaped."""
    address = urlsplit(endpoint.base_url)
    try:
        socket.create_connection((address.hostname or "", address.port or 0), timeout=5).close()
    except OSError:
        return False
    return True


def _spawn(environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("local_server.py")
    return subprocess.Popen(
        # -P: the script's neighbours must not stand in for modules of the same name.
        [sys.executable, "-P", str(script)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _order(weights: Path, key: str) -> bytes:
    """What the process is told: everything that is not the library's default."""
    order = {
        "weights": str(weights),
        "alias": LOCAL_MODEL.id,
        "key": key,
        "parallel": PARALLEL,
        "context": LOCAL_MODEL.context_window,
        "threads": _threads(),
        "temperature": 0.4,
        "repeat_penalty": 1.1,
    }
    return json.dumps(order).encode() + b"\n"


def _threads() -> int:
    """Half of the cores: every token waits for the slowest thread, and the server needs cores too.

    With a thread for each of two busy cores an answer took ten times as long as with one.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (cores or 1) // 2)


def _drain(stderr: IO[bytes], said: deque[str]) -> None:
    """Keep the last lines that the process said; a full pipe would stop it."""
    with contextlib.suppress(ValueError, OSError):
        for line in stderr:
            said.append(line.decode("utf-8", "replace").strip()[:200])
