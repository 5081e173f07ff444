"""Printing for people: what a thread holds is hostile to a terminal too."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Print text on standard output; what would steer the terminal is spelled out."""
    sys.stdout.write(f"{_harmless(text)}\n")


def complain(sentence: str) -> int:
    """Say why something was not done; returns the exit code for that."""
    sys.stderr.write(f"enso: {_harmless(sentence)}\n")
    return 2


def _harmless(text: str) -> str:
    # Loaded by the first who prints: a server that says nothing but its address needs none of it.
    from enso.server.shapes import mended  # noqa: PLC0415
    from enso.server.unseen import visible  # noqa: PLC0415

    return visible(mended(text))
