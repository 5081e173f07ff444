"""A pi in a terminal, as a person has it: keys go in, and its screen is what it last drew."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from collections.abc import Sequence
from pathlib import Path

from tests.interop.real_pi import RealPi
from tests.interop.rpc_client import PATIENCE, environment

_ESCAPES = re.compile(rb"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)", re.DOTALL)


class Terminal:
    """One pi with its terminal interface, in a pseudo terminal of 120 columns."""

    def __init__(
        self, pi: RealPi, *, cwd: Path, agent_dir: Path, arguments: Sequence[str] = ()
    ) -> None:
        self._keys, screen = pty.openpty()
        fcntl.ioctl(self._keys, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        self._process = subprocess.Popen(
            [*pi.command, *arguments],
            cwd=cwd,
            env={**environment(agent_dir), "TERM": "xterm-256color"},
            stdin=screen,
            stdout=screen,
            stderr=screen,
            start_new_session=True,
        )
        os.close(screen)
        self._drawn = b""
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                drawn = os.read(self._keys, 65536)
            except OSError:  # the other end is closed
                os.close(self._keys)
                return
            with self._changed:
                self._drawn += drawn
                self._changed.notify_all()

    @property
    def text(self) -> str:
        """Everything that was drawn so far, without what only a terminal understands."""
        return _ESCAPES.sub(b"", self._drawn).decode(errors="replace")

    def wait_for(self, words: str) -> None:
        """Wait until these words were drawn."""
        with self._changed:
            assert self._changed.wait_for(lambda: words in self.text, PATIENCE), self.text[-3000:]

    def say(self, words: str) -> None:
        """Type a prompt, see it in the editor, and send it."""
        os.write(self._keys, words.encode())
        self.wait_for(words)
        os.write(self._keys, b"\r")

    def close(self) -> int:
        """Leave it as a person does; its exit code."""
        if self._process.poll() is None:
            os.write(self._keys, b"\x04")
        try:
            return self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._reader.join(PATIENCE)
