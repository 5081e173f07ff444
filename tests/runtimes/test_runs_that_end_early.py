"""Runs that a person stops, a server that is closed or killed, and faults of our own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from enso.host.contract import (
    EntryStored,
    MessageStarted,
    PartDelta,
    PartStarted,
    PromptRefused,
    RunNotice,
    RunSettled,
    ThreadEvent,
)
from enso.transcript import TranscriptMessage
from tests.model_server import Gate, ModelServer, Reply
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread, new_thread
from tests.runtimes.test_turns import MODELS, every_protocol

ROOT = Path(__file__).parent.parent.parent

# -- a person stops -------------------------------------------------------------------------------


@every_protocol
def test_an_abort_keeps_what_had_streamed(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The message is stored as aborted, under the id it streamed with, and the branch goes on."""
    gate = Gate()
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([Reply(text=("Slow ", "words"), gate=gate), Reply(text=("Yes.",))])
    thread.start("Tell me slowly.")
    thread.wait_for(PartDelta)
    stopped = time.monotonic()
    thread.runtime.abort()
    assert thread.wait_settled() == RunSettled("aborted")
    assert time.monotonic() - stopped < 5
    gate.open()
    assert thread.last_answer["stopReason"] == "aborted"
    assert thread.last_answer["errorMessage"] == "Request was aborted"
    assert [block["text"] for block in thread.last_answer["content"]] == ["Slow words"]
    assert thread.lines()[-1]["id"] == thread.told(MessageStarted)[0].message_id
    assert thread.cold_answer.stop_reason == "aborted"
    assert thread.cold_answer.refusal is None
    assert thread.run("Go on?") == RunSettled("complete")


