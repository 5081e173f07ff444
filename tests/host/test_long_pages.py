"""The last page of a long file is there before the file was read; what it tells comes later."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from enso.host.contract import StoredThreadPage
from enso.host.session_host import SessionHost
from enso.host.session_scans import LONG_BYTES
from enso.projects import Projects
from enso.transcript import Usage
from tests.fakes.file_runtimes import ScriptedRuntimes
from tests.host.session_lines import CWD, header, message, write

PAGE = 20
USAGE = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}


def long_file(agent_dir: Path, bytes_wanted: int) -> int:
    """A thread of so many bytes and more; how many messages it has."""
    text = "x" * 4_000
    lines = [
        header("t1"),
        {"type": "custom", "customType": "modes", "id": "mode", "data": {"mode": "plan"}},
        message("m0", "mode", text="What it is about"),
    ]
    count = bytes_wanted // len(text) + 2
    for number in range(1, count):
        role = "user" if number % 2 == 0 else "assistant"
        lines.append(message(f"m{number}", f"m{number - 1}", role, text, usage=USAGE))
    label = {"type": "label", "id": "l", "parentId": f"m{count - 1}", "targetId": f"m{count - 2}"}
    write(agent_dir / "sessions" / "--d--" / "x_t1.jsonl", *lines, {**label, "label": "here"})
    return count


@pytest.fixture
def told() -> queue.Queue[frozenset[str]]:
    """What the listener was told."""
    return queue.Queue()


@pytest.fixture
def host(tmp_path: Path, told: queue.Queue[frozenset[str]]) -> Iterator[SessionHost]:
    """A host over a store that somebody watches, as a server does."""
    long_file(tmp_path, LONG_BYTES + 1)
    made = SessionHost(
        agent_dir=tmp_path, projects=Projects([Path(CWD)]), runtimes=ScriptedRuntimes()
    )
    made.on_change(told.put)
    yield made
    made.close()


def page(host: SessionHost, before: str | None = None) -> StoredThreadPage:
    """A page of the thread."""
    found = host.read_stored_page("t1", size=PAGE, before=before)
    assert found is not None
    return found


def test_the_last_page_is_there_at_once_and_the_rest_is_told(
    host: SessionHost, told: queue.Queue[frozenset[str]]
) -> None:
    """The same messages as when the whole was read; counts, spend and mode come with the whole."""
    first = page(host)
    assert (first.whole, first.messages_before, first.usage) == (
        False,
        None,
        Usage(cost_known=False),
    )
    assert told.get(timeout=30) == {"t1"}
    whole = page(host)
    assert whole.whole
    assert whole.messages_before == whole.message_count - PAGE > 0
    assert whole.usage.cost == pytest.approx(0.5 * (whole.message_count // 2))
    assert host.stored_permission_mode(whole.state).mode == "plan"
    assert len(first.entries) == len(whole.entries)
    assert first == replace(
        whole,
        whole=False,
        messages_before=None,
        message_count=PAGE,
        state=first.state,
        usage=first.usage,
    )
    assert list(first.labels.values()) == ["here"]
    assert first.heading == "What it is about"


def test_pages_above_are_there_before_the_whole_was_read(host: SessionHost) -> None:
    """From the first message of one page to the next, as when the whole was read."""
    last = page(host)
    above = page(host, before=last.entries[0].id)
    assert [entry.id for entry in above.entries] == [
        f"m{number}" for number in range(*_numbers(last.entries[0].id))
    ]


def _numbers(first: str) -> tuple[int, int]:
    end = int(first.removeprefix("m"))
    return end - PAGE, end


def test_what_a_first_page_reads_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A page of a file three times as long costs the same bytes and lines."""
    costs: list[tuple[int, int]] = []
    for times in (1, 3):
        agent_dir = tmp_path / str(times)
        long_file(agent_dir, times * (LONG_BYTES + 1))
        host = SessionHost(
            agent_dir=agent_dir, projects=Projects([Path(CWD)]), runtimes=ScriptedRuntimes()
        )
        told: queue.Queue[frozenset[str]] = queue.Queue()
        host.on_change(told.put)
        assert not page(host).whole
        costs.append((host.counters.bytes_read, host.counters.lines_parsed))
        assert told.get(timeout=30) == {"t1"}
        host.close()
    (bytes_of_one, lines_of_one), (bytes_of_three, lines_of_three) = costs
    assert lines_of_three == lines_of_one
    assert abs(bytes_of_three - bytes_of_one) < 1 << 15  # where a block begins in a line


def test_a_long_file_whose_end_tells_nothing_is_read_whole(tmp_path: Path) -> None:
    """A last line without its newline: the page is that of the whole file."""
    long_file(tmp_path, LONG_BYTES + 1)
    path = tmp_path / "sessions" / "--d--" / "x_t1.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    host = SessionHost(
        agent_dir=tmp_path, projects=Projects([Path(CWD)]), runtimes=ScriptedRuntimes()
    )
    host.on_change(queue.Queue[frozenset[str]]().put)
    assert page(host).whole
    host.close()
