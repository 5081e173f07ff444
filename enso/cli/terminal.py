"""Printing for people: what a thread holds is hostile to a terminal too."""

from __future__ import annotations

import sys

from enso.server.previews import visible
from enso.server.shapes import mended


def say(text: str) -> None:
    """Print text on standard output; what would steer the terminal is spelled out."""
    sys.stdout.write(f"{visible(mended(text))}\n")


def complain(sentence: str) -> int:
    """Say why something was not done; returns the exit code for that."""
    sys.stderr.write(f"enso: {visible(mended(sentence))}\n")
    return 2
