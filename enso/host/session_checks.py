"""Whether the agent directory and the sessions in it can be used; looks, and touches nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from enso.host.contract import Check
from enso.host.session_files import unreadable_paths


def directory_checks(sessions_dir: Path) -> Iterator[Check]:
    """The agent directory and the sessions directory in it."""
    agent_dir = sessions_dir.parent
    yield _check("agent directory", agent_dir)
    if os.path.exists(sessions_dir):  # noqa: PTH110 - asks of what may not be looked at, too
        checked = _check("sessions", sessions_dir)
        unread = _unread(sessions_dir) if checked.state == "good" else None
        yield unread or checked


def _unread(sessions_dir: Path) -> Check | None:
    """What of the sessions cannot be read; ``None`` when all can."""
    paths = unreadable_paths(sessions_dir)
    if not paths:
        return None
    others = f", and {len(paths) - 1:,} more like it" if len(paths) > 1 else ""
    return _refused("sessions", paths[0], f"read{others}: its threads are not listed")


def _check(about: str, directory: Path) -> Check:
    if not directory.exists():
        return _missing(about, directory)
    if not directory.is_dir():
        return Check(
            about=about,
            state="bad",
            said=f"{directory} is no directory",
            what_to_do="Move that file away, or set PI_CODING_AGENT_DIR to a directory.",
        )
    if not os.access(directory, os.R_OK | os.X_OK):
        return _refused(about, directory, "read: no thread can be listed")
    if not os.access(directory, os.W_OK):
        return _refused(about, directory, "written: threads can be read, not continued")
    return Check(about=about, state="good", said=f"{directory} can be read and written")


def _missing(about: str, directory: Path) -> Check:
    """A directory that is not there yet is made with the first thread, where it can be."""
    parent = next((one for one in directory.parents if one.exists()), directory)
    if os.access(parent, os.W_OK):
        return Check(about=about, state="good", said=f"{directory} is made with the first thread")
    return _refused(about, parent, f"written: {directory} cannot be made in it")


def _refused(about: str, directory: Path | str, what: str) -> Check:
    return Check(
        about=about,
        state="bad",
        said=f"{directory} cannot be {what}",
        what_to_do="Give the user that runs Enso the right to it.",
    )
