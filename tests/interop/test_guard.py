"""Enso's permission modes in a real pi: what is free, asked about and refused, and what is kept."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from enso.host.decode import decode_branch
from enso.host.modes import stored_mode
from enso.host.permission_rules import MODES, OPTIONS, REASONS, VERDICTS, CallKind
from enso.host.runtimes.pi.guard import EXTENSION, MODE_COMMAND, MODE_STATUS, OFF
from enso.host.session_file import SessionFile
from enso.transcript import TranscriptEntry
from tests.interop.real_pi import HERE, RealPi
from tests.interop.rpc_client import PATIENCE, PiRpc, Record, environment
from tests.interop.shared_thread import answer_id
from tests.interop.threads import kinds, lines
from tests.model_server import ModelServer, Reply
from tests.runtimes.conftest import MakeRuntimes, make_runtimes, no_keys
from tests.runtimes.live_thread import LiveThread

__all__ = ["make_runtimes", "no_keys"]

ONCE, THREAD, DENY = (option.label for option in OPTIONS)
TOOLS = "read,bash,edit,write,grep,find,ls"
DONE = Reply(text=("Done.",))
Start = Callable[..., PiRpc]


@pytest.fixture
def agent_dir(pi_agent_dir: Path) -> Path:
    """The agent directory that pi and Enso share."""
    return pi_agent_dir


@pytest.fixture
def start(pi: RealPi, project: Path, pi_agent_dir: Path) -> Iterator[Start]:
    """Start pi with the guard, in the project, with more arguments; ended at the end."""
    started: list[PiRpc] = []
    (project / "a.txt").write_text("one\n")

    def start(*arguments: str, **variables: str) -> PiRpc:
        own = ["--model", "labserver/lab-coder", "--tools", TOOLS, "--extension", str(EXTENSION)]
        rpc = PiRpc.start(
            pi,
            cwd=project,
            agent_dir=pi_agent_dir,
            arguments=[*own, *arguments],
            variables=variables,
        )
        started.append(rpc)
        return rpc

    yield start
    for rpc in started:
        rpc.close()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call, as the endpoint answers with it."""
    return {"name": name, "args": arguments}


def bash(command: str) -> Reply:
    """A message that wants to run a command."""
    return Reply(tools=[call("bash", command=command)])


def prompt(rpc: PiRpc, text: str = "Go on") -> int:
    """Prompt, and do not wait for its end; where it began."""
    mark = rpc.mark()
    rpc.ask("prompt", message=text)
    return mark


def change_mode(rpc: PiRpc, mode: str) -> None:
    """Change the mode as a person does."""
    rpc.ask("prompt", message=f"/{MODE_COMMAND} {mode}")


def dialogs(records: list[Record], method: str = "select") -> list[Record]:
    """The questions that were asked."""
    asked = [said for said in records if said["type"] == "extension_ui_request"]
    return [said for said in asked if said["method"] == method]


def results(records: list[Record]) -> list[str]:
    """What the model was told of each call, in order."""
    ends = [said for said in records if said["type"] == "tool_execution_end"]
    return ["".join(block["text"] for block in end["result"]["content"]) for end in ends]


def session_file(rpc: PiRpc) -> Path:
    """Where the thread is stored."""
    return Path(rpc.ask("get_state")["sessionFile"])


CALLS: dict[str, tuple[CallKind, dict[str, Any]]] = {
    "read": ("reading", call("read", path="a.txt")),
    "ls": ("reading", call("ls")),
    "grep": ("reading", call("grep", pattern="one")),
    "find": ("reading", call("find", pattern="*.txt")),
    "edit": ("inside", call("edit", path="a.txt", edits=[{"oldText": "one", "newText": "two"}])),
    "write": ("inside", call("write", path="b/c.txt", content="x")),
    "write outside": ("outside", call("write", path="../outside.txt", content="x")),
    "write git": ("outside", call("write", path=".git/hooks/pre-commit", content="x")),
    "bash": ("other", call("bash", command="echo ran")),
}


