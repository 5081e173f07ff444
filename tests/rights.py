"""Commands that the permissions of files bind, whoever runs the tests."""

from __future__ import annotations

import os
from collections.abc import Sequence

SETPRIV = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def bound(command: Sequence[str]) -> list[str]:
    """The command, without root's right to read and write what is closed to everybody."""
    return [*SETPRIV, *command] if os.geteuid() == 0 else list(command)
