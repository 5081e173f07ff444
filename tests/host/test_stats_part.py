"""The later part of a file, added up without what is before it and joined, comes to the same."""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack

from enso.host.contract import BranchStats
from enso.host.kept_sums import KeptSums
from enso.host.lines_before import Counters
from enso.host.session_log import CURRENT_VERSION, open_regular, read_header
from enso.host.session_rows import read_rows
from enso.host.stats import STATS_SUM
from enso.host.stats_lines import STATS
from enso.host.stats_sum import StatsSum
from enso.host.stats_worker import later_part
from enso.host.sums_in_order import InOrder, LaterPart, NotInOrder
from tests.host.corpus import ALL, Recorded, place

HEADER = {"type": "session", "version": 3, "id": "t1", "cwd": "/shop"}
RECORDED = [recorded for recorded in ALL if recorded.listed]


def at_once(path: Path) -> BranchStats | None:
    """What a file comes to in this process; ``None`` where its entries are not in order."""
    return added_up(path, None)


def in_parts(path: Path, start: int) -> BranchStats | None:
    """The same, the lines from a place on added up by themselves."""
    return added_up(path, start)


def added_up(path: Path, start: int | None) -> BranchStats | None:
    """What it comes to, from a place on in a part of its own, which is packed on its way."""
    total = StatsSum()
    in_order = InOrder(total, array("q"), None)
    with open_regular(path) as stream:
        found = read_rows(stream, STATS, Counters(), None, in_order.take, start)
    assert found is not None
    if start is not None:
        assert found.consumed == start
        told = msgpack.encode(later_part(path, path.stat().st_ino, start))
        in_order.join(msgpack.decode(told, type=LaterPart))
    in_order.settle()
    return total.answer()


def parts_of(path: Path) -> Iterator[int]:
    """Where a part may begin: at each line behind the header that has an id."""
    begin = 0
    for number, raw in enumerate(path.read_bytes().splitlines(keepends=True)):
        try:
            decoded = STATS.decode(raw)
        except (ValueError, RecursionError):
            decoded = None
        if number and decoded is not None and decoded.id:
            yield begin
        begin += len(raw)


def compare(path: Path) -> int:
    """Compare every way to part a file; returns how many were joined."""
    joined = 0
    for start in parts_of(path):
        whole = parted = None
        try:
            whole = at_once(path)
        except NotInOrder:
            with pytest.raises(NotInOrder):
                in_parts(path, start)
            continue
        parted = in_parts(path, start)
        assert parted == whole
        joined += 1
    return joined


@pytest.mark.parametrize("recorded", RECORDED, ids=str)
def test_a_recorded_thread_may_be_parted_at_any_line(recorded: Recorded, tmp_path: Path) -> None:
    """Damaged ones too."""
    path = place(recorded, tmp_path)
    header = read_header(json.loads(path.read_bytes().splitlines()[0] or b"null"))
    if header is not None and header.version == CURRENT_VERSION:
        compare(path)


