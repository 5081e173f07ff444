"""What goes wrong around a live thread of pi's: it is killed, or Enso is, or another pi writes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from enso.host.contract import (
    DialogClosed,
    EntryStored,
    MessageStarted,
    PartDelta,
    RunBegan,
    RunNotice,
    RunSettled,
)
from enso.host.decode import decode_branch
from enso.host.modes import stored_mode
from enso.host.runtimes.pi.runtime import PiRuntime
from enso.host.session_file import SessionFile
from enso.transcript import TranscriptMessage
from tests.interop.real_pi import RealPi
from tests.interop.rpc_client import PiRpc
from tests.interop.watched_runtimes import Watched
from tests.model_server import Gate, ModelServer, Reply
from tests.runtimes.agent_files import write_json
from tests.runtimes.live_thread import PATIENCE, LiveThread

MODEL = "labserver/lab-coder"
SLEEP = {"name": "bash", "args": {"command": "echo $$ > pid; echo up; exec sleep 600"}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Where the thread works."""
    directory = tmp_path / "shop"
    directory.mkdir()
    return directory


@pytest.fixture
def thread(pi: RealPi, pi_agent_dir: Path, project: Path) -> Iterator[LiveThread]:
    """A thread that was prompted once."""
    settings = {
        "retry": {"enabled": True, "baseDelayMs": 60_000},
        "compaction": {"keepRecentTokens": 1},
    }
    write_json(pi_agent_dir / "settings.json", settings)
    runtimes = Watched(pi_agent_dir, MODEL, command=pi.command)
    live = LiveThread(runtimes, SessionFile.create(pi_agent_dir / "sessions", "t1", project))
    live.run("Hello")
    yield live
    live.runtime.close()
    runtimes.close()


def pid_of(thread: LiveThread) -> int:
    """The thread's pi."""
    assert isinstance(thread.runtime, PiRuntime)
    assert thread.runtime.pid is not None
    return thread.runtime.pid


def changed_elsewhere(thread: LiveThread) -> bool:
    """Whether another program than the thread's pi wrote its file."""
    assert isinstance(thread.runtime, PiRuntime)
    return thread.runtime.changed_elsewhere()


