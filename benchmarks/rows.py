"""One row of what was measured: told as Markdown as soon as it is known, and kept for the plots.

Each benchmark tells its rows through ``Table``. When ``ENSO_ROWS`` names a file, every row is also
added to it as one line of JSON: ``python -m benchmarks`` reads them from there.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

MILLISECONDS = 1000
ROWS = "ENSO_ROWS"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one kind of work took: seconds, and the peak of memory in MiB where it was measured."""

    seconds: float
    mebibytes: float | None = None

    def __str__(self) -> str:
        time = f"{self.seconds * MILLISECONDS:,.{1 if self.seconds < 0.1 else 0}f} ms"
        return time if self.mebibytes is None else f"{time}, {self.mebibytes:,.0f} MiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A kind of work: what it cost pi, where it was there to be measured, and Enso."""

    work: str
    enso: Cost
    pi: Cost | None = None
    wanted: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times faster than pi, in the same run."""
        return self.pi.seconds / self.enso.seconds if self.pi else None

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:,.{1 if self.ratio < 10 else 0}f}×"
        return f"| {self.work} | {self.pi or ''} | {self.enso} | {ratio} | {self.wanted} |"


HEAD = "| work | pi | Enso | faster | wanted |\n|---|---|---|---|---|"


def tell(row: Row) -> None:
    """Print a row, and keep it where the environment says."""
    print(row, flush=True)
    kept = os.environ.get(ROWS)
    if kept:
        with Path(kept).open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(asdict(row)) + "\n")


def kept_rows(path: Path) -> list[Row]:
    """The rows of a file that ``tell`` wrote."""
    return [_row(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _row(value: dict[str, object]) -> Row:
    costs = {side: Cost(**cost) for side in ("enso", "pi") if isinstance(cost := value[side], dict)}
    return Row(work=str(value["work"]), wanted=str(value["wanted"]), **costs)
