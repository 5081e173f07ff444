"""``enso`` as a real process: what it prints is what the server says, and nothing is touched."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso import wire
from enso.cli.terminal import say
from tests.e2e.places import Place, assistant
from tests.rights import bound
from tests.server_process import FOREIGN_KEYS, ROOT, ServerProcess

HOSTILE = "\x1b]0;title\x07 \x1b[31mred \u202e backwards"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A store with two threads, the second one hostile and newer."""
    made = Place.make(tmp_path)
    made.thread("first", "Fix the tax", "Done.")
    made.thread("second", f"Look at {HOSTILE}", assistant(HOSTILE, at=1_790_000_200_000))
    return made


def enso(
    place: Place, *words: str, stdin: int = subprocess.DEVNULL, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run ``python -m enso`` to its end on a place."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not any(mark in name for mark in FOREIGN_KEYS)
    }
    inherited |= {"PI_CODING_AGENT_DIR": str(place.agent_dir), "ENSO_PROJECTS": str(place.project)}
    return subprocess.run(
        bound([sys.executable, "-m", "enso", *words]),
        cwd=ROOT,
        env=inherited | environment,
        stdin=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )


def trace(place: Place) -> dict[str, tuple[int, bytes]]:
    """Every file of the agent directory: when it was written, and what is in it."""
    files = (path for path in place.agent_dir.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_threads_are_listed_newest_first(place: Place) -> None:
    """A line each, with id, count, project and title; what steers a terminal is spelled out."""
    before = trace(place)
    done = enso(place, "threads")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.decode().splitlines()
    assert first.split()[0] == "second"
    assert second.split()[0] == "first"
    assert second.endswith("2  shop  Fix the tax")
    assert b"\x1b" not in done.stdout
    assert "\u202e" not in done.stdout.decode()
    assert enso(place, "threads", "tax").stdout.decode().split()[0] == "first"
    assert b"No thread" in enso(place, "threads", "nothing like it").stdout
    assert trace(place) == before


def test_what_is_printed_as_json_is_what_the_server_says(place: Place) -> None:
    """The listing and a thread, byte for byte; the exports too."""
    listed = enso(place, "threads", "--json").stdout
    read = enso(place, "thread", "second", "--json").stdout
    wire.StoredThreads.model_validate_json(listed)
    logs = enso(place, "export", "second", "--format", "jsonl").stdout
    with ServerProcess(agent_dir=place.agent_dir, projects=[place.project]) as server:
        assert listed.decode().strip() == _get(f"{server.url}/api/stored-threads")
        assert read.decode().strip() == _get(f"{server.url}/api/threads/second/history")
        assert logs.decode() == _get(f"{server.url}/api/threads/second/export?format=jsonl")
    assert logs == place.file_of("second").path.read_bytes()


def _get(url: str) -> str:
    code = "import sys, urllib.request as r; sys.stdout.buffer.write(r.urlopen(sys.argv[1]).read())"
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, check=True)
    return done.stdout.decode()


def test_a_thread_is_printed_for_reading(place: Place) -> None:
    """Who said what, in order; no sequence of a terminal's reaches the terminal."""
    done = enso(place, "thread", "first")
    text = done.stdout.decode()
    assert text.index("Fix the tax") < text.index("## Agent") < text.index("Done.")
    hostile = enso(place, "thread", "second").stdout
    assert b"\x1b" not in hostile
    assert b"\x07" not in hostile
    assert "\u27e8U+001B\u27e9" in hostile.decode()


@pytest.mark.parametrize(
    "options,name,begins",
    [
        (["--format", "md"], None, b"# Fix the tax"),
        ([], "x.md", b"# Fix the tax"),
        ([], "x.html", b"<!doctype html>"),
        ([], "x", b"<!doctype html>"),
        (["--format", "jsonl"], "x.html", b'{"type":"session"'),
    ],
)
def test_a_thread_is_exported(
    place: Place, tmp_path: Path, options: list[str], name: str | None, begins: bytes
) -> None:
    """To standard output or to a file, in the format that is named or that its name says."""
    target = tmp_path / name if name else None
    words = [*options, *(["-o", str(target)] if target else [])]
    done = enso(place, "export", "first", *words)
    assert done.returncode == 0, done.stderr
    written = target.read_bytes() if target else done.stdout
    assert written.lstrip().startswith(begins)
    assert target is None or [path.name for path in tmp_path.glob(".enso-*")] == []


def test_what_cannot_be_done_is_said_in_a_sentence(place: Place, tmp_path: Path) -> None:
    """An unknown thread, one that is not served, and a file that cannot be written: code 2."""
    place.thread("elsewhere", "Hi", "Hello.", cwd=tmp_path)
    for words, said in (
        (["thread", "none"], "no stored thread"),
        (["thread", "../../etc"], "cannot be a thread id"),
        (["export", "elsewhere"], "does not serve"),
        (["export", "first", "-o", "/nowhere/at/all.html"], "cannot be written"),
    ):
        done = enso(place, *words)
        assert done.returncode == 2
        assert said in done.stderr.decode()
        assert len(done.stderr.decode().splitlines()) == 1
        assert done.stdout == b""
    assert enso(place, "export", "first", "--format", "pdf").returncode == 2


