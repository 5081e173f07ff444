"""The wheel: what is in it, and that it serves where there is no checkout."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.packaging.trees import ROOT, VENDOR, Tree, tracked_files
from tests.server_process import ServerProcess

INSIDE = {"templates": "enso/_templates", "static": "enso/_static", "enso": "enso"}
VENDORED = ("htmx.min.js", "hx-ws.min.js", "vendored.json")


def test_the_wheel_holds_the_package_its_templates_and_its_static_files_and_nothing_else(
    wheel: Path,
) -> None:
    """Every tracked file that the server needs is in the wheel; no test, no document, no stray."""
    expected = {f"{INSIDE['static']}/{VENDOR.name}/{name}" for name in VENDORED}
    for file in tracked_files():
        top, *rest = file.parts
        if top in INSIDE:
            expected.add("/".join((INSIDE[top], *rest)))
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == expected


def test_the_wheel_carries_its_license(wheel: Path) -> None:
    """Who gets the wheel gets the terms."""
    (license_file,) = [name for name in zipfile.ZipFile(wheel).namelist() if "LICENSE" in name]
    assert zipfile.ZipFile(wheel).read(license_file).decode() == (ROOT / "LICENSE").read_text()


def test_an_sdist_builds_the_same_wheel_without_a_network(
    vendored_tree: Tree, wheel: Path, no_network: Mapping[str, str], tmp_path: Path
) -> None:
    """The source distribution carries the fetched scripts, so nothing is fetched from it."""
    sdist, unpacked = vendored_tree.build("sdist", no_network), tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.run(["tar", "--extract", "--file", sdist, "--directory", unpacked], check=True)
    (root,) = unpacked.iterdir()
    built = Tree(root).build("wheel", no_network)
    assert zipfile.ZipFile(built).namelist() == zipfile.ZipFile(wheel).namelist()


def test_an_installed_wheel_serves_the_page_and_its_files_from_elsewhere(
    wheel: Path, tmp_path: Path
) -> None:
    """A wheel in an environment of its own serves the page, and every file the page asks for."""
    python = _environment_with(wheel, tmp_path / "environment")
    with _serving(tmp_path, cwd=tmp_path, command=(str(python), "-m", "enso")) as server:
        page = _get(f"{server.url}/")
        links = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
        assert any("scripts.js" in link for link in links)
        assert "htmx" in _get(next(f"{server.url}{one}" for one in links if "scripts.js" in one))
        assert any(".css" in link for link in links)
        assert all(_get(f"{server.url}{link}") for link in links)


def test_the_checkout_serves_the_page_with_the_readmes_command(tmp_path: Path) -> None:
    """``python app.py`` in a checkout says where it is, and the page is there."""
    with _serving(tmp_path, cwd=ROOT, command=(sys.executable, "app.py")) as server:
        assert "<title>" in _get(f"{server.url}/")
        assert f"Enso is at {server.url}/\n" in server.output


def test_an_installed_wheel_is_the_one_that_runs(wheel: Path, tmp_path: Path) -> None:
    """The environment of these tests does not lend the wheel its templates or its code."""
    python = _environment_with(wheel, tmp_path / "environment")
    code = "import enso.server.resources as r; print(r.template_dir(), r.static_dir())"
    found = subprocess.run(
        [str(python), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    places = found.stdout.split()
    assert len(places) == 2
    assert all(Path(place).is_relative_to(tmp_path / "environment") for place in places)


def _environment_with(wheel: Path, directory: Path) -> Path:
    """Unpack the wheel into a new environment that borrows the libraries of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    python = directory / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site_packages = directory / "lib" / version / "site-packages"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (site_packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def _serving(place: Path, *, cwd: Path, command: Sequence[str]) -> ServerProcess:
    """Start a server, from the directory ``cwd``, over an empty store and one project."""
    (place / "project").mkdir()
    return ServerProcess(
        agent_dir=place / "agent", projects=[place / "project"], cwd=cwd, command=command
    )


def _get(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        assert answer.status == 200
        return answer.read().decode()
