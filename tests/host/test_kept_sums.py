"""A file is added up once; of one that goes on, what came is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enso.host.context import CONTEXT_SUM, branch_context
from enso.host.context_walk import MeasuredContext
from enso.host.contract import BranchContext, BranchStats
from enso.host.kept_sums import KeptSums, Summing
from enso.host.lines_before import Counters
from enso.host.session_host import SessionHost
from enso.host.session_log import Entry, branch_of, read_session
from enso.host.session_tree import TREE_SUM, tree_of
from enso.host.stats import STATS_SUM, branch_stats
from tests.host.corpus import ALL, Recorded, host_over, place

LISTED = [recorded for recorded in ALL if recorded.listed]
HEADER = {"type": "session", "version": 3, "id": "t1", "cwd": "/shop"}


def line(number: int, parent: int | None = None) -> str:
    """One line of a turn of a prompt, an answer with two calls, and their results."""
    before = number - 1 if parent is None else parent
    message: dict[str, Any] = {"timestamp": 1000 * number}
    match number % 4:
        case 0:
            message |= {"role": "user", "content": f"Prompt {number}"}
        case 1:
            calls = [{"type": "toolCall", "id": one, "name": f"tool-{one}"} for one in "ab"]
            usage = {"input": number, "output": 7, "cost": {"total": 0.1}}
            message |= {"role": "assistant", "content": calls, "usage": usage}
        case rest:
            message |= {"role": "toolResult", "toolCallId": "ab"[rest - 2], "isError": rest == 2}
    entry = {"type": "message", "id": f"e{number}", "parentId": f"e{before}" if number else None}
    return json.dumps({**entry, "timestamp": 1000 * number + 400, "message": message}) + "\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session of 600 entries, each of which follows the one before."""
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(HEADER) + "\n" + "".join(map(line, range(600))))
    return path


class Asked:
    """Stats that are asked for again and again, each time those of the file read whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counters = Counters()
        self.sums = KeptSums(self.counters)

    def stats(self) -> BranchStats:
        """The stats now."""
        summed, log = self.sums.read(self.path, STATS_SUM), read_session(self.path)
        assert summed is not None
        assert log is not None
        assert summed.answer == branch_stats(log.entries, log.entries[-1]["id"])
        return summed.answer

    def cost(self) -> tuple[int, int]:
        """How many lines they cost, and how many entries were added up for them."""
        lines, added = self.counters.lines_parsed, self.counters.entries_added_up
        self.stats()
        return self.counters.lines_parsed - lines, self.counters.entries_added_up - added

    def append(self, text: str) -> None:
        """Another program writes more."""
        with self.path.open("a") as stream:
            stream.write(text)


@pytest.fixture
def asked(path: Path) -> Asked:
    """Stats that were not asked for yet."""
    return Asked(path)


def test_what_did_not_change_is_not_added_up_again(asked: Asked) -> None:
    """Nor is one line of it read."""
    assert asked.cost() == (601, 600)
    assert asked.cost() == (0, 0)


def test_of_a_branch_that_goes_on_the_new_lines_are_added_up(asked: Asked) -> None:
    """In the middle of a turn as well; what was told before does not change."""
    asked.append("".join(map(line, range(600, 602))))
    first = asked.stats()
    told = list(first.turns), list(first.requests)
    for number in range(602, 609):
        asked.append(line(number))
        assert asked.cost() == (1, 1)
    assert (list(first.turns), list(first.requests)) == told
    assert len(asked.stats().turns) == len(first.turns) + 2


@pytest.mark.parametrize("parent", [3, 598, 9999], ids=["early", "late", "missing"])
def test_another_branch_is_added_up_anew(asked: Asked, parent: int) -> None:
    """Once; from its leaf on it goes on as cheaply, in the turn that it left the other in."""
    asked.stats()
    asked.append(line(601, parent=parent))
    added = asked.cost()[1]
    assert added == 601
    for number in (602, 603, 604):
        asked.append(line(number))
        assert asked.cost() == (1, 1)


def test_an_id_that_comes_again_is_added_up_anew(asked: Asked) -> None:
    """Of two entries with one id the later one counts."""
    asked.stats()
    again = json.loads(line(5)) | {"parentId": "e599"}
    asked.append(json.dumps(again) + "\n")
    assert asked.cost()[1] == 601


def test_a_torn_line_is_no_end_to_go_on_from(asked: Asked) -> None:
    """What completes it is read with it."""
    whole = line(600)
    asked.append(whole[:30])
    asked.stats()
    asked.append(whole[30:] + line(601))
    assert len(asked.stats().requests) == 151


def replaced(path: Path) -> None:
    """Rewrite it."""
    path.write_text(path.read_text().replace('"input": 1,', '"input": 2,') + line(600))


def cut(path: Path) -> None:
    """Cut it off."""
    path.write_bytes(path.read_bytes()[:9000])


@pytest.mark.parametrize("change", [replaced, cut])
def test_a_file_that_was_rewritten_is_added_up_anew(
    asked: Asked, change: Callable[[Path], None]
) -> None:
    """Longer or shorter than it was."""
    asked.stats()
    change(asked.path)
    assert asked.cost()[1] > 0


def test_no_more_is_kept_than_is_said(tmp_path: Path, path: Path) -> None:
    """The sum that was looked at longest ago is let go."""
    other = tmp_path / "other.jsonl"
    other.write_bytes(path.read_bytes())
    counters = Counters()
    sums = KeptSums(counters, most_bytes=50_000)
    for one in (path, other, other, path):
        assert sums.read(one, STATS_SUM) is not None
    assert counters.entries_added_up == 3 * 600


def told_of(line: str, chance: random.Random) -> dict[str, Any]:
    """A line's entry, now and then damaged: its values of other types, or without its usage."""
    entry = json.loads(line)
    if chance.random() < 0.2:
        at = chance.choice([entry, entry["message"]])
        at[chance.choice([*at, "durationMs", "usage"])] = chance.choice(
            [None, 7, -1.5, "x", [], {}]
        )
    return entry


