"""The real pi in two versions, a scripted endpoint, and the agent directory that they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.real_pi import HERE, RealPi, real_pi
from tests.model_server import ModelServer, configure, serve
from tests.npm_packages import INSTALL_SECONDS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests the time that installing pi takes: the first one that runs waits for it."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(INSTALL_SECONDS + 120))


@pytest.fixture(scope="session")
def pi_1_6() -> RealPi:
    """The current pi."""
    return real_pi("1.6.0")


@pytest.fixture(scope="session")
def pi_0_73() -> RealPi:
    """The last pi under its former package name."""
    return real_pi("0.73.1")


@pytest.fixture(params=["pi_1_6", "pi_0_73"])
def pi(request: pytest.FixtureRequest) -> RealPi:
    """Each of the two."""
    found: RealPi = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A scripted model endpoint."""
    server = serve()
    yield server
    server.close()


@pytest.fixture
def pi_agent_dir(tmp_path: Path, server: ModelServer) -> Path:
    """An agent directory whose providers are the endpoint, over each protocol."""
    directory = tmp_path / "agent"
    configure(directory, server.url)
    return directory


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory that threads work in."""
    directory = tmp_path / "project"
    directory.mkdir()
    return directory