@pytest.mark.parametrize("mode", [mode.id for mode in MODES])
def test_each_mode_and_each_tool(
    mode: str, start: Start, server: ModelServer, project: Path, tmp_path: Path
) -> None:
    """What the mode allows runs, what it refuses tells the model so, and the rest is asked."""
    rpc = start()
    change_mode(rpc, mode)
    server.script([*(Reply(tools=[one]) for _, one in CALLS.values()), DONE])
    mark = prompt(rpc)
    said = {name: VERDICTS[mode][kind] for name, (kind, _) in CALLS.items()}
    at = mark
    for _ in range(list(said.values()).count("ask")):
        asked = rpc.wait_for_dialog("select", at)
        at = rpc.mark()
        rpc.reply(asked, value=DENY + "\nNot this.")
    records = rpc.settle(mark)
    told = dict(zip(CALLS, results(records), strict=True))
    for name, verdict in said.items():
        assert ("plan mode" in told[name]) is (verdict == "refuse"), name
        assert (told[name] == "Blocked by user: Not this.") is (verdict == "ask"), name
    assert len(dialogs(records)) == list(said.values()).count("ask")
    assert (project / "b" / "c.txt").exists() is (said["write"] == "allow")
    assert (project / "a.txt").read_text() == ("two\n" if said["edit"] == "allow" else "one\n")
    assert (told["bash"] == "ran\n") is (said["bash"] == "allow")
    assert not (tmp_path / "outside.txt").exists()
    assert not (project / ".git").exists()


def test_a_question_says_what_would_run_and_why_it_is_asked(
    start: Start, server: ModelServer, tmp_path: Path
) -> None:
    """The title, a blank line, the one line of the call, and the reason where there is one."""
    rpc = start()
    change_mode(rpc, "auto")
    outside = str(tmp_path / "outside.txt")
    server.script([Reply(tools=[call("write", path=outside, content="x")]), DONE])
    mark = prompt(rpc)
    asked = rpc.wait_for_dialog("select", mark)
    reason = REASONS["outside"].format(path=outside)
    assert asked["title"] == f"Write this file?\n\n{outside}\n\n{reason}"
    assert asked["options"] == [ONCE, THREAD, DENY]
    rpc.reply(asked, value=ONCE)
    rpc.settle(mark)
    assert Path(outside).read_text() == "x"


def test_what_a_script_calls_is_judged_too(
    pi_1_6: RealPi, server: ModelServer, project: Path, pi_agent_dir: Path
) -> None:
    """Codemode's script is one call, and each call that it makes is another."""
    arguments = ["--model", "labserver/lab-coder", "--tools", "read,write,bash,codemode"]
    code = 'await tools.write({path: "new.txt", content: "x"}); await tools.bash({command: "ls"})'
    server.script([Reply(tools=[call("codemode", code=code)]), DONE])
    with PiRpc.start(
        pi_1_6,
        cwd=project,
        agent_dir=pi_agent_dir,
        arguments=[*arguments, "--extension", str(EXTENSION)],
    ) as rpc:
        change_mode(rpc, "edit")
        mark = prompt(rpc)
        script = rpc.wait_for_dialog("select", mark)
        assert script["title"].startswith("Call codemode?\n\n{")
        at = rpc.mark()
        rpc.reply(script, value=ONCE)
        inner = rpc.wait_for_dialog("select", at)
        assert inner["title"] == "Run this command?\n\nls"
        rpc.reply(inner, value=DENY + "\nNo.")
        rpc.settle(mark)
    assert (project / "new.txt").read_text() == "x"
    assert "Blocked by user: No." in str(server.requests()[-1].body)


def test_allowed_once_is_asked_again(start: Start, server: ModelServer) -> None:
    """The same command, the same question."""
    rpc = start()
    server.script([bash("echo hi"), bash("echo hi"), DONE])
    mark = prompt(rpc)
    first = rpc.wait_for_dialog("select", mark)
    again = rpc.mark()
    rpc.reply(first, value=ONCE)
    rpc.reply(rpc.wait_for_dialog("select", again), value=ONCE)
    assert results(rpc.settle(mark)) == ["hi\n", "hi\n"]


