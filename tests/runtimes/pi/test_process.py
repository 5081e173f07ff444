"""What holds for the process that runs pi, whatever runs in it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from enso.host.runtimes.keeper import Keeper
from enso.host.runtimes.pi.process import PiFailed, PiGone, PiProcess, PiSilent, Record
from tests.runtimes.pi.programs import program

PATIENCE = 30
ECHO = """
import json, sys
for line in sys.stdin.buffer:
    asked = json.loads(line)
    answer = {"id": asked.get("id"), "type": "response", "success": True, "data": asked}
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""

_STARTER = """
import os, sys, threading
from pathlib import Path
from enso.host.runtimes.keeper import Keeper
from enso.host.runtimes.pi.process import PiProcess
keeper = Keeper(patience=float(sys.argv[1]))
one = PiProcess(
    sys.argv[3:],
    cwd=Path(sys.argv[2]),
    environment=os.environ,
    hear=lambda record: print(record["type"], flush=True),
    ended=print,
    keeper=keeper,
)
print(keeper.pid, one.pid, flush=True)
one.begin()
threading.Event().wait()
"""


class Heard:
    """A process, all that it said, and the sentence of its end."""

    def __init__(self, command: tuple[str, ...], cwd: Path) -> None:
        self.records: list[Record] = []
        self.end: str | None = None
        self._changed = threading.Condition()
        self.keeper = Keeper()
        self.process = PiProcess(
            command,
            cwd=cwd,
            environment=os.environ,
            hear=self._take,
            ended=self._ended,
            keeper=self.keeper,
        )
        self.process.begin()

    def _take(self, record: Record) -> None:
        with self._changed:
            self.records.append(record)
            self._changed.notify_all()

    def _ended(self, sentence: str) -> None:
        with self._changed:
            self.end = sentence
            self._changed.notify_all()

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that it said."""
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE), (self.records, self.end)

    def wait_end(self) -> str:
        """The sentence of its end."""
        self.wait(lambda: self.end is not None)
        return str(self.end)


Start = Callable[[str], Heard]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a program of this body."""
    started: list[Heard] = []

    def start(body: str) -> Heard:
        started.append(Heard(program(tmp_path, body), tmp_path))
        return started[-1]

    yield start
    for one in started:
        one.process.close()
        one.keeper.close()


def test_only_a_line_feed_ends_a_record(start: Start) -> None:
    """Not what Unicode calls a line end, nor a carriage return, raw inside a string."""
    text = "a\u2028b\u2029c\u0085d\x0be"
    assert start(ECHO).process.ask("say", text=text)["text"] == text


def test_a_record_may_come_in_pieces_and_end_with_a_carriage_return(start: Start) -> None:
    """A pipe cuts where it wants, also within a character; blank lines are none."""
    heard = start(
        "import os, time\n"
        'line = \'{"type":"é"}\\r\\n\\n\'.encode()\n'
        "for i in range(len(line)): os.write(1, line[i:i+1]); time.sleep(0.01)\n"
    )
    heard.wait(lambda: bool(heard.records))
    assert heard.records == [{"type": "é"}]


def test_answers_find_their_requests_in_any_order(start: Start) -> None:
    """Several wait at once; each gets its own."""
    heard = start(
        "import json, sys\n"
        "asked = [json.loads(sys.stdin.readline()) for _ in range(3)]\n"
        "for one in reversed(asked):\n"
        "    answer = {'id': one['id'], 'type': 'response', 'success': True, 'data': one['n']}\n"
        "    print(json.dumps(answer), flush=True)\n"
        "sys.stdin.read()\n"
    )
    answers = [heard.process.start("say", n=n) for n in range(3)]
    assert [answer.result(PATIENCE) for answer in answers] == [0, 1, 2]


def test_what_is_no_answer_is_heard_in_order(start: Start) -> None:
    """Also a response to nothing, which pi gives to a line it could not read."""
    heard = start('print(\'{"type":"a"}\\n{"type":"response","success":false}\\n[1]\\nnoise\')\n')
    heard.wait_end()
    assert [record["type"] for record in heard.records] == ["a", "response"]
    assert {"stdout: [1]", "stdout: noise"} <= set(heard.process.said)


def test_an_error_is_the_refusal_of_its_request(start: Start) -> None:
    """In pi's own words."""
    heard = start(
        "import json, sys\n"
        "one = json.loads(sys.stdin.readline())\n"
        "print(json.dumps({'id': one['id'], 'type': 'response', 'success': False,"
        " 'error': 'Model not found'}), flush=True)\n"
        "sys.stdin.read()\n"
    )
    with pytest.raises(PiFailed, match=r"^Model not found$"):
        heard.process.ask("set_model")


def test_a_request_has_a_limit(start: Start) -> None:
    """Silence is told by the name of what was asked."""
    with pytest.raises(PiSilent, match=r"get_state within 0\.1 seconds"):
        start("import sys\nsys.stdin.read()").process.ask("get_state", limit=0.1)


def test_an_end_is_told_with_the_last_words(start: Start) -> None:
    """To who listens, to whoever waits, and to who asks later."""
    heard = start(
        "import sys\nsys.stdin.readline()\nsys.stderr.write('Error: disk on fire\\n')\nsys.exit(3)"
    )
    with pytest.raises(PiGone, match="pi ended with status 3: Error: disk on fire"):
        heard.process.ask("get_state")
    assert heard.wait_end() == "pi ended with status 3: Error: disk on fire"
    with pytest.raises(PiGone, match="status 3"):
        heard.process.ask("get_state")