class Story:
    """Entries of every kind that follow anything, made by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.ids: list[str | None] = []
        self.calls: list[str] = []
        self.wild = seed % 3 == 0

    def entry(self, number: int) -> dict[str, Any]:
        """The next one."""
        chance, parent = self.chance, self.ids[-1] if self.ids else None
        if chance.random() < (0.3 if self.wild else 0.08):
            parent = chance.choice([*self.ids, None, "missing"])
        elif self.wild and chance.random() < 0.02:
            parent = f"e{number + chance.randrange(4)}"
        entry_id = f"e{number}"
        if self.wild and chance.random() < 0.01:
            entry_id = chance.choice(self.ids) or entry_id
        self.ids.append(entry_id)
        made = {"id": entry_id, "parentId": parent, "timestamp": 1000 * number + 400}
        return made | self.told(number)

    def told(self, number: int) -> dict[str, Any]:
        """What it says."""
        chance = self.chance
        kind = chance.choices(["user", "answer", "result", "other"], [2, 6, 7, 1])[0]
        usage = {"input": number, "output": 7, "cost": {"total": 0.1 * number}}
        if kind == "user":
            return {"type": "message", "message": {"role": "user", "content": f"Prompt {number}"}}
        if kind == "answer":
            self.calls = [f"c{chance.randrange(4)}" for _ in range(chance.randrange(3))]
            tools = [
                {"type": "toolCall", "id": one, "name": chance.choice("abcd")} for one in self.calls
            ]
            said = {"role": "assistant", "content": tools, "timestamp": 1000 * number}
            ended = chance.choice(["stop", "error", "toolUse"])
            spent = {"usage": usage} if chance.random() < 0.8 else {}
            return {"type": "message", "message": {**said, **spent, "stopReason": ended}}
        if kind == "result":
            call = chance.choice([*self.calls, "c0", "c9"])
            said = {"role": "toolResult", "toolCallId": call, "isError": chance.random() < 0.3}
            spent = {"usage": usage} if chance.random() < 0.3 else {}
            return {"type": "message", "message": {**said, **spent, "timestamp": 1000 * number}}
        kind = chance.choice(["compaction", "branch_summary", "label", "usage"])
        return {"type": kind, "usage": usage if chance.random() < 0.7 else "much"}


def written(path: Path, entries: list[dict[str, Any]]) -> None:
    """Write a session of these."""
    path.write_text("".join(f"{json.dumps(one)}\n" for one in [HEADER, *entries]))


@pytest.mark.parametrize("seed", range(60))
def test_any_thread_may_be_parted_at_any_line(tmp_path: Path, seed: int) -> None:
    """Whose turns began before, whose branches part there and there, whose results are of answers
    from before; what is in no order is in none in parts."""
    story, path = Story(seed), tmp_path / "session.jsonl"
    written(path, [story.entry(number) for number in range(40)])
    joined = compare(path)
    assert story.wild or joined >= 30


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A session of 3,000 entries: many pages of requests."""
    story, path = Story(1), tmp_path / "long.jsonl"
    written(path, [story.entry(number) for number in range(3000)])
    return path


def test_another_process_adds_up_the_later_lines_of_a_long_file(long: Path) -> None:
    """Each line is read once, here or there, and the file goes on from there."""
    alone, shared = Counters(), Counters()
    whole, sums = KeptSums(alone).read(long, STATS_SUM), KeptSums(shared, pays_bytes=1000)
    assert whole is not None
    parted = sums.read(long, STATS_SUM)
    assert parted is not None
    assert parted.answer == whole.answer
    assert list(parted.answer.requests) == list(whole.answer.requests)
    assert vars(shared) == vars(alone)
    more = {"type": "usage", "id": "more", "parentId": "e2999", "usage": {"input": 5}}
    with long.open("a") as stream:
        stream.write(json.dumps(more) + "\n")
    longer, read = sums.read(long, STATS_SUM), KeptSums(Counters()).read(long, STATS_SUM)
    assert longer is not None
    assert read is not None
    assert longer.answer == read.answer
    assert shared.lines_parsed == alone.lines_parsed + 1


@pytest.mark.parametrize(
    "module", ["enso.no_such_module", "enso.host.row_worker", "tests.host.nothing_left"]
)
def test_a_process_that_is_of_no_use_costs_nothing_but_time(long: Path, module: str) -> None:
    """One that fails, one that answers nothing, and one for which the file was cut off."""
    whole, alone = KeptSums(counters := Counters()).read(long, STATS_SUM), vars(counters)
    sums = KeptSums(shared := Counters(), pays_bytes=1000)
    parted = sums.read(long, replace(STATS_SUM, helper=module))
    assert parted == whole
    assert vars(shared) == alone


def test_lines_of_another_file_are_not_added_up(long: Path) -> None:
    """The path leads to another file by the time that the process opens it."""
    with pytest.raises(OSError, match=str(long)):
        later_part(long, long.stat().st_ino + 1, 0)