def test_allowed_for_the_thread_is_kept_with_it(start: Start, server: ModelServer) -> None:
    """That command is not asked about any more, also when pi runs anew; another one is."""
    rpc = start()
    server.script([bash("echo hi"), bash("echo hi"), DONE])
    mark = prompt(rpc)
    rpc.reply(rpc.wait_for_dialog("select", mark), value=THREAD)
    records = rpc.settle(mark)
    assert (results(records), len(dialogs(records))) == (["hi\n", "hi\n"], 1)
    path = session_file(rpc)
    rpc.close()
    rpc = start("--session", str(path))
    server.script([bash("echo hi"), bash("echo ho"), DONE])
    mark = prompt(rpc)
    asked = rpc.wait_for_dialog("select", mark)
    assert asked["title"] == "Run this command?\n\necho ho"
    rpc.reply(asked, cancelled=True)
    assert results(rpc.settle(mark)) == ["hi\n", "Blocked by user"]


def test_a_branch_from_before_does_not_have_what_was_allowed_later(
    start: Start, server: ModelServer
) -> None:
    """What a fork takes over is what its branch says."""
    rpc = start()
    rpc.run("Hello")
    server.script([bash("echo hi"), DONE])
    mark = prompt(rpc, "Run it")
    rpc.reply(rpc.wait_for_dialog("select", mark), value=THREAD)
    rpc.settle(mark)
    change_mode(rpc, "edit")
    rpc.run("And on")
    forks = rpc.ask("get_fork_messages")["messages"]
    rpc.ask("fork", entryId=next(fork["entryId"] for fork in forks if fork["text"] == "Run it"))
    server.script([bash("echo hi"), DONE])
    mark = prompt(rpc, "Run it differently")
    rpc.reply(rpc.wait_for_dialog("select", mark), value=DENY + "\nNo.")
    assert results(rpc.settle(mark)) == ["Blocked by user: No."]


def test_going_back_goes_back_to_the_mode_of_then(
    start: Start, server: ModelServer, project: Path
) -> None:
    """The mode and what was allowed are the branch's, also within one run of pi."""
    rpc = start("--extension", str(HERE / "go-to.ts"))
    server.script([Reply(text=("First.",))])
    rpc.run("Hello")
    change_mode(rpc, "auto")
    server.script([bash("echo hi"), DONE])
    assert results(rpc.run("Run it")) == ["hi\n"]
    at = rpc.mark()
    rpc.ask("prompt", message=f"/go-to {answer_id(session_file(rpc), 'First.')}")
    status = rpc.wait_for_dialog("setStatus", at)
    assert (status["statusKey"], status["statusText"]) == (MODE_STATUS, "Ask")
    server.script([bash("echo hi"), DONE])
    mark = prompt(rpc)
    rpc.reply(rpc.wait_for_dialog("select", mark), cancelled=True)
    assert results(rpc.settle(mark)) == ["Blocked by user"]


@pytest.mark.parametrize(
    "answer, told",
    [
        ({"value": "Use make instead."}, "Blocked by user: Use make instead."),
        ({"value": "  "}, "Blocked by user"),
        ({"cancelled": True}, "Blocked by user"),
    ],
)
def test_a_denial_asks_for_its_reason(
    answer: dict[str, Any], told: str, start: Start, server: ModelServer, project: Path
) -> None:
    """The model is told why, nothing ran, and it goes on."""
    rpc = start()
    server.script([bash("touch ran"), DONE])
    mark = prompt(rpc)
    rpc.reply(rpc.wait_for_dialog("select", mark), value=DENY)
    rpc.reply(rpc.wait_for_dialog("input", mark), **answer)
    assert results(rpc.settle(mark)) == [told]
    assert not (project / "ran").exists()
    assert told in str(server.requests()[-1].body)


