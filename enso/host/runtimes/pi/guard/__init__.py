"""The extension that brings Enso's permission modes to a pi: loaded by its path, not imported.

``enso-guard.ts`` asks and remembers, ``rule.ts`` judges. The rule and the words are those of
``enso.host.permission_rules``, whose file both read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

EXTENSION: Final = Path(__file__).with_name("enso-guard.ts")
"""What ``pi --extension`` is given."""

MODE_COMMAND: Final = "enso-mode"
"""The slash command that changes the mode: ``/enso-mode edit``. It is not there without a guard."""

MODE_STATUS: Final = "enso-mode"
"""The key of the status that says the mode's label."""

OFF: Final = ("ENSO_PI_GUARD", "off")
"""The variable, and its value, that leave the guard out."""