@every_protocol
def test_an_abort_before_the_first_token_is_stored(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """As pi stores it: an empty aborted message behind the prompt."""
    gate = Gate()
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([Reply(text=("Late",), first_gate=gate)])
    thread.start("I stop you before the first word.")
    gate.reached.wait(20)
    thread.runtime.abort()
    assert thread.wait_settled() == RunSettled("aborted")
    gate.open()
    assert thread.last_answer["content"] == []
    assert thread.last_answer["errorMessage"] == "Request aborted"
    assert thread.kinds()[-2:] == ["message:user", "message:assistant"]
    assert not thread.told(MessageStarted)


def test_an_abort_right_after_the_prompt_asks_nobody(
    thread: LiveThread, server: ModelServer
) -> None:
    """A run that is stopped while it is made ready settles, too."""
    thread.start("Never mind")
    thread.runtime.abort()
    assert thread.wait_settled() == RunSettled("aborted")
    assert thread.last_answer["stopReason"] == "aborted"


def test_stopping_twice_is_stopping_once(thread: LiveThread, server: ModelServer) -> None:
    """An impatient person does no harm."""
    gate = Gate()
    server.script([Reply(text=("Slow ", "words"), gate=gate)])
    thread.start("Tell me slowly.")
    thread.wait_for(PartDelta)
    for _ in range(3):
        thread.runtime.abort()
    assert thread.wait_settled() == RunSettled("aborted")
    gate.open()
    assert thread.kinds().count("message:assistant") == 1


def test_an_abort_without_a_run_does_nothing(thread: LiveThread) -> None:
    """Nothing is told, and the next prompt runs."""
    thread.runtime.abort()
    assert thread.events == []
    assert thread.run("Hello") == RunSettled("complete")


def test_two_threads_run_at_the_same_time(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """One that waits does not hold up another, and stopping one leaves the other alone."""
    runtimes = make_runtimes("labserver/lab-coder")
    slow, quick = (new_thread(runtimes, tmp_path, name) for name in ("slow", "quick"))
    gate = Gate()
    server.script([Reply(text=("Slow",), gate=gate), Reply(text=("Quick",))])
    slow.start("Slowly")
    slow.wait_for(MessageStarted)
    assert quick.run("Quickly") == RunSettled("complete")
    slow.runtime.abort()
    assert slow.wait_settled() == RunSettled("aborted")
    gate.open()
    assert quick.last_answer["content"][0]["text"] == "Quick"


# -- the server ends ------------------------------------------------------------------------------


def test_closing_ends_the_run_first_and_tells_nothing_afterwards(
    thread: LiveThread, server: ModelServer
) -> None:
    """A thread that is let go leaves a valid file, and takes no more prompts."""
    gate = Gate()
    server.script([Reply(text=("Slow ", "words"), gate=gate)])
    thread.start("Tell me slowly.")
    thread.wait_for(PartDelta)
    thread.runtime.close()
    assert thread.told(RunSettled) == [RunSettled("aborted")]
    assert thread.last_answer["stopReason"] == "aborted"
    told = len(thread.events)
    gate.open()
    with pytest.raises(PromptRefused):
        thread.start("More")
    assert len(thread.events) == told


def test_closing_everything_ends_every_run(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The shared loop ends, and each run is settled before."""
    runtimes = make_runtimes("labserver/lab-coder")
    threads = [new_thread(runtimes, tmp_path, f"thread-{n}") for n in range(3)]
    gate = Gate()
    server.script([Reply(text=("Slow",), gate=gate)] * 3)
    for thread in threads:
        thread.start("Slowly")
        thread.wait_for(PartStarted)
    for thread in threads:
        thread.runtime.close()
    runtimes.close()
    gate.open()
    assert [thread.told(RunSettled) for thread in threads] == [[RunSettled("aborted")]] * 3
    with pytest.raises(PromptRefused, match="shutting down"):
        new_thread(runtimes, tmp_path, "late").start("Hello")


def test_a_listener_may_prompt_and_close_from_within(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """What hears of a settled run may act on it at once, in the runtime's own worker."""
    thread = new_thread(make_runtimes("labserver/lab-coder"), tmp_path)
    hear = thread._hear

    def act(event: ThreadEvent) -> None:
        if isinstance(event, RunSettled):
            runs = len(thread.told(RunSettled))
            if runs == 0:
                thread.start("Again")
            else:
                thread.runtime.close()
        hear(event)

    thread.runtime.listen(act)
    thread.start("Once")
    assert thread.wait_settled(2) == RunSettled("complete")
    assert thread.kinds().count("message:user") == 2


def test_a_run_that_is_killed_leaves_an_unanswered_prompt(
    server: ModelServer, agent_dir: Path, tmp_path: Path
) -> None:
    """SIGKILL in the middle of an answer: the file ends with the prompt, whole and valid."""
    gate = Gate()
    server.script([Reply(text=("You are killed ", "while"), gate=gate)])
    script = textwrap.dedent(
        """
        import sys, threading
        from pathlib import Path
        from enso.host.contract import PartDelta
        from enso.host.runtimes.builtin import BuiltinRuntimes
        from enso.host.session_file import SessionFile
        root = Path(sys.argv[1])
        session = SessionFile.create(root / "sessions", "killed", root)
        runtime = BuiltinRuntimes(root / "agent", "labserver/lab-coder").build(session)
        def hear(event):
            if isinstance(event, PartDelta):
                print(session.path, flush=True)
        runtime.listen(hear)
        runtime.prompt("You are killed before you have spoken.")
        threading.Event().wait()
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        os.kill(process.pid, signal.SIGKILL)
        process.wait(20)
    gate.open()
    lines = path.read_text().splitlines()
    assert len(lines) == 5
    assert '"role":"user"' in lines[-1]
    assert "You are killed before" in lines[-1]


# -- faults of our own ----------------------------------------------------------------------------


def test_a_thread_that_cannot_be_stored_is_said_and_settled(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """A directory that cannot be made: the person is told why, and no one waits for ever."""
    (tmp_path / "sessions").write_text("a file is here")
    thread = new_thread(make_runtimes("labserver/lab-coder"), tmp_path)
    settled = thread.run("Hello")
    assert settled == RunSettled("failed")
    assert str(tmp_path / "sessions") in thread.told(RunNotice)[-1].sentence
    assert isinstance(thread.events[-1], RunSettled)


def test_a_file_that_goes_away_in_a_run_is_said_and_settled(
    thread: LiveThread, server: ModelServer
) -> None:
    """What streams is dropped, in words."""
    gate = Gate()
    server.script([Reply(text=("Here",), gate=gate)])
    thread.start("Hello")
    thread.wait_for(MessageStarted)
    thread.session.path.unlink()
    gate.open()
    assert thread.wait_settled() == RunSettled("failed")
    assert "MessageDropped" in thread.names
    assert "is gone" in thread.told(RunNotice)[-1].sentence


def test_a_fault_of_a_listener_does_not_stop_a_run(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Who listens may be broken: the turn is stored all the same."""
    thread = new_thread(make_runtimes("labserver/lab-coder"), tmp_path)
    hear = thread._hear

    def broken(event: ThreadEvent) -> None:
        hear(event)
        raise RuntimeError("a listener's own fault")

    thread.runtime.listen(broken)
    assert thread.run("Hello") == RunSettled("complete")
    stored = thread.told(EntryStored)[-1].entry
    assert isinstance(stored, TranscriptMessage)
    assert thread.lines()[-1]["id"] == stored.id
