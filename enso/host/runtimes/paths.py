"""The path that a model named, and the file that is meant by it. Source: pi 1.6.0.

A leading ``@`` (as people mention files) and ``~`` are understood, blanks of other kinds are plain
blanks, and anything relative is relative to the thread's directory. Looks at names; opens nothing.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from enso.host.json_lines import clean_text

_BLANKS: Final = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_NARROW_BLANK: Final = "\u202f"


class NoPath(ValueError):
    """No file can have this name: ``str()`` says why."""


def resolve_path(name: str, cwd: Path) -> Path:
    """The absolute path that ``name`` stands for; symlinks stay. Raises ``NoPath``."""
    if "\0" in name:
        raise NoPath("A path cannot hold a NUL character.")
    plain = _BLANKS.sub(" ", clean_text(name)).removeprefix("@")
    if plain == "~" or plain.startswith("~/"):
        plain = str(Path("~").expanduser()) + plain[1:]
    elif plain.startswith("file://"):
        plain = unquote(urlsplit(plain).path)
    joined = os.path.normpath(cwd / plain)
    return Path("/" + joined.lstrip("/"))  # POSIX keeps two slashes at the beginning


def resolve_path_to_read(name: str, cwd: Path) -> Path:
    """The same, of a file that is there: also under the names that macOS gives screenshots."""
    path = resolve_path(name, cwd)
    if os.path.lexists(path):
        return path
    return next((Path(other) for other in _spellings(str(path)) if Path(other).exists()), path)


def real_path(path: Path) -> Path:
    """The path with every symlink followed, as far as it exists."""
    return Path(os.path.realpath(path))


def _spellings(path: str) -> Iterator[str]:
    decomposed = unicodedata.normalize("NFD", path)
    yield re.sub(r" (AM|PM)\.", rf"{_NARROW_BLANK}\1.", path, flags=re.IGNORECASE)
    yield decomposed
    yield path.replace("'", "\u2019")
    yield decomposed.replace("'", "\u2019")
