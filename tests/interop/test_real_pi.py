"""The pi that the other tests here run is the one that is pinned, and it is never left out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from enso.host.runtimes.pi.program import Programs
from tests.interop.real_pi import HERE, NoPi, RealPi, installed_packages


def test_each_pinned_version_runs(pi: RealPi) -> None:
    """It says the version that it is named for; an older one says so on its error output."""
    done = subprocess.run(
        [*pi.command, "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout + done.stderr).strip() == pi.version


def test_enso_finds_out_each_version_and_speaks_its_protocol(pi: RealPi) -> None:
    """Wherever it says it."""
    program = Programs().ask(pi.command)
    assert program.version == pi.version
    assert program.protocol.settles is pi.version.startswith("1.")


def test_the_lock_pins_exact_versions_and_names_no_registry() -> None:
    """What is installed is decided by the lock alone, each package by its digest."""
    lock = json.loads((HERE / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages["node_modules/pi-1.6.0"]["version"] == "1.6.0"
    assert packages["node_modules/pi-0.73.1"]["version"] == "0.73.1"
    assert not any("resolved" in entry for entry in packages.values())
    assert all(
        entry["integrity"].startswith("sha512-")
        for entry in packages.values()
        if not entry.get("inBundle")
    )


def test_what_is_installed_is_kept_for_the_next_run(pi: RealPi) -> None:
    """Both versions share one directory, outside of the checkout, and none is installed twice."""
    assert pi.package.parent == installed_packages()
    assert not pi.package.is_relative_to(HERE.parent.parent)


def test_without_a_registry_it_fails_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing half installed is left behind, and nothing is skipped."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, value in {
        "cache": str(tmp_path / "npm"),
        "registry": "http://127.0.0.1:9/",
        "fetch_retries": "0",
    }.items():
        monkeypatch.setenv(f"npm_config_{name}", value)
    with pytest.raises(NoPi, match="could not install pi"):
        installed_packages()
    assert [path.name for path in (tmp_path / "enso-tests").iterdir()] == ["installing.lock"]
