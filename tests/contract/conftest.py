"""The stores that every suite of the contract runs over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.stores import FakeStore, FileStore, Store


@pytest.fixture(params=[FileStore, FakeStore], ids=["files", "fake"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with nothing in it."""
    made: Store = request.param(tmp_path)
    yield made
    made.host.close()
