"""A real Enso: ``python app.py`` as a process of its own, under gunicorn, on a free port."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60
# Keys of the person who runs the tests must not reach a provider.
FOREIGN_KEYS = ("_API_KEY", "_TOKEN", "ENSO_", "PI_")


class ServerProcess:
    """One server process; ``url`` is where it is. Ended by ``stop`` or by leaving the ``with``."""

    def __init__(
        self,
        *,
        agent_dir: Path,
        projects: Sequence[Path | str],
        port: int = 0,
        environment: dict[str, str] | None = None,
        cwd: Path = ROOT,
        command: Sequence[str] = (sys.executable, str(ROOT / "app.py")),
    ) -> None:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not any(mark in name for mark in FOREIGN_KEYS)
        }
        options = ["--port", str(port), "--agent-dir", str(agent_dir)]
        for project in projects:
            options += ["--project", str(project)]
        self.process = subprocess.Popen(
            [*command, *options],
            cwd=cwd,
            env={**inherited, "ENSO_CACHE_DIR": f"{agent_dir}-cache", **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._lines: list[str] = []
        self._told: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.url = self._wait_for_url()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.append(line)
                if line.startswith("Enso is at "):
                    self._told.put(line.split()[-1].rstrip("/"))
        self._told.put(None)

    def _wait_for_url(self) -> str:
        try:
            url = self._told.get(timeout=START_SECONDS)
        except queue.Empty:
            url = None
        if url is None:
            self.kill()
            raise AssertionError(f"the server did not start:\n{self.output}")
        return url

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rsplit(":", 1)[1])

    @property
    def output(self) -> str:
        """All it printed so far."""
        return "".join(self._lines)

    def stop(self) -> int:
        """End it as an operator would, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """End it and all it started, at once."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