def wait_for_end(pid: int) -> None:
    """Wait until a process is gone."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([watched], [], [], PATIENCE)[0], f"{pid} still runs"
    finally:
        os.close(watched)


def start(thread: LiveThread, server: ModelServer, kind: str, *replies: Reply) -> None:
    """Begin a run, and wait until it is told to do something of this kind."""
    server.script(replies)
    told = len(thread.activities)
    thread.start("Go on")
    thread.wait_until(lambda: kind in thread.activities[told:])


def streaming(thread: LiveThread, server: ModelServer) -> None:
    """Into an answer."""
    told = len(thread.told(PartDelta))
    start(thread, server, "answering", Reply(text=("As far as this",), gate=Gate()))
    thread.wait_until(lambda: len(thread.told(PartDelta)) > told)


def before_the_first_word(thread: LiveThread, server: ModelServer) -> None:
    """Into a request that is not answered yet."""
    asked = len(server.requests())
    start(thread, server, "asking", Reply(text=("x",), first_gate=Gate()))
    server.wait_for_requests(asked + 1)


def in_a_dialog(thread: LiveThread, server: ModelServer) -> None:
    """Into a question."""
    start(thread, server, "needs-you", Reply(tools=[SLEEP]))
    thread.wait_for_dialogs()


def in_a_retry_wait(thread: LiveThread, server: ModelServer) -> None:
    """Into the wait after refusals: the client of 0.73 asks three times by itself."""
    times = 3 if "0.73" in str(getattr(thread.runtime, "name", "")) else 1
    busy = Reply(status=503, body="busy", headers={"retry-after-ms": "1"})
    start(thread, server, "retry-wait", *[busy] * times)


def in_a_tool(thread: LiveThread, server: ModelServer) -> None:
    """Into a command; nothing is asked from here on."""
    thread.runtime.set_mode("auto")
    start(thread, server, "tools", Reply(tools=[SLEEP]))


def in_a_summary(thread: LiveThread, server: ModelServer) -> None:
    """Into the request for a summary."""
    asked = len(server.requests())
    server.script([Reply(text=("x",), first_gate=Gate())])
    thread.runtime.compact()
    server.wait_for_requests(asked + 1)


STATES = [
    streaming,
    before_the_first_word,
    in_a_dialog,
    in_a_retry_wait,
    in_a_tool,
    in_a_summary,
]
"""Every state that a run can be in, in an order in which one thread can come through all."""


def test_pi_that_is_killed_in_any_state_is_said_and_started_again(
    thread: LiveThread, server: ModelServer
) -> None:
    """The run is over, nothing streams or asks any more, and the next prompt goes on."""
    for state in STATES:
        runs, closed = len(thread.told(RunSettled)), len(thread.told(DialogClosed))
        state(thread, server)
        os.kill(pid_of(thread), signal.SIGKILL)
        assert thread.wait_settled(runs + 1) == RunSettled("failed"), state
        assert "pi ended by signal 9" in thread.told(RunNotice)[-1].sentence
        assert not thread.runtime.dialogs()
        assert len(thread.told(DialogClosed)) - closed == (state is in_a_dialog)
        assert thread.run("Once more") == RunSettled("complete"), state
        stored = {entry.id for entry in thread.read_cold()}
        told = {entry.id for entry in thread.stored_live() if not entry.id.startswith("live-")}
        assert told <= stored, state


def test_a_run_is_stopped_in_any_state(thread: LiveThread, server: ModelServer) -> None:
    """By the same pi, which goes on with the next prompt; 0.73 does not stop a summary: it ends."""
    pid = pid_of(thread)
    is_new = "0.73" not in str(getattr(thread.runtime, "name", ""))
    for state in STATES:
        runs = len(thread.told(RunSettled))
        state(thread, server)
        thread.runtime.abort()
        assert thread.wait_settled(runs + 1) == RunSettled("aborted"), state
        assert thread.run("Once more") == RunSettled("complete"), state
        assert (pid_of(thread) == pid) is (is_new or state is not in_a_summary)


def test_pi_that_is_killed_while_it_is_held_is_said(thread: LiveThread) -> None:
    """Outside of a run too; the next prompt starts another."""
    os.kill(pid_of(thread), signal.SIGKILL)
    assert "signal 9" in thread.wait_for(RunNotice).sentence
    assert thread.run("Once more") == RunSettled("complete")


def test_what_a_terminal_wrote_to_a_held_thread_is_noticed(
    thread: LiveThread, pi: RealPi, project: Path, pi_agent_dir: Path
) -> None:
    """Own writing is told apart: only the other pi's makes the thread to be opened anew."""
    assert not changed_elsewhere(thread)
    told = len(thread.told(EntryStored))
    arguments = ["--session", str(thread.session.path)]
    with PiRpc.start(pi, cwd=project, agent_dir=pi_agent_dir, arguments=arguments) as other:
        other.run("From the terminal")
    assert changed_elsewhere(thread)
    assert len(thread.told(EntryStored)) == told


def test_what_a_terminal_writes_during_a_run_is_not_told_as_its_own(
    thread: LiveThread, server: ModelServer, pi: RealPi, project: Path, pi_agent_dir: Path
) -> None:
    """The run's own entries are, and afterwards it is known that there is more."""
    gate = Gate()
    server.script([Reply(text=("Mine.",), gate=gate)])
    started = len(thread.told(MessageStarted))
    thread.start("Slowly")
    thread.wait_until(lambda: len(thread.told(MessageStarted)) > started)
    arguments = ["--session", str(thread.session.path)]
    with PiRpc.start(pi, cwd=project, agent_dir=pi_agent_dir, arguments=arguments) as other:
        other.run("From the terminal")
    gate.open()
    assert thread.wait_settled(2) == RunSettled("complete")
    told = [e for e in thread.stored_live() if isinstance(e, TranscriptMessage)]
    assert [e.id for e in told if any("terminal" in str(part) for part in e.parts)] == []
    assert changed_elsewhere(thread)


