"""What pi was recorded to say, taken in again: the file it wrote grows beside it as it did then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import (
    BranchChanged,
    EntryStored,
    MessageDropped,
    MessageStarted,
    PartDelta,
    ThreadEvent,
    ToolProgress,
)
from enso.host.runtimes.activities import Activities
from enso.host.runtimes.pi.events import Translator
from enso.host.runtimes.pi.extension_ui import ExtensionUi
from enso.host.runtimes.pi.pi_log import PiLog
from enso.host.runtimes.pi.pi_queue import PiQueue
from enso.host.session_file import SessionFile
from enso.transcript import TextPart, ThinkingPart, TranscriptMessage

CORPUS = Path(__file__).parents[2] / "data" / "corpus"
RECORDED = sorted(path.stem for path in (CORPUS / "rpc").glob("*.jsonl"))
SESSIONS = (CORPUS / "sessions").rglob("*.jsonl")


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file's lines."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


KEY = ("role", "timestamp", "toolCallId")
BY_ID = {lines(path)[0]["id"]: path for path in SESSIONS}


def records(name: str) -> list[dict[str, Any]]:
    """What pi said, in one recording, of the session that it ended with first."""
    said = [one["rec"] for one in lines(CORPUS / "rpc" / f"{name}.jsonl") if one["dir"] == "out"]
    for at, one in enumerate(said):
        if one.get("command") in ("fork", "clone", "new_session", "switch_session"):
            return said[:at]
    return said


def stored_by(name: str) -> list[dict[str, Any]]:
    """The lines that this recording's pi wrote: of the session it told, else as it said them."""
    for one in lines(CORPUS / "rpc" / f"{name}.jsonl"):
        told = one.get("rec", {}).get("data") if one["dir"] == "out" else None
        if isinstance(told, dict) and told.get("sessionId") in BY_ID:
            return lines(BY_ID[told["sessionId"]])
    said = [one["message"] for one in records(name) if one["type"] == "message_end"]
    ids = [None, *(f"{number:08x}" for number in range(1, len(said) + 1))]
    entries = [
        {"type": "message", "id": ids[at + 1], "parentId": ids[at], "message": message}
        for at, message in enumerate(said)
    ]
    return [{"type": "session", "version": 3, "id": "recorded", "cwd": "/"}, *entries]


class Replay:
    """A thread that hears a recording; ``runs`` are the ends of runs that were told."""

    def __init__(self, name: str, tmp_path: Path) -> None:
        self.stored = stored_by(name)
        self.session = SessionFile.create(tmp_path, self.stored[0]["id"], tmp_path)
        self.log = PiLog(self.session, str)
        self.events: list[ThreadEvent] = []
        self.log.listen(self.events.append)
        self.queue = PiQueue(self.log.tell)
        activities = Activities(self.log.tell)
        ui = ExtensionUi(self.log.tell, lambda _: None, activities.asked, str(tmp_path))
        self.translator = Translator(self.log, activities, ui, self.queue, self)
        self.runs: list[bool] = []
        self._written = 0

    def hear(self, record: dict[str, Any]) -> None:
        """Take a record in; the file grows right behind it, as pi appends after it spoke."""
        if record["type"] != "response":
            self.translator.take(record)
        if record["type"] == "message_end":
            self._append_until(record["message"])

    def _append_until(self, message: dict[str, Any]) -> None:
        """Append what the file holds up to the entry of this message, once there is one."""
        for at in range(self._written, len(self.stored)):
            entry = self.stored[at].get("message", {})
            if all(entry.get(key) == message.get(key) for key in KEY):
                self.append_up_to(at + 1)
                return

    def append_up_to(self, end: int) -> None:
        """Append lines of the recorded file, from its first conversation on."""
        roles = {one.get("message", {}).get("role") for one in self.stored[:end]}
        if roles & {"user", "assistant"}:
            with self.session.path.open("ab") if self.session.exists() else self._made() as file:
                file.write(b"".join(_line(one) for one in self.stored[self._written : end]))
            self._written = end

    def _made(self) -> Any:
        self.session.path.parent.mkdir(parents=True, exist_ok=True)
        return self.session.path.open("ab")

    @property
    def stored_ids(self) -> list[str]:
        """The ids that the file holds by now."""
        return [one["id"] for one in self.stored[1 : self._written]]

    # what concerns runs

    def run_goes_on(self) -> None:
        """Nothing to do."""

    def run_may_be_over(self) -> None:
        """Nothing to do."""

    def look_for_entry(self) -> None:
        """The next record comes soon enough."""

    def run_settled(self, *, aborted: bool) -> None:
        """Take it down."""
        self.log.sync()
        self.runs.append(aborted)


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"


@pytest.fixture(params=RECORDED)
def replay(request: pytest.FixtureRequest, tmp_path: Path) -> Replay:
    """Each recording, heard to its end."""
    made = Replay(request.param, tmp_path)
    for record in records(request.param):
        made.hear(record)
    made.log.sync()
    return made


def test_every_record_is_known(replay: Replay) -> None:
    """Nothing that pi 1.6.0 was recorded to say is passed over."""
    assert dict(replay.translator.unknown) == {}


def test_every_entry_is_told_once_in_the_order_of_the_file(replay: Replay) -> None:
    """Where the branch moved, it is read anew instead."""
    told = [event.entry.id for event in replay.events if isinstance(event, EntryStored)]
    assert len(told) == len(set(told))
    if not any(isinstance(event, BranchChanged) for event in replay.events):
        assert told == replay.stored_ids
    assert replay.session.leaf_id == replay.stored_ids[-1]


def test_every_answer_streams_to_its_entry(replay: Replay) -> None:
    """Each started message becomes one entry, and its deltas are the entry's text."""
    started = [e.message_id for e in replay.events if isinstance(e, MessageStarted)]
    ended = {e.streamed_as: e.entry for e in replay.events if isinstance(e, EntryStored)}
    for message_id in started:
        deltas = [e for e in replay.events if isinstance(e, PartDelta)]
        text = "".join(e.text for e in deltas if e.message_id == message_id)
        entry = ended.get(message_id)
        if entry is not None:
            assert isinstance(entry, TranscriptMessage)
            whole = "".join(p.text for p in entry.parts if isinstance(p, TextPart | ThinkingPart))
            assert whole == text
            assert any(isinstance(p, TextPart) for p in entry.parts) or not text
    assert not any(isinstance(event, MessageDropped) for event in replay.events)


def test_runs_end_where_pi_settled(replay: Replay, request: pytest.FixtureRequest) -> None:
    """As often as it said so, and as stopped when it was."""
    name = request.node.callspec.params["replay"]
    settled = [one for one in records(name) if one["type"] == "agent_settled"]
    assert replay.runs == [one["aborted"] for one in settled]


def test_progress_is_of_calls_that_were_made(replay: Replay) -> None:
    """A running tool's output belongs to a call of a stored answer."""
    calls = {
        part.get("id")
        for one in replay.stored
        for part in (one.get("message", {}).get("content") or [])
        if isinstance(part, dict) and part.get("type") == "toolCall"
    }
    told = {e.tool_call_id for e in replay.events if isinstance(e, ToolProgress)}
    assert told <= calls


def test_the_queue_is_empty_when_all_was_said(replay: Replay) -> None:
    """What steered and what followed were both delivered."""
    assert replay.queue.items == ()
