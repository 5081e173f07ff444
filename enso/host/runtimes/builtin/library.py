"""The modules that need the model library, imported by the first who needs them.

They take a second or more, and some 60 MB: a server that only shows pages never loads them.
"""

from __future__ import annotations

import gc
import os
from typing import Any, NamedTuple


class Library(NamedTuple):
    """The modules of ours that need the model library."""

    answer: Any
    errors: Any


_loaded: list[Library] = []


def loaded_library() -> Library | None:
    """The modules, if they are imported already; never blocks."""
    return _loaded[0] if _loaded else None


def load_library() -> Library:
    """Import them. Blocks; not for the event loop."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    from enso.host.runtimes.builtin import answer, provider_errors, request  # noqa: PLC0415

    assert request  # noqa: S101 - imported here so that it is not imported in the event loop
    library = Library(answer, provider_errors)
    _loaded[:] = [library]
    stays()
    return library


def stays() -> None:
    """Say that what was just imported stays: the collector does not walk it again.

    A hundred thousand objects of modules take it 0.1 s each time, in which nothing else goes on.
    """
    gc.freeze()
