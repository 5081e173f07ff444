"""Charts are SVG that needs no script, says itself in words, and takes any number and any text."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from enso.server.charts import (
    MOST_COLUMNS,
    PLOT_HEIGHT,
    Bar,
    Ceiling,
    Column,
    Mark,
    bar_chart,
    column_chart,
)

HOSTILE = "<script>alert(1)</script>\"'&{0}"
AMOUNTS = st.floats(min_value=0, max_value=1e15, allow_nan=False, allow_infinity=False)


def columns(*values: float, **fields: bool) -> list[Column]:
    """A column of each value."""
    return [Column(value=v, label=f"{n}", told=f"turn {n}", **fields) for n, v in enumerate(values)]


def drawn(markup: Markup) -> ET.Element:
    """The chart as a parser sees it; fails for what is no XML."""
    return ET.fromstring(markup)


def chart(*given: Column, **fields: object) -> ET.Element:
    """A chart of columns."""
    words: dict[str, object] = {"key": "k", "title": "Cost", "description": "Each turn.", **fields}
    return drawn(column_chart(given, scale=lambda top: f"${top:.2f}", **words))  # type: ignore[arg-type]


def heights(root: ET.Element) -> list[float]:
    """How high each column is drawn."""
    rects = root.iterfind("g[@class]/rect")
    return [float(r.get("height", "")) for r in rects if r.get("class") is None]


def test_the_highest_column_is_as_high_as_the_plot() -> None:
    """And the others are in proportion."""
    assert heights(chart(*columns(1.0, 4.0, 2.0))) == [
        PLOT_HEIGHT / 4,
        PLOT_HEIGHT,
        PLOT_HEIGHT / 2,
    ]


def test_a_chart_says_itself_in_words() -> None:
    """A role, a title and a description that it is labelled by; each column says what it is."""
    root = chart(*columns(1.0, 2.0))
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "k-title k-desc"
    said = {one.get("id"): one.text for one in root.iter() if one.get("id")}
    assert said == {"k-title": "Cost", "k-desc": "Each turn."}
    assert [one.text for one in root.iterfind("g/title")] == ["turn 0", "turn 1"]
    assert [t.text for t in root.iterfind("text")] == ["$2.00", "0", "1"]


def test_what_has_no_known_end_is_drawn_so() -> None:
    """A dashed piece stands on such a column, also where nothing of it is known."""
    root = chart(*columns(3.0), *columns(0.0, 2.0, open_ended=True))
    assert len(root.findall("g/rect[@class='unknown']")) == 2
    assert len(heights(root)) == 2


def test_marks_and_a_ceiling_are_lines() -> None:
    """A mark stands between columns; a ceiling far above them is not drawn, and presses nothing."""
    near = chart(*columns(1.0, 2.0), marks=[Mark(before=1, told="summed up")],
                 ceiling=Ceiling(value=4.0, told="limit"))  # fmt: skip
    mark = near.find("g[@class='mark']/line")
    assert mark is not None
    assert mark.get("x1") == "50.000%"
    assert near.find("g[@class='ceiling']/text") is not None
    assert max(heights(near)) == PLOT_HEIGHT / 2
    far = chart(*columns(1.0, 2.0), ceiling=Ceiling(value=400.0, told="limit"))
    assert far.find("g[@class='ceiling']") is None
    assert max(heights(far)) == PLOT_HEIGHT


def test_many_columns_are_drawn_as_few() -> None:
    """Neighbours become one, as high as their sum or their highest; marks keep their place."""
    many = columns(*[1.0] * (4 * MOST_COLUMNS))
    summed = chart(*many, marks=[Mark(before=2 * MOST_COLUMNS, told="half way")])
    assert len(heights(summed)) == MOST_COLUMNS
    assert next(t.text for t in summed.iterfind("text")) == "$4.00"
    mark = summed.find("g[@class='mark']/line")
    assert mark is not None
    assert mark.get("x1") == "50.000%"
    level = chart(*many, join=max)
    assert next(t.text for t in level.iterfind("text")) == "$1.00"


def test_nothing_is_no_chart() -> None:
    """No empty frame is drawn."""
    assert not column_chart([], key="k", title="t", description="d", scale=str)
    assert not bar_chart([], key="k", title="t", description="d")


def test_text_is_text() -> None:
    """Whatever a tool or a prompt is called, nothing of it becomes markup."""
    bars = bar_chart(
        [Bar(value=1, label=HOSTILE, told=HOSTILE)], key="k", title=HOSTILE, description=HOSTILE
    )
    cols = column_chart(
        [Column(value=1, label=HOSTILE, told=HOSTILE)],
        key="k", title=HOSTILE, description=HOSTILE, scale=lambda _: HOSTILE,
    )  # fmt: skip
    for markup in (bars, cols):
        assert "<script" not in markup
        assert HOSTILE in {one.text for one in drawn(markup).iter()}


@given(st.lists(AMOUNTS, min_size=1, max_size=400))
def test_any_amounts_are_drawn_inside_the_chart(values: list[float]) -> None:
    """Every length is a number, none beyond the plot or the width."""
    bars = [Bar(value=value, label="x", told="y") for value in values]
    for markup in (
        column_chart(columns(*values), key="k", title="t", description="d", scale=str),
        bar_chart(bars, key="k", title="t", description="d"),
    ):
        root = drawn(markup)
        for rect in root.iter("rect"):
            assert float(rect.get("height", "nan")) <= PLOT_HEIGHT
            percents = re.findall(r"[\d.]+(?=%)", f"{rect.get('x')} {rect.get('width')}")
            assert math.fsum(float(percent) for percent in percents) <= 100.01