def test_what_is_no_answer_is_a_denial(start: Start, server: ModelServer) -> None:
    """A client that answers with anything else has not allowed it."""
    rpc = start()
    server.script([bash("echo hi"), DONE])
    mark = prompt(rpc)
    rpc.reply(rpc.wait_for_dialog("select", mark), value="Allow everything")
    assert results(rpc.settle(mark)) == ["Blocked by user"]


@pytest.mark.parametrize("mode, told", [("auto", "hi\n"), ("plan", "plan mode")])
def test_a_changed_mode_answers_what_waits(
    mode: str, told: str, start: Start, server: ModelServer
) -> None:
    """The mode may change while a question waits: the rule is asked again."""
    rpc = start()
    server.script([bash("echo hi"), DONE])
    mark = prompt(rpc)
    rpc.wait_for_dialog("select", mark)
    change_mode(rpc, mode)
    (result,) = results(rpc.settle(mark))
    assert told in result


def test_a_stop_ends_the_question(start: Start, server: ModelServer, project: Path) -> None:
    """Nothing runs, and the run is over."""
    rpc = start()
    server.script([bash("touch ran")])
    mark = prompt(rpc)
    rpc.wait_for_dialog("select", mark)
    rpc.ask("abort")
    assert results(rpc.settle(mark)) == ["Operation aborted"]
    assert not (project / "ran").exists()


