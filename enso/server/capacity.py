"""How many workers one server has, and for whom."""

from __future__ import annotations

MAX_FOLLOWS = 600
"""Follows that one server has room for; each holds a worker."""
RESERVED_WORKERS = 40
"""Workers kept for plain requests, whatever the number of follows."""
