"""Processes that help this one, each of which runs a module of Enso and nothing else.

A process of its own, and not a fork: this one has many workers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import enso

if TYPE_CHECKING:
    import subprocess

    HelperProcess = subprocess.Popen[bytes]


def start_helper(module: str, *arguments: str, asked: bool = True) -> HelperProcess:
    """Start one, whose output is read: the ``main`` of a module, which finds the arguments behind
    the first one. ``asked``: it is told what to do by its input.

    Raises ``OSError`` when it cannot be started.
    """
    import subprocess  # noqa: PLC0415 - most starts need none

    root = str(Path(enso.__file__).parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-P", "-c", f"from {module} import main; main()", *arguments],
        stdin=subprocess.PIPE if asked else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
