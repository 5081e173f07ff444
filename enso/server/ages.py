"""When something was, in the fewest words a person reads at a glance.

Knows times and words alone. ``static/enso.js`` speaks the same words and keeps them fresh.
"""

from __future__ import annotations

from datetime import UTC, datetime

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def age_words(moment: datetime, *, now: datetime) -> str:
    """``now``, ``4 min``, ``3 h``, ``yesterday``, ``28 Nov`` or ``28 Nov 2024``.

    Both times are aware; days are counted in the zone of ``now``. A time that lies ahead is
    ``now``: clocks of two machines differ.
    """
    seconds = (now - moment).total_seconds()
    if seconds < 60:
        return "now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    local = moment.astimezone(now.tzinfo)
    days = (now.date() - local.date()).days
    if days == 0 or seconds < 6 * 3600:
        return f"{int(seconds // 3600)} h"
    if days == 1:
        return "yesterday"
    return _day_words(local, now)


def clock_words(moment: datetime, *, now: datetime) -> str:
    """``14:05`` today, ``28 Nov, 14:05`` on another day, in the zone of ``now``."""
    local = moment.astimezone(now.tzinfo)
    time = f"{local:%H:%M}"
    return time if local.date() == now.date() else f"{_day_words(local, now)}, {time}"


def moment_words(moment: datetime) -> str:
    """``28 Nov 2026, 14:05 UTC``: a time that holds in every zone and year."""
    at = moment.astimezone(UTC)
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M} UTC"


def _day_words(local: datetime, now: datetime) -> str:
    day = f"{local.day} {_MONTHS[local.month - 1]}"
    return day if local.year == now.year else f"{day} {local.year}"
