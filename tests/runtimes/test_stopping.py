"""Stop, in every state a run can be in: it ends, says "stopping" until it has, and leaves a branch.

What is stored is what pi 1.6.0 stores when it is stopped in the same state.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from enso.host.contract import (
    DialogClosed,
    PromptRefused,
    QueueChanged,
    RunSettled,
    ToolProgress,
)
from tests.model_server import Gate, ModelServer, Reply, refused
from tests.runtimes.agent_files import write_json
from tests.runtimes.live_thread import LiveThread
from tests.runtimes.test_compaction import fill
from tests.runtimes.test_tools_in_a_run import DONE, call

Begin = Callable[[LiveThread, ModelServer], Gate | None]


def before_the_first_token(thread: LiveThread, server: ModelServer) -> Gate:
    """The provider has not answered yet."""
    gate = Gate()
    server.script([Reply(text=("Late",), first_gate=gate)])
    thread.start("Hello")
    gate.reached.wait(20)
    return gate


def streaming(thread: LiveThread, server: ModelServer) -> Gate:
    """Words come."""
    gate = Gate()
    server.script([Reply(text=("Half ", "an"), gate=gate)])
    thread.start("Hello")
    gate.reached.wait(20)
    thread.wait_until(lambda: "answering" in thread.activities)
    return gate


def in_a_tool(thread: LiveThread, server: ModelServer) -> None:
    """A command runs that would never end, beside one that has ended."""
    thread.runtime.set_mode("auto")
    calls = [call("bash", command="echo quick"), call("bash", "c2", command="echo hi; sleep 1000")]
    server.script([Reply(text=("I run it.",), tools=calls)])
    thread.start("Hello")
    said = ToolProgress("c2", "hi\n")
    thread.wait_until(lambda: said in thread.events and bool(thread.results()))


def in_a_dialog(thread: LiveThread, server: ModelServer) -> None:
    """A call waits for a person."""
    server.script([Reply(tools=[call("bash", command="echo hi")])])
    thread.start("Hello")
    thread.wait_for_dialogs()


def in_a_retry_wait(thread: LiveThread, server: ModelServer) -> None:
    """A refused attempt is to be made again in a minute."""
    settings = {"retry": {"baseDelayMs": 60_000}}
    write_json(thread.runtimes.agent_dir / "settings.json", settings)
    server.script([refused("503")])
    thread.start("Hello")
    thread.wait_until(lambda: "retry-wait" in thread.activities)


def in_compaction(thread: LiveThread, server: ModelServer) -> Gate:
    """The conversation is summed up before the prompt is sent."""
    fill(thread, server)
    gate = Gate()
    server.script([Reply(text=("A summary",), first_gate=gate)])
    thread.start("Hello")
    gate.reached.wait(20)
    assert thread.activities[-1] == "compacting"
    return gate


STATES: dict[str, tuple[Begin, list[str]]] = {
    "before the first token": (before_the_first_token, ["user", "aborted"]),
    "streaming": (streaming, ["user", "aborted"]),
    "in a tool": (in_a_tool, ["user", "toolUse", "toolResult", "toolResult", "aborted"]),
    "in a dialog": (in_a_dialog, ["user", "toolUse", "toolResult", "aborted"]),
    "in a retry wait": (in_a_retry_wait, ["user", "error", "context_edit"]),
    "in compaction": (in_compaction, ["user", "aborted"]),
}


def stored_after_the_last_prompt(thread: LiveThread) -> list[str]:
    """What the branch holds from the last prompt on: roles, and how answers ended."""
    words: list[str] = []
    for line in thread.lines():
        if line["type"] != "message":
            words.append(line["type"])
            continue
        message = line["message"]
        if message["role"] == "user":
            words.clear()
        words.append(message.get("stopReason", message["role"]))
    return words


@pytest.mark.parametrize("state", STATES)
def test_a_stop_ends_the_run_and_leaves_what_pi_leaves(
    state: str, thread: LiveThread, server: ModelServer
) -> None:
    """The run says that it stops, settles as aborted, and the next prompt is answered."""
    begin, stored = STATES[state]
    gate = begin(thread, server)
    runs = len(thread.told(RunSettled))
    thread.runtime.queue("Never said", when="after")
    thread.runtime.abort()
    assert thread.wait_settled(runs + 1) == RunSettled("aborted")
    if gate is not None:
        gate.open()
    assert thread.activities[-1] == "stopping"
    assert thread.told(QueueChanged)[-1] == QueueChanged(())
    assert thread.runtime.activity() is None
    assert thread.runtime.dialogs() == ()
    assert stored_after_the_last_prompt(thread) == stored
    assert tuple(thread.stored_live()) == thread.read_cold()
    server.script([Reply(text=("Going on.",))] * 2)
    assert thread.run("Go on") == RunSettled("complete")
    assert thread.last_answer["content"][0]["text"] == "Going on."


@pytest.mark.parametrize("state", STATES)
def test_a_thread_that_is_closed_leaves_a_tail_that_says_so(
    state: str, thread: LiveThread, server: ModelServer
) -> None:
    """The server ends: what was finished is kept, and no words are put into anybody's mouth."""
    begin, _ = STATES[state]
    gate = begin(thread, server)
    thread.runtime.close()
    if gate is not None:
        gate.open()
    ended = {
        "before the first token": ["user"],
        "streaming": ["user", "aborted"],
        "in a tool": ["user", "toolUse", "toolResult", "toolResult"],
        "in a dialog": ["user", "toolUse"],
        "in a retry wait": ["user", "error", "context_edit"],
        "in compaction": ["user"],
    }
    assert stored_after_the_last_prompt(thread) == ended[state]


