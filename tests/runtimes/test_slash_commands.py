"""Prompt templates and skills: what can be called, and what a call becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from enso.host.commands import ENSO_COMMANDS
from enso.host.contract import Command
from tests.model_server import ModelServer
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread
from tests.runtimes.test_stopping import streaming


@pytest.fixture(autouse=True)
def files(tmp_path: Path, agent_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template of the person's, one of the project's, and a skill."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(
        agent_dir / "prompts" / "review.md",
        "---\ndescription: Review a file\nargument-hint: <file>\n---\nReview $1 for ${2:-bugs}.",
    )
    write(tmp_path / ".pi" / "prompts" / "ship.md", "Ship it.")
    write(
        agent_dir / "skills" / "pdf" / "SKILL.md",
        "---\nname: pdf\ndescription: Reads PDF files.\n---\n\nUse pdftotext.",
    )


def write(path: Path, text: str) -> None:
    """A file in a directory that need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def prompt(thread: LiveThread) -> str:
    """The last stored prompt."""
    return [m for m in thread.messages() if m["role"] == "user"][-1]["content"][0]["text"]


def test_what_can_be_called_is_listed(
    make_runtimes: MakeRuntimes, tmp_path: Path, thread: LiveThread
) -> None:
    """Enso's own first, then templates, then skills; the same live and cold."""
    commands = make_runtimes().commands(tmp_path)
    assert commands == thread.runtime.commands()
    assert commands[: len(ENSO_COMMANDS)] == ENSO_COMMANDS
    assert set(commands[len(ENSO_COMMANDS) :]) == {
        Command(name="ship", description="Ship it.", source="prompt"),
        Command(
            name="review", description="Review a file", source="prompt", argument_hint="<file>"
        ),
        Command(name="skill:pdf", description="Reads PDF files.", source="skill"),
    }


@pytest.mark.parametrize(
    "said, expanded",
    [
        ("/review a.py", "Review a.py for bugs."),
        ('/review a.py "two words"', "Review a.py for two words."),
        ("/ship", "Ship it."),
        ("/nothing here", "/nothing here"),
        ("not /review a.py", "not /review a.py"),
        ("/", "/"),
        ("/skill:nope", "/skill:nope"),
    ],
)
def test_a_template_is_expanded_where_it_stands(
    said: str, expanded: str, thread: LiveThread
) -> None:
    """As pi does, so that the file holds what the model was told."""
    thread.run(said)
    assert prompt(thread) == expanded


def test_a_skill_is_put_before_what_is_asked(thread: LiveThread, agent_dir: Path) -> None:
    """With where it lies, so that the model finds its files."""
    thread.run("/skill:pdf Read the invoice")
    directory = agent_dir / "skills" / "pdf"
    assert prompt(thread) == (
        f'<skill name="pdf" location="{directory / "SKILL.md"}">\n'
        f"References are relative to {directory}.\n\nUse pdftotext.\n</skill>\n\nRead the invoice"
    )


def test_what_is_queued_is_expanded_too(thread: LiveThread, server: ModelServer) -> None:
    """When it is delivered: until then the queue shows what was written."""
    gate = streaming(thread, server)
    thread.runtime.queue("/ship", when="after")
    assert thread.runtime.queued()[0].message == "/ship"
    gate.open()
    thread.wait_settled()
    assert prompt(thread) == "Ship it."


def test_a_template_is_there_as_soon_as_its_file_is(thread: LiveThread, tmp_path: Path) -> None:
    """Nothing is to be loaded again."""
    thread.run("/new")
    assert prompt(thread) == "/new"
    write(tmp_path / ".pi" / "prompts" / "new.md", "Brand new.")
    thread.run("/new")
    assert prompt(thread) == "Brand new."


def test_a_template_does_not_take_the_place_of_a_command_of_ensos(
    thread: LiveThread, tmp_path: Path
) -> None:
    """What the list says is what happens."""
    write(tmp_path / ".pi" / "prompts" / "compact.md", "Mine.")
    names = [command.name for command in thread.runtime.commands()]
    assert names.count("compact") == 1
    thread.run("/compact")
    assert prompt(thread) == "/compact"


def test_a_model_is_told_of_skills(thread: LiveThread, agent_dir: Path) -> None:
    """By name, purpose and place; what is in them it reads when it needs it."""
    thread.run("Hello")
    section = thread.messages()[0]["sections"]["skills"]
    assert "<name>pdf</name>" in section
    assert "Reads PDF files." in section
    assert str(agent_dir / "skills" / "pdf" / "SKILL.md") in section
    assert "pdftotext" not in section
