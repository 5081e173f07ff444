"""Copies of the tracked files, so that builds and their faults stay out of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENDOR = Path("static/vendor")


def tracked_files() -> list[Path]:
    """The files that git tracks, relative to the checkout."""
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = [Path(name) for name in listing.stdout.split("\0") if name]
    return [name for name in names if (ROOT / name).is_file()]


@dataclass(frozen=True)
class Tree:
    """A copy of the project that a build may run in."""

    root: Path

    @classmethod
    def of_tracked_files(cls, root: Path, *, vendored: bool) -> Tree:
        """Copy what git tracks to ``root``; ``vendored`` says whether the fetched scripts too."""
        for name in tracked_files():
            if name.parts[0] not in {"tests", "benchmarks"}:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, root / name)
        if vendored:
            shutil.copytree(ROOT / VENDOR, root / VENDOR)
        return cls(root)

    def python(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """Run this Python in the tree; its output. Raises ``BuildFailed`` with what it said."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BuildFailed(done.stderr + done.stdout)
        return done.stdout

    def build(self, target: str, env: Mapping[str, str] | None = None) -> Path:
        """Build ``wheel`` or ``sdist``, in this environment; the file that was made."""
        self.python("-m", "hatchling", "build", "-t", target, "-d", "out", env=env)
        (made,) = (self.root / "out").glob("*.whl" if target == "wheel" else "*.tar.gz")
        return made

    def build_requirements(self, env: Mapping[str, str] | None = None) -> list[str]:
        """What the build asks an installer to bring, as the installer asks it."""
        code = "import hatchling.build as b; print(*b.get_requires_for_build_editable(), sep='\\n')"
        return self.python("-c", code, env=env).split()


class BuildFailed(Exception):
    """A build that said no; ``str()`` is what it printed."""
