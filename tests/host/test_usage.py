"""Tokens and money are added up as pi adds them, whatever stands in the file."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso.host.usage import read_usage, total_usage
from enso.transcript import Usage

STORED = {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2, "cost": {"total": 0.25}}
OURS = Usage(input=10, output=5, cache_read=3, cache_write=2, cost=0.25)


def test_a_stored_usage() -> None:
    """Counts, dollars, and their sum."""
    usage = read_usage(STORED)
    assert usage == OURS
    assert OURS.total_tokens == 20


@pytest.mark.parametrize("value", [None, 7, "x", [], True])
def test_no_usage(value: Any) -> None:
    """Anything but an object is none."""
    assert read_usage(value) is None


@pytest.mark.parametrize(
    "count", [None, "7", True, -1, math.nan, math.inf, -math.inf, [], {}, 10**400]
)
def test_hostile_counts_are_nothing(count: Any) -> None:
    """What is no number, not finite, or negative does not spoil a sum."""
    stored = {"input": count, "output": 1, "cost": {"total": count}}
    assert read_usage(stored) == Usage(output=1)


@pytest.mark.parametrize("cost", [None, 7, "x", [], {}, {"total": None}])
def test_a_usage_without_a_cost_costs_nothing(cost: Any) -> None:
    """And its tokens count."""
    assert read_usage({"input": 1, "cost": cost}) == Usage(input=1)


def test_an_unknown_price_makes_the_sum_a_lower_bound() -> None:
    """One such request is enough."""
    unknown = {**STORED, "cost": {"total": 0, "priceUnknown": True}}
    entries = [
        {"type": "message", "message": {"role": "assistant", "usage": usage}}
        for usage in (STORED, unknown)
    ]
    total = total_usage(entries)
    assert (total.cost, total.cost_known, total.input) == (0.25, False, 20)


@pytest.mark.parametrize(
    "entry, counts",
    [
        ({"type": "message", "message": {"role": "assistant", "usage": STORED}}, True),
        ({"type": "message", "message": {"role": "toolResult", "usage": STORED}}, True),
        ({"type": "message", "message": {"role": "user", "usage": STORED}}, False),
        ({"type": "message", "message": {"role": "system", "usage": STORED}}, False),
        ({"type": "usage", "usage": STORED}, True),
        ({"type": "compaction", "usage": STORED}, True),
        ({"type": "branch_summary", "usage": STORED}, True),
        ({"type": "custom", "usage": STORED}, False),
        ({"type": "message", "usage": STORED}, False),
        ({"type": ["usage"], "usage": STORED}, False),
        ({}, False),
    ],
)
def test_which_entries_cost_something(entry: dict[str, Any], counts: bool) -> None:
    """Answers, tools that ask models, summaries, and entries made for it."""
    assert total_usage([entry]) == (OURS if counts else Usage())


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["usage", "message"]) | ANYTHING},
            optional={
                "usage": st.dictionaries(
                    st.sampled_from(["input", "output", "cost"]),
                    ANYTHING | st.fixed_dictionaries({"total": ANYTHING}),
                ),
                "message": ANYTHING,
            },
        ),
        max_size=5,
    )
)
def test_any_entries_add_up_to_numbers(entries: list[Any]) -> None:
    """Never an exception, never a sum that is no number."""
    total = total_usage(entries)
    assert total.total_tokens >= 0
    assert math.isfinite(total.cost)
