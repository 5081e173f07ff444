"""Start Enso: settings → host → server. ``python app.py --help`` lists the options."""

from __future__ import annotations

import sys

from enso.cli import main
from enso.composition import build_readings, build_server, check_runtime

if __name__ == "__main__":
    sys.exit(main(build_server, readings=build_readings, check=check_runtime))
