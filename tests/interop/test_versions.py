"""What docs/seams/pi.md says of the two versions is so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.real_pi import RealPi
from tests.interop.rpc_client import PiFailed, PiRpc
from tests.interop.threads import header, kinds, lines, session_path
from tests.model_server import Gate, ModelServer, Reply, refused

Start = Callable[..., PiRpc]
MODEL = ("--model", "labserver/lab-coder")


@pytest.fixture
def start(pi: RealPi, project: Path, pi_agent_dir: Path) -> Iterator[Start]:
    """Start pi in the project, with more arguments; ended at the end."""
    started: list[PiRpc] = []

    def start(*arguments: str) -> PiRpc:
        rpc = PiRpc.start(pi, cwd=project, agent_dir=pi_agent_dir, arguments=arguments)
        started.append(rpc)
        return rpc

    yield start
    for rpc in started:
        rpc.close()


@pytest.fixture
def is_new(pi: RealPi) -> bool:
    """Whether it is pi 1."""
    return pi.version.startswith("1.")


def test_an_id_of_ours(start: Start, is_new: bool) -> None:
    """pi 1 takes the id of a new thread; the older one does not know the option, and ends."""
    rpc = start(*MODEL, "--session-id", "a-chosen.id_1")
    if is_new:
        assert rpc.ask("get_state")["sessionId"] == "a-chosen.id_1"
        rpc.wait_for_error("creating a new session with that id")
    else:
        assert rpc.process.wait(60) == 1
        rpc.wait_for_error("Unknown option: --session-id")


def test_a_file_with_only_a_header(
    start: Start, is_new: bool, project: Path, pi_agent_dir: Path
) -> None:
    """Both open it under its id; the older one writes the header again."""
    path = session_path(pi_agent_dir, project, "made-by-hand")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(header(project, "made-by-hand")) + "\n")
    rpc = start(*MODEL, "--session", str(path))
    assert rpc.ask("get_state")["sessionId"] == "made-by-hand"
    rpc.run("Hello")
    assert kinds(path).count("session") == (1 if is_new else 2)


def test_a_file_that_is_no_session(start: Start, is_new: bool, tmp_path: Path) -> None:
    """pi 1 refuses it; the older one overwrites it."""
    path = tmp_path / "notes.jsonl"
    path.write_text("my notes\n")
    rpc = start(*MODEL, "--session", str(path))
    if is_new:
        assert rpc.process.wait(60) == 1
        assert path.read_text() == "my notes\n"
    else:
        rpc.ask("get_state")
        assert "my notes" not in path.read_text()


def test_a_thread_whose_directory_is_gone(
    start: Start, tmp_path: Path, project: Path, pi_agent_dir: Path
) -> None:
    """It does not start, and says which directory it misses."""
    with start(*MODEL) as rpc:
        rpc.run("Hello")
        path = Path(rpc.ask("get_state")["sessionFile"])
    path.write_text(path.read_text().replace(str(project), str(tmp_path / "gone")))
    rpc = start("--session", str(path))
    assert rpc.process.wait(60) == 1
    rpc.wait_for_error("working directory does not exist")


def test_a_lost_key(start: Start, is_new: bool, project: Path, pi_agent_dir: Path) -> None:
    """pi 1 takes another model and says so on stderr alone; the older one keeps the thread's."""
    with start(*MODEL) as rpc:
        rpc.run("Hello")
        path = Path(rpc.ask("get_state")["sessionFile"])
    stored = json.loads((pi_agent_dir / "models.json").read_text())
    stored["providers"]["labserver"]["apiKey"] = "$A_KEY_THAT_IS_NOT_SET"
    (pi_agent_dir / "models.json").write_text(json.dumps(stored))
    rpc = start("--session", str(path))
    model = rpc.ask("get_state")["model"]
    assert (model["provider"] == "labserver") is not is_new
    if is_new:
        rpc.wait_for_error("Could not restore model labserver/lab-coder")


def test_a_command_that_it_does_not_know(start: Start, is_new: bool) -> None:
    """Both refuse it; the older one without the id."""
    rpc = start(*MODEL)
    asked = rpc.begin("such_a_command")
    refusal = rpc.wait_for(lambda said: said.get("command") == "such_a_command")
    assert (refusal["success"], refusal.get("id")) == (False, asked if is_new else None)


