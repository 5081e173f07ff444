"""When a refused attempt is tried again, and how long to wait before it. Source: pi 1.6.0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from enso.transcript import Refusal

_PASSING: Final = frozenset(
    {"connection", "overloaded", "rate limit", "server error", "stream cut", "timeout"}
)
"""What may be over in a moment. A quota, a key or a wrong request is not."""

_LONGEST: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """What ``settings.json`` says under ``retry``; times are milliseconds.

    ``longest_requested`` is how long a provider may ask to wait (0: any time): when it asks for
    more, the attempt is not tried again by itself.
    """

    enabled: bool = True
    attempts: int = 3
    base_delay: int = 2000
    longest_delay: int = 60_000
    longest_requested: int = 60_000

    def delay(self, attempt: int, requested: int | None) -> int | None:
        """Milliseconds before retry number ``attempt`` (from 1); ``None``: it is not made.

        It doubles each time. A provider's own wish holds when it is longer.
        """
        if not self.enabled or attempt > self.attempts:
            return None
        backoff = min(self.base_delay * 2 ** min(attempt - 1, 32), self.longest_delay)
        if requested is None:
            return backoff
        if self.longest_requested and requested > max(self.longest_requested, backoff):
            return None
        return max(backoff, requested)


def may_pass(refusal: Refusal) -> bool:
    """Whether the same request may be answered a moment later."""
    return refusal.refusal_class in _PASSING


def requested_delay(headers: Mapping[str, str]) -> int | None:
    """How many milliseconds a refusal's headers ask to wait; ``None`` when they do not say."""
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return math.ceil(exact)
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None:
        return math.ceil(seconds * 1000)
    try:
        when = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    moment = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max(0, math.ceil((moment - datetime.now(UTC)).total_seconds() * 1000))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number <= _LONGEST else None
