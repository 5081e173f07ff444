"""The tool ``bash``: what it shows, and that nothing of a command is left when it is ended."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from enso.host.runtimes.builtin.tools import TOOLS, ToolOutcome, aborted
from enso.host.runtimes.builtin.tools.output_buffer import OutputBuffer
from tests.runtimes.tools.calls import (
    PATIENCE,
    call,
    context,
    in_loop,
    is_gone,
    is_running,
    running,
    text,
)

ROOT = Path(__file__).parent.parent.parent.parent


def run(command: str, cwd: Path, **arguments: object) -> ToolOutcome:
    """The outcome of a command."""
    return call("bash", {"command": command, **arguments}, cwd)


def pids(output: str) -> list[int]:
    """The process ids that a command printed, one a line."""
    return [int(line) for line in output.split("\n") if line.isdecimal()]


async def ended(command: str, cwd: Path, when: Callable[[str], bool]) -> str:
    """Run a command, cancel it when its progress is as awaited; the last progress it told."""
    heard, told = asyncio.Event(), [""]
    loop = asyncio.get_running_loop()

    def hear(progress: str) -> None:
        told.append(progress)
        if when(progress):
            loop.call_soon_threadsafe(heard.set)

    task = asyncio.ensure_future(running("bash", {"command": command}, cwd, progress=hear))
    await asyncio.wait_for(heard.wait(), PATIENCE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return told[-1]


# -- what is shown ------------------------------------------------------------------------------


def test_it_runs_in_the_threads_directory_with_no_input(project: Path) -> None:
    """The command is in the thread's directory, and what reads its input ends at once."""
    outcome = run("pwd -P; cat; echo over", project)
    assert text(outcome) == f"{project.resolve()}\nover\n"
    assert not outcome.is_error
    assert outcome.details is None


def test_both_outputs_come_in_the_order_in_which_they_were_written(project: Path) -> None:
    """Errors stand where they happened."""
    outcome = run("for i in 1 2 3; do echo out $i; echo err $i >&2; done", project)
    assert text(outcome) == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"


def test_output_is_told_while_the_command_runs(project: Path) -> None:
    """What a command printed is heard before it goes on."""
    os.mkfifo(project / "go")
    told: list[str] = []

    def hear(progress: str) -> None:
        told.append(progress)
        if progress == "first\n":
            (project / "go").write_text("on\n")

    outcome = call("bash", {"command": "echo first; read x < go; echo $x"}, project, progress=hear)
    assert told[0] == "first\n"
    assert text(outcome) == "first\non\n"


def test_calls_at_once_run_at_once(project: Path) -> None:
    """Two commands that wait for each other both end."""
    for name in ("a", "b"):
        os.mkfifo(project / name)

    async def both() -> list[ToolOutcome]:
        one = running("bash", {"command": "echo 1 > a; cat b"}, project)
        other = running("bash", {"command": "cat a; echo 2 > b"}, project)
        return await asyncio.wait_for(asyncio.gather(one, other), PATIENCE)

    assert [text(outcome) for outcome in in_loop(both())] == ["2\n", "1\n"]


def test_a_long_output_is_shown_by_its_end_and_is_whole_in_a_file(
    project: Path, output_dir: Path
) -> None:
    """The last lines are shown, and a file that only its owner reads has all of them."""
    outcome = run("seq 1 5000", project)
    assert outcome.details is not None
    path = Path(outcome.details["fullOutputPath"])
    assert path.parent == output_dir
    assert path.read_text() == "".join(f"{number}\n" for number in range(1, 5001))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    notice = f"\n\n[Showing lines 3001-5000 of 5000. Full output: {path}]"
    shown = "\n".join(str(number) for number in range(3001, 5001))
    assert text(outcome) == shown + notice
    assert outcome.details["truncation"]["truncatedBy"] == "lines"


def test_the_end_of_one_long_line_is_shown(project: Path) -> None:
    """A line that alone is too long is shown by its end, with its size."""
    outcome = run("head -c 60000 /dev/zero | tr '\\0' x; echo", project)
    shown, notice = text(outcome).split("\n\n")
    assert shown == "x" * 51200
    assert notice.startswith("[Showing last 50.0KB of line 1 (line is 58.6KB). Full output: ")


def test_any_bytes_can_be_stored(project: Path) -> None:
    """Output that is no text becomes text that can be encoded, and is whole in the file."""
    (project / "bytes").write_bytes(bytes(range(256)) * 400)
    outcome = run("cat bytes", project)
    assert json.loads(json.dumps(text(outcome)).encode()) == text(outcome)
    assert outcome.details is not None
    path = Path(outcome.details["fullOutputPath"])
    assert path.read_bytes() == (project / "bytes").read_bytes()


