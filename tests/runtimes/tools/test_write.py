"""The tool ``write``: whole files or none, and what a file is otherwise stays."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from enso.host.runtimes.builtin.tools import ToolOutcome
from tests.runtimes.tools.calls import PATIENCE, call, in_loop, running, text

ROOT = Path(__file__).parent.parent.parent.parent


def write(path: str, content: str, cwd: Path) -> ToolOutcome:
    """The outcome of a write."""
    return call("write", {"path": path, "content": content}, cwd)


def test_directories_that_are_missing_are_made(project: Path) -> None:
    """A file can be written where nothing is yet."""
    outcome = write("a/b/c.txt", "x\n", project)
    assert text(outcome) == "Successfully wrote to a/b/c.txt"
    assert (project / "a/b/c.txt").read_text() == "x\n"
    assert outcome.details is None


def test_the_mode_of_a_file_is_kept(project: Path) -> None:
    """A script stays a script, a private file private; a new file has the usual mode."""
    (project / "old.sh").write_text("old")
    (project / "old.sh").chmod(0o750)
    write("old.sh", "new", project)
    write("fresh", "new", project)
    (project / "by python").write_text("new")
    assert stat.S_IMODE((project / "old.sh").stat().st_mode) == 0o750
    assert (project / "fresh").stat().st_mode == (project / "by python").stat().st_mode


def test_a_symlink_is_followed(project: Path) -> None:
    """The file that a link leads to is written, also one that is not there yet."""
    (project / "real").write_text("old")
    (project / "link").symlink_to("real")
    (project / "ahead").symlink_to("later")
    write("link", "new", project)
    write("ahead", "made", project)
    assert (project / "link").is_symlink()
    assert (project / "real").read_text() == "new"
    assert (project / "later").read_text() == "made"


def test_other_names_of_a_file_see_the_new_content(project: Path) -> None:
    """A hard link stays one."""
    (project / "one").write_text("old and longer")
    os.link(project / "one", project / "other")
    write("one", "new", project)
    assert (project / "other").read_text() == "new"
    assert (project / "one").samefile(project / "other")


def test_a_reader_sees_the_old_or_the_new_never_a_half(project: Path) -> None:
    """A file that is open keeps what it had; the name leads to the new content as a whole."""
    (project / "f").write_text("old" * 1000)
    with (project / "f").open() as opened:
        write("f", "new" * 2000, project)
        assert opened.read() == "old" * 1000
    assert (project / "f").read_text() == "new" * 2000
    assert [path.name for path in project.iterdir()] == ["f"]


@pytest.mark.parametrize("path", ["d", "f/x", "/dev/full/x", "pipe", "\0", "x" * 300])
def test_what_cannot_be_written_is_said_and_leaves_nothing(path: str, project: Path) -> None:
    """A directory, a name below a file, a pipe, no name: an outcome, and no file more."""
    (project / "d").mkdir()
    (project / "f").write_text("kept")
    os.mkfifo(project / "pipe")
    outcome = write(path, "x", project)
    assert outcome.is_error
    assert text(outcome)
    assert sorted(entry.name for entry in project.iterdir()) == ["d", "f", "pipe"]
    assert (project / "f").read_text() == "kept"


def test_text_that_is_half_a_character_is_written_as_a_replacement(project: Path) -> None:
    """A lone surrogate, which JSON can hold, becomes U+FFFD."""
    write("f", "a\ud83d", project)
    assert (project / "f").read_text("utf-8") == "a\ufffd"


def test_a_full_disk_leaves_the_old_content(project: Path) -> None:
    """When the new content does not fit, the file stays as it was and the model is told."""
    (project / "f").write_text("old")
    source = (
        "import asyncio, resource, signal, sys\n"
        "from pathlib import Path\n"
        "from enso.host.runtimes.builtin.tools import TOOLS, ToolContext\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "context = ToolContext(Path(sys.argv[1]), Path(sys.argv[1]), print)\n"
        "call = {'path': 'f', 'content': 'x' * 100_000}\n"
        "outcome = asyncio.run(TOOLS['write'].run(call, context))\n"
        "sys.stderr.write(outcome.content[0]['text'])\n"
    )
    command = [sys.executable, "-c", source, str(project)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == f"EFBIG: file too large, open '{project}/f'"
    assert (project / "f").read_text() == "old"
    assert [path.name for path in project.iterdir()] == ["f"]


def test_changes_of_one_file_take_turns_in_the_order_of_their_calls(project: Path) -> None:
    """A write and edits of one answer happen one after the other, also by another name."""
    (project / "link").symlink_to("f")

    async def together() -> list[ToolOutcome]:
        first = running("write", {"path": "f", "content": "0\n"}, project)
        edits = [
            running(
                "edit",
                {
                    "path": "link" if number % 2 else "./f",
                    "edits": [{"oldText": f"{number}\n", "newText": f"{number + 1}\n"}],
                },
                project,
            )
            for number in range(40)
        ]
        return await asyncio.wait_for(asyncio.gather(first, *edits), PATIENCE)

    outcomes = in_loop(together())
    assert [text(outcome) for outcome in outcomes if outcome.is_error] == []
    assert (project / "f").read_text() == "40\n"


def test_a_call_that_is_cancelled_wrote_all_or_nothing(project: Path) -> None:
    """Cancelled at any moment: the file is old or new, nothing lies beside it, the next works."""
    (project / "f").write_text("old")
    new = "new" * 3_000_000

    async def cancelled(pauses: int) -> None:
        task = asyncio.ensure_future(running("write", {"path": "f", "content": new}, project))
        for _ in range(pauses):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or not task.result().is_error

    for pauses in range(1, 12):
        in_loop(cancelled(pauses))
        assert (project / "f").read_text() in {"old", new}
        assert [path.name for path in project.iterdir()] == ["f"]
    assert not write("f", "last", project).is_error
    assert (project / "f").read_text() == "last"