def test_projects_are_listed_with_their_threads(place: Place, tmp_path: Path) -> None:
    """Each with its count; one that is gone is said to be."""
    listed = os.pathsep.join([str(place.project), str(tmp_path / "gone")])
    lines = enso(place, "projects", ENSO_PROJECTS=listed).stdout.decode().splitlines()
    assert [line.split()[:2] for line in lines] == [["shop", "2"], ["gone", "0"]]
    assert lines[1].endswith("(is gone)")


def test_a_reader_that_goes_away_is_no_fault(place: Place) -> None:
    """As in ``enso thread first | head -1``: no traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "enso", "thread", "first"],
            cwd=ROOT,
            env={
                **os.environ,
                "PI_CODING_AGENT_DIR": str(place.agent_dir),
                "ENSO_PROJECTS": str(place.project),
            },
            stdout=writing,
            stderr=subprocess.PIPE,
        )
    finally:
        os.close(writing)
    _, told = process.communicate(timeout=60)
    assert b"Traceback" not in told


def test_the_doctor_finds_all_well(place: Place) -> None:
    """With a model, a project and a free port the code is 0, and every check is told."""
    provider = {
        "baseUrl": "http://localhost:1/v1",
        "api": "openai-completions",
        "apiKey": "Written-in-models-1",
        "models": [{"id": "m"}],
    }
    (place.agent_dir / "models.json").write_text(json.dumps({"providers": {"workshop": provider}}))
    before = trace(place)
    done = enso(place, "doctor", "--port", "0", ENSO_MODEL="workshop/m")
    text = done.stdout.decode()
    assert done.returncode == 0, text
    assert "All of it would work." in text
    for told in ("workshop/m", "models.json", "agent directory", "ripgrep", "pi:", "is free"):
        assert told in text
    assert "Written-in-models-1" not in text
    assert trace(place) == before


def test_the_doctor_names_what_would_not_work(place: Place, tmp_path: Path) -> None:
    """A port that is taken, a project that is gone, a broken file, a model that is not there."""
    (place.agent_dir / "models.json").write_text("{ not json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = enso(
            place,
            "doctor",
            "--port",
            str(taken.getsockname()[1]),
            ENSO_PROJECTS=str(tmp_path / "gone"),
            ENSO_MODEL="workshop/m",
        )
    bad = [line for line in done.stdout.decode().splitlines() if line.startswith("BAD")]
    assert done.returncode == 1
    for told in ("address", "project", "configuration", "model of new threads"):
        assert any(told in line for line in bad), told
    assert done.stdout.decode().count("\n      ") >= len(bad) - 1


def test_the_doctor_says_a_setting_that_cannot_be(place: Place) -> None:
    """Where another command only refuses, it says what is wrong and ends with 1."""
    done = enso(place, "doctor", ENSO_PORT="x")
    assert done.returncode == 1
    assert b"ENSO_PORT" in done.stdout


def test_serve_is_what_no_command_is(place: Place) -> None:
    """The word may be there or not; options may stand before it or behind it."""
    command = [sys.executable, "-m", "enso", "serve"]
    with ServerProcess(
        agent_dir=place.agent_dir, projects=[place.project], command=command
    ) as server:
        assert server.stop() == 0
    assert server.output == f"Enso is at {server.url}/\n"


@given(st.text())
def test_nothing_that_is_said_steers_a_terminal(text: str) -> None:
    """Every control but line ends and tabs is spelled out, whatever is printed."""
    import contextlib
    import io

    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        say(text)
    assert not [one for one in told.getvalue() if one < " " and one not in "\n\t"]
    assert "\x7f" not in told.getvalue()


@pytest.fixture
def closed(place: Place, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A directory or a file of the store that nobody may read."""
    [path] = place.agent_dir.glob(request.param)
    mode = path.stat().st_mode
    path.chmod(0)
    yield path
    path.chmod(mode)


@pytest.mark.parametrize("closed", ["sessions", "sessions/*"], indirect=True)
def test_a_store_that_may_not_be_read_is_not_an_empty_one(place: Place, closed: Path) -> None:
    """What is closed is named, with what to do, by the list and by the doctor."""
    listed = enso(place, "threads")
    assert (listed.returncode, listed.stdout) == (2, b"")
    assert f"{closed} cannot be read" in listed.stderr.decode()
    assert b"Give the user that runs Enso the right to it." in listed.stderr
    assert f"{closed} cannot be read" in enso(place, "doctor").stdout.decode()


@pytest.mark.parametrize("closed", ["sessions/*/*_first.jsonl"], indirect=True)
def test_a_thread_that_may_not_be_read_is_named_by_the_doctor(place: Place, closed: Path) -> None:
    """The others are listed."""
    assert enso(place, "threads").stdout.decode().split()[0] == "second"
    done = enso(place, "doctor")
    assert done.returncode == 1
    assert f"{closed} cannot be read: its threads are not listed" in done.stdout.decode()
