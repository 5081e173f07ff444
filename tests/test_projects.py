"""The directories that are served, and what they are called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from enso.projects import Projects


def test_a_project_is_the_directory_as_it_was_given(tmp_path: Path) -> None:
    """Its id is the absolute path, its name the last part."""
    (project,) = Projects([tmp_path / "shop"]).all
    assert (project.id, project.name) == (str(tmp_path / "shop"), "shop")
    assert project.directory == tmp_path / "shop"


def test_a_relative_path_is_made_absolute() -> None:
    """Without its dots."""
    (project,) = Projects([Path("a/../b")]).all
    assert project.id == os.path.join(os.getcwd(), "b")  # noqa: PTH109, PTH118


def test_the_order_is_the_operators_and_each_directory_is_there_once(tmp_path: Path) -> None:
    """Given twice, or by another path to the same real one: the first counts."""
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    given = [tmp_path / "b", tmp_path / "a", tmp_path / "link", tmp_path / "a"]
    assert [project.name for project in Projects(given).all] == ["b", "a"]


def test_names_that_are_the_same_are_told_apart() -> None:
    """By the directory above; a root is called by its path."""
    projects = Projects([Path("/one/api"), Path("/two/api"), Path("/web"), Path("/")])
    assert [project.name for project in projects.all] == ["one/api", "two/api", "web", "/"]


def test_only_these_directories_are_served(tmp_path: Path) -> None:
    """Not what lies below them, and not what they lie in."""
    projects = Projects([tmp_path / "shop"])
    assert projects.serves(tmp_path / "shop")
    assert projects.serves(tmp_path / "other" / ".." / "shop")
    for other in (tmp_path, tmp_path / "shop" / "src", tmp_path / "shop2", Path("shop"), Path()):
        assert not projects.serves(other)


def test_links_are_followed_both_ways(tmp_path: Path) -> None:
    """Real paths are compared, whichever side holds the link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Projects([tmp_path / "link"]).serves(tmp_path / "real")
    assert Projects([tmp_path / "real"]).serves(tmp_path / "link")


def test_a_directory_that_is_gone_is_served_and_cannot_be_run_in(tmp_path: Path) -> None:
    """Its threads can be read, and not continued."""
    projects = Projects([tmp_path / "shop"])
    assert projects.serves(tmp_path / "shop")
    assert not projects.can_run_in(tmp_path / "shop")
    (tmp_path / "shop").write_text("")
    assert not projects.can_run_in(tmp_path / "shop")
    (tmp_path / "shop").unlink()
    (tmp_path / "shop").mkdir()
    assert projects.can_run_in(tmp_path / "shop")


def test_a_link_that_was_given_and_is_gone_is_still_served(tmp_path: Path) -> None:
    """Threads record the path that was given."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    projects = Projects([tmp_path / "link"])
    (tmp_path / "link").unlink()
    assert projects.serves(tmp_path / "link")


@pytest.mark.parametrize("path", ["/a\x00b", "/" + "x" * 10_000, "/\udcff"])
def test_what_can_be_no_path_is_not_served(path: str, tmp_path: Path) -> None:
    """And is no fault."""
    assert not Projects([tmp_path]).serves(Path(path))
    assert not Projects([tmp_path]).can_run_in(Path(path))


def test_a_project_is_found_by_its_id_alone(tmp_path: Path) -> None:
    """An id is looked up, never opened as a path."""
    projects = Projects([tmp_path / "shop"])
    assert projects.by_id(str(tmp_path / "shop")) == projects.all[0]
    assert projects.by_id(str(tmp_path / "x" / ".." / "shop")) is None
    assert projects.by_id("") is None
