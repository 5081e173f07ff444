"""The last lines of this server's log, kept for a bug report. There is no log file."""

from __future__ import annotations

import logging
from collections import deque

KEPT_LINES = 1000
LONGEST_LINE = 20_000


class RecentLog(logging.Handler):
    """Keeps what is logged in this process, from ``attach`` to ``detach``. Thread-safe."""

    def __init__(self, limit: int = KEPT_LINES) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        self._lines: deque[str] = deque(maxlen=limit)

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record; one that cannot be written is passed over, as logging does."""
        try:
            self._lines.append(self.format(record)[:LONGEST_LINE])
        except (TypeError, ValueError):
            self.handleError(record)

    def text(self) -> str:
        """The kept lines, oldest first."""
        return "".join(f"{line}\n" for line in tuple(self._lines))

    def attach(self) -> None:
        """Begin to listen to the process's log."""
        logging.getLogger().addHandler(self)

    def detach(self) -> None:
        """Listen no more."""
        logging.getLogger().removeHandler(self)
