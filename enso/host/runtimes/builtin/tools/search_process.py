"""A search as a process: ripgrep where it is installed, else the search program of our own.

Its output is read piece by piece; it ends when who reads has enough, and when the call is
cancelled.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

from enso.host.file_search.program import START
from enso.host.runtimes.builtin.tools.workers import Cancellation

MAX_PROBLEMS: Final = 4_000
"""Characters of what a search says that it could not read."""

_BOOT: Final = (
    "import sys; sys.path.append(sys.argv[1]); from file_search.program import main; "
    "sys.exit(main(sys.argv[2:]))"
)


def own_program(command: str, told: Mapping[str, Any]) -> list[str]:
    """The command line of our own search program; see ``file_search.program``."""
    # isolated and without site-packages: it starts in a fraction of the time
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, START, command, json.dumps(told)]


class SearchProcess:
    """A search that runs; ``output`` are its bytes."""

    def __init__(self, process: subprocess.Popen[bytes], said: IO[bytes]) -> None:
        self.output = cast("IO[bytes]", process.stdout)
        self._process = process
        self._said = said

    def stop(self) -> None:
        """End it: nobody reads on."""
        self._process.kill()

    def exit_code(self) -> int:
        """Its exit code, once it is over."""
        return self._process.wait()

    def problems(self) -> str:
        """What it said that it could not do."""
        self._said.seek(0)
        return self._said.read(MAX_PROBLEMS).decode("utf-8", "replace").strip()


@contextmanager
def search_process(
    arguments: Sequence[str], cwd: Path, cancellation: Cancellation
) -> Generator[SearchProcess]:
    """Start a search in a directory; it is over after the block, whatever happens in it."""
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            arguments, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        ) as process,
    ):
        search = SearchProcess(process, said)
        cancellation.call(lambda: _kill(process))
        try:
            yield search
        finally:
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        process.kill()
