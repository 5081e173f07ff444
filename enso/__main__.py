"""``enso`` and ``python -m enso``: what ``python app.py`` is in a checkout."""

from __future__ import annotations

import sys

from enso.cli import main
from enso.composition import build_readings, build_server, check_runtime


def run() -> int:
    """Run the command line; returns the exit code."""
    return main(build_server, readings=build_readings, check=check_runtime)


if __name__ == "__main__":
    sys.exit(run())
