"""Plots of what was measured, as SVG: Enso beside pi, on scales of powers of ten.

    python -m benchmarks.plots ROWS DIRECTORY

Needs matplotlib: ``pip install -e '.[benchmarks]'``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from benchmarks.rows import MILLISECONDS, Cost, Row, kept_rows

ENSO, PI, TEXT = "#0f8b6d", "#9a6a2f", "#808080"
"""Colours that can be read on a light page and on a dark one."""


def plot(rows: Sequence[Row], *, of: Callable[[Cost], float | None], unit: str) -> Figure:
    """A line for each row that both were measured in: from Enso's value to pi's."""
    both = [
        (row.work, enso, pi)
        for row in rows
        if row.pi and (enso := of(row.enso)) and (pi := of(row.pi))
    ]
    figure = Figure(figsize=(9, 0.9 + 0.42 * len(both)), layout="constrained")
    axes = figure.subplots()
    for place, (_, enso, pi) in enumerate(reversed(both)):
        axes.plot((enso, pi), (place, place), color=TEXT, linewidth=1, zorder=1)
        axes.scatter((enso,), (place,), color=ENSO, zorder=2, label="Enso" if place == 0 else None)
        axes.scatter((pi,), (place,), color=PI, zorder=2, label="pi" if place == 0 else None)
        axes.annotate(
            f"{pi / enso:,.1f}×", ((enso * pi) ** 0.5, place), (0, 4), color=TEXT, fontsize=8,
            textcoords="offset points", ha="center",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(unit, color=TEXT)
    axes.set_yticks(range(len(both)), [work for work, _, _ in reversed(both)])
    axes.set_ylim(-0.6, len(both) - 0.3)
    axes.tick_params(colors=TEXT, which="both")
    axes.grid(axis="x", color=TEXT, alpha=0.25)
    for edge in axes.spines.values():
        edge.set_visible(False)
    above = {"loc": "lower right", "bbox_to_anchor": (1, 1)}
    axes.legend(frameon=False, labelcolor=TEXT, ncols=2, **above)
    return figure


def draw(rows: Sequence[Row], directory: Path) -> None:
    """Write ``performance-time.svg`` and ``performance-memory.svg``. Same rows, same bytes."""
    mpl.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "enso", "font.family": "sans-serif"}
    )
    directory.mkdir(parents=True, exist_ok=True)
    plots = {
        "time": plot(rows, of=lambda cost: cost.seconds * MILLISECONDS, unit="milliseconds"),
        "memory": plot(rows, of=lambda cost: cost.mebibytes, unit="peak of memory, MiB"),
    }
    for name, figure in plots.items():
        figure.savefig(
            directory / f"performance-{name}.svg",
            transparent=True,
            metadata={"Date": None, "Creator": None},
        )


if __name__ == "__main__":
    draw(kept_rows(Path(sys.argv[1])), Path(sys.argv[2]))
