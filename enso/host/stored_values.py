"""Values as a session file stores them, read without raising whatever stands there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from enso.host.json_lines import clean_text

Stored = Mapping[str, Any]
"""A stored object."""

NOTHING: Final[Stored] = {}

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS: Final = 86_400_000

LATEST_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""


def object_of(value: Any) -> Stored:
    """A stored object; an empty one for anything else."""
    return cast("Stored", value) if isinstance(value, dict) else NOTHING


def text_of(value: Any) -> str:
    """A stored text, clean; empty for anything that is no text."""
    return clean_text(value) if isinstance(value, str) else ""


def count_of(value: Any) -> int | None:
    """A stored number that is not negative, as a whole one; ``None`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= LATEST_MS else None


def milliseconds(value: Any) -> int | None:
    """A stored time in milliseconds since the epoch: a number of them, or ISO 8601 text.

    A date alone is read as UTC and a time without a zone as local, as JavaScript reads them.
    """
    if not isinstance(value, str):
        return count_of(value)
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC) if len(value) <= 10 else moment.astimezone()
        since = moment - _EPOCH
        milli, rest = divmod(since.microseconds, 1000)
        if rest:
            time = round(moment.timestamp() * 1000)
        else:  # as nearly every stored time
            time = since.days * _DAY_MS + since.seconds * 1000 + milli
    except (ValueError, OverflowError, OSError):
        return None
    return time if time >= 0 else None
