"""Charts as SVG: drawn here, without script or inline style, in the page's own colours.

Two kinds: columns side by side (over turns, over requests) and bars under one another (by tool).
A chart scales with its place and its words do not, because lengths across are per cent of it and
lengths down are pixels. Every chart has a title and a description for who does not see it, and
stands with a table of the same numbers: what is drawn is never said by the drawing alone. Knows
nothing of threads; colours are ``.chart`` in ``static/enso.css``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from markupsafe import Markup

PLOT_HEIGHT: Final = 140
"""Pixels of the highest column."""

MOST_COLUMNS: Final = 150
"""Columns beyond which neighbours are drawn as one."""

_ABOVE = 22  # pixels over the plot, for the scale's words
_BELOW = 22  # pixels under it, for the words at both ends
_STUB = 7  # pixels of what has no known size
_ROW = 36  # pixels of a bar with its words over it
_BAR = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: how high, what it is called, and what it says when it is pointed at.

    ``kind`` is a word for its colour: empty, ``muted`` or ``strong``. ``open_ended``: it is higher
    than that by an amount that is not known.
    """

    value: float
    label: str
    told: str
    kind: str = ""
    open_ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened before the column at index ``before``: a dashed line down."""

    before: int
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A height that is not to be passed: a line across, and its words."""

    value: float
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar with its words over it; ``value`` is in any unit that all bars share."""

    value: float
    label: str
    told: str


def column_chart(
    columns: Sequence[Column],
    *,
    key: str,
    title: str,
    description: str,
    scale: Callable[[float], str],
    join: Callable[[Iterable[float]], float] = sum,
    marks: Sequence[Mark] = (),
    ceiling: Ceiling | None = None,
) -> Markup:
    """Columns side by side, the first at the left; empty without any.

    ``key`` makes ids that are the page's own. ``scale`` says a height in words. Beyond
    ``MOST_COLUMNS`` neighbours are drawn as one, as high as ``join`` says (their sum; ``max`` for
    a level).
    """
    if not columns:
        return Markup()
    size = -(-len(columns) // MOST_COLUMNS)
    drawn = _joined(columns, size, join)
    highest = max(column.value for column in drawn)
    # A ceiling far above everything would press the columns flat: then it is only described.
    shown = ceiling if ceiling and 0 < ceiling.value <= 4 * highest else None
    top = max(highest, shown.value if shown else 0.0)
    pieces = [
        _scale(top, scale),
        *(_column(column, at, len(drawn), top) for at, column in enumerate(drawn)),
        *(_mark(mark, mark.before // size, len(drawn)) for mark in marks),
        _ceiling(shown, top) if shown else Markup(),
        _ends(columns[0].label, columns[-1].label if len(columns) > 1 else ""),
    ]
    height = _ABOVE + PLOT_HEIGHT + _BELOW
    return _svg("columns", key, title, description, height, Markup().join(pieces))


def bar_chart(bars: Sequence[Bar], *, key: str, title: str, description: str) -> Markup:
    """Bars under one another, in the order given; empty without any."""
    if not bars:
        return Markup()
    longest = max(bar.value for bar in bars)
    pieces = Markup().join(_bar(bar, at, longest) for at, bar in enumerate(bars))
    return _svg("bars", key, title, description, _ROW * len(bars), pieces)


def _svg(kind: str, key: str, title: str, description: str, height: int, pieces: Markup) -> Markup:
    return Markup(
        '<svg class="chart {kind}" role="img" aria-labelledby="{key}-title {key}-desc" '
        'width="100%" height="{height}"><title id="{key}-title">{title}</title>'
        '<desc id="{key}-desc">{description}</desc>{pieces}</svg>'
    ).format(kind=kind, key=key, title=title, description=description, height=height, pieces=pieces)


# -- columns --------------------------------------------------------------------------------------


def _joined(
    columns: Sequence[Column], size: int, join: Callable[[Iterable[float]], float]
) -> list[Column]:
    """Every ``size`` neighbours as one column."""
    if size == 1:
        return list(columns)
    numbered = groupby(enumerate(columns), key=lambda pair: pair[0] // size)
    return [_one([column for _, column in group], join) for _, group in numbered]


def _one(group: Sequence[Column], join: Callable[[Iterable[float]], float]) -> Column:
    first, last = group[0], group[-1]
    kinds = {column.kind for column in group}
    return Column(
        value=join(column.value for column in group),
        label=first.label,
        told=first.told if first is last else f"{first.told} … {last.told}",
        kind=first.kind if len(kinds) == 1 else "",
        open_ended=any(column.open_ended for column in group),
    )


def _column(column: Column, at: int, count: int, top: float) -> Markup:
    high = PLOT_HEIGHT * column.value / top if top else 0.0
    high = max(high, 1.5) if column.value else 0.0
    place = {"x": _percent(at + 0.1, count), "width": _percent(0.8, count)}
    floor = _ABOVE + PLOT_HEIGHT
    solid = Markup('<rect x="{x}" width="{width}" y="{y:.1f}" height="{high:.1f}"/>').format(
        **place, y=floor - high, high=high
    )
    more = Markup('<rect class="unknown" x="{x}" width="{width}" y="{y:.1f}" height="{high}"/>')
    beyond = more.format(**place, y=floor - high - _STUB, high=_STUB)
    # The whole height answers to the pointer: a low column is hard to hit.
    aim = Markup('<rect class="aim" x="{x}" width="{width}" y="{y}" height="{high}"/>').format(
        x=_percent(at, count), width=_percent(1, count), y=_ABOVE, high=PLOT_HEIGHT
    )
    return Markup('<g class="column {kind}"><title>{told}</title>{aim}{solid}{beyond}</g>').format(
        kind=column.kind,
        told=column.told,
        aim=aim,
        solid=solid if high else Markup(),
        beyond=beyond if column.open_ended else Markup(),
    )


def _scale(top: float, scale: Callable[[float], str]) -> Markup:
    """Lines at the full and the half height, and the floor; words over the full one."""
    heights = (0, PLOT_HEIGHT / 2, PLOT_HEIGHT)
    line = Markup('<line class="grid" x1="0" x2="100%" y1="{0}" y2="{0}"/>')
    lines = Markup().join(line.format(_ABOVE + height) for height in heights)
    words = Markup('<text class="scale" x="0" y="{}">{}</text>').format(_ABOVE - 7, scale(top))
    return lines + (words if top else Markup())


def _mark(mark: Mark, at: int, count: int) -> Markup:
    return Markup(
        '<g class="mark"><title>{told}</title><line x1="{x}" x2="{x}" y1="{top}" y2="{floor}"/></g>'
    ).format(told=mark.told, x=_percent(at, count), top=_ABOVE, floor=_ABOVE + PLOT_HEIGHT)


def _ceiling(ceiling: Ceiling, top: float) -> Markup:
    y = _ABOVE + PLOT_HEIGHT * (1 - ceiling.value / top)
    return Markup(
        '<g class="ceiling"><line x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
        '<text x="100%" y="{words:.1f}" text-anchor="end">{told}</text></g>'
    ).format(y=y, words=y - 7, told=ceiling.told)


def _ends(first: str, last: str) -> Markup:
    y = _ABOVE + PLOT_HEIGHT + 16
    text = Markup('<text class="end" x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>')
    ends = text.format(x=0, y=y, anchor="start", words=first)
    return ends + (text.format(x="100%", y=y, anchor="end", words=last) if last else Markup())


# -- bars -----------------------------------------------------------------------------------------


def _bar(bar: Bar, at: int, longest: float) -> Markup:
    width = _percent(bar.value, longest) if longest else "0"
    return Markup(
        '<g class="bar"><text x="0" y="{words}">{label}</text>'
        '<text class="value" x="100%" y="{words}" text-anchor="end">{told}</text>'
        '<rect class="ground" x="0" y="{y}" width="100%" height="{high}" rx="2"/>'
        '<rect x="0" y="{y}" width="{width}" height="{high}" rx="2"/></g>'
    ).format(
        words=at * _ROW + 15,
        label=_short(bar.label),
        told=bar.told,
        y=at * _ROW + 21,
        width=width,
        high=_BAR,
    )


def _short(text: str, limit: int = 32) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.3f}%"
