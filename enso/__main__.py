"""``python -m enso``: what ``python app.py`` is in a checkout, for an installed Enso."""

from __future__ import annotations

import sys

from enso.cli import main
from enso.composition import build_server

if __name__ == "__main__":
    sys.exit(main(build_server))
