"""The memory of processes together: a page of memory that several of them hold counts once."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

KIBIBYTES = 1024
_EVERY_SECONDS = 0.03


def sizes_of(pid: int) -> dict[str, float]:
    """What the system tells of a process, in MiB: ``Rss``, ``Pss`` and others."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) / KIBIBYTES for line in lines}


def own_peak() -> float:
    """The most that this process held so far, in MiB.

    ``getrusage`` would tell the peak of the process that started this one, where that was larger.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / KIBIBYTES


def children_of(pid: int) -> list[int]:
    """The processes that a process started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def together(pids: Iterable[int]) -> float:
    """MiB of processes by their proportional set sizes. One that ends meanwhile counts nothing."""
    total = 0.0
    for pid in pids:
        with suppress(OSError):
            total += sizes_of(pid)["Pss"]
    return total


class Peak:
    """The most that this process and those that it started held together so far, in MiB."""

    mebibytes = 0.0


@contextmanager
def peak() -> Generator[Peak]:
    """Look at it again and again meanwhile, which costs some time."""
    found, ended, own = Peak(), threading.Event(), os.getpid()

    def look() -> None:
        while not ended.wait(_EVERY_SECONDS):
            found.mebibytes = max(found.mebibytes, together([own, *children_of(own)]))

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield found
    finally:
        ended.set()
        watching.join()
