"""A command's output as a terminal would leave it standing: no colours, no overwritten lines.

Knows the control sequences of ECMA-48 well enough to take them out, and what a carriage return
does. What is stored stays as it is; only what is shown passes here.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|[PX^_][^\x1b]*(?:\x1b\\)?"  # strings for the terminal
    r"|[ -/]*[0-~])?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def terminal_text(text: str) -> str:
    """``text`` without control sequences; of a line that was written over, what was written last.

    Takes time in proportion to the text.
    """
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
        text = "\n".join(lines)
    return _CONTROLS.sub("", text)
