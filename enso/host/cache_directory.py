"""Where what is derived of an agent directory is kept: apart from it, and gone without harm."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import uuid
from pathlib import Path


class CacheDirectory:
    """A directory of one agent directory's derived files; made by whoever writes the first one.

    Below ``cache_dir`` it is the same at every start. Without one it is a temporary directory,
    which goes with ``close``.
    """

    def __init__(self, cache_dir: Path | None, agent_dir: Path) -> None:
        self._stays = cache_dir is not None
        if cache_dir is None:
            self.path = Path(tempfile.gettempdir()) / f"enso-cache-{uuid.uuid4()}"
        else:
            whose = hashlib.sha256(str(agent_dir.absolute()).encode()).hexdigest()[:16]
            self.path = cache_dir / whose

    def close(self) -> None:
        """Let go of a temporary directory."""
        if not self._stays:
            shutil.rmtree(self.path, ignore_errors=True)
