"""Fixtures of the packaging tests: trees to build in, and the wheel that a tree gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.packaging.trees import Tree


@pytest.fixture
def fresh_tree(tmp_path: Path) -> Tree:
    """The tracked files alone, as a fresh clone has them."""
    return Tree.of_tracked_files(tmp_path / "fresh", vendored=False)


@pytest.fixture
def vendored_tree(tmp_path: Path) -> Tree:
    """The tracked files and the fetched scripts, as a checkout has them after set-up."""
    return Tree.of_tracked_files(tmp_path / "vendored", vendored=True)


@pytest.fixture
def no_npm(tmp_path: Path) -> Mapping[str, str]:
    """The environment of a machine whose PATH has no npm, and an npm cache that holds nothing."""
    (tmp_path / "no-programs").mkdir()
    return {"PATH": str(tmp_path / "no-programs"), "npm_config_cache": str(tmp_path / "npm-cache")}


@pytest.fixture
def no_network(no_npm: Mapping[str, str]) -> Mapping[str, str]:
    """The same, where nobody answers for the registry."""
    return {**no_npm, "npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    root = tmp_path_factory.mktemp("wheel")
    return Tree.of_tracked_files(root / "tree", vendored=True).build("wheel")
