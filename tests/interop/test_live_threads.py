"""A live thread that the real pi runs: what is told, what is stored, and that both agree."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from enso.host.contract import (
    Activity,
    ActivityChanged,
    EntryStored,
    ModelInUse,
    PartDelta,
    PartReplaced,
    PromptRefused,
    QueueChanged,
    RunNotice,
    RunSettled,
    ToolProgress,
)
from enso.host.modes import stored_mode
from enso.host.runtimes.pi.runtime import PiRuntime
from enso.host.session_file import SessionFile
from enso.transcript import (
    ToolCallPart,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptToolResult,
)
from tests.interop.real_pi import RealPi
from tests.interop.watched_runtimes import Watched
from tests.model_server import Gate, ModelServer, Reply
from tests.runtimes.agent_files import write_json
from tests.runtimes.live_thread import LiveThread

MODEL = "labserver/lab-coder"


@pytest.fixture
def runtimes(pi: RealPi, pi_agent_dir: Path) -> Iterator[Watched]:
    """The runtime over each pi."""
    made = Watched(pi_agent_dir, MODEL, command=pi.command)
    yield made
    made.close()


@pytest.fixture
def thread(runtimes: Watched, pi_agent_dir: Path, tmp_path: Path) -> Iterator[LiveThread]:
    """A new thread."""
    project = tmp_path / "shop"
    project.mkdir()
    live = LiveThread(runtimes, SessionFile.create(pi_agent_dir / "sessions", "t1", project))
    yield live
    live.runtime.close()


def kill(thread: LiveThread) -> None:
    """Kill the thread's pi, as nothing else could end it."""
    assert isinstance(thread.runtime, PiRuntime)
    assert thread.runtime.pid is not None
    os.kill(thread.runtime.pid, signal.SIGKILL)


def let_run(thread: LiveThread) -> None:
    """Commands run without asking from here on."""
    thread.run("Hello")
    thread.runtime.set_mode("auto")


def reopened(thread: LiveThread) -> LiveThread:
    """The same thread after its runtime was let go."""
    thread.runtime.close()
    return LiveThread(thread.runtimes, SessionFile.open(thread.session.path))


def assert_told_as_stored(thread: LiveThread) -> None:
    """Every entry of the branch was told once, under the id and in the order of the file."""
    told: list[str] = []
    for event in thread.told(EntryStored):
        if event.streamed_as in told:
            told.remove(event.streamed_as)
        told.append(event.entry.id)
    assert told == [line["id"] for line in thread.lines()[1:] if line["type"] != "session"]


def test_a_new_thread_streams_and_is_stored(thread: LiveThread) -> None:
    """Under its chosen id, by pi alone; what streamed becomes the entry of the file."""
    assert thread.run("Hello") == RunSettled("complete")
    assert {line["id"] for line in thread.lines() if line["type"] == "session"} == {"t1"}
    deltas = "".join(event.text for event in thread.told(PartDelta))
    assert thread.last_answer["content"] == [{"type": "text", "text": deltas}]
    assert thread.told(EntryStored)[-1].streamed_as
    assert_told_as_stored(thread)
    assert not thread.runtime.queued()
    assert thread.runtime.activity() is None


def test_a_stored_thread_is_opened_and_continued(thread: LiveThread) -> None:
    """By its file: nothing of it is told again, and the model is the thread's."""
    thread.run("First")
    known = thread.session.entries()
    later = reopened(thread)
    assert later.run("Second") == RunSettled("complete")
    assert len(later.session.branch()) > len(known)
    assert not {event.entry.id for event in later.told(EntryStored)} & {e["id"] for e in known}
    assert later.runtime.model() == ModelInUse(
        provider="labserver", model="lab-coder", label="Lab Coder", context_window=32768
    )
    later.runtime.close()


def test_a_call_is_told_from_its_arguments_to_its_result(
    thread: LiveThread, server: ModelServer
) -> None:
    """Whole arguments, progress while it runs, the stored result."""
    call = {"name": "bash", "args": {"command": "printf 1; sleep 0.3; printf 2"}}
    let_run(thread)
    server.script([Reply(text=("I look.",), tools=[call])])
    thread.run("Look")
    (whole,) = [event.part for event in thread.told(PartReplaced)]
    assert isinstance(whole, ToolCallPart)
    assert whole.arguments == call["args"]
    assert thread.told(ToolProgress)[-1] == ToolProgress(whole.id, "12")
    (result,) = [e for e in thread.stored_live() if isinstance(e, TranscriptToolResult)]
    assert result.tool_call_id == whole.id
    assert "tools" in thread.activities
    assert_told_as_stored(thread)


def test_a_stop_keeps_what_had_streamed(thread: LiveThread, server: ModelServer) -> None:
    """And the run is settled as stopped; the next prompt goes on."""
    gate = Gate()
    server.script([Reply(text=("As far as this",), gate=gate)])
    thread.start("Tell me")
    thread.wait_for(PartDelta)
    thread.runtime.abort()
    assert thread.wait_settled() == RunSettled("aborted")
    assert thread.last_answer["stopReason"] == "aborted"
    gate.open()
    assert thread.run("Go on") == RunSettled("complete")
    assert_told_as_stored(thread)