def test_a_flood_is_bounded_in_memory(tmp_path: Path) -> None:
    """100 MB of output take less than 60 MB of memory beyond the server's own."""
    source = (
        "import asyncio, resource, sys\n"
        "from pathlib import Path\n"
        "from enso.host.runtimes.builtin.tools import TOOLS, ToolContext\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "context = ToolContext(Path(sys.argv[1]), Path(sys.argv[1]), lambda _: None)\n"
        "before = peak()\n"
        "call = {'command': 'yes flood | head -c 100000000'}\n"
        "outcome = asyncio.run(TOOLS['bash'].run(call, context))\n"
        "file = Path(outcome.details['fullOutputPath'])\n"
        "print(peak() - before, file.stat().st_size, outcome.details['truncation']['totalBytes'])\n"
    )
    command = [sys.executable, "-c", source, str(tmp_path)]
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True
    )
    grown, size, counted = map(int, done.stdout.split())
    assert (size, counted) == (100_000_000, 100_000_000)
    assert grown < 60_000


def test_an_output_beyond_all_bounds_ends_in_the_file_but_not_in_the_count() -> None:
    """The file holds the beginning, which the notice says; the shown end is the real one."""
    output = OutputBuffer(max_file_bytes=100_000)
    for _ in range(30):
        output.append(b"0123456789abcde\n" * 1000)
    output.append(b"the end\n")
    output.close()
    shown = output.shown()
    assert shown.path is not None
    assert shown.path.stat().st_size == 100_000
    assert shown.cut.content.endswith("\nthe end")
    assert shown.cut.total_bytes == 480_008
    assert "(only its beginning: it is longer than a file may be)]" in shown.notice


# -- how it is set up ---------------------------------------------------------------------------


