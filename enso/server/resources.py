"""Where the templates and the static files are: the one place that knows.

In a checkout (and an editable install) they stand beside the package, as ``templates/`` and
``static/``; a wheel carries them inside the package, because the top of ``site-packages`` is not
ours. What stands in them is not known here.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = _PACKAGE.parent


def template_dir() -> Path:
    """The directory of the page templates and partials; ``FileNotFoundError`` if it is gone."""
    return _find("templates")


def static_dir() -> Path:
    """The directory that is served under ``/static``; ``vendor/`` in it holds the fetched scripts.

    Raises ``FileNotFoundError`` if it is gone.
    """
    return _find("static")


def _find(name: str) -> Path:
    for directory in (_PACKAGE / f"_{name}", _CHECKOUT / name):
        if directory.is_dir():
            return directory
    raise FileNotFoundError(f"Enso's {name} are missing: neither in the package nor beside it.")
