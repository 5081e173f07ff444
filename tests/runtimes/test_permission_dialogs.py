"""A call that the mode does not allow waits for a person, as long as it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import (
    DialogAnswer,
    DialogClosed,
    DialogOpened,
    PromptRefused,
    RunSettled,
)
from enso.host.session_file import SessionFile
from tests.model_server import ModelServer, Reply
from tests.runtimes.live_thread import LiveThread
from tests.runtimes.test_tools_in_a_run import DONE, call


def commands(*texts: str) -> Reply:
    """A message that wants to run these commands."""
    return Reply(tools=[call("bash", command=text) for text in texts])


def result_texts(thread: LiveThread) -> list[str]:
    """What the model was told of each call."""
    return [result["content"][0]["text"] for result in thread.results()]


def test_a_question_says_what_would_run(thread: LiveThread, server: ModelServer) -> None:
    """Which tool, with which arguments, of which call; and three ways to answer."""
    server.script([Reply(tools=[call("bash", "call_q", command="echo hi")]), DONE])
    thread.start("Run it")
    (dialog,) = thread.wait_for_dialogs()
    assert (dialog.kind, dialog.title, dialog.message) == (
        "permission",
        "Run this command?",
        "echo hi",
    )
    assert [option.value for option in dialog.options] == ["once", "thread", "deny"]
    assert (dialog.tool_name, dialog.arguments) == ("bash", {"command": "echo hi"})
    assert (dialog.tool_call_id, dialog.expires_at) == ("call_q", None)
    assert thread.told(DialogOpened) == [DialogOpened(dialog)]
    assert thread.activities[-1] == "needs-you"
    activity = thread.runtime.activity()
    assert activity is not None
    assert activity.detail == "Run this command?"
    assert not thread.results()
    thread.answer("once")
    assert thread.wait_settled() == RunSettled("complete")
    assert thread.told(DialogClosed) == [DialogClosed(dialog.id, "once")]
    assert thread.activities[-4:] == ["needs-you", "tools", "asking", "answering"]
    assert thread.runtime.dialogs() == ()
    assert result_texts(thread) == ["hi\n"]


def test_allowed_once_is_asked_again(thread: LiveThread, server: ModelServer) -> None:
    """The same command, the same question."""
    server.script([commands("echo hi"), commands("echo hi"), DONE])
    thread.start("Twice")
    thread.answer("once")
    thread.wait_until(lambda: len(thread.told(DialogOpened)) == 2)
    thread.answer("once")
    assert thread.wait_settled() == RunSettled("complete")


def test_allowed_for_the_thread_is_asked_once(thread: LiveThread, server: ModelServer) -> None:
    """That command runs from then on, also in later runs; another is asked about."""
    server.script([commands("echo hi"), commands("echo hi"), DONE])
    thread.start("Twice")
    thread.answer("thread")
    assert thread.wait_settled() == RunSettled("complete")
    server.script([commands("echo hi"), commands("echo ho"), DONE])
    thread.start("Again")
    thread.answer("deny")
    assert thread.wait_settled(2) == RunSettled("complete")
    assert len(thread.told(DialogOpened)) == 2
    assert result_texts(thread) == ["hi\n", "hi\n", "hi\n", "Blocked by user"]


def test_what_was_allowed_for_the_thread_is_kept_in_its_file(
    thread: LiveThread, server: ModelServer
) -> None:
    """A runtime that is built anew asks for nothing that was allowed; a branch from before does."""
    server.script([Reply(text=("Hello.",)), commands("echo hi"), DONE])
    thread.run("Hello")
    before = thread.lines()[-1]["id"]
    thread.start("Run it")
    thread.answer("thread")
    assert thread.wait_settled(2) == RunSettled("complete")
    thread.runtime.close()
    anew = LiveThread(thread.runtimes, SessionFile.open(thread.session.path))
    server.script([commands("echo hi"), DONE])
    assert anew.run("Again") == RunSettled("complete")
    assert not anew.told(DialogOpened)
    anew.runtime.go_to(before)
    server.script([commands("echo hi"), DONE])
    anew.start("Differently")
    anew.answer("deny")
    assert anew.wait_settled(2) == RunSettled("complete")
    assert result_texts(anew) == ["hi\n", "hi\n", "Blocked by user"]


def test_a_denial_tells_the_model_why(
    thread: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """The reason is in the result, nothing ran, and the model goes on."""
    server.script([commands("touch ran"), DONE])
    thread.start("Run it")
    thread.answer("deny", "Use make instead")
    assert thread.wait_settled() == RunSettled("complete")
    assert result_texts(thread) == ["Blocked by user: Use make instead"]
    result = thread.results()[0]
    assert (result["isError"], result["details"]) == (True, {})
    assert "durationMs" not in result
    assert not (tmp_path / "ran").exists()
    assert "Use make instead" in str(server.requests()[-1].body)


def test_a_question_that_is_put_away_is_a_denial(thread: LiveThread, server: ModelServer) -> None:
    """Cancelled is no yes."""
    server.script([commands("echo hi"), DONE])
    thread.start("Run it")
    (dialog,) = thread.wait_for_dialogs()
    assert thread.runtime.answer(dialog.id, DialogAnswer(cancelled=True))
    assert thread.wait_settled() == RunSettled("complete")
    assert thread.told(DialogClosed) == [DialogClosed(dialog.id, "cancelled")]
    assert result_texts(thread) == ["Blocked by user"]


def test_the_first_answer_wins(thread: LiveThread, server: ModelServer) -> None:
    """A second answer does nothing and says so; so does one to a question that never was."""
    server.script([commands("echo hi"), DONE])
    thread.start("Run it")
    (dialog,) = thread.wait_for_dialogs()
    assert not thread.runtime.answer("another", DialogAnswer(value="once"))
    assert thread.runtime.answer(dialog.id, DialogAnswer(value="deny"))
    assert not thread.runtime.answer(dialog.id, DialogAnswer(value="once"))
    thread.wait_settled()
    assert result_texts(thread) == ["Blocked by user"]


def test_an_answer_that_is_no_option_is_refused(thread: LiveThread, server: ModelServer) -> None:
    """The question still waits."""
    server.script([commands("echo hi"), DONE])
    thread.start("Run it")
    (dialog,) = thread.wait_for_dialogs()
    for answer in (DialogAnswer(value="maybe"), DialogAnswer()):
        with pytest.raises(PromptRefused) as refused:
            thread.runtime.answer(dialog.id, answer)
        assert refused.value.code == "unknown-answer"
    assert thread.runtime.dialogs() == (dialog,)
    thread.answer("once")
    thread.wait_settled()


def test_several_calls_ask_at_the_same_time(thread: LiveThread, server: ModelServer) -> None:
    """What needs no question runs meanwhile; answers come in any order, results in call order."""
    calls = [call("bash", command="echo a"), call("ls"), call("bash", command="echo b")]
    server.script([Reply(tools=calls), DONE])
    thread.start("All")
    first, second = thread.wait_for_dialogs(2)
    thread.runtime.answer(second.id, DialogAnswer(value="once"))
    assert thread.runtime.dialogs() == (first,)
    thread.runtime.answer(first.id, DialogAnswer(value="deny"))
    assert thread.wait_settled() == RunSettled("complete")
    texts = result_texts(thread)
    assert (texts[0], texts[2]) == ("Blocked by user", "b\n")
    assert [result["toolName"] for result in thread.results()] == ["bash", "ls", "bash"]


def test_allowing_for_the_thread_answers_the_same_question_elsewhere(
    thread: LiveThread, server: ModelServer
) -> None:
    """Two edits of the project wait: one yes for the thread is enough."""
    writes = [call("write", path=name, content="x") for name in ("a.txt", "b.txt")]
    server.script([Reply(tools=writes), DONE])
    thread.start("Write both")
    first, second = thread.wait_for_dialogs(2)
    thread.runtime.answer(first.id, DialogAnswer(value="thread"))
    assert thread.wait_settled() == RunSettled("complete")
    assert thread.told(DialogClosed)[-1] == DialogClosed(second.id, "once")
    assert not any(result["isError"] for result in thread.results())


@pytest.mark.parametrize(
    "mode, outcome, said",
    [("auto", "once", "hi\n"), ("plan", "deny", "plan mode")],
)
def test_a_changed_mode_answers_what_waits(
    mode: str, outcome: str, said: str, thread: LiveThread, server: ModelServer
) -> None:
    """The mode may change while a question waits: the rule is asked again."""
    server.script([commands("echo hi"), DONE])
    thread.start("Run it")
    (dialog,) = thread.wait_for_dialogs()
    thread.runtime.set_mode("edit")
    assert thread.runtime.dialogs() == (dialog,)
    thread.runtime.set_mode(mode)
    assert thread.wait_settled() == RunSettled("complete")
    assert thread.told(DialogClosed) == [DialogClosed(dialog.id, outcome)]
    assert said in result_texts(thread)[0]


def test_plan_mode_refuses_without_a_question(thread: LiveThread, server: ModelServer) -> None:
    """The model is told which mode it is in."""
    thread.runtime.set_mode("plan")
    server.script([commands("echo hi"), DONE])
    assert thread.run("Run it") == RunSettled("complete")
    assert not thread.told(DialogOpened)
    assert "plan mode" in result_texts(thread)[0]


def test_an_unknown_mode_asks(thread: LiveThread, server: ModelServer) -> None:
    """A mode that another program set, and that Enso does not know, allows nothing by itself."""
    data: dict[str, Any] = {"mode": "yolo"}
    thread.session.append("custom", {"customType": "modes", "data": data})
    server.script([commands("echo hi"), DONE])
    thread.start("Run it")
    thread.answer("once")
    assert thread.wait_settled() == RunSettled("complete")


def test_what_waits_is_judged_by_what_will_run(
    thread: LiveThread, server: ModelServer, tmp_path: Path
) -> None:
    """Arguments are put right before they are judged: a number as a path is a path."""
    thread.runtime.set_mode("edit")
    server.script([Reply(tools=[call("write", path=7, content="x")]), DONE])
    assert thread.run("Write") == RunSettled("complete")
    assert (tmp_path / "7").read_text() == "x"
