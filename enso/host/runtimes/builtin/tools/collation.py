"""The order of names for people, as JavaScript's ``localeCompare`` has it for names of files.

Marks come before digits, digits before letters, and a letter with an accent right after the one
without. Source: the root collation of Unicode (CLDR), as far as names of files show it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

_MARKS: Final = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_ORDER: Final = {char: at for at, char in enumerate(f"\t\n\v\f\r {_MARKS}0123456789")}


def name_order(name: str) -> tuple[tuple[tuple[int, str], ...], str, str]:
    """A key to sort names by; large and small letters are the same."""
    small = unicodedata.normalize("NFD", name.casefold())
    plain = (char for char in small if not _is_accent(char))
    return tuple(_weight(char) for char in plain), small, name


@lru_cache(maxsize=4096)
def _is_accent(char: str) -> bool:
    return unicodedata.combining(char) != 0


@lru_cache(maxsize=4096)
def _weight(char: str) -> tuple[int, str]:
    known = _ORDER.get(char)
    if known is not None:
        return known, ""
    return (len(_ORDER) if not char.isalpha() else len(_ORDER) + 1), char
