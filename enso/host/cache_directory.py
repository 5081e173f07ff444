"""Where what is derived of an agent directory is kept: apart from it, and gone without harm."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path


class CacheDirectory:
    """A directory of one agent directory's derived files; made by whoever writes the first one.

    Below ``cache_dir`` it is the same at every start. Without one it is a temporary directory,
    which goes with ``close``.
    """

    def __init__(self, cache_dir: Path | None, agent_dir: Path) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if cache_dir is None:
            self._temporary = tempfile.TemporaryDirectory(
                prefix="enso-cache-", ignore_cleanup_errors=True
            )
            self.path = Path(self._temporary.name)
        else:
            whose = hashlib.sha256(str(agent_dir.absolute()).encode()).hexdigest()[:16]
            self.path = cache_dir / whose

    def close(self) -> None:
        """Let go of a temporary directory."""
        if self._temporary is not None:
            self._temporary.cleanup()
