"""Every recorded transcript of pi's RPC mode, played again to the real pi, through Enso's host.

What was sent is sent as a person does it in Enso; what the recorded model answered, the scripted
one answers. Then the file holds the same entries, and Enso made of pi's words, live, what it makes
of the recorded ones. ``PLAYED_OTHERWISE`` says what Enso does in another way, and why.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import (
    ActivityChanged,
    DialogAnswer,
    DialogOpened,
    DraftSuggested,
    EntryStored,
    MessageStarted,
    PartDelta,
    PromptRefused,
    RunNotice,
    RunSettled,
    SurfaceChanged,
    ThreadEvent,
    ToolProgress,
)
from enso.host.session_host import SessionHost
from enso.projects import Projects
from enso.thread_ids import new_thread_id
from enso.transcript import TranscriptMessage
from tests.interop.real_pi import RealPi
from tests.interop.recordings import (
    DIRECTORY,
    NAMES,
    PROJECT,
    Record,
    Recording,
    Sent,
    comparable,
    lines,
)
from tests.interop.watched_runtimes import Watched
from tests.model_server import ModelServer, configure
from tests.runtimes.agent_files import write_json
from tests.runtimes.pi.test_recorded import Replay
from tests.runtimes.pi.test_recorded import records as recorded_of_first

PLAYED_OTHERWISE: Mapping[str, str] = {
    "new_session": "Enso begins a thread without a parent: what is not a fork comes from nowhere.",
    "switch_session": "A thread is opened by its id; pi is not told of any other.",
    "get_entries": "Read from the file.",
    "get_tree": "Read from the file.",
    "get_fork_messages": "Read from the file.",
    "get_session_stats": "Counted from the file.",
}
"""Commands that Enso never sends, and what it does for them. All the others it sends to pi."""

PATIENCE = 8


class Live:
    """A thread while it is played: all that was told of it."""

    def __init__(self, player: Player, thread_id: str) -> None:
        self.id = thread_id
        self.thread = player.host.create_session(thread_id, lambda: player.project)
        self.runtime = self.thread.runtime
        self.events: list[ThreadEvent] = []
        self._changed = threading.Condition()
        self.runtime.listen(self._hear)

    def _hear(self, event: ThreadEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that an event brings about."""
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE), self.events[-10:]

    def told(self, kind: type[Any]) -> list[Any]:
        """The events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]


class Player:
    """Plays a recording. ``lives`` are the threads it came through, by the recorded session."""

    def __init__(self, recording: Recording, pi: RealPi, server: ModelServer, root: Path) -> None:
        self.recording = recording
        self.agent_dir, self.project = root / "agent", root / "shop-api"
        for name, text in PROJECT.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        configure(self.agent_dir, server.url)
        write_json(self.agent_dir / "settings.json", recording.settings)
        extension = self.agent_dir / "extensions" / "recorded.ts"
        extension.parent.mkdir()
        extension.symlink_to(Path(__file__).with_name("recorded.ts"))
        self.runtimes = Watched(self.agent_dir, "labserver/lab-coder", command=pi.command)
        projects = Projects([self.project])
        self.host = SessionHost(agent_dir=self.agent_dir, projects=projects, runtimes=self.runtimes)
        server.script(recording.replies)
        self.lives: dict[str, Live] = {}
        self.stats: list[tuple[Record, Any]] = []
        self.places: dict[str, int] = {}
        self.at = self._live(recording.sessions[0], recording.sessions[0])

    def _live(self, recorded: str, thread_id: str) -> Live:
        self.lives[recorded] = live = Live(self, thread_id)
        return live

    def play(self) -> None:
        """Send everything that was sent, each when pi is as far as it was then."""
        for sent in self.recording.sent:
            self._wait_for(sent)
            act = getattr(self, f"_{sent.record['type']}")
            if sent.answer.get("success", True):
                act(sent)
            else:
                with pytest.raises(PromptRefused):
                    act(sent)
        if self.recording.was_killed:
            self.at.wait(lambda: any(one.text for one in self.at.told(ToolProgress)))
            pid = self.runtimes.built[self.at.id].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            self.at.wait(lambda: bool(self.at.told(RunSettled)))
        else:
            self._wait_for_answers(self.recording.answers, idle=True)

    def _wait_for(self, sent: Sent) -> None:
        self._wait_for_answers(sent.answers, idle=sent.idle)
        if sent.streamed:
            self.at.wait(lambda: self._streamed() == sent.streamed)
        if sent.record["type"] in ("steer", "follow_up"):
            self.at.wait(lambda: "tools" in self._activities())

    def _wait_for_answers(self, count: int, *, idle: bool) -> None:
        def ended() -> int:
            told = [one.entry for live in self.lives.values() for one in live.told(EntryStored)]
            return sum(getattr(entry, "role", "") == "assistant" for entry in told)

        def is_there() -> bool:
            return ended() == count and (not idle or self.at.runtime.activity() is None)

        self.at.wait(is_there)

    def _activities(self) -> list[str]:
        return [one.activity.kind for one in self.at.told(ActivityChanged)]

    def _streamed(self) -> str:
        started = self.at.told(MessageStarted)
        return _streamed(self.at.events, started[-1]) if started else ""

    def close(self) -> None:
        """End everything."""
        self.recording.held.open()
        for live in self.lives.values():
            live.thread.close()
        self.host.close()

    # -- what a person does for each command ------------------------------------------------------

    def _prompt(self, sent: Sent) -> None:
        self.at.runtime.prompt(self._renamed(sent.record["message"]))

    def _abort(self, _sent: Sent) -> None:
        self.at.runtime.abort()

    def _steer(self, sent: Sent) -> None:
        self.at.runtime.queue(sent.record["message"], when="steer")

    def _follow_up(self, sent: Sent) -> None:
        self.at.runtime.queue(sent.record["message"], when="after")

    def _compact(self, sent: Sent) -> None:
        self.at.runtime.compact(sent.record.get("customInstructions", ""))

    def _extension_ui_response(self, sent: Sent) -> None:
        asked = next(one for one in self.recording.said if one.get("id") == sent.record["id"])
        title = asked["title"].partition("\n")[0]

        def is_open() -> bool:
            return [one.title for one in self.at.runtime.dialogs()] == [title]

        self.at.wait(is_open)
        value = sent.record.get("value", "yes" if sent.record.get("confirmed") else "no")
        assert self.at.runtime.answer(self.at.runtime.dialogs()[0].id, DialogAnswer(value=value))

    def _fork(self, sent: Sent) -> None:
        entry_id = self._renamed(sent.record["entryId"])
        self._go_to(self.host.fork(self.at.id, entry_id, new_thread_id()))

    def _clone(self, _sent: Sent) -> None:
        self._go_to(self.host.fork(self.at.id, None, new_thread_id()))

    def _new_session(self, _sent: Sent) -> None:
        self._go_to(new_thread_id())

    def _go_to(self, thread_id: str) -> None:
        self.at = self._live(self.recording.sessions[len(self.lives)], thread_id)

    def _switch_session(self, sent: Sent) -> None:
        self.at = next(
            live for one, live in self.lives.items() if one in sent.record["sessionPath"]
        )

    # -- what a client reads ----------------------------------------------------------------------

    def _get_state(self, sent: Sent) -> None:
        data, model = sent.answer["data"], self.at.runtime.model()
        assert model is not None
        assert (model.provider, model.model) == (data["model"]["provider"], data["model"]["id"])
        assert not data["isStreaming"]
        assert self.at.runtime.activity() is None

    def _get_session_stats(self, sent: Sent) -> None:
        data, usage = sent.answer["data"], self.at.thread.usage()
        tokens = data["tokens"]
        assert (usage.input, usage.output) == (tokens["input"], tokens["output"])
        assert usage.cache_read == tokens["cacheRead"]
        assert usage.cost == pytest.approx(data["cost"])

    def _get_entries(self, sent: Sent) -> None:
        kinds = [one["type"] for one in sent.answer["data"]["entries"]]
        assert [one["type"] for one in self.entries(self.at)] == kinds

    def _get_tree(self, sent: Sent) -> None:
        def ids(nodes: list[Any]) -> Iterator[str]:
            for node in nodes:
                yield node["entry"]["id"]
                yield from ids(node["children"])

        theirs = {self._renamed(one) for one in ids(sent.answer["data"]["tree"])}
        assert {one["id"] for one in self.entries(self.at)} == theirs

    def _get_fork_messages(self, sent: Sent) -> None:
        asked = [(one.id, one.text) for one in self.at.thread.tree().entries if one.kind == "user"]
        theirs = [
            (self._renamed(one["entryId"]), one["text"]) for one in sent.answer["data"]["messages"]
        ]
        assert asked == theirs

    # -- the files --------------------------------------------------------------------------------

    def entries(self, live: Live) -> list[Record]:
        """What the file of a thread holds."""
        path = next(self.agent_dir.rglob(f"*_{live.id}.jsonl"))
        return lines(path)[1:]

    def _renamed(self, text: str) -> str:
        """Recorded ids of entries as the ids of the entries at their places in the played file."""
        recorded = next(one for one, live in self.lives.items() if live is self.at)
        places = zip(self.recording.entries(recorded), self.entries_if_any(), strict=False)
        for theirs, ours in places:
            text = text.replace(theirs["id"], ours["id"])
        return text

    def entries_if_any(self) -> list[Record]:
        """What the present thread's file holds; nothing while there is none."""
        found = list(self.agent_dir.rglob(f"*_{self.at.id}.jsonl"))
        return lines(found[0])[1:] if found else []