def test_where_nobody_can_be_asked_nothing_is_run(
    pi: RealPi, server: ModelServer, project: Path, pi_agent_dir: Path
) -> None:
    """Without a client the question is a denial, and the model is told."""
    server.script([bash("touch ran"), DONE])
    command = [*pi.command, "--mode", "json", "--model", "labserver/lab-coder"]
    done = subprocess.run(
        [*command, "--extension", str(EXTENSION), "-p", "Run it"],
        cwd=project,
        env=environment(pi_agent_dir),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    records = [json.loads(line) for line in done.stdout.split(b"\n") if line]
    assert results(records) == [REASONS["nobody"]]
    assert not (project / "ran").exists()


# -- modes that others read -----------------------------------------------------------------------


def test_a_changed_mode_is_an_entry_that_enso_reads(start: Start) -> None:
    """The last one counts; what was before and when is in it; an unknown mode changes nothing."""
    rpc = start()
    rpc.run("Hello")
    for mode in ("edit", "auto", "yolo"):
        change_mode(rpc, mode)
    status = dialogs(rpc.since(0), "setStatus")
    said = [one["statusText"] for one in status if one["statusKey"] == MODE_STATUS]
    assert said == ["Ask", "Edit", "Auto"]
    notices = dialogs(rpc.since(0), "notify")
    assert [one["message"] for one in notices] == ["Enso knows no mode “yolo”."]
    path = session_file(rpc)
    rpc.close()
    data = [line["data"] for line in lines(path) if line["type"] == "custom"]
    assert [(one["mode"], one["previous"]) for one in data] == [("edit", "ask"), ("auto", "edit")]
    assert all(isinstance(one["at"], int) for one in data)
    session = SessionFile.open(path)
    assert stored_mode(decoded(session)).mode == "auto"


def test_enso_goes_on_in_the_mode_that_was_set_in_pi(
    start: Start, server: ModelServer, make_runtimes: MakeRuntimes
) -> None:
    """Its own runtime runs the command without asking, and the file stays one chain."""
    rpc = start()
    rpc.run("Hello")
    change_mode(rpc, "auto")
    path = session_file(rpc)
    rpc.close()
    server.script([bash("echo hi"), DONE])
    thread = LiveThread(make_runtimes("labserver/lab-coder"), SessionFile.open(path))
    thread.run("Go on")
    assert [result["content"][0]["text"] for result in thread.results()] == ["hi\n"]
    chain = lines(path)[1:]
    assert [line["parentId"] for line in chain] == [None, *(line["id"] for line in chain[:-1])]


def test_pi_goes_on_in_the_mode_that_was_set_in_enso(
    start: Start, server: ModelServer, make_runtimes: MakeRuntimes, project: Path, tmp_path: Path
) -> None:
    """What the entry holds besides, written by anyone, is kept at the next change."""
    session = SessionFile.create(tmp_path / "agent" / "sessions", "begun-in-enso", project)
    thread = LiveThread(make_runtimes("labserver/lab-coder"), session)
    thread.run("Hello")
    session.append("custom", {"customType": "modes", "data": {"mode": "ask", "more": [1]}})
    thread.runtime.set_mode("edit")
    thread.runtime.close()
    rpc = start("--session", str(session.path))
    server.script([Reply(tools=[call("write", path="new.txt", content="x")]), DONE])
    mark = prompt(rpc)
    assert not dialogs(rpc.settle(mark))
    assert (project / "new.txt").read_text() == "x"
    change_mode(rpc, "plan")
    data = lines(session.path)[-1]["data"]
    assert (data["mode"], data["previous"], data["more"]) == ("plan", "edit", [1])


def test_what_was_allowed_in_one_is_allowed_in_the_other(
    start: Start, server: ModelServer, make_runtimes: MakeRuntimes, project: Path, tmp_path: Path
) -> None:
    """An edit in Enso, a command in pi: neither is asked about again, wherever it comes."""
    session = SessionFile.create(tmp_path / "agent" / "sessions", "begun-in-enso", project)
    thread = LiveThread(make_runtimes("labserver/lab-coder"), session)
    write = Reply(tools=[call("write", path="é/new.txt", content="x")])
    server.script([write, DONE])
    thread.start("Write it")
    thread.answer("thread")
    thread.wait_settled()
    thread.runtime.close()
    rpc = start("--session", str(session.path))
    server.script([write, bash("echo é"), DONE])
    mark = prompt(rpc)
    rpc.reply(rpc.wait_for_dialog("select", mark), value=THREAD)
    assert [asked["title"] for asked in dialogs(rpc.settle(mark))] == [
        "Run this command?\n\necho é"
    ]
    rpc.close()
    thread = LiveThread(make_runtimes("labserver/lab-coder"), SessionFile.open(session.path))
    server.script([bash("echo é"), DONE])
    thread.run("Again")
    assert [result["content"][0]["text"] for result in thread.results()][-1] == "é\n"


def test_a_mode_that_enso_does_not_know_asks(
    start: Start, server: ModelServer, make_runtimes: MakeRuntimes, project: Path, tmp_path: Path
) -> None:
    """Another program's mode allows nothing by itself."""
    session = SessionFile.create(tmp_path / "agent" / "sessions", "begun-in-enso", project)
    thread = LiveThread(make_runtimes("labserver/lab-coder"), session)
    thread.run("Hello")
    session.append("custom", {"customType": "modes", "data": {"mode": "yolo"}})
    thread.runtime.close()
    rpc = start("--session", str(session.path))
    server.script([bash("echo hi"), DONE])
    mark = prompt(rpc)
    rpc.reply(rpc.wait_for_dialog("select", mark), value=ONCE)
    assert results(rpc.settle(mark)) == ["hi\n"]
    assert dialogs(rpc.since(0), "setStatus")[0]["statusText"] == "yolo"


def test_who_has_a_guard_of_their_own_turns_it_off(start: Start, server: ModelServer) -> None:
    """Nothing is asked, nothing is written, and there is no command."""
    name, value = OFF
    rpc = start(**{name: value})
    server.script([bash("echo hi"), DONE])
    records = rpc.run("Go on")
    assert results(records) == ["hi\n"]
    assert not [said for said in records if said["type"] == "extension_ui_request"]
    assert MODE_COMMAND not in [one["name"] for one in rpc.ask("get_commands")["commands"]]
    assert "custom" not in kinds(session_file(rpc))


def decoded(session: SessionFile) -> tuple[TranscriptEntry, ...]:
    """A file's branch, in types of ours."""
    return decode_branch(session.branch(), providers=lambda provider: provider)
