"""A real AG-UI client, its npm package, on a real server: it prompts, answers, and looks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.interop.real_pi import HERE, installed_packages, node
from tests.model_server import ModelServer, Reply, refused
from tests.server_process import ServerProcess


class Client:
    """One client process on one thread."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, **order: Any) -> dict[str, Any]:
        """Have it do one run; what it holds then."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the client ended"
        return json.loads(line)


@contextmanager
def client(url: str, thread_id: str) -> Iterator[Client]:
    """A client of this thread."""
    script = str(HERE / "agui_client.mjs")
    command = [node(), script, str(installed_packages()), f"{url}/api/agui", thread_id]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            yield Client(process)
        finally:
            process.kill()


@pytest.fixture
def enso(pi_agent_dir: Path, project: Path) -> Iterator[ServerProcess]:
    """A server whose providers are the endpoint; it tries nothing again."""
    (pi_agent_dir / "settings.json").write_text(json.dumps({"retry": {"enabled": False}}))
    chosen = {"ENSO_MODEL": "labserver/lab-coder"}
    with ServerProcess(agent_dir=pi_agent_dir, projects=[project], environment=chosen) as server:
        yield server


def roles(held: dict[str, Any]) -> list[str]:
    """Who said what the client holds."""
    return [message["role"] for message in held["messages"]]


def test_a_client_prompts_answers_a_dialog_and_sees_the_result(
    enso: ServerProcess, server: ModelServer, project: Path
) -> None:
    """A command is asked about as an interrupt; the answer resumes it; the words stream."""
    call = {"name": "bash", "args": {"command": "echo by agui > made.txt; cat made.txt"}}
    server.script(
        [
            Reply(text=["I will ", "look."], tools=[call]),
            Reply(text=["It is ", "made."]),
            Reply(text=["Gladly."]),
        ]
    )
    with client(enso.url, "agui-thread") as agui:
        asked = agui.run(say="Make a file")
        assert asked["ended"] == "interrupt"
        assert "".join(asked["streamed"]) == "I will look."
        (question,) = asked["interrupts"]
        assert question["metadata"]["tool"]["name"] == "bash"
        assert not (project / "made.txt").exists()
        done = agui.run(answer={"value": "once"})
        assert done["ended"] == "success"
        assert roles(done) == ["user", "assistant", "tool", "assistant"]
        assert done["messages"][1]["toolCalls"][0]["function"]["name"] == "bash"
        assert done["messages"][2]["content"].strip() == "by agui"
        assert done["messages"][3]["content"] == "It is made."
        assert (project / "made.txt").read_text() == "by agui\n"
        again = agui.run(say="Thank you")
        assert again["messages"][-1]["content"] == "Gladly."


def test_a_client_that_comes_later_sees_the_thread_and_a_refusal_in_words(
    enso: ServerProcess, server: ModelServer
) -> None:
    """The history is the thread's own; a provider's refusal is the run's error."""
    server.script([Reply(text=["Hello."]), refused("401")])
    with client(enso.url, "agui-thread") as first:
        assert first.run(say="Hi")["ended"] == "success"
    with client(enso.url, "agui-thread") as later:
        seen = later.run(look=True)
        assert [one["content"] for one in seen["messages"]] == ["Hi", "Hello."]
        refusal = later.run(say="And now?")
        assert refusal["ended"].startswith("error: Lab server · lab-coder refused: authentication")
