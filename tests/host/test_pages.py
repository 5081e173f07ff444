"""A page read from the end of a file says what the whole file says, and reads no more than it must.

The whole reading (``page_of`` over ``read_stored_thread``) is what every page is compared with:
over every recorded file, over damaged ones, and over trees that hypothesis makes.
"""

from __future__ import annotations

import base64
import json
import random
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from enso import wire
from enso.host.contract import WINDOW_BYTES, StoredThreadPage
from enso.host.lines_before import BLOCK
from enso.host.modes import stored_mode
from enso.host.pages import page_of
from enso.host.runtimes.thread_settings import transcript_model
from enso.host.session_host import SessionHost
from enso.host.session_scans import LONG_BYTES
from enso.projects import Projects
from enso.server.messages import interrupted_tail, page_messages, transcript_to_messages
from enso.server.status import cold_status
from enso.transcript import (
    ImagePart,
    ImageSketch,
    Part,
    TranscriptEntry,
    TranscriptMessage,
    TranscriptThinkingLevel,
    TranscriptToolResult,
)
from tests.fakes.file_runtimes import ScriptedRuntimes
from tests.host import corpus

CWD = "/projects/shop"
ESCAPED = b'{"type":"message","id":"y","parentId":"x","message":{"role":"us\\u0065r"}}'
HEADER: dict[str, Any] = {"type": "session", "version": 3, "id": "t1", "cwd": CWD}


@dataclass
class Store:
    """A store with one thread, read by its end and whole."""

    host: SessionHost
    path: Path
    thread_id: str = "t1"

    def light(self) -> StoredThreadPage | None:
        """What is shown first, by the end of the file."""
        return self.host.read_stored_page(self.thread_id, size=60, light=True)

    def page(self, size: int, **where: str) -> StoredThreadPage | None:
        """The page by the end of the file, where that tells it."""
        return self.host.read_stored_page(self.thread_id, size=size, **where)

    def whole(self, size: int, **where: str) -> StoredThreadPage | None:
        """The same page of the whole reading."""
        read = self.host.read_stored_thread(self.thread_id)
        return page_of(read, size=size, **where) if read is not None else None

    def append(self, *lines: Any) -> None:
        """Another program appends to the file."""
        with self.path.open("ab") as file:
            file.write(content(*lines))


def content(*lines: Any) -> bytes:
    """Lines of JSON; bytes stand as they are, with a newline behind them."""
    raw = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return b"".join(line + b"\n" for line in raw)


def store_in(directory: Path, *lines: Any) -> Store:
    """A store whose one file holds these lines."""
    path = directory / "sessions" / "--d--" / "a.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content(*lines))
    host = SessionHost(
        agent_dir=directory, projects=Projects([Path(CWD)]), runtimes=ScriptedRuntimes()
    )
    return Store(host, path)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with a thread of 30 turns."""
    return store_in(tmp_path, HEADER, *turns(30))


def entry(kind: str, entry_id: str, parent_id: str | None, **fields: Any) -> dict[str, Any]:
    """A stored entry."""
    stamp = "2026-01-01T00:00:00.000Z"
    return {"type": kind, "id": entry_id, "parentId": parent_id, "timestamp": stamp, **fields}


def message(entry_id: str, parent_id: str | None, role: str, **fields: Any) -> dict[str, Any]:
    """A stored message."""
    stored = {"role": role, "content": [{"type": "text", "text": f"I am {entry_id}"}], **fields}
    return entry("message", entry_id, parent_id, message=stored)


def call(call_id: str) -> dict[str, Any]:
    """A tool call of an assistant's message."""
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {"command": "ls"}}


def result(entry_id: str, parent_id: str, call_id: str) -> dict[str, Any]:
    """A tool's answer."""
    return message(entry_id, parent_id, "toolResult", toolCallId=call_id, toolName="bash")


