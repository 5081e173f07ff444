"""How a thread's branch can end."""

from __future__ import annotations

from typing import Literal

ThreadEnd = Literal["complete", "refused", "aborted", "cut-by-length", "interrupted", "empty"]
"""How the stored branch ends: the rail's mark."""
