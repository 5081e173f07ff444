"""Serving, as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_a_server_that_cannot_be_built_ends_and_says_why() -> None:
    """It is not tried again and again: the process ends with a code that says so."""
    source = (
        "from enso.server.serving import Serving, listen\n"
        "def build():\n"
        "    raise OSError('no room for a server')\n"
        "Serving(listen('127.0.0.1', 0), build).run()\n"
    )
    command = [sys.executable, "-c", source]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert ended.stderr.count("OSError: no room for a server") == 1