def turns(count: int) -> list[dict[str, Any]]:
    """Prompts, each answered by a call, its result and a reply; one line of entries."""
    entries: list[dict[str, Any]] = []
    leaf = None
    for turn in range(count):
        usage = {"input": turn, "output": 1, "cost": {"total": 0.1}}
        for entry_id, role, fields in (
            (f"u{turn}", "user", {}),
            (f"c{turn}", "assistant", {"content": [call(f"call{turn}")], "usage": usage}),
            (f"r{turn}", "toolResult", {"toolCallId": f"call{turn}", "toolName": "bash"}),
            (f"a{turn}", "assistant", {"stopReason": "stop", "usage": usage}),
        ):
            entries.append(message(entry_id, leaf, role, **fields))
            leaf = entry_id
    return entries


def told(page: StoredThreadPage | None) -> Any:
    """All that a page says, with what is asked of its state in place of the entries it is."""
    if page is None:
        return None
    levels = [one.level for one in page.state if isinstance(one, TranscriptThinkingLevel)]
    return (
        (page.id, page.cwd, page.entries, page.later, page.messages_before, page.message_count),
        (page.heading, page.usage, page.name, page.labels, page.skipped_lines, page.turn_before),
        (stored_mode(page.state), transcript_model(page.state), levels[-1:]),
        (interrupted_tail(page.state), cold_status(page.state)),
    )


def every_page(store: Store, size: int = 3) -> None:
    """Walk up from the last page to the first; each is as the whole reading has it, and put end to
    end their messages are the thread's."""
    page = store.page(size)
    assert told(page) == told(store.whole(size))
    read = store.host.read_stored_thread(store.thread_id)
    light = page_of(read, size=60, light=True) if read is not None else None
    assert told(store.light()) == told(light)
    messages = shown(store, page)
    upwards = walk_up(store, page, size)
    for above in upwards:
        messages = [*shown(store, above), *messages]
    if read is not None and len({one.id for one in read.entries}) == len(read.entries):
        assert messages == transcript_to_messages(read.entries, read.labels)


def shown(store: Store, page: StoredThreadPage | None) -> list[wire.Message]:
    """The messages of a page, with the images that it left out."""
    if page is None:
        return []
    turn = page.turn_before
    return page_messages(
        [with_images(store, one) for one in page.entries],
        [with_images(store, one) for one in page.later],
        labels=page.labels,
        requests=turn.requests,
        usage=turn.usage,
    )


def with_images(store: Store, one: TranscriptEntry) -> TranscriptEntry:
    """An entry of a page with its images as they are asked for, one by one."""
    if not isinstance(one, TranscriptMessage | TranscriptToolResult):
        return one
    parts: list[Part] = []
    for number, part in enumerate(one.parts):
        if isinstance(part, ImagePart) and part.sketch is not None:
            asked = store.host.read_stored_image(store.thread_id, one.id, number)
            assert asked is not None
            assert asked.sketch is None
            assert len(asked.data) == part.sketch.length
            parts.append(asked)
        else:
            parts.append(part)
    return replace(one, parts=tuple(parts))


def walk_up(
    store: Store, page: StoredThreadPage | None, size: int
) -> Iterator[StoredThreadPage | None]:
    """The pages above a page, each compared with the whole reading."""
    while page is not None and page.messages_before:
        before = page.entries[0].id
        assert told(store.page(size, since=before)) == told(store.whole(size, since=before))
        page = store.page(size, before=before)
        assert told(page) == told(store.whole(size, before=before))
        yield page


# -- the same as the whole file says --------------------------------------------------------------


