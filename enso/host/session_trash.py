"""The trash: deleted session files, kept under the agent directory so that they can come back.

Owns where a deleted file goes and how it is found again by its thread's id. A file keeps its name
and the name of its directory: restoring it is moving it back.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from enso.host.contract import SessionNotWritten, StoredThread
from enso.host.session_listing import SessionListing
from enso.projects import Projects


class SessionTrash:
    """``<agent_dir>/trash``, beside ``<agent_dir>/sessions``. Thread-safe."""

    def __init__(self, agent_dir: Path, projects: Projects) -> None:
        self._sessions_dir = agent_dir / "sessions"
        self._trash_dir = agent_dir / "trash"
        self._listing = SessionListing(self._trash_dir, projects)

    def throw_away(self, path: Path, thread_id: str) -> None:
        """Move a session file to the trash, or raise ``SessionNotWritten`` and leave it there."""
        _move(path, self._trash_dir / path.parent.name, thread_id)

    def row(self, thread_id: str) -> StoredThread | None:
        """What the thread in the trash would be listed as; ``None`` when there is none."""
        return self._listing.row(thread_id)

    def bring_back(self, thread_id: str) -> bool:
        """Move the thread's file back; False when there is none. Raises ``SessionNotWritten``."""
        stored = self._listing.find(thread_id)
        if stored is None:
            return False
        _move(stored.path, self._sessions_dir / stored.path.parent.name, thread_id)
        return True


def _move(path: Path, directory: Path, thread_id: str) -> None:
    target = directory / path.name
    number = 1
    while target.exists():
        target = directory / f"{path.stem}-{number}{path.suffix}"
        number += 1
    try:
        directory.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
    except OSError as error:
        why = error.strerror or str(error)
        raise SessionNotWritten(thread_id, f"{path} could not be moved: {why}.") from error
