"""A limit of spend: nobody is charged above it without having been asked."""

from __future__ import annotations

from pathlib import Path

from enso.host.contract import RunNotice, RunSettled
from enso.host.runtimes.builtin import BuiltinRuntimes
from tests.model_server import ModelServer, Reply
from tests.runtimes.agent_files import change_model, write_json
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread, new_thread
from tests.runtimes.test_stopping import stored_after_the_last_prompt
from tests.runtimes.test_tools_in_a_run import call

DOLLAR = {"input": 0, "output": 454_546}
"""At 2.2 dollars a million, this is a dollar and a bit."""


def limited(thread: LiveThread, dollars: float) -> None:
    """Set the limit."""
    write_json(thread.runtimes.agent_dir / "settings.json", {"spendLimit": dollars})


def test_the_next_request_above_the_limit_is_asked_about(
    thread: LiveThread, server: ModelServer
) -> None:
    """Also in the middle of a run; a yes is good for the limit once more."""
    limited(thread, 1.5)
    look = Reply(tools=[call("ls")], usage=DOLLAR)
    server.script([look, look, look, look, Reply(text=("Done.",), usage=DOLLAR)])
    thread.start("Look")
    (dialog,) = thread.wait_for_dialogs()
    assert len(server.requests()) == 2
    assert dialog.kind == "confirm"
    assert dialog.title == "Go on above the spend limit of $1.50?"
    assert dialog.message == "This thread has cost $2.00 so far."
    assert [option.value for option in dialog.options] == ["yes", "no"]
    thread.answer("yes")
    thread.wait_until(lambda: thread.activities.count("needs-you") == 2)
    assert len(server.requests()) == 4
    thread.answer("yes")
    assert thread.wait_settled() == RunSettled("complete")


def test_a_no_ends_the_run_and_says_why(thread: LiveThread, server: ModelServer) -> None:
    """The branch says that it was stopped at the limit; the next prompt asks again."""
    limited(thread, 0.5)
    server.script([Reply(tools=[call("ls")], usage=DOLLAR)])
    thread.start("Look")
    thread.answer("no")
    assert thread.wait_settled() == RunSettled("aborted")
    words = ["user", "toolUse", "toolResult", "aborted"]
    assert stored_after_the_last_prompt(thread) == words
    assert thread.last_answer["errorMessage"] == "Stopped at the thread's spend limit of $0.50"
    thread.start("Again")
    thread.answer("no")
    assert thread.wait_settled(2) == RunSettled("aborted")
    assert len(server.requests()) == 1


def test_a_run_can_be_stopped_while_it_is_asked(thread: LiveThread, server: ModelServer) -> None:
    """As in any other state."""
    limited(thread, 0.5)
    server.script([Reply(tools=[call("ls")], usage=DOLLAR)])
    thread.start("Look")
    thread.wait_for_dialogs()
    thread.runtime.abort()
    assert thread.wait_settled() == RunSettled("aborted")
    assert stored_after_the_last_prompt(thread)[-1] == "aborted"


def test_a_summary_is_asked_about_too(thread: LiveThread, server: ModelServer) -> None:
    """It is a request like any other."""
    from tests.runtimes.test_compaction import fill

    fill(thread, server)
    settings = {"spendLimit": 0.000001, "compaction": {"keepRecentTokens": 2000}}
    write_json(thread.runtimes.agent_dir / "settings.json", settings)
    thread.runtime.compact()
    thread.answer("no")
    assert thread.wait_settled(3) == RunSettled("aborted")
    assert "compaction" not in thread.kinds()


def test_an_unknown_price_is_said_once(thread: LiveThread, server: ModelServer) -> None:
    """The limit holds for what is known, and the person knows that there is more."""
    change_model(thread.runtimes.agent_dir, "labserver", {"cost": None})
    limited(thread, 5)
    thread.run("One")
    thread.run("Two")
    thread.run("Three")
    notices = [notice.sentence for notice in thread.told(RunNotice)]
    assert len(notices) == 1
    assert "price is not known" in notices[0]
    assert "$5.00" in notices[0]


def test_the_operators_limit_goes_before_the_files(
    make_runtimes: MakeRuntimes, agent_dir: Path, server: ModelServer, tmp_path: Path
) -> None:
    """Whoever starts the server decides."""
    write_json(agent_dir / "settings.json", {"spendLimit": 1000})
    runtimes = BuiltinRuntimes(agent_dir, "labserver/lab-coder", spend_limit=0.5)
    thread = new_thread(runtimes, tmp_path)
    server.script([Reply(text=("Dear.",), usage=DOLLAR)])
    thread.run("One")
    thread.start("Two")
    thread.answer("no")
    assert thread.wait_settled(2) == RunSettled("aborted")
    runtimes.close()


def test_without_a_limit_nobody_is_asked(thread: LiveThread, server: ModelServer) -> None:
    """However much it is."""
    server.script([Reply(tools=[call("ls")], usage=DOLLAR)])
    assert thread.run("Look") == RunSettled("complete")
    assert "needs-you" not in thread.activities