@pytest.mark.parametrize("recorded", corpus.ALL, ids=str)
def test_every_page_of_every_recorded_file(recorded: corpus.Recorded, tmp_path: Path) -> None:
    """Damaged ones too."""
    path = corpus.place(recorded, tmp_path)
    host = corpus.host_over(tmp_path)
    for row in host.list_sessions():
        store = Store(host, path, row.id)
        every_page(store)
        read = host.read_stored_thread(row.id)
        assert read is not None
        for one in read.entries:
            assert told(store.page(2, before=one.id)) == told(store.whole(2, before=one.id))
            assert told(store.page(2, since=one.id)) == told(store.whole(2, since=one.id))


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([], id="no entries"),
        pytest.param([entry("label", "a", None)], id="no message"),
        pytest.param([{**HEADER, "version": 1}, *turns(3)], id="version 1 in the midst"),
        pytest.param([*turns(3), *turns(2)], id="every id twice"),
        pytest.param([*turns(3), message("x", "x", "user")], id="its own parent"),
        pytest.param([*turns(3), message("x", "gone", "user")], id="a parent that is missing"),
        pytest.param(
            [message("x", "y", "user"), message("y", "x", "user"), message("z", "y", "user")],
            id="a cycle",
        ),
        pytest.param([message("b", "a", "user"), message("a", None, "user")], id="child first"),
        pytest.param([*turns(3), b'{"type":"mess', message("x", "a2", "user")], id="damage"),
        pytest.param([*turns(3), b"\0\0\0", b"", b"7", b"null"], id="no entries at the end"),
        pytest.param([*turns(3), message("x", "", "user")], id="an empty parent"),
        pytest.param([*turns(3), {"type": "message", "message": {"role": "user"}}], id="no id"),
        pytest.param([*turns(3), {**message("x", "a2", "user"), "id": 7}], id="a number as id"),
        pytest.param([*turns(3), message("x", "a2", "narrator")], id="an unknown role"),
        pytest.param([*turns(3), message("x", None, "user")], id="a second root"),
        pytest.param(
            [*turns(9), message("x", "u2", "assistant"), message("y", "x", "user")], id="a branch"
        ),
        pytest.param(
            [*turns(3), b'{"type":"label","id":"x","parentId":"u1","parentId":"a2"}'],
            id="a key twice",
        ),
        pytest.param([*turns(3), message("\ud800", "a2", "user")], id="a surrogate as id"),
        pytest.param(
            [
                *turns(2),
                b'{"type":"message","id":"x","parentId":"a1","message":{"role":"us\\u0065r"}}',
            ],
            id="escapes",
        ),
        pytest.param([*turns(2), entry("usage", "x", "a1", usage={"input": 1e400})], id="numbers"),
        pytest.param([*turns(2), entry("usage", "x", "a1", usage={"input": True})], id="types"),
    ],
)
def test_every_page_of_odd_files(lines: list[Any], tmp_path: Path) -> None:
    """What the end does not tell is read whole."""
    every_page(store_in(tmp_path, HEADER, *lines))


@pytest.mark.parametrize("version", [1, 2, 3, 4, None, "x"])
def test_every_page_of_every_version(version: Any, tmp_path: Path) -> None:
    """Older ones are read as they are migrated."""
    hook = entry("message", "h", "a3", message={"role": "hookMessage", "display": True})
    every_page(store_in(tmp_path, {**HEADER, "version": version}, *turns(4), hook))


def test_a_torn_end_is_read_whole(store: Store) -> None:
    """Also when what stands there is an entry."""
    with store.path.open("ab") as file:
        file.write(json.dumps(message("x", "a29", "user")).encode())
    every_page(store)
    with store.path.open("ab") as file:
        file.write(b"\n" + b'{"type":"message","id"')
    every_page(store)


def test_results_that_come_after_the_page_are_paired_into_it(tmp_path: Path) -> None:
    """Behind other messages, with an id spelled with escapes, and of a call that was told twice."""
    lines = [
        HEADER,
        message("u", None, "user"),
        message("c", "u", "assistant", content=[call("one"), call("two"), call("two")]),
        message("v", "c", "user"),
        message("d", "v", "assistant", content=[call("three")]),
        result("r1", "d", "two"),
        json.dumps(result("r2", "r1", "ONE")).replace("ONE", "\\u006fne").encode(),
        result("r3", "r2", "three"),
        message("e", "r3", "assistant", content=[call("two")]),
        result("r4", "e", "two"),
        result("r5", "r4", "two"),
    ]
    store = store_in(tmp_path, *lines)
    page = store.page(2, before="v")
    assert page is not None
    assert [later.id for later in page.later] == ["r1", "r2"]
    every_page(store, 1)
    every_page(store, 2)