def test_a_refusal_is_the_runs_outcome(thread: LiveThread) -> None:
    """With pi's stored attempt and its class."""
    settled = thread.run("#401")
    assert settled.outcome == "refused"
    assert settled.refusal is not None
    assert (settled.refusal.refusal_class, settled.refusal.status) == ("authentication", 401)


def test_retries_are_waits_of_one_run(
    thread: LiveThread, server: ModelServer, pi_agent_dir: Path
) -> None:
    """Each is told with its time; the run is settled once, when it worked."""
    write_json(pi_agent_dir / "settings.json", {"retry": {"enabled": True, "baseDelayMs": 50}})
    # The client of 0.73 asks three times before pi hears of it.
    server.script([*[Reply(status=503, body="busy")] * 3, Reply(text=("Now.",))])
    assert thread.run("Try") == RunSettled("complete")
    told = [event.activity for event in thread.told(ActivityChanged)]
    waits = [activity for activity in told if activity.kind == "retry-wait"]
    assert waits
    assert not any(wait.can_be_cut_short for wait in waits)
    assert not thread.runtime.retry_now()
    assert len(thread.told(RunSettled)) == 1
    assert thread.last_answer["content"] == [{"type": "text", "text": "Now."}]


def test_what_is_queued_is_said_in_the_same_run(
    thread: LiveThread, server: ModelServer, pi: RealPi
) -> None:
    """Steering before what waits for the end; each is told as queued, then as delivered.

    What waits can be taken back from pi 1 alone, and says so.
    """
    can = pi.version.startswith("1.")
    call = {"name": "bash", "args": {"command": "until [ -e go ]; do sleep 0.05; done"}}
    let_run(thread)
    server.script([Reply(tools=[call])])
    thread.start("Work")
    thread.wait_until(lambda: "tools" in thread.activities)
    after = thread.runtime.queue("Then sum up", when="after")
    steer = thread.runtime.queue("Only the orders", when="steer")
    thread.wait_until(lambda: [item.id for item in thread.runtime.queued()] == [steer, after])
    assert {item.can_be_taken_back for item in thread.runtime.queued()} == {can}
    if can:
        mind = thread.runtime.queue("Never mind", when="after")
        thread.wait_until(lambda: mind in {item.id for item in thread.runtime.queued()})
        taken = thread.runtime.take_back(mind)
        assert taken is not None
        assert taken.message == "Never mind"
        words = ["Only the orders", "Then sum up"]
        thread.wait_until(lambda: [one.message for one in thread.runtime.queued()] == words)
    else:
        assert thread.runtime.take_back(steer) is None
    (thread.session.cwd / "go").touch()
    assert thread.wait_settled(2) == RunSettled("complete")
    said = [m["content"][0]["text"] for m in thread.messages() if m["role"] == "user"]
    assert said == ["Hello", "Work", "Only the orders", "Then sum up"]
    assert thread.told(QueueChanged)[-1].items == ()
    assert len(thread.told(RunSettled)) == 2


def test_a_command_of_a_person_and_a_summary_are_markers(
    thread: LiveThread, server: ModelServer, pi_agent_dir: Path
) -> None:
    """``!`` before it: no model is asked. A summary is a run of its own."""
    write_json(pi_agent_dir / "settings.json", {"compaction": {"keepRecentTokens": 14}})
    thread.run("Hello")
    asked = len(server.requests())
    thread.run("!echo from the shell")
    assert len(server.requests()) == asked
    entry = thread.told(EntryStored)[-1].entry
    assert isinstance(entry, TranscriptMarker)
    assert (entry.kind, entry.title) == ("shell", "echo from the shell")
    assert "from the shell" in entry.text
    thread.run("Go on")
    server.script([Reply(text=("We greeted.",))])
    runs = len(thread.told(RunSettled))
    thread.runtime.compact()
    assert thread.wait_settled(runs + 1) == RunSettled("complete")
    summary = thread.told(EntryStored)[-1].entry
    assert isinstance(summary, TranscriptMarker)
    assert (summary.kind, summary.text) == ("compaction", "We greeted.")
    assert_told_as_stored(thread)


def test_a_person_names_labels_and_goes_back(thread: LiveThread) -> None:
    """Each as an entry of pi's; going back leaves the branch that was."""
    thread.run("First")
    thread.run("Second")
    thread.runtime.rename("Orders")
    assert thread.session.name == "Orders"
    second = [e for e in thread.session.branch() if e.get("message", {}).get("role") == "user"][-1]
    thread.runtime.label(second["id"], "the turn")
    assert thread.lines()[-1]["label"] == "the turn"
    thread.runtime.rename("")
    assert thread.session.name is None
    thread.runtime.go_to(second["id"])
    thread.run("Otherwise")
    branch = [e["message"] for e in thread.session.branch() if e["type"] == "message"]
    said = [m["content"][0]["text"] for m in branch if m["role"] == "user"]
    assert said == ["First", "Otherwise"]
    with pytest.raises(PromptRefused):
        thread.runtime.go_to("ffffffff")


