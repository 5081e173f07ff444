"""How long a provider is waited for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds: until there is a connection, and from one sign of life to the next."""

    connect: float = 10.0
    silence: float = 300.0
