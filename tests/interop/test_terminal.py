"""A pi in a terminal and Enso on one file, at the same time, in each of pi's versions."""

from __future__ import annotations

import json
import os
import shlex
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from enso.server.registry import WRITTEN_ELSEWHERE
from tests.interop.real_pi import RealPi
from tests.interop.terminal import Terminal
from tests.interop.threads import lines
from tests.model_server import Gate, ModelServer, Reply
from tests.runtimes.agent_files import write_json
from tests.server.conftest import Socket
from tests.server_process import ServerProcess

SETTINGS = {"defaultProvider": "labserver", "defaultModel": "lab-coder", "quietStartup": True}


class Watched:
    """An Enso whose threads pi runs, watched by a client of the thread ``shared``."""

    def __init__(self, url: str, socket: Socket) -> None:
        self.url = url
        self.socket = socket

    def prompt(self, message: str) -> None:
        """Prompt the thread."""
        body = json.dumps({"message": message}).encode()
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/prompt", body, headers)):
            pass

    def wait_settled(self) -> None:
        """Wait until the run that was begun is over."""
        self.socket.until("status", busy=True)
        self.socket.until("status", busy=False)


@pytest.fixture
def enso(pi: RealPi, pi_agent_dir: Path, project: Path, tmp_path: Path) -> Iterator[Watched]:
    """A server that finds this pi on its PATH."""
    write_json(pi_agent_dir / "settings.json", SETTINGS)
    program = tmp_path / "programs" / "pi"
    program.parent.mkdir()
    started = f'echo "$@" >> {shlex.quote(str(tmp_path / "started"))}'
    program.write_text(f'#!/bin/sh\n{started}\nexec {shlex.join(pi.command)} "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join((str(program.parent), os.environ["PATH"]))
    with ServerProcess(
        agent_dir=pi_agent_dir,
        projects=[project],
        environment={"ENSO_RUNTIME": "pi", "PATH": path, "PI_OFFLINE": "1"},
    ) as server:
        url = f"{server.url}/api/threads/shared"
        with connect(f"{url.replace('http', 'ws', 1)}/follow", max_size=None) as connection:
            yield Watched(url, Socket(connection))


def test_a_pi_is_asked_for_its_version_once(enso: Watched, tmp_path: Path) -> None:
    """At the start; no prompt asks again."""
    enso.prompt("One")
    enso.wait_settled()
    started = (tmp_path / "started").read_text().splitlines()
    assert started.count("--version") == 1
    # pi 0.73 takes no id: it is given the file that bears it.
    assert any("--session-id shared" in line or "_shared.jsonl" in line for line in started)


def said(frame: dict[str, Any]) -> list[str]:
    """The texts of a snapshot's messages."""
    parts = [part for message in frame["messages"] for part in message["parts"]]
    return [part["content"] for part in parts if part["type"] == "text"]


def test_a_terminal_and_enso_go_on_with_one_thread(
    enso: Watched,
    pi: RealPi,
    server: ModelServer,
    pi_agent_dir: Path,
    project: Path,
) -> None:
    """Each sees what it can; no entry of either is lost, and who reads is told what happened.

    Enso shows what the terminal writes while it waits, and goes on from there. What both write at a
    time are branches of one tree: the last one written is shown, and the pane says why. The
    terminal goes on where it was: it reads its file once.
    """
    server.script([Reply(text=("From Enso.",))])
    enso.prompt("One")
    enso.wait_settled()
    path = next(pi_agent_dir.rglob("*_shared.jsonl"))
    terminal = Terminal(pi, cwd=project, agent_dir=pi_agent_dir, arguments=["--session", str(path)])
    try:
        terminal.wait_for("From Enso.")
        server.script([Reply(text=("To the terminal.",))])
        terminal.say("Two, typed")
        terminal.wait_for("To the terminal.")
        while "To the terminal." not in said(enso.socket.until("snapshot")[-1]):
            pass
        server.script([Reply(text=("Both are known.",))])
        enso.prompt("Three")
        enso.wait_settled()
        sent = json.dumps(server.requests()[-1].body["messages"])
        assert "Two, typed" in sent
        gate = Gate()
        server.script([Reply(text=("Slowly.",), gate=gate), Reply(text=("At once.",))])
        enso.prompt("Four")
        assert gate.reached.wait(60)
        terminal.say("Five, typed")
        terminal.wait_for("At once.")
        gate.open()
        assert enso.socket.until("notice")[-1]["message"] == WRITTEN_ELSEWHERE
        assert terminal.close() == 0
    finally:
        terminal.close()
    assert_is_whole(path)


def assert_is_whole(path: Path) -> None:
    """Every prompt and answer is in the file, each entry once, on one that stands before it."""
    # pi 0.73 writes the header again in front of its first answer.
    entries = [entry for entry in lines(path) if entry["type"] != "session"]
    ids = [entry["id"] for entry in entries]
    assert len(set(ids)) == len(ids)
    assert {entry["parentId"] for entry in entries} <= {None, *ids}
    texts = [
        entry["message"]["content"][0]["text"]
        for entry in entries
        if entry["type"] == "message" and entry["message"]["role"] in ("user", "assistant")
    ]
    wanted = ["One", "From Enso.", "Two, typed", "To the terminal.", "Three", "Both are known."]
    assert sorted(texts) == sorted([*wanted, "Four", "Slowly.", "Five, typed", "At once."])
