"""SIGKILL in every state of a run: the file is whole, and a fresh process goes on from it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from enso.host.contract import RunSettled
from enso.host.session_file import SessionFile
from tests.model_server import Gate, ModelServer, Reply, refused
from tests.packaging.trees import ROOT
from tests.runtimes.agent_files import write_json
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread, new_thread
from tests.runtimes.test_compaction import fill
from tests.runtimes.test_stopping import stored_after_the_last_prompt
from tests.runtimes.test_tools_in_a_run import call


@dataclass
class Killing:
    """Kills a process in the middle of its run, and opens its thread again."""

    root: Path
    make_runtimes: MakeRuntimes
    server: ModelServer

    def kill(self, mark: str, *, mode: str = "ask", gate: Gate | None = None) -> LiveThread:
        """Kill a run once it was told of ``mark`` (and came to ``gate``); its thread, reopened."""
        command = [sys.executable, "-m", "tests.runtimes.killed_process"]
        with subprocess.Popen(
            [*command, str(self.root), mode, mark, "You are killed."],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            path = Path(process.stdout.readline().strip())
            if gate is not None:
                assert gate.reached.wait(20)
            os.kill(process.pid, signal.SIGKILL)
            process.wait(20)
        runtimes = self.make_runtimes("labserver/lab-coder")
        if not path.exists():
            return new_thread(runtimes, self.root, "killed")
        return LiveThread(runtimes, SessionFile.open(path))

    def resume(self, thread: LiveThread) -> str:
        """Prompt the thread again, and give all that its request held."""
        self.server.script([Reply(text=("Going on.",))] * 2)
        assert thread.run("Go on") == RunSettled("complete")
        assert thread.last_answer["content"][0]["text"] == "Going on."
        return str(self.server.requests()[-1].body["messages"])


@pytest.fixture
def killing(
    tmp_path: Path, agent_dir: Path, make_runtimes: MakeRuntimes, server: ModelServer
) -> Iterator[Killing]:
    """Killing below a directory; what a killed run left running ends with the test."""
    yield Killing(tmp_path, make_runtimes, server)
    (tmp_path / "go").touch()


def test_killed_before_the_first_token_of_a_new_thread(
    killing: Killing, server: ModelServer
) -> None:
    """Nothing had been answered: there is no file, and the prompt is sent again by the person."""
    gate = Gate()
    server.script([Reply(text=("Late",), first_gate=gate)])
    thread = killing.kill("asking", gate=gate)
    gate.open()
    assert thread.lines() == []
    killing.resume(thread)


def test_killed_before_the_first_token_of_a_stored_thread(
    killing: Killing, server: ModelServer
) -> None:
    """The prompt is there, unanswered, and the next request holds both."""
    server.script([Reply(text=("First.",))])
    stored = new_thread(killing.make_runtimes("labserver/lab-coder"), killing.root, "killed")
    stored.run("First")
    gate = Gate()
    server.script([Reply(text=("Late",), first_gate=gate)])
    thread = killing.kill("asking", gate=gate)
    gate.open()
    assert stored_after_the_last_prompt(thread) == ["user"]
    assert "You are killed." in killing.resume(thread)


def test_killed_while_it_streams(killing: Killing, server: ModelServer) -> None:
    """What had streamed is lost, the prompt is not."""
    gate = Gate()
    server.script([Reply(text=("Half ", "an"), gate=gate)])
    thread = killing.kill("answering", gate=gate)
    gate.open()
    assert stored_after_the_last_prompt(thread) == ["user"]
    assert "Half" not in killing.resume(thread)


def test_killed_while_a_tool_runs(killing: Killing, server: ModelServer) -> None:
    """Calls that were finished have their results; the model is told that the other has none."""
    waits = "until [ -e go ]; do sleep 0.05; done"
    server.script([Reply(tools=[call("ls"), call("bash", command=waits)])])
    thread = killing.kill("result", mode="auto")
    assert stored_after_the_last_prompt(thread) == ["user", "toolUse", "toolResult"]
    assert "No result provided" in killing.resume(thread)


def test_a_command_ends_with_a_killed_server(killing: Killing, server: ModelServer) -> None:
    """It is ended whole, with what it started: nobody would ever hear of it again."""
    lives = killing.root / "lives"
    os.mkfifo(lives)
    held = 'exec 3> lives; echo $$ >&3; echo up; (trap "" TERM; sleep 60) & wait'
    server.script([Reply(tools=[call("bash", command=held)])])
    with subprocess.Popen(["cat", lives], stdout=subprocess.PIPE, text=True) as reader:
        killing.kill("progress", mode="auto")
        told, _ = reader.communicate(timeout=20)  # ends when the last that has it open does
    assert int(told) > 0


def test_killed_while_a_person_is_asked(killing: Killing, server: ModelServer) -> None:
    """The question is gone with the process, and nothing answered it: the call has no result."""
    server.script([Reply(tools=[call("bash", command="touch ran")])])
    thread = killing.kill("needs-you")
    assert stored_after_the_last_prompt(thread) == ["user", "toolUse"]
    assert thread.runtime.dialogs() == ()
    assert "No result provided" in killing.resume(thread)
    assert not (killing.root / "ran").exists()


def test_killed_in_a_retry_wait(killing: Killing, server: ModelServer) -> None:
    """The refused attempt stays, out of the context."""
    settings = {"retry": {"baseDelayMs": 60_000}}
    write_json(killing.root / "agent" / "settings.json", settings)
    server.script([refused("503")])
    thread = killing.kill("retry-wait")
    assert stored_after_the_last_prompt(thread) == ["user", "error", "context_edit"]
    assert "overloaded" not in killing.resume(thread)


def test_killed_while_it_is_summed_up(killing: Killing, server: ModelServer) -> None:
    """The conversation is as it was; the prompt that was to come had not been stored."""
    stored = new_thread(killing.make_runtimes("labserver/lab-coder"), killing.root, "killed")
    fill(stored, server)
    before = stored.kinds()
    gate = Gate()
    server.script([Reply(text=("A summary",), first_gate=gate)])
    thread = killing.kill("compacting", gate=gate)
    gate.open()
    assert thread.kinds() == [*before, "custom"]
    killing.resume(thread)
    assert "compaction" in thread.kinds()
