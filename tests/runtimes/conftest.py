"""A scripted endpoint, an agent directory that names it, and the built-in runtime over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.runtimes.builtin.timeouts import Timeouts
from enso.host.runtimes.models.known_providers import KNOWN_PROVIDERS
from tests.model_server import ModelServer, configure, serve
from tests.runtimes.live_thread import LiveThread, new_thread

MakeRuntimes = Callable[..., BuiltinRuntimes]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the person who runs the tests is used."""
    for known in KNOWN_PROVIDERS.values():
        for variable in known.key_variables:
            monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A scripted model endpoint."""
    server = serve()
    yield server
    server.close()


@pytest.fixture
def agent_dir(tmp_path: Path, server: ModelServer) -> Path:
    """An agent directory whose providers are the endpoint, over each protocol."""
    directory = tmp_path / "agent"
    configure(directory, server.url)
    return directory


@pytest.fixture
def make_runtimes(agent_dir: Path) -> Iterator[MakeRuntimes]:
    """Make the built-in runtime for a ``provider/model``; closed at the end."""
    made: list[BuiltinRuntimes] = []

    def make(model: str | None = None, timeouts: Timeouts | None = None) -> BuiltinRuntimes:
        made.append(BuiltinRuntimes(agent_dir, model, timeouts=timeouts))
        return made[-1]

    yield make
    for runtimes in made:
        runtimes.close()


@pytest.fixture
def thread(make_runtimes: MakeRuntimes, tmp_path: Path) -> LiveThread:
    """A new thread on ``labserver/lab-coder``."""
    return new_thread(make_runtimes("labserver/lab-coder"), tmp_path)