def test_a_run_that_an_extension_began_is_told(
    pi_1_6: RealPi, pi_agent_dir: Path, project: Path
) -> None:
    """With its beginning, though nobody prompted; it settles as any other."""
    extensions = pi_agent_dir / "extensions"
    extensions.mkdir()
    (extensions / "later.ts").write_text(
        "export default (pi) => pi.registerCommand('later', { description: '', handler: () => {\n"
        "  const message = { customType: 'note', content: 'Do it', display: true };\n"
        "  setTimeout(() => pi.sendMessage(message, { triggerTurn: true }), 200);\n"
        "} });\n"
    )
    runtimes = Watched(pi_agent_dir, MODEL, command=pi_1_6.command)
    thread = LiveThread(runtimes, SessionFile.create(pi_agent_dir / "sessions", "t1", project))
    assert thread.run("/later") == RunSettled("complete")
    thread.wait_for(RunBegan)
    assert thread.wait_settled(2) == RunSettled("complete")
    assert thread.last_answer["stopReason"] == "stop"
    assert thread.runtime.activity() is None
    thread.runtime.close()
    runtimes.close()


STARTER = """
import sys
from pathlib import Path
from enso.host.runtimes.pi import PiRuntimes
from enso.host.session_file import SessionFile
from tests.runtimes.live_thread import LiveThread
agent, project, *command = sys.argv[1:]
runtimes = PiRuntimes(Path(agent), "labserver/lab-coder", command=tuple(command))
thread = LiveThread(runtimes, SessionFile.create(Path(agent) / "sessions", "t2", Path(project)))
thread.run("Hello")
thread.runtime.set_mode("auto")
thread.start("Go on")
thread.wait_until(lambda: "tools" in thread.activities and (Path(project) / "pid").exists())
print(thread.runtime.pid, flush=True)
sys.stdin.read()
"""


def test_nothing_is_left_when_enso_is_killed_in_a_tool(
    pi: RealPi, pi_agent_dir: Path, project: Path, server: ModelServer
) -> None:
    """Pi ends with its input, and so does the command that it runs, which 0.73 itself leaves."""
    server.script([Reply(text=("Hello.",)), Reply(tools=[SLEEP])])
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(pi_agent_dir), str(project), *pi.command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    starter.kill()
    starter.communicate()
    wait_for_end(pid)
    wait_for_end(int((project / "pid").read_text()))


def test_what_is_set_before_anything_is_said_is_shown_as_long_as_pi_has_it(
    pi: RealPi, pi_agent_dir: Path, project: Path
) -> None:
    """It is stored with the first answer, or goes with its pi; pi 1.0 on is given it by Enso."""
    runtimes = Watched(pi_agent_dir, MODEL, command=pi.command)
    session = SessionFile.create(pi_agent_dir / "sessions", "t2", project)
    thread = LiveThread(runtimes, session)
    try:
        thread.runtime.set_mode("plan")
        assert stored_mode(thread.stored_live()).mode == "plan"
        os.kill(pid_of(thread), signal.SIGKILL)
        thread.wait_until(lambda: bool(thread.told(RunNotice)))
        thread.run("Hello")
        kept = "ask" if "0.73" in thread.runtime.name else "plan"
        shown = decode_branch(session.branch(), providers=runtimes.provider_name)
        assert stored_mode(shown).mode == kept
        assert stored_mode(thread.read_cold()).mode == kept
    finally:
        thread.runtime.close()
        runtimes.close()
