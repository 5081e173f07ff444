"""The library that the bundled model's engine needs, on a machine that lacks it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from enso.host.runtimes.builtin.openmp import carried_library, engine_environment, lent

LOAD = "import ctypes; ctypes.CDLL('libgomp.so.1'); print(open('/proc/self/maps').read())"


def test_the_extra_brings_a_copy_of_the_library() -> None:
    """What ``pip install -e '.[local]'`` installs holds the library, whatever the system has."""
    library = carried_library()
    assert library is not None
    assert library.is_file()


def test_a_process_finds_the_lent_library_and_nothing_stays_behind() -> None:
    """The copy is found by the name that the engine asks for; its place is gone afterwards."""
    library = carried_library()
    assert library is not None
    with lent(library) as environment:
        place = Path(environment["LD_LIBRARY_PATH"].split(os.pathsep)[0])
        loaded = subprocess.run(
            [sys.executable, "-c", LOAD],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    assert str(library) in loaded.stdout
    assert not place.exists()


def test_the_engines_environment_has_the_library() -> None:
    """From the system or lent: a process in it loads the library."""
    with engine_environment() as environment:
        loaded = subprocess.run([sys.executable, "-c", LOAD], env=environment, check=False)
    assert loaded.returncode == 0
