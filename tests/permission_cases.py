"""Calls that a permission mode allows, asks about or refuses: the same for every rule there is."""

from __future__ import annotations

from pathlib import Path

READING = ("read", "grep", "find", "ls")
WRITING = ("edit", "write")
OTHERS = ("bash", "powershell", "mcp__something", "")

INSIDE = [
    "src/a.py",
    "./new",
    "new/deep/file",
    "src/../b",
    "in/new",
    "@src/a.py",
    "src",
    ".gitignore",
]
OUTSIDE = [
    "../other/x",
    "/etc/hosts",
    "~/x",
    "out/x",
    "out/new/deep",
    "src/../../other/x",
    "in/../../x",
    "new/../../x",
    "..",
    "file:///etc/hosts",
    "\u00a0/../../x",
]
GUARDED = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".GIT/hooks/x",
    "src/.git",
    "hooks/pre-commit",
    "new/.git/hooks/x",
    ".pi/agent/models.json",
    ".pi/agent/extensions/x.ts",
    ".pi/agent",
]


def make_project(root: Path) -> Path:
    """A project with a repository, next to other directories, with links that lead out."""
    project = root / "project"
    for directory in (project / ".git" / "hooks", project / "src", root / "other"):
        directory.mkdir(parents=True)
    (project / "src" / "a.py").write_text("a")
    (project / "out").symlink_to("../other")
    (project / "in").symlink_to("src")
    (project / "hooks").symlink_to(".git/hooks")
    return project
