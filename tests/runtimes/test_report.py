"""The built-in runtime's report: what is configured and what would not work, and no key in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from enso.host.contract import Check, HostReport
from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.runtimes.programs import find_program

PROVIDER = {
    "baseUrl": "http://localhost:1/v1",
    "api": "openai-completions",
    "models": [{"id": "m"}],
}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A directory that alone is the search path."""
    before = os.environ["PATH"]
    directory = tmp_path / "bin"
    directory.mkdir()
    os.environ["PATH"] = str(directory)
    yield directory
    os.environ["PATH"] = before


def report(agent_dir: Path, model: str | None = None, **files: object) -> HostReport:
    """The report over an agent directory with these files."""
    agent_dir.mkdir(exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (agent_dir / f"{name}.json").write_text(text)
    runtimes = BuiltinRuntimes(agent_dir, model)
    try:
        return runtimes.report()
    finally:
        runtimes.close()


def about(found: HostReport, what: str) -> Check:
    """The one check of this."""
    (check,) = [check for check in found.checks if check.about == what]
    return check


def program(directory: Path, name: str, script: str) -> None:
    """Put a program on the path."""
    file = directory / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_programs_are_named_with_their_versions(tmp_path: Path, path: Path) -> None:
    """One that is there with its version and place; one that is not, with what that means."""
    program(path, "rg", "echo 'ripgrep 14.1.1 (rev 1)'")
    found = report(tmp_path / "agent")
    assert about(found, "ripgrep").said == f"14.1.1 at {path / 'rg'}"
    assert about(found, "pi").state == "notice"
    assert "not on the path" in about(found, "pi").said


def test_a_program_that_says_nothing_is_still_there(path: Path) -> None:
    """A version that is not said, or a program that fails, is no fault of Enso's."""
    program(path, "pi", "exit 3")
    found = find_program("pi")
    assert found is not None
    assert found.version == ""
    assert find_program("rg") is None


def test_every_provider_with_a_key_is_named_without_it(tmp_path: Path) -> None:
    """Where the key is, is said; the key is among the secrets and nowhere else."""
    found = report(
        tmp_path / "agent",
        auth={"anthropic": {"type": "api_key", "key": "Written-in-auth-1"}},
        models={"providers": {"workshop": {**PROVIDER, "apiKey": "Written-in-models-2"}}},
    )
    assert "auth.json" in about(found, "provider anthropic").said
    assert "models.json" in about(found, "provider workshop").said
    assert {"Written-in-auth-1", "Written-in-models-2"} <= found.secrets
    assert "Written-in" not in repr(found)
    assert "Written-in" not in json.dumps(dict(found.configuration))
    assert found.configuration["models.json"]["providers"]["workshop"]["baseUrl"]
    assert "auth.json" not in found.configuration


def test_a_key_that_is_a_variable_or_a_command_is_known_as_far_as_it_can_be(
    tmp_path: Path,
) -> None:
    """A variable's value is a secret; a command is not run to learn one."""
    ran = tmp_path / "ran"
    os.environ["REPORT_TEST_WORD"] = "Held-in-a-variable-3"
    try:
        found = report(
            tmp_path / "agent",
            models={
                "providers": {
                    "a": {**PROVIDER, "apiKey": "$REPORT_TEST_WORD"},
                    "b": {**PROVIDER, "apiKey": f"!touch {ran}"},
                }
            },
        )
    finally:
        del os.environ["REPORT_TEST_WORD"]
    assert "Held-in-a-variable-3" in found.secrets
    assert not ran.exists()


def test_what_would_not_work_is_bad_and_says_what_to_do(tmp_path: Path) -> None:
    """A file that cannot be read, and a model that is not there."""
    found = report(tmp_path / "agent", "workshop/gone", models="{ not json")
    assert about(found, "configuration").state == "bad"
    assert "models.json, line 1" in about(found, "configuration").said
    model = about(found, "model of new threads")
    assert model.state == "bad"
    assert "workshop" in model.what_to_do


def test_a_provider_without_a_key_is_noticed(tmp_path: Path) -> None:
    """It was configured, so its lack of a key is said; others that were not are let be."""
    found = report(tmp_path / "agent", models={"providers": {"workshop": PROVIDER}})
    assert about(found, "provider workshop").state == "notice"
    assert not [check for check in found.checks if check.about == "provider groq"]
