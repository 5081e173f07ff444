"""What ends the programs of a server that was killed: a process beside it, and this end of it.

A program that ends with its input needs nobody to end it, but the commands that it runs may go on.
So the keeper holds the input open as well: when Enso is gone, however it went, it first looks which
commands run, and then lets the input close. A program that has no input is ended at once. Each kept
process costs Enso nothing but two handles; the keeper is started with the first. Where the system
has no handles for processes (other than Linux) there is no keeper: programs still end with their
input.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_ROOT: Final = Path(__file__).parents[3]
_PROGRAM: Final = "enso.host.runtimes.keeper_process"
_END_SECONDS: Final = 5.0


class Keeper:
    """The keeper process of one server, started when it is needed. Thread-safe; raises nothing.

    ``patience``: how many seconds a kept program may take to end when its input closed.
    """

    def __init__(self, patience: float = 3.0) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._door: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def keep(self, pid: int, input_handle: int | None) -> int:
        """Have a child ended, should Enso be gone before ``release``; its number there.

        The child must not have been waited for. ``input_handle`` is Enso's end of its input, if it
        has one.
        """
        number = next(self._numbers)
        if not hasattr(os, "pidfd_open") or not Path("/proc").is_dir():
            return number
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            try:
                inputs = [] if input_handle is None else [input_handle]
                self._tell(b"keep %d %d" % (number, pid), handle, *inputs)
            finally:
                os.close(handle)
        return number

    def release(self, number: int) -> None:
        """The child has ended, or its input is about to be closed by Enso."""
        with self._lock, contextlib.suppress(OSError):
            if self._door is not None:
                self._door.send(b"release %d" % number)

    def close(self) -> None:
        """End the keeper, with what it still keeps."""
        with self._lock:
            door, process, self._door, self._process = self._door, self._process, None, None
        if door is not None:
            door.close()
        if process is not None:
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @property
    def pid(self) -> int | None:
        """The keeper's process id, once there is one."""
        process = self._process
        return process.pid if process is not None else None

    def _tell(self, message: bytes, *handles: int) -> None:
        with self._lock:
            if self._door is None or self._process is None or self._process.poll() is not None:
                self._start()
            if self._door is not None:
                socket.send_fds(self._door, [message], handles)

    def _start(self) -> None:
        """Start it in a session of its own: what ends Enso's must not end it."""
        if self._door is not None:
            log.warning("The keeper of Enso's programs ended; another one is started")
            self._door.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._door = ours
            self._process = subprocess.Popen(
                [sys.executable, "-E", "-S", "-m", _PROGRAM, str(self._patience)],
                cwd=_ROOT,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
