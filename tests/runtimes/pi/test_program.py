"""Which pi is taken, and what is said of one that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from enso.host.runtimes.pi.program import PiUnusable, Programs, Protocol, last_words
from tests.runtimes.pi.programs import answering_version, program

OLD_NODE = """
import sys
sys.stderr.write(
    "file:///opt/pi/dist/cli.js:2\\n"
    "import { enableCompileCache } from 'node:module';\\n"
    "         ^^^^^^^^^^^^^^^^^^\\n"
    "SyntaxError: The requested module 'node:module' does not provide an export\\n"
    "    at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)\\n\\n"
    "Node.js v20.20.2\\n"
)
sys.exit(1)
"""


@pytest.mark.parametrize("version", ["1.0.0", "1.6.0", "1.99.3-rc.1", "0.73.1"])
def test_a_version_that_enso_speaks_is_taken(version: str, tmp_path: Path) -> None:
    """Every 1.x and 0.73."""
    assert Programs().ask(answering_version(tmp_path, version)).version == version


@pytest.mark.parametrize("version", ["0.50.2", "0.72.9", "0.74.0", "2.0.0"])
def test_another_version_is_refused_by_its_number(version: str, tmp_path: Path) -> None:
    """The sentence names the version, and those that would do."""
    with pytest.raises(PiUnusable, match=rf"This is pi {version}\. Enso speaks .* 1\.x .* 0\.73"):
        Programs().ask(answering_version(tmp_path, version))


def test_an_old_version_lacks_what_came_later(tmp_path: Path) -> None:
    """The protocol is told by the version alone."""
    protocol = Programs().ask(answering_version(tmp_path, "0.73.1")).protocol
    assert protocol == Protocol(
        settles=False,
        takes_session_id=False,
        clears_queue=False,
        lists_entries=False,
        forks=False,
        stops_summaries=False,
    )


def test_without_pi_a_person_is_told_what_to_do() -> None:
    """No pi on the PATH."""
    with pytest.raises(PiUnusable, match=r"no pi on the PATH.*ENSO_RUNTIME=builtin"):
        Programs().ask(None)


def test_a_program_that_is_gone_is_said(tmp_path: Path) -> None:
    """The command names nothing."""
    with pytest.raises(PiUnusable, match="cannot be started: No such file"):
        Programs().ask((str(tmp_path / "pi"),))


def test_a_pi_that_its_node_cannot_run_is_said_with_the_cause(tmp_path: Path) -> None:
    """The error itself, without the stack below it."""
    with pytest.raises(PiUnusable, match="ended with status 1: SyntaxError: The requested module"):
        Programs().ask(program(tmp_path, OLD_NODE))


def test_a_pi_without_node_is_said(tmp_path: Path) -> None:
    """What a program says whose interpreter is not there."""
    path = tmp_path / "pi"
    path.write_text("#!/usr/bin/env node-of-nowhere\n")
    path.chmod(0o755)
    with pytest.raises(PiUnusable, match=r"needs Node\.js, which is not on the PATH"):
        Programs().ask((str(path),))


def test_something_else_named_pi_is_no_pi(tmp_path: Path) -> None:
    """It tells no version."""
    with pytest.raises(PiUnusable, match=r"told no version: 3\.14"):
        Programs().ask(program(tmp_path, "print('3.14')"))


def test_a_program_is_asked_once_until_it_changes(tmp_path: Path) -> None:
    """An update is seen without a restart."""
    programs = Programs()
    counting = "import pathlib\nwith open({0!r}, 'a') as f: f.write('x')\nprint('1.6.0')"
    count = tmp_path / "count"
    command = program(tmp_path, counting.format(str(count)))
    assert [programs.ask(command).version for _ in range(3)] == ["1.6.0"] * 3
    assert count.read_text() == "x"
    assert programs.ask(answering_version(tmp_path, "1.7.0")).version == "1.7.0"


def test_last_words_are_the_errors_when_there_are_any() -> None:
    """Without any, the last lines."""
    assert last_words(["one", "Error: no", "    at f (x.js:1:2)", "Node.js v24"]) == "Error: no"
    assert last_words(["one", "two", "", "three", "four"]) == "two three four"