def test_a_command_does_not_get_the_servers_own_secrets(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of the server's door and another session's names are not in the environment."""
    monkeypatch.setenv("ENSO_TOKEN", "door")
    monkeypatch.setenv("PI_SESSION_ID", "other")
    monkeypatch.setenv("OF_THE_PERSON", "kept")
    outcome = run("echo [$ENSO_TOKEN$PI_SESSION_ID] $OF_THE_PERSON", project)
    assert text(outcome) == "[] kept\n"


def test_shell_and_prefix_are_those_of_the_settings(project: Path, tmp_path: Path) -> None:
    """``shellPath`` and ``shellCommandPrefix`` of the agent directory hold, as in pi."""
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\necho mine\nexec /bin/sh "$@"\n')
    shell.chmod(0o700)
    settings = {"shellPath": str(shell), "shellCommandPrefix": "greet() { echo hello $1; }"}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    outcome = call("bash", {"command": "greet you"}, project, agent_dir=tmp_path)
    assert text(outcome) == "mine\nhello you\n"


def test_a_shell_that_is_not_there_is_said(project: Path, tmp_path: Path) -> None:
    """The model is told that the settings name no shell."""
    (tmp_path / "settings.json").write_text('{"shellPath": "/nowhere/sh"}')
    outcome = call("bash", {"command": "true"}, project, agent_dir=tmp_path)
    assert text(outcome) == "Custom shell path not found: /nowhere/sh"
    assert outcome.is_error


@pytest.mark.parametrize(
    "command, says",
    [
        ("echo " + "x" * 200_000, "The command is longer than the system takes."),
        ("echo a\0b", "A command cannot hold a NUL character."),
    ],
    ids=["too long", "NUL"],
)
def test_a_command_that_cannot_be_started_is_said(command: str, says: str, project: Path) -> None:
    """The model is told why, and what to do instead."""
    outcome = run(command, project)
    assert text(outcome).startswith(says)
    assert outcome.is_error


def test_a_directory_that_is_gone_is_said(project: Path) -> None:
    """The model is told which directory is not there."""
    outcome = run("true", project / "gone")
    says = f"Working directory does not exist: {project}/gone\nCannot execute bash commands."
    assert text(outcome) == says


# -- how it ends --------------------------------------------------------------------------------

STUBBORN = (
    "trap '' TERM; echo $$; "
    "(trap '' TERM; while :; do sleep 600 & wait; done) & echo $!; "
    "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 600 & wait; done' & "
    "setsid sh -c '(setsid sh -c \"echo \\$\\$; while :; do sleep 600; done\" &)'; "
)
"""A shell that ignores SIGTERM, and three that do: forked, in a session apart, without parents."""


def test_a_cancelled_command_is_ended_whole(project: Path) -> None:
    """Also what ignores SIGTERM, left the session, or lost its parent is gone when it returns."""
    told = in_loop(
        ended(f"{STUBBORN} sleep 600", project, lambda progress: len(pids(progress)) == 4)
    )
    assert len(pids(told)) == 4
    assert [pid for pid in pids(told) if is_running(pid)] == []


def test_a_command_that_takes_too_long_is_ended_whole(project: Path) -> None:
    """The timeout ends all of it, and the output so far is shown."""
    outcome = run(f"{STUBBORN} sleep 600", project, timeout=1)
    assert text(outcome).endswith("\n\nCommand timed out after 1 seconds")
    assert outcome.is_error
    assert len(pids(text(outcome))) == 4
    assert [pid for pid in pids(text(outcome)) if is_running(pid)] == []


def test_what_a_command_says_while_it_is_ended_is_heard(project: Path) -> None:
    """A program that cleans up when it is asked to end has the time and the pipe to do it."""
    outcome = run("trap 'echo cleaned up; exit' TERM; sleep 600 & wait", project, timeout=0.5)
    assert text(outcome) == "cleaned up\n\n\nCommand timed out after 0.5 seconds"


def test_a_shell_does_not_go_on_when_its_child_is_ended(project: Path) -> None:
    """What comes after the command that ran is not begun while all of it is ended."""
    outcome = run("sleep 600; touch begun; sleep 600; touch begun", project, timeout=0.3)
    assert text(outcome) == "Command timed out after 0.3 seconds"
    assert list(project.iterdir()) == []


def test_a_command_that_is_stopped_can_still_be_ended(project: Path) -> None:
    """A process that was stopped by a signal does not outlive its command."""
    outcome = run("echo $$; kill -STOP $$", project, timeout=0.5)
    assert is_gone(pids(text(outcome))[0])


def test_a_flood_can_be_cancelled(project: Path) -> None:
    """A command that prints without end ends when it is told to."""
    told = in_loop(ended("yes", project, lambda progress: len(progress) > 3_000))
    assert told.startswith("y\ny\n")


def test_what_a_cancelled_command_had_printed_is_what_it_told_last(project: Path) -> None:
    """The runtime can store it, in pi's form."""
    told = in_loop(ended("echo begun; sleep 600", project, lambda progress: "begun" in progress))
    outcome = aborted("bash", told)
    assert text(outcome) == "begun\n\n\nCommand aborted"
    assert outcome.is_error
    assert outcome.details == {}
    assert text(aborted("bash")) == "Command aborted"
    assert text(aborted("read")) == "Operation aborted"


def test_what_runs_in_the_background_holds_nobody_up_and_goes_on(project: Path) -> None:
    """The call ends with its shell; what it left goes on, and may print without being killed."""
    for name in ("go", "back"):
        os.mkfifo(project / name)
    background = "(read x < go; echo to nobody; echo still there > back) &"
    outcome = run(f"{background} echo $!", project)
    pid = pids(text(outcome))[0]
    assert is_running(pid)
    (project / "go").write_text("on\n")
    assert (project / "back").read_text() == "still there\n"
    assert is_gone(pid)


def test_output_of_what_was_left_running_is_taken_until_it_is_quiet(project: Path) -> None:
    """What a child still prints when its shell is over is not lost."""
    outcome = run("seq 1 300000 &", project)
    assert text(outcome).split("\n\n")[0].endswith("\n299999\n300000")


def test_what_prints_in_the_background_without_end_holds_nobody_up(project: Path) -> None:
    """The call ends soon after its shell, and the printing program is let be."""
    outcome = run("yes & echo $! > pid", project)
    pid = int((project / "pid").read_text())
    assert not outcome.is_error
    assert is_running(pid)
    os.kill(pid, 9)
    assert is_gone(pid)


def test_a_shell_that_closes_its_outputs_is_awaited(project: Path) -> None:
    """The end of the output is not the end of the command."""
    outcome = run("echo said; exec >&- 2>&-; sleep 0.3; exit 4", project)
    assert text(outcome) == "said\n\n\nCommand exited with code 4"


def test_nothing_of_a_running_command_outlives_the_server(project: Path) -> None:
    """When the server ends in the usual way, its commands are ended whole."""
    source = (
        "import asyncio, sys, threading\n"
        "from pathlib import Path\n"
        "from enso.host.runtimes.builtin.tools import TOOLS, ToolContext\n"
        "heard = threading.Event()\n"
        "def hear(text):\n"
        "    if text.count('\\n') == 4 and not heard.is_set():\n"
        "        print(text, flush=True)\n"
        "        heard.set()\n"
        "context = ToolContext(Path(sys.argv[1]), Path(sys.argv[1]), hear)\n"
        "run = lambda: asyncio.run(TOOLS['bash'].run({'command': sys.argv[2]}, context))\n"
        "threading.Thread(target=run, daemon=True).start()\n"
        "heard.wait()\n"
    )
    command = [sys.executable, "-c", source, str(project), f"{STUBBORN} sleep 600"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert len(pids(done.stdout)) == 4
    assert [pid for pid in pids(done.stdout) if not is_gone(pid)] == []


def test_two_hundred_commands_leave_no_handle_and_no_worker(project: Path) -> None:
    """Calls let go of all they take."""

    async def many() -> None:
        tool, where = TOOLS["bash"], context(project)
        for _ in range(10):
            await asyncio.gather(*(tool.run({"command": "echo x"}, where) for _ in range(20)))

    before = set(threading.enumerate())
    in_loop(many())
    handles = len(list(Path("/proc/self/fd").iterdir()))
    in_loop(many())
    assert len(list(Path("/proc/self/fd").iterdir())) <= handles
    ours = [
        worker for worker in set(threading.enumerate()) - before if worker.name.startswith("enso-")
    ]
    for worker in ours:
        worker.join(PATIENCE)
    assert [worker.name for worker in ours if worker.is_alive()] == []