@pytest.fixture(params=NAMES)
def played(
    request: pytest.FixtureRequest,
    pi_1_6: RealPi,
    server: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Player]:
    """Each recording, played to its end; no guard of Enso's was there."""
    monkeypatch.setenv("ENSO_PI_GUARD", "off")
    player = Player(Recording(request.param), pi_1_6, server, tmp_path)
    try:
        player.play()
        yield player
    finally:
        player.close()


def test_a_recording_played_live_is_what_was_recorded(played: Player, tmp_path: Path) -> None:
    """Its runs, what Enso tells of them, and every entry of every file that came of it.

    Of two recordings no file was kept: their messages are compared.
    """
    recording, session_id = played.recording, played.recording.sessions[0]
    live, project = played.lives[session_id], str(played.project)
    ours, theirs = told(live.events, project), told_of(recording, tmp_path / "replay")
    if recording.was_killed:
        assert ours.pop("said")[-1].startswith("pi ended by signal 9")
        assert theirs.pop("said") == []
    else:
        assert runs(played) == [outcome for outcome, _ in groupby(recording.outcomes)]
    if not recording.has_file(session_id):
        ours["entries"] = [one for one in ours["entries"] if one in theirs["entries"]]
    assert ours == theirs
    for session_id, live in played.lives.items():
        assert live.thread.inspect().unknown_events == {}
        compare_files(recording, session_id, played.entries(live), project)


