"""What is said while a run is in flight: when it is delivered, and that it is delivered once."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from enso.host.contract import (
    PromptImage,
    PromptRefused,
    QueueChanged,
    QueuedPrompt,
    RunSettled,
)
from tests.model_server import Gate, ModelServer, Reply, refused
from tests.runtimes.agent_files import write_json
from tests.runtimes.live_thread import LiveThread
from tests.runtimes.test_stopping import streaming
from tests.runtimes.test_tools_in_a_run import DONE, call

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def said(thread: LiveThread) -> list[str]:
    """The stored prompts, and what stands between them."""
    return [
        m["content"][0]["text"] if m["role"] == "user" else m["role"]
        for m in thread.messages()
        if m["role"] != "system"
    ]


def test_what_steers_is_delivered_after_the_current_tools(
    thread: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """Before the next request, behind the results; what comes after waits for the end."""
    thread.runtime.set_mode("auto")
    waits = call("bash", command="echo on; until [ -e go ]; do sleep 0.02; done")
    server.script([Reply(tools=[waits]), Reply(text=("Steered.",)), Reply(text=("After.",))])
    thread.start("Work")
    thread.wait_until(lambda: "ToolProgress" in thread.names)
    after = thread.runtime.queue("Then sum it up", when="after")
    steer = thread.runtime.queue("Only the orders", when="steer")
    items = (
        QueuedPrompt(id=steer, message="Only the orders", when="steer"),
        QueuedPrompt(id=after, message="Then sum it up", when="after"),
    )
    assert thread.runtime.queued() == items
    (tmp_path / "go").touch()
    assert thread.wait_settled() == RunSettled("complete")
    assert said(thread) == [
        *("Work", "assistant", "toolResult"),
        *("Only the orders", "assistant"),
        *("Then sum it up", "assistant"),
    ]
    assert thread.told(QueueChanged)[-3:] == [
        QueueChanged(items),
        QueueChanged(items[1:]),
        QueueChanged(()),
    ]
    assert thread.told(RunSettled) == [RunSettled("complete")]
    assert tuple(thread.stored_live()) == thread.read_cold()


def test_what_steers_an_answer_without_tools_follows_it(
    thread: LiveThread, server: ModelServer
) -> None:
    """There are no tools to wait for: it is said when the answer ended, in the same run."""
    gate = Gate()
    server.script([Reply(text=("One.",), gate=gate), Reply(text=("Two.",))])
    thread.start("First")
    gate.reached.wait(20)
    thread.runtime.queue("Second", when="steer")
    gate.open()
    assert thread.wait_settled() == RunSettled("complete")
    assert said(thread) == ["First", "assistant", "Second", "assistant"]


@pytest.mark.parametrize(
    "mode, prompts",
    [
        ("one-at-a-time", ["First", "assistant", "A", "assistant", "B", "assistant"]),
        ("all", ["First", "assistant", "A", "B", "assistant"]),
    ],
)
def test_several_are_delivered_as_the_settings_say(
    mode: str, prompts: list[str], thread: LiveThread, server: ModelServer
) -> None:
    """In the order in which they were said."""
    settings = {"steeringMode": mode, "followUpMode": mode}
    write_json(thread.runtimes.agent_dir / "settings.json", settings)
    gate = Gate()
    server.script([Reply(text=("One.",), gate=gate), DONE, DONE])
    thread.start("First")
    gate.reached.wait(20)
    for text in ("A", "B"):
        thread.runtime.queue(text, when="after")
    gate.open()
    thread.wait_settled()
    assert said(thread) == prompts


def test_what_is_taken_back_is_not_said(thread: LiveThread, server: ModelServer) -> None:
    """It is returned once, and nothing can be taken back that was delivered."""
    gate = streaming(thread, server)
    item = thread.runtime.queue("Oh wait", when="after")
    taken = thread.runtime.take_back(item)
    assert taken == QueuedPrompt(id=item, message="Oh wait", when="after")
    assert thread.runtime.take_back(item) is None
    assert thread.runtime.queued() == ()
    gate.open()
    thread.wait_settled()
    assert said(thread) == ["Hello", "assistant"]


def test_nothing_is_queued_without_a_run(thread: LiveThread) -> None:
    """It would wait for ever: the person sends it instead."""
    for _ in range(2):
        with pytest.raises(PromptRefused) as refusal:
            thread.runtime.queue("Hello?", when="after")
        assert refusal.value.code == "not-busy"
        thread.run("Hello")


def test_nothing_empty_is_queued(thread: LiveThread, server: ModelServer) -> None:
    """Blanks are no message; an image alone is one."""
    gate = streaming(thread, server)
    with pytest.raises(PromptRefused) as refusal:
        thread.runtime.queue("  \n", when="steer")
    assert refusal.value.code == "empty"
    thread.runtime.queue("", [PromptImage("image/png", PIXEL)], when="after")
    gate.open()
    thread.wait_settled()
    image = thread.messages()[-2]["content"][1]
    assert image == {"type": "image", "data": PIXEL, "mimeType": "image/png"}


def test_what_was_queued_is_said_though_the_answer_was_refused(
    thread: LiveThread, server: ModelServer
) -> None:
    """As pi does: a refusal is an answer, too."""
    gate = Gate()
    no = refused("401")
    server.script(
        [Reply(status=no.status, body=no.body, headers=no.headers, first_gate=gate), DONE]
    )
    thread.start("First")
    gate.reached.wait(20)
    thread.runtime.queue("Second", when="after")
    gate.open()
    assert thread.wait_settled() == RunSettled("complete")
    assert said(thread) == ["First", "assistant", "Second", "assistant"]


def test_no_message_is_lost_between_two_runs(thread: LiveThread) -> None:
    """One that comes as the run settles is delivered in it, or it is refused and said so."""
    accepted: list[str] = []
    for run in range(1, 16):
        thread.start(f"p{run}")
        thread.wait_until(lambda run=run: said(thread).count("assistant") >= run + len(accepted))
        with suppress(PromptRefused):
            thread.runtime.queue(f"q{run}", when="after")
            accepted.append(f"q{run}")
        thread.wait_settled(run)
        assert [text for text in said(thread) if text.startswith("q")] == accepted
