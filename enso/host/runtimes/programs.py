"""Programs of others that a runtime may use: where one is, and what it says of its version."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass

SECONDS = 10.0
"""How long a program may take to say its version."""

_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program on the path. ``version`` is empty when it does not say one."""

    path: str
    version: str


def find_program(name: str) -> Program | None:
    """Look a program up and ask it for its version; ``None`` when it is not on the path."""
    path = shutil.which(name)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return Program(path=path, version="")
    said = _VERSION.search((done.stdout or done.stderr).decode("utf-8", "replace"))
    return Program(path=path, version=said[0] if said else "")
