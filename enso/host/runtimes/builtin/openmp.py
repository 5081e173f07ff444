"""GNU OpenMP for the bundled model's engine, on a machine that has none of its own.

The engine's wheel expects ``libgomp.so.1`` from the system, where a bare Debian does not have it
(the package ``libgomp1``). The extra ``local`` therefore installs a package whose wheel carries a
copy of that library, under a name that only that package finds. Lent is that copy, under the name
that is looked for, for as long as a process starts. What the engine does with it is not known here.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Generator
from importlib import metadata
from pathlib import Path
from typing import Final

LIBRARY: Final = "libgomp.so.1"
CARRIER: Final = "pykdtree"
"""The smallest package known to carry the library; nothing else of it is used."""

_SEARCH_PATH: Final = "LD_LIBRARY_PATH"


def is_installed() -> bool:
    """Whether a process finds the library by itself; true where the engine needs none."""
    if sys.platform != "linux":
        return True
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


def carried_library() -> Path | None:
    """The copy that the carrier brought; ``None`` without one."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        for file in metadata.files(CARRIER) or ():
            if file.name.startswith("libgomp"):
                return Path(str(file.locate())).resolve()
    return None


@contextlib.contextmanager
def lent(library: Path) -> Generator[dict[str, str]]:
    """The environment in which a process finds ``library`` by the name that is looked for.

    To be held until the process has loaded it; a library that is loaded stays.
    """
    with tempfile.TemporaryDirectory(prefix="enso-openmp-") as directory:
        (Path(directory) / LIBRARY).symlink_to(library)
        places = [directory, os.environ.get(_SEARCH_PATH, "")]
        yield {**os.environ, _SEARCH_PATH: os.pathsep.join(filter(None, places))}


@contextlib.contextmanager
def engine_environment() -> Generator[dict[str, str]]:
    """The environment to start the engine in: this process's, with the library if it lacks it."""
    library = None if is_installed() else carried_library()
    if library is None:
        yield dict(os.environ)
        return
    with lent(library) as environment:
        yield environment
