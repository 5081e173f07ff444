"""Small programs that stand in for a pi that fails, or that says what a test has it say."""

from __future__ import annotations

import sys
from pathlib import Path


def program(directory: Path, body: str, *, name: str = "pi") -> tuple[str, ...]:
    """A Python program with this body; the command that starts it."""
    path = directory / name
    path.write_text(f"#!{sys.executable}\n{body}")
    path.chmod(0o755)
    return (str(path),)


def answering_version(directory: Path, version: str) -> tuple[str, ...]:
    """A program that only says its version."""
    return program(directory, f"print({version!r})")
