"""What must not stand in the tree: traces of one machine, and addresses of registries."""

from __future__ import annotations

import re

from tests.packaging.trees import ROOT, tracked_files

MACHINE = re.compile(rb"(?<![\w.~-])/(?:root|work|Users)/|/tmp/\w{1,3}/")
REGISTRY = re.compile(rb"registry\.(?:npmjs|yarnpkg)\.|(?:files\.pythonhosted|pypi)\.org")


def test_no_tracked_file_names_a_path_of_one_machine() -> None:
    """A clone works anywhere: no file knows where it was written. Recorded sessions may."""
    ours = [name for name in tracked_files() if not name.as_posix().startswith("tests/data/")]
    assert [name for name in ours if MACHINE.search((ROOT / name).read_bytes())] == []


def test_no_tracked_file_names_a_registrys_host() -> None:
    """Where packages come from is the installer's configuration, never this project's."""
    assert [name for name in tracked_files() if REGISTRY.search((ROOT / name).read_bytes())] == []


def test_nothing_that_is_built_or_fetched_is_tracked() -> None:
    """The fetched scripts and the build's output stay out of git."""
    built = [name for name in tracked_files() if {"vendor", "node_modules"} & set(name.parts)]
    assert built == []
