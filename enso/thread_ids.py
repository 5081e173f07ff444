"""Thread ids: which are valid, how a new one is made, how a bad one is refused.

A thread's id IS its runtime's session id, so the rule is the runtime's (pi 1.6.0,
``assertValidSessionId``): letters, digits, ``.``, ``_`` and ``-``, a letter or digit at both ends.
Enso adds a length limit, because an id stands in URLs and, through the file name, on disk.
An id is a name to look up, never a piece of a path to open.
"""

from __future__ import annotations

import os
import re
import time
import uuid

MAX_THREAD_ID_LENGTH = 128

_VALID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def is_thread_id(text: object) -> bool:
    """Whether ``text`` may name a thread; anything but a well-formed string may not."""
    return (
        isinstance(text, str)
        and len(text) <= MAX_THREAD_ID_LENGTH
        and _VALID.fullmatch(text) is not None
    )


def new_thread_id() -> str:
    """A fresh id in the runtime's own form: a version 7 UUID, so that ids sort by creation."""
    milliseconds = time.time_ns() // 1_000_000
    random_bits = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & ((1 << 48) - 1)) << 80 | random_bits
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=value))


def refused_id_sentence(text: str) -> str:
    """What a person is told of an id that cannot name a thread; the text is cut, not trusted."""
    shown = text if len(text) <= 60 else f"{text[:57]}…"
    return (
        f"“{shown}” cannot be a thread id: an id has 1 to {MAX_THREAD_ID_LENGTH} letters, digits, "
        "dots, dashes or underscores, with a letter or digit at both ends."
    )