@pytest.mark.parametrize("seed", range(20))
def test_branches_are_added_up_as_they_are_read_and_come_to_the_same(path: Path, seed: int) -> None:
    """As from the tree of the whole file: whatever follows what, and whatever is damaged."""
    chance = random.Random(seed)
    entries = [told_of(line(number), chance) for number in range(60)]
    for number, entry in enumerate(entries):
        if chance.random() < 0.15:
            entry["parentId"] = f"e{chance.randrange(number + 1)}" if seed % 4 else "missing"
    if seed % 5 == 0:
        entries.append(dict(chance.choice(entries), parentId="e59"))
        chance.shuffle(entries)
    path.write_text("\n".join(map(json.dumps, [HEADER, *entries])) + "\n")
    log, summed = read_session(path), KeptSums(Counters()).read(path, STATS_SUM)
    assert log is not None
    assert summed is not None
    assert summed.answer == branch_stats(log.entries, log.entries[-1]["id"])


def test_a_file_whose_branches_part_is_read_once(asked: Asked) -> None:
    """Where each entry comes behind the one that it follows."""
    for number in range(600, 640):
        asked.append(line(number, parent=number - 7))
    assert asked.cost() == (641, 640)


def context_of(entries: list[Entry], leaf_id: str) -> BranchContext:
    """The context of the branch."""
    return branch_context(branch_of(entries, leaf_id))


def as_it_is(answer: object) -> object:
    """What a sum comes to."""
    return answer


def its_context(answer: MeasuredContext) -> BranchContext:
    """The context that was measured."""
    return answer.context


KINDS: list[tuple[Summing[Any, Any], Callable[[Any], object], Callable[[Any, str], object]]] = [
    (STATS_SUM, as_it_is, branch_stats),
    (TREE_SUM, as_it_is, tree_of),
    (CONTEXT_SUM, its_context, context_of),
]


@pytest.mark.parametrize("recorded", LISTED, ids=str)
def test_a_recorded_thread_that_grows_says_what_it_says_read_at_once(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Every sum, at every line: versions 1 to 3, damage, branches, ids that come twice."""
    placed = place(recorded, tmp_path)
    lines = placed.read_bytes().splitlines(keepends=True)
    sums = KeptSums(Counters())
    placed.write_bytes(b"")
    with placed.open("ab", buffering=0) as stream:
        for one in lines:
            stream.write(one)
            log = read_session(placed)
            if log is None or not log.entries:
                continue
            for kind, found, told in KINDS:
                summed = sums.read(placed, kind)
                assert summed is not None
                assert found(summed.answer) == told(log.entries, log.entries[-1]["id"])


def test_a_label_that_comes_or_goes_is_on_what_was_read_before(asked: Asked) -> None:
    """At the cost of its own line."""
    sums, parent = asked.sums, "e599"
    for number, (target, words) in enumerate([("e7", "here"), ("e8", "there"), ("e7", "")]):
        label = {"type": "label", "id": f"l{number}", "parentId": parent, "targetId": target}
        asked.append(json.dumps({**label, "label": words}) + "\n")
        summed, log = sums.read(asked.path, TREE_SUM), read_session(asked.path)
        assert summed is not None
        assert log is not None
        assert summed.answer == tree_of(log.entries, log.entries[-1]["id"])
        parent = f"l{number}"
    assert asked.counters.entries_added_up == 603


@pytest.mark.parametrize(
    "ask",
    [
        SessionHost.read_stored_thread_stats,
        SessionHost.read_stored_thread_tree,
        SessionHost.read_stored_thread_context,
    ],
)
def test_what_is_said_of_a_whole_thread_costs_one_reading_of_its_file(
    tmp_path: Path, ask: Callable[[SessionHost, str], object]
) -> None:
    """Whoever asks again: the host keeps what it came to."""
    placed = place(LISTED[0], tmp_path)
    host, thread_id = host_over(tmp_path), LISTED[0].listed["id"]
    first = ask(host, thread_id)
    assert first is not None
    read = host.counters.lines_parsed
    assert read == len(placed.read_bytes().splitlines())
    assert ask(host, thread_id) == first
    assert host.counters.lines_parsed == read