def runs(played: Player) -> list[str]:
    """How the runs ended, one for many alike.

    Whether a message that triggers a turn is a run of its own depends on what pi says first.
    """
    told = [one.outcome for live in played.lives.values() for one in live.told(RunSettled)]
    return [outcome for outcome, _ in groupby(told)]


def compare_files(
    recording: Recording, session_id: str, entries: list[Record], project: str
) -> None:
    """The same entries in the same order, each on the same one."""
    if not recording.has_file(session_id):
        entries = [entry for entry in entries if entry["type"] == "message"]
        entries[0]["parentId"] = None
    ours = comparable(entries, project)
    theirs = comparable(recording.entries(session_id), DIRECTORY)
    for mine, recorded in zip(ours, theirs, strict=True):
        assert mine == recorded


def test_what_is_played_in_another_way_is_named() -> None:
    """And nothing is left out: each other command has a way to pi."""
    used = {sent.record["type"] for name in NAMES for sent in Recording(name).sent}
    assert {name for name in used if not hasattr(Player, f"_{name}")} == set()
    assert set(PLAYED_OTHERWISE) <= used


def _streamed(events: list[ThreadEvent], started: MessageStarted) -> str:
    deltas = [one for one in events if isinstance(one, PartDelta)]
    return "".join(one.text for one in deltas if one.message_id == started.message_id)


def _entry(event: EntryStored) -> Any:
    entry = event.entry
    said = (entry.role, entry.stop_reason) if isinstance(entry, TranscriptMessage) else ()
    return type(entry).__name__, said, bool(event.streamed_as)


def _dialog(event: DialogOpened) -> Any:
    asked = event.dialog
    labels = [option.label for option in asked.options]
    return asked.kind, asked.title, asked.message, labels, asked.draft, asked.placeholder


def told_of(recording: Recording, root: Path) -> Any:
    """What Enso makes of the recorded words of the first session."""
    name = next(name for name in NAMES if Recording(name).lines == recording.lines)
    replay = Replay(name, root)
    for record in recorded_of_first(name):
        replay.hear(record)
    replay.append_up_to(len(replay.stored))
    replay.log.sync()
    return told(replay.events, DIRECTORY)


def told(events: list[ThreadEvent], directory: str) -> Any:
    """What was told, without what differs from run to run."""
    progress = {one.tool_call_id: one.text for one in events if isinstance(one, ToolProgress)}
    surfaces = [one.surface for one in events if isinstance(one, SurfaceChanged)]
    return {
        "streamed": [_streamed(events, one) for one in events if isinstance(one, MessageStarted)],
        "entries": [_entry(one) for one in events if isinstance(one, EntryStored)],
        "asked": [_dialog(one) for one in events if isinstance(one, DialogOpened)],
        "said": [one.sentence for one in events if isinstance(one, RunNotice)],
        "drafts": [one.text for one in events if isinstance(one, DraftSuggested)],
        "progress": progress,
        "surface": surfaces[-1:],
    }