def test_commands_templates_and_skills_of_pi_are_completed_and_run(
    thread: LiveThread, server: ModelServer, pi_agent_dir: Path
) -> None:
    """Each by its kind; a template reaches the model as what it stands for."""
    for name, text in {
        "prompts/look.md": "---\ndescription: Look closely\n---\nLook closely at $1.",
        "skills/counting/SKILL.md": "---\nname: counting\ndescription: Counts\n---\nCount.",
        "extensions/own.ts": "export default (pi) => pi.registerCommand('own', "
        "{ description: 'Of my own', handler: (_, ctx) => ctx.ui.notify('Done by me') });",
    }.items():
        (pi_agent_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (pi_agent_dir / name).write_text(text)
    assert thread.run("/own") == RunSettled("complete")
    assert thread.told(RunNotice)[-1].sentence == "Done by me"
    assert server.requests() == []
    kinds = {command.name: command.source for command in thread.runtime.commands()}
    wanted = {"look": "prompt", "skill:counting": "skill", "own": "extension", "compact": "enso"}
    assert kinds.items() >= wanted.items()
    thread.run("/look orders.py")
    assert "Look closely at orders.py." in str(server.requests()[-1].body["messages"][-1])


def test_another_model_is_chosen_with_its_level(thread: LiveThread) -> None:
    """Both are entries; an unknown one is refused by pi."""
    thread.run("First")
    thread.runtime.set_model("labclaude", "lab-sonnet", "low")
    model = thread.runtime.model()
    assert model is not None
    assert model.model == "lab-sonnet"
    assert "model_change" in thread.kinds()[-3:]
    assert thread.lines()[-1]["thinkingLevel"] == "low"
    thread.run("Second")
    last = thread.told(EntryStored)[-1].entry
    assert isinstance(last, TranscriptMessage)
    assert last.model == "lab-sonnet"
    with pytest.raises(PromptRefused, match="no-such"):
        thread.runtime.set_model("labserver", "no-such")


def test_a_model_that_pi_would_replace_is_said_before_anything_goes_out(
    thread: LiveThread, server: ModelServer, pi_agent_dir: Path
) -> None:
    """Both are named; the choice of one goes on."""
    thread.run("First")
    asked = len(server.requests())
    models = pi_agent_dir / "models.json"
    models.write_text(models.read_text().replace("lab-coder", "lab-renamed"))
    later = reopened(thread)
    with pytest.raises(PromptRefused, match=r"labserver/lab-coder.*pi would take .*/") as refused:
        later.start("Second")
    assert refused.value.code == "other-model"
    assert len(server.requests()) == asked
    later.runtime.set_model("labserver", "lab-renamed")
    assert later.run("Second") == RunSettled("complete")
    later.runtime.close()


def test_pi_that_is_killed_is_said_and_started_again(thread: LiveThread) -> None:
    """The run is over with its cause; the next prompt goes on where it was."""
    thread.run("First")
    thread.start("#slow")
    thread.wait_until(lambda: len(thread.told(PartDelta)) > 6)
    kill(thread)
    assert thread.wait_settled(2).outcome == "failed"
    assert "pi ended by signal 9" in thread.told(RunNotice)[-1].sentence
    assert thread.run("Go on") == RunSettled("complete")
    assert not thread.runtime.dialogs()


def test_the_guard_asks_as_enso_does(thread: LiveThread, server: ModelServer) -> None:
    """A permission about its call; a denial with its reason reaches the model."""
    call = {"name": "bash", "args": {"command": "touch made"}}
    server.script([Reply(tools=[call]), Reply(text=("As you say.",))])
    thread.start("Make it")
    (dialog,) = thread.wait_for_dialogs()
    assert (dialog.kind, dialog.tool_name, dialog.arguments) == ("permission", "bash", call["args"])
    assert [option.value for option in dialog.options] == ["once", "thread", "deny"]
    assert thread.runtime.activity() == Activity(kind="needs-you", detail=dialog.title)
    thread.answer("deny", "not here")
    assert thread.wait_settled() == RunSettled("complete")
    assert "not here" in thread.results()[0]["content"][0]["text"]
    assert not (thread.session.cwd / "made").exists()


def test_a_new_mode_answers_what_the_guard_asked(thread: LiveThread, server: ModelServer) -> None:
    """The dialog is closed though pi says nothing of it; the mode is an entry of the thread."""
    server.script([Reply(tools=[{"name": "bash", "args": {"command": "touch made"}}])])
    thread.start("Make it")
    thread.wait_for_dialogs()
    thread.runtime.set_mode("auto")
    assert thread.wait_settled() == RunSettled("complete")
    assert (thread.session.cwd / "made").exists()
    assert not thread.runtime.dialogs()
    assert stored_mode(thread.stored_live()).mode == "auto"
    with pytest.raises(PromptRefused):
        thread.runtime.set_mode("yolo")
