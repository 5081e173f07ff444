"""A pi that says what Enso does not know, or that Enso does not speak to: nothing goes unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest

from enso.host.contract import PromptRefused, RunSettled
from enso.host.runtimes.pi import PiRuntimes
from enso.host.session_file import SessionFile
from enso.host.session_host import SessionHost
from enso.projects import Projects
from enso.server.application import EnsoServer
from enso.server.doors import Doors
from tests.runtimes.live_thread import LiveThread
from tests.runtimes.pi.programs import answering_version, program

NEWER = """
import json, os, sys
if "--version" in sys.argv:
    print("1.99.0")
    sys.exit()

def say(**record):
    print(json.dumps(record), flush=True)

print("I keep things in", os.environ["PI_CODING_AGENT_DIR"], file=sys.stderr, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    kind, data = asked["type"], {}
    if kind == "get_state":
        data = {"sessionId": "t1", "model": {"provider": "lab", "id": "coder", "name": "Coder"}}
    if kind == "prompt":
        say(type="aurora", colour="green")
        say(type="aurora", colour="red")
        say(type="extension_ui_request", id="1", method="hologram")
        say(type="message_update", assistantMessageEvent={"type": "smell_delta", "contentIndex": 0})
        data = {"disposition": "handled"}
    say(id=asked["id"], type="response", command=kind, success=True, data=data)
"""
"""A pi of a version that may say more than is known today: it does, at a prompt."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Where threads work."""
    directory = tmp_path / "shop"
    directory.mkdir()
    return directory


def test_unknown_events_are_counted_by_kind_and_shown_in_the_inspection(
    tmp_path: Path, project: Path
) -> None:
    """Also kinds within a known event; the run goes on as if they had not been said.

    Beside them stands what it wrote to its errors, which a bug report holds too.
    """
    server = EnsoServer(
        host=SessionHost(
            agent_dir=tmp_path / "agent",
            projects=Projects([project]),
            runtimes=PiRuntimes(tmp_path / "agent", command=program(tmp_path, NEWER)),
        ),
        projects=Projects([project]),
        doors=Doors.of(host="127.0.0.1", token=None),
    )
    client = server.app.test_client()
    assert client.post("/api/threads/t1/prompt", json={"message": "Go"}).status_code == 202
    seen = client.get("/api/threads/t1").get_json()
    assert seen["runtime"] == "pi 1.99.0"
    assert seen["unknownEvents"] == {
        "aurora": 2,
        "extension_ui_request/hologram": 1,
        "message_update/smell_delta": 1,
    }
    assert seen["said"] == [f"I keep things in {tmp_path / 'agent'}"]
    server.close()


def test_a_prompt_to_a_pi_of_another_protocol_is_refused_by_its_version(
    tmp_path: Path, project: Path
) -> None:
    """Before anything is started or stored; the report says the same."""
    runtimes = PiRuntimes(tmp_path / "agent", command=answering_version(tmp_path, "2.0.0"))
    thread = LiveThread(runtimes, SessionFile.create(tmp_path / "sessions", "t1", project))
    with pytest.raises(PromptRefused, match=r"This is pi 2\.0\.0\. .*1\.x.*0\.73") as refused:
        thread.start("Hello")
    assert refused.value.code == "pi-unusable"
    assert thread.told(RunSettled) == []
    assert not (tmp_path / "sessions").exists()
    check = runtimes.report().checks[0]
    assert check.state == "bad"
    assert "This is pi 2.0.0." in check.said
    thread.runtime.close()
    runtimes.close()
