"""Times in words: ages for the rail, clock times for messages."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from enso.server.ages import age_words, clock_words

NOW = datetime(2025, 11, 30, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "ago, words",
    [
        (timedelta(hours=-2), "now"),
        (timedelta(seconds=59), "now"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(minutes=59, seconds=59), "59 min"),
        (timedelta(hours=1), "1 h"),
        (timedelta(hours=13, minutes=59), "13 h"),
        (timedelta(hours=15), "yesterday"),
        (timedelta(hours=37, minutes=59), "yesterday"),
        (timedelta(days=2), "28 Nov"),
        (timedelta(days=400), "26 Oct 2024"),
    ],
)
def test_an_age_is_told_in_the_fewest_words(ago: timedelta, words: str) -> None:
    """Minutes, hours, yesterday, a day, a year; what lies ahead is now."""
    assert age_words(NOW - ago, now=NOW) == words


def test_just_after_midnight_the_evening_before_is_hours_ago() -> None:
    """Nobody calls two hours ago yesterday."""
    assert age_words(NOW.replace(hour=0) - timedelta(hours=2), now=NOW.replace(hour=0)) == "2 h"


def test_days_are_those_of_the_reader() -> None:
    """A day ends when it ends where the words are read."""
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    evening = datetime(2025, 11, 29, 15, 30, tzinfo=UTC)  # half past midnight of the 30th there
    assert clock_words(evening, now=tokyo) == "00:30"
    assert clock_words(evening, now=NOW) == "29 Nov, 15:30"
    assert clock_words(evening.replace(year=2024), now=NOW) == "29 Nov 2024, 15:30"


def test_the_browser_knows_the_same_months() -> None:
    """``static/enso.js`` keeps the words fresh, so it must have the same ones."""
    script = (Path(__file__).parents[2] / "static" / "enso.js").read_text()
    listed = re.search(r"MONTHS = (\[[^\]]*\])", script)
    assert listed
    told = [age_words(datetime(2020, n, 1, tzinfo=UTC), now=NOW).split()[1] for n in range(1, 13)]
    assert json.loads(listed[1]) == told