# -- no more than it must -------------------------------------------------------------------------


def test_the_last_page_costs_the_same_however_long_the_thread_is(tmp_path: Path) -> None:
    """A hundred times the turns: the same lines parsed, and no more than a block of bytes more."""
    costs: list[tuple[int, int]] = []
    for name, count in (("short", 40), ("long", 4000)):
        store = store_in(tmp_path / name, HEADER, *turns(count))
        assert store.host.stored_thread("t1") is not None
        page = store.page(60)
        assert page is not None
        assert page.message_count == 3 * count
        costs.append((store.host.counters.lines_parsed, store.host.counters.bytes_read))
    (short_lines, short_bytes), (long_lines, long_bytes) = costs
    assert long_lines == short_lines < 200
    assert long_bytes <= short_bytes + BLOCK


def steps(count: int) -> Iterator[dict[str, Any]]:
    """A prompt and the steps that it took."""
    yield message("u", None, "user")
    leaf = "u"
    for step in range(count):
        yield message(f"c{step}", leaf, "assistant", content=[call(f"call{step}")])
        yield result(f"r{step}", f"c{step}", f"call{step}")
        leaf = f"r{step}"
    yield message("a", leaf, "assistant", stopReason="stop")


def test_what_is_shown_first_fills_a_window(tmp_path: Path) -> None:
    """Twenty messages; of steps of work more, as they are low, and no more than a page holds."""
    for name, lines, first, count in (
        ("talk", turns(30), "c23", 20),
        ("one turn", [*steps(100)], "c41", 60),
        ("few", turns(2), "u0", 6),
    ):
        store = store_in(tmp_path / name, HEADER, *lines)
        page = store.light()
        assert page is not None
        assert page.entries[0].id == first
        assert (page.message_count or 0) - (page.messages_before or 0) == count
        every_page(store, 20)


def grown(chance: random.Random) -> Iterator[Any]:
    """Some long thread: talk, steps of work, what is no message, torn lines, other branches."""
    leaf, ids = None, list[str]()
    named = {"provider": "p", "model": "m"}
    for number in range(chance.randrange(60, 200)):
        entry_id, kind = f"e{number}", chance.randrange(10)
        if kind < 5:
            step = {**named, "content": [call(f"call{number}")]}
            yield message(f"c{number}", leaf, "assistant", **step)
            yield result(entry_id, f"c{number}", f"call{number}")
        elif kind < 8:
            yield message(entry_id, leaf, ("user", "assistant", "bashExecution")[kind - 5], **named)
        elif kind == 8:
            yield entry("custom", entry_id, leaf, customType="x", data={})
            yield b'{"torn'
        leaf = entry_id if kind < 9 else chance.choice(ids or [None])
        ids += [entry_id] if kind < 9 else []


def test_what_is_shown_first_of_any_thread_is_as_the_whole_has_it(tmp_path: Path) -> None:
    """Also once the way above it was read."""
    for seed in range(12):
        store = store_in(tmp_path / str(seed), HEADER, *grown(random.Random(seed)))
        read = store.host.read_stored_thread("t1")
        assert read is not None
        whole = page_of(read, size=60, light=True)
        assert told(store.light()) == told(whole)
        every_page(store, 40)
        assert told(store.light()) == told(whole)


def test_of_images_no_more_is_passed_than_fills_a_window(tmp_path: Path) -> None:
    """A window of images is some two megabytes of a file, however many follow one another."""
    size, leaf, lines = 400_000, None, list[bytes]()
    for number in range(30):
        prompt = message(f"u{number}", leaf, "user", content=[image(size)])
        leaf = f"a{number}"
        lines += [compact(prompt), compact(message(leaf, f"u{number}", "assistant"))]
    store = store_in(tmp_path, HEADER, *lines)
    page = store.light()
    assert page is not None
    assert [one.id for one in page.entries] == [
        f"{kind}{number}" for number in range(24, 30) for kind in "ua"
    ]
    assert store.host.counters.bytes_read < WINDOW_BYTES + size + 4 * BLOCK


