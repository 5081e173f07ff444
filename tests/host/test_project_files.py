"""The files of a project behind ``@``: the best first, nothing that is ignored, in bounded time."""

from __future__ import annotations

from pathlib import Path

import pytest

from enso.host.project_files import fitting_files


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with sources, tests, something built, and a repository."""
    for name in (
        "orders.py",
        "shop/orders.py",
        "shop/order_lines.py",
        "shop/reorder.py",
        "tests/test_orders.py",
        "docs/ordering/index.md",
        "build/orders.py",
        ".git/orders",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / ".gitignore").write_text("build/\n")
    return tmp_path


def test_names_that_begin_so_come_first_and_short_paths_before_long_ones(project: Path) -> None:
    """A person who types the beginning of a name finds it at the top."""
    assert fitting_files(project, "ord", limit=20) == (
        "orders.py",
        "docs/ordering/",
        "shop/orders.py",
        "shop/order_lines.py",
        "shop/reorder.py",
        "tests/test_orders.py",
        "docs/ordering/index.md",
    )


def test_what_is_ignored_is_left_out(project: Path) -> None:
    """Neither what was built nor the repository's own files are offered."""
    found = fitting_files(project, "", limit=100)
    assert not any(path.startswith(("build", ".git/")) for path in found)
    assert "shop/" in found


def test_letters_in_order_are_enough_and_a_limit_is_kept(project: Path) -> None:
    """A few letters of the path find it; no more are given than asked for."""
    assert fitting_files(project, "shreo", limit=5) == ("shop/reorder.py",)
    assert len(fitting_files(project, "o", limit=3)) == 3
    assert fitting_files(project, "zzz", limit=3) == ()


def test_a_directory_that_is_gone_has_none(tmp_path: Path) -> None:
    """Nothing is raised for a project that was removed."""
    assert fitting_files(tmp_path / "gone", "x", limit=3) == ()
