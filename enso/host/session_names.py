"""Where a new session's file is, and how a moment is written in it: as pi names and writes both."""

from __future__ import annotations

import hashlib
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_LONGEST_DIRECTORY_NAME: Final = 200


def session_path(sessions_dir: Path, cwd: Path, thread_id: str, created: str) -> Path:
    """The file of a session of ``cwd`` that was ``created`` then, as ``iso_now`` writes it."""
    name = f"{re.sub('[:.]', '-', created)}_{thread_id}.jsonl"
    return sessions_dir / directory_name(cwd) / name


def directory_name(cwd: Path) -> str:
    """The name of the directory that keeps the sessions of ``cwd``, as pi makes it.

    A name that is longer than file systems take is cut and told apart by a digest.
    """
    name = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", str(cwd)))
    encoded = os.fsencode(name)
    if len(encoded) > _LONGEST_DIRECTORY_NAME:
        digest = hashlib.sha256(encoded).hexdigest()[:12]
        name = os.fsdecode(encoded[: _LONGEST_DIRECTORY_NAME - 20]) + f"-{digest}"
    return f"--{name}--"


def iso_now() -> str:
    """Now in UTC, with milliseconds, as JavaScript's ``toISOString`` writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
