"""Characters that a screen would swallow, or use to turn text around, spelled out.

What an agent did, or wants to do, must read as what it is: a mark of direction in a command would
show another one.
"""

from __future__ import annotations

import re

# Controls but newline and tab; marks that turn text around; what has no width.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """``text`` with every character that would not be seen as it is spelled out: ``⟨U+202E⟩``."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)