@pytest.mark.parametrize(
    "command", ["clear_queue", "get_entries", "get_tree", "get_available_thinking_levels"]
)
def test_commands_of_the_newer_one(command: str, start: Start, is_new: bool) -> None:
    """The older one does not know them."""
    rpc = start(*MODEL)
    rpc.begin(command)
    answer = rpc.wait_for(lambda said: said.get("command") == command)
    assert answer["success"] is is_new


def test_what_becomes_of_a_prompt(start: Start, is_new: bool, server: ModelServer) -> None:
    """pi 1 says whether it started a run or waits; the older one says that it took it."""
    gate = Gate()
    server.script([Reply(text=("One.",), gate=gate)])
    rpc = start(*MODEL)
    said = [rpc.ask("prompt", message="One")]
    assert gate.reached.wait(60)
    with pytest.raises(PiFailed, match="already processing"):
        rpc.ask("prompt", message="Two")
    said.append(rpc.ask("prompt", message="Two", streamingBehavior="followUp"))
    gate.open()
    rpc.settle(0)
    assert said == (
        [{"disposition": what} for what in ("started", "queued")] if is_new else [None] * 2
    )


def test_how_a_run_ends(start: Start, is_new: bool, server: ModelServer) -> None:
    """pi 1 settles; of the older one ``agent_end`` is the last word."""
    rpc = start(*MODEL)
    said = [record["type"] for record in rpc.run("Hello") if record["type"] != "response"]
    assert said[-1] == ("agent_settled" if is_new else "agent_end")
    assert ("agent_settled" in said) is is_new


def test_a_run_that_is_tried_again_ends_once(
    start: Start, is_new: bool, server: ModelServer, pi_agent_dir: Path
) -> None:
    """Between the attempts stands an ``agent_end`` that is not the end."""
    settings = {"retry": {"enabled": True, "baseDelayMs": 1, "maxRetries": 2}}
    (pi_agent_dir / "settings.json").write_text(json.dumps(settings))
    by_itself = 1 if is_new else 3  # the older one's library tries three times before it says so
    server.script([*[refused("503")] * by_itself, Reply(text=("Here.",))])
    rpc = start(*MODEL)
    said = [record["type"] for record in rpc.run("Hello")]
    assert said.count("agent_end") == 2
    assert said.index("agent_end") < said.index("auto_retry_start") < said.index("auto_retry_end")
    path = Path(rpc.ask("get_state")["sessionFile"])
    assert kinds(path).count("message:assistant") == 2
    assert ("context_edit" in kinds(path)) is is_new


def test_the_deltas_of_an_answer(start: Start, is_new: bool) -> None:
    """The older one repeats the whole message in each."""
    rpc = start(*MODEL)
    updates = [said for said in rpc.run("Hello") if said["type"] == "message_update"]
    assert len(updates) > 2
    for update in updates:
        assert ("message" in update) is not is_new
        assert ("partial" in update["assistantMessageEvent"]) is not is_new
        assert ("usage" in update) is is_new


def test_an_answer_that_is_cut_off_by_the_end_of_input(
    start: Start, is_new: bool, server: ModelServer
) -> None:
    """pi 1 keeps what there was of the first answer; the older one has written nothing yet."""
    gate = Gate()
    server.script([Reply(text=("I will",), gate=gate)])
    rpc = start(*MODEL)
    rpc.ask("prompt", message="Hello")
    assert gate.reached.wait(60)
    path = Path(rpc.ask("get_state")["sessionFile"])
    assert rpc.close() == 0
    gate.open()
    assert path.exists() is is_new
    if is_new:
        assert lines(path)[-1]["message"]["stopReason"] == "aborted"


def test_a_command_whose_output_is_kept_from_the_model(
    start: Start, is_new: bool, server: ModelServer
) -> None:
    """The older one tells the model all the same."""
    rpc = start(*MODEL)
    rpc.run("Hello")
    rpc.ask("bash", command="echo a-secret", excludeFromContext=True)
    rpc.run("Go on")
    sent: Any = server.requests()[-1].body["messages"]
    assert ("a-secret" in json.dumps(sent)) is not is_new