def test_a_kill_is_told_as_one(start: Start) -> None:
    """By its signal."""
    heard = start('import sys\nprint(\'{"type":"up"}\', flush=True)\nsys.stdin.read()')
    heard.wait(lambda: bool(heard.records))
    os.kill(heard.process.pid, signal.SIGKILL)
    assert heard.wait_end() == "pi ended by signal 9 and said nothing."


def test_the_kept_lines_of_errors_are_bounded(start: Start) -> None:
    """A process that never stops complaining costs no memory."""
    heard = start(
        "import sys\nfor n in range(5000): sys.stderr.write(f'{n} ' + 'x' * 9000 + '\\n')"
    )
    heard.wait_end()
    assert len(heard.process.said) == 200
    assert max(map(len, heard.process.said)) == 2000


def test_closing_is_an_orderly_end_that_is_not_told(start: Start) -> None:
    """Its input closes; it ends by itself."""
    heard = start("import sys\nsys.stdin.read()\nopen('ended', 'w').close()")
    heard.process.close()
    assert heard.end is None
    assert not heard.process.running


def test_what_does_not_end_is_ended_with_its_commands(start: Start, tmp_path: Path) -> None:
    """Deaf to its input and to a request to end; its child is in a session of its own."""
    heard = start(
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        'print(\'{"type":"%d"}\' % child.pid, flush=True)\n'
        "time.sleep(600)\n"
    )
    heard.wait(lambda: bool(heard.records))
    heard.process.close()
    with pytest.raises(ProcessLookupError):
        os.kill(heard.process.pid, 0)
    assert not _runs(int(heard.records[0]["type"]))


class Killed:
    """A program run by a process that is killed; ``said`` is what the program said before."""

    def __init__(
        self, body: str, directory: Path, *, records: int = 0, patience: float = PATIENCE
    ) -> None:
        command = program(directory, body)
        self._starter = subprocess.Popen(
            [sys.executable, "-c", _STARTER, str(patience), str(directory), *command],
            stdout=subprocess.PIPE,
        )
        assert self._starter.stdout is not None
        self.keeper, self.pid = map(int, self._starter.stdout.readline().split())
        self.said = [self._starter.stdout.readline().strip().decode() for _ in range(records)]
        self._handles = [os.pidfd_open(pid) for pid in (self.pid, self.keeper)]
        self._starter.kill()
        self._starter.communicate()

    def wait_ended(self) -> None:
        """Wait until the program ended, and what kept it."""
        for handle in self._handles:
            assert select.select([handle], [], [], PATIENCE)[0], "it still runs"
            os.close(handle)


def test_it_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    """Its input closes with the process that held it, however that went; the keeper ends too."""
    killed = Killed("import sys\nsys.stdin.read()\nopen('ended', 'w').close()", tmp_path)
    killed.wait_ended()
    assert (tmp_path / "ended").exists()


def test_what_it_runs_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    """Also what is deaf, in a session of its own, or a child of such; not what it had left before.

    A command that has ended left a server on purpose: that goes on, as after an orderly end.
    """
    killed = Killed(
        "import subprocess, sys\n"
        "def run(command):\n"
        "    shell = subprocess.Popen(['bash', '-c', command], start_new_session=True,"
        " stdout=subprocess.PIPE, text=True)\n"
        '    print(\'{"type":"%d"}\' % int(shell.stdout.readline()), flush=True)\n'
        "    return shell\n"
        "run('sleep 600 >/dev/null & echo $!').wait()\n"
        "run('trap \"\" TERM; sleep 600 >/dev/null & echo $!; sleep 600')\n"
        "run('echo $$; exec sleep 600')\n"
        "run('setsid sleep 600 >/dev/null & echo $!; wait')\n"
        "sys.stdin.read()\n",
        tmp_path,
        records=4,
    )
    on_purpose, *running = (int(pid) for pid in killed.said)
    killed.wait_ended()
    assert [pid for pid in running if _runs(pid)] == []
    assert _runs(on_purpose)
    os.kill(on_purpose, signal.SIGKILL)


def test_one_that_does_not_hear_its_input_end_is_ended_too(tmp_path: Path) -> None:
    """When its starter was killed: it gets its time, then it is signalled, with its commands."""
    killed = Killed(
        "import signal, subprocess\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        'print(\'{"type":"%d"}\' % child.pid, flush=True)\n'
        "signal.pause()\n",
        tmp_path,
        records=1,
        patience=0.1,
    )
    killed.wait_ended()
    assert not _runs(int(killed.said[0]))


def test_a_keeper_that_was_killed_is_replaced(start: Start, tmp_path: Path) -> None:
    """What it kept runs on, and ends with its starter; what is started next is kept again."""
    heard = start(ECHO)
    first = heard.keeper.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert heard.process.ask("say", text="on")["text"] == "on"
    another = PiProcess(
        program(tmp_path, ECHO, name="another"),
        cwd=tmp_path,
        environment=os.environ,
        hear=lambda _: None,
        ended=lambda _: None,
        keeper=heard.keeper,
    )
    another.begin()
    assert heard.keeper.pid not in (None, first)
    another.close()
    assert not _runs(another.pid)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