def test_stopped_tools_are_stored_as_pi_stores_them(
    thread: LiveThread, server: ModelServer
) -> None:
    """What a command had said, and that it was ended; what was finished, as it was."""
    in_a_tool(thread, server)
    thread.runtime.abort()
    thread.wait_settled()
    finished, stopped = thread.results()
    assert stopped["content"][0]["text"] == "hi\n\n\nCommand aborted"
    assert (stopped["isError"], stopped["details"]) == (True, {})
    assert stopped["durationMs"] >= 0
    assert finished["content"][0]["text"] == "quick\n"
    assert finished["isError"] is False
    answer = thread.last_answer
    assert (answer["content"], answer["errorMessage"]) == ([], "This operation was aborted")
    assert (answer["usage"]["totalTokens"], answer["durationMs"]) == (0, 0)


def test_a_stopped_question_is_told_as_stopped(thread: LiveThread, server: ModelServer) -> None:
    """Nobody said no: the call was not made."""
    in_a_dialog(thread, server)
    (dialog,) = thread.runtime.dialogs()
    thread.runtime.abort()
    thread.wait_settled()
    assert thread.told(DialogClosed) == [DialogClosed(dialog.id, "stopped")]
    assert thread.results()[0]["content"][0]["text"] == "Operation aborted"


def test_a_stopped_command_is_gone_with_its_children(
    thread: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """Its whole process group is, before the run is said to be over."""
    thread.runtime.set_mode("auto")
    command = "(sleep 1000 & echo $! > child); echo ready; sleep 1000"
    server.script([Reply(tools=[call("bash", command=command)])])
    thread.start("Run")
    thread.wait_until(lambda: "ToolProgress" in thread.names)
    thread.runtime.abort()
    thread.wait_settled()
    child = int((tmp_path / "child").read_text())
    assert not Path(f"/proc/{child}").exists() or zombie(child)


def zombie(process: int) -> bool:
    """Whether a process has ended and only its parent has not looked yet."""
    return ") Z " in Path(f"/proc/{process}/stat").read_text()


def test_stopping_many_times_is_stopping_once(thread: LiveThread, server: ModelServer) -> None:
    """An impatient person cuts no clearing up short."""
    in_a_tool(thread, server)
    for _ in range(5):
        thread.runtime.abort()
    assert thread.wait_settled() == RunSettled("aborted")
    assert len(thread.results()) == 2
    assert thread.told(RunSettled) == [RunSettled("aborted")]


def test_nothing_is_queued_to_a_run_that_stops(thread: LiveThread, server: ModelServer) -> None:
    """It would never be said."""
    gate = streaming(thread, server)
    thread.runtime.abort()
    with pytest.raises(PromptRefused) as refusal:
        thread.runtime.queue("Too late", when="steer")
    assert refusal.value.code == "not-busy"
    thread.wait_settled()
    gate.open()


def test_a_stop_as_a_run_settles_harms_nothing(thread: LiveThread, server: ModelServer) -> None:
    """Whichever comes first, there is one settlement, and the next prompt runs."""
    for number in range(1, 11):
        server.script([DONE])
        thread.start("Quick")
        thread.wait_until(lambda: "answering" in thread.activities)
        thread.runtime.abort()
        thread.wait_settled(number)
    assert len(thread.told(RunSettled)) == 10
