"""The command line: what cannot be served is said in one sentence, and ends with code 2."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.server_process import ROOT, ServerProcess


def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``python app.py`` to its end."""
    return subprocess.run(
        [sys.executable, str(ROOT / "app.py"), *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "options,environment,said",
    [
        (["--port", "99999"], {}, "port"),
        (["--port", "0"], {"ENSO_PORT": "x", "ENSO_RUNTIME": "other"}, "ENSO_RUNTIME"),
        (["--port", "0"], {"ENSO_RUNTIME": "pi", "PATH": "/nowhere"}, "There is no pi on the PATH"),
        (["--host", "0.0.0.0"], {}, "ENSO_TOKEN must be set"),
        (["--port", "0"], {"ENSO_IDLE_SECONDS": "-1"}, "ENSO_IDLE_SECONDS"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    options: list[str], environment: dict[str, str], said: str
) -> None:
    """One line names the setting; nothing is served and no traceback is shown."""
    ended = run(*options, **environment)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert ended.stdout == ""


def test_a_port_that_is_taken_is_said() -> None:
    """The sentence names the port and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("--port", str(taken.getsockname()[1]))
    assert ended.returncode == 2
    assert "Address already in use" in ended.stderr
    assert "--port" in ended.stderr


def test_it_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    """One line says where it is; a termination ends it within seconds, with code 0."""
    gone = tmp_path / "gone"
    with ServerProcess(agent_dir=tmp_path / "agent", projects=[tmp_path, gone]) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.stop() == 0
    lines = server.output.splitlines()
    assert f"{gone} is no directory: threads of it can be read, not continued." in lines[0]
    assert lines[1] == f"Enso is at {server.url}/"
    assert len(lines) == 2


def test_options_win_over_the_environment(tmp_path: Path) -> None:
    """A port given as an option is taken, whatever ENSO_PORT says."""
    with ServerProcess(
        agent_dir=tmp_path / "agent", projects=[tmp_path], environment={"ENSO_PORT": "1"}
    ) as server:
        assert server.port > 1


def test_a_worker_that_died_is_replaced_though_nobody_reads_the_output(tmp_path: Path) -> None:
    """Where it is was printed to a pipe that is closed: the next worker serves all the same."""
    command = [sys.executable, str(ROOT / "app.py"), "--port", "0", "--project", str(tmp_path)]
    command += ["--agent-dir", str(tmp_path / "agent")]
    environment = {**os.environ, "ENSO_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        process.stdout.close()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        os.kill(int(children.split()[0]), signal.SIGKILL)
        # The listening socket is the parent's: the request waits until a worker takes it.
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert answer.status == 200
        process.terminate()
        process.wait(30)