def test_a_page_above_goes_on_from_where_the_page_below_was_read(tmp_path: Path) -> None:
    """Walking up reads each part of the file for one page."""
    store = store_in(tmp_path, HEADER, *turns(4000))
    counters = store.host.counters
    page, costs = store.page(60), list[int]()
    for _ in range(20):
        assert page is not None
        before = counters.lines_parsed
        page = store.page(60, before=page.entries[0].id)
        costs.append(counters.lines_parsed - before)
    assert max(costs) < 200


def test_a_page_of_images_is_read_without_them(tmp_path: Path) -> None:
    """Their lines are passed on the way up; of each no more than its text is read again, and the
    next time nothing else; the one that is looked at is read alone."""
    size = 400_000
    said = [image(size), {"type": "text", "text": "these two"}, image(size)]
    prompted = compact(message("u", "a2", "user", content=said))
    answered = message("a", "u", "assistant", stopReason="stop")
    store = store_in(tmp_path, HEADER, *turns(3), prompted, answered)
    page = store.page(2)
    assert page is not None
    prompt = page.entries[0]
    assert isinstance(prompt, TranscriptMessage)
    parts = [one for one in prompt.parts if isinstance(one, ImagePart)]
    assert parts == [ImagePart("image/png", "", ImageSketch(size, (640, 480)))] * 2
    counters = store.host.counters
    assert counters.bytes_read < 2 * size + 2 * BLOCK + 4000
    before = counters.bytes_read
    assert told(store.page(2)) == told(page)
    assert counters.bytes_read - before < 4000
    before = counters.bytes_read
    asked = store.host.read_stored_image("t1", "u", 2)
    assert asked is not None
    assert asked.data == said[2]["data"]
    assert counters.bytes_read - before < 2 * size + 4000
    assert told(page) == told(store.whole(2))


def test_a_page_of_images_before_the_file_was_read_costs_the_way_to_them(tmp_path: Path) -> None:
    """Of a long file that nobody scanned yet, what it tells beside the page has none either."""
    said = [image(LONG_BYTES)]
    prompted = compact(message("u", "a2", "user", content=said))
    answered = message("a", "u", "assistant", stopReason="stop")
    store = store_in(tmp_path, HEADER, *turns(3), prompted, answered)
    unwatch = store.host.on_change(lambda _: None)
    page = store.page(2)
    assert page is not None
    assert not page.whole
    assert [one.id for one in page.entries] == ["u", "a"]
    assert store.host.counters.bytes_read < LONG_BYTES + 2 * BLOCK + 40_000
    unwatch()
    store.host.close()


def compact(stored: dict[str, Any]) -> bytes:
    """An entry's line as pi writes it."""
    return json.dumps(stored, separators=(",", ":")).encode()


def image(length: int, **fields: Any) -> dict[str, Any]:
    """A block with an image of this much base64, laid out as pi writes one."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
    data = base64.b64encode(head + bytes(length)).decode()[:length]
    return {"type": "image", "data": data, "mimeType": "image/png", **fields}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"details": {"seen": image(20_000)}}, id="in details"),
        pytest.param({"content": "none", "details": image(20_000)}, id="in details alone"),
        pytest.param({"content": [image(20_000, data="@0"), image(9000)]}, id="a mark as data"),
        pytest.param({"content": [image(9000, data="\\/" * 9000)]}, id="escapes"),
        pytest.param({"content": [image(9000, data='x\\","' * 3000)]}, id="quotes"),
        pytest.param({"content": [image(9000, type="text", text="t")]}, id="no image"),
        pytest.param({"content": [{**image(9000), "data": None}, image(9000)]}, id="no data"),
        pytest.param({"content": [image(5000, data="<" * 5000)]}, id="no base64"),
        pytest.param({"content": [image(40_000)] * 5}, id="many"),
        pytest.param({"content": [image(4000), image(4100)]}, id="small"),
    ],
)
def test_images_in_odd_places(fields: dict[str, Any], tmp_path: Path) -> None:
    """What is no image of a message's content stays as it is; spaced lines read the same."""
    for number, separators in enumerate([(",", ":"), (", ", ": ")]):
        last = [
            message("u", "a2", "user", **fields),
            message("r", "u", "toolResult", toolCallId="x", toolName="read", **fields),
            message("a", "r", "assistant", stopReason="stop"),
        ]
        lines = [json.dumps(one, separators=separators).encode() for one in last]
        every_page(store_in(tmp_path / str(number), HEADER, *turns(3), *lines))


