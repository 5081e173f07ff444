"""Asking a pi of no thread what models and commands there are, in the background.

A pi is started in the directory, asked, and ended; one at a time, once for each directory.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from enso.host.runtimes.pi.catalogue import Catalogue
from enso.host.runtimes.pi.process import PiFailed, PiProcess, environment_for
from enso.host.runtimes.pi.program import PiProgram, PiUnusable
from enso.host.runtimes.pi.starting import PiOptions

log = logging.getLogger(__name__)

_SECONDS: Final = 60.0


def learn_from(process: PiProcess, catalogue: Catalogue, directory: Path) -> None:
    """Ask a pi that runs in a directory for its commands and models. Raises ``PiFailed``."""
    catalogue.take_commands(directory, process.ask("get_commands", limit=_SECONDS))
    catalogue.take_models(process.ask("get_available_models", limit=_SECONDS))


class Learner:
    """Fills a catalogue where nothing filled it yet. Thread-safe."""

    def __init__(
        self, program: Callable[[], PiProgram], options: PiOptions, catalogue: Catalogue
    ) -> None:
        self._program = program
        self._options = options
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._asked: set[Path] = set()
        self._workers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pi-learner")
        self._process: PiProcess | None = None
        self._closed = False

    def ask(self, directory: Path) -> None:
        """Have a pi asked in this directory, soon; only the first time."""
        with self._lock:
            if directory in self._asked or self._closed:
                return
            self._asked.add(directory)
            self._workers.submit(self._learn, directory)

    def close(self) -> None:
        """End what is asked, and ask nothing more."""
        with self._lock:
            self._closed = True
            process = self._process
        self._workers.shutdown(wait=False, cancel_futures=True)
        if process is not None:
            process.close()
        self._workers.shutdown()

    def _learn(self, directory: Path) -> None:
        try:
            process = self._start(directory)
        except (PiFailed, PiUnusable) as error:
            log.warning("pi could not be asked for its models and commands: %s", error)
            return
        try:
            learn_from(process, self._catalogue, directory)
        except PiFailed as error:
            log.warning("pi did not tell its models and commands: %s", error)
        finally:
            process.close()

    def _start(self, directory: Path) -> PiProcess:
        argv = [*self._program().command, "--mode", "rpc", "--no-session"]
        for extension in self._options.extensions:
            argv += ["--extension", str(extension)]
        process = PiProcess(
            argv,
            cwd=directory,
            environment=environment_for(self._options.agent_dir),
            hear=lambda _: None,
            ended=lambda _: None,
            keeper=self._options.keeper,
        )
        with self._lock:
            self._process = process
        process.begin()
        return process