def test_a_file_that_is_read_whole_is_not_read_by_its_end(tmp_path: Path) -> None:
    """Of a file whose end does not tell, nothing is read twice."""
    store = store_in(tmp_path, {**HEADER, "version": 2}, *turns(4))
    assert store.page(2) is not None
    assert store.host.counters.lines_parsed == 0


# -- any tree -------------------------------------------------------------------------------------

ROLES = st.sampled_from(["user", "assistant", "toolResult", "custom", "bashExecution", "system"])
KINDS = st.sampled_from(
    [
        *["message"] * 6,
        "compaction",
        "branch_summary",
        "model_change",
        "thinking_level_change",
        "custom",
        "custom_message",
        "session_info",
        "usage",
        "label",
    ]
)


@st.composite
def trees(draw: st.DrawFn) -> list[Any]:
    """Entries that hang on any other: now and then on none, on one to come, or with its id."""
    lines: list[Any] = []
    count = draw(st.integers(1, 14))
    for number in range(count):
        parents = [f"e{number - 1}"] * 6 + [f"e{at}" for at in range(number)] + [None]
        if draw(st.integers(0, 30)) == 0:
            parents = [f"e{number}", f"e{count - 1}", "gone", "", 3]
        parent = draw(st.sampled_from(parents)) if number else None
        entry_id = f"e{number}" if draw(st.integers(0, 60)) else f"e{number // 2}"
        lines.append(draw(entries_of(entry_id, parent)))
    return lines


@st.composite
def entries_of(draw: st.DrawFn, entry_id: str, parent: Any) -> dict[str, Any]:
    """An entry of any kind."""
    kind = draw(KINDS)
    usage = draw(st.sampled_from([None, {"input": 3, "cost": {"total": 0.1}}, {"output": -1}]))
    calls = draw(st.lists(st.sampled_from(["one", "two"]), max_size=2))
    text = draw(st.sampled_from(["", " ", "Hello"]))
    stored = {
        "role": draw(ROLES),
        "content": [{"type": "text", "text": text}, *map(call, calls)],
        "toolCallId": draw(st.sampled_from(["one", "two"])),
        "stopReason": draw(st.sampled_from(["stop", "error", "aborted", "toolUse"])),
        "provider": "labserver",
        "model": draw(st.sampled_from(["a", "b"])),
        "display": draw(st.booleans()),
        "usage": usage,
    }
    data = draw(st.sampled_from([{"mode": "plan"}, {"mode": ""}, {"agent": "x"}, "auto", None]))
    return entry(
        kind,
        entry_id,
        parent,
        message=stored,
        customType=draw(st.sampled_from(["modes", "active_agent", "other"])),
        data=data,
        display=stored["display"],
        usage=usage,
        name=draw(st.sampled_from(["A name", ""])),
        targetId=draw(st.sampled_from(["e0", "e1", "gone"])),
        label=draw(st.sampled_from(["A label", ""])),
        thinkingLevel=draw(st.sampled_from(["off", "high"])),
        provider="labserver",
        modelId="c",
    )


@settings(max_examples=200)
@given(trees(), st.integers(1, 3), st.integers(0, 14))
def test_every_page_of_any_tree(lines: list[Any], size: int, grown: int) -> None:
    """Read at once, and read again after it grew."""
    with tempfile.TemporaryDirectory() as directory:
        store = store_in(Path(directory), HEADER, *lines[:-grown])
        every_page(store, size)
        store.append(*lines[-grown:])
        every_page(store, size)
