"""Addresses that stand in a text as they are, which a person expects to click.

Only what begins with ``http://`` or ``https://`` is one: ``example.com`` may be the name of a file.
An address ends where linkify-it says, in rendered Markdown and in text as it was written alike.
What a hostile text can make this cost is bounded: that rule is asked a limited number of times,
about a limited number of characters each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from linkify_it import LinkifyIt  # pyright: ignore[reportMissingTypeStubs]
from markupsafe import Markup, escape

MAX_ADDRESSES: Final = 2_000
"""Addresses of one text beyond which others are text."""

MAX_ADDRESS: Final = 2_000
"""Characters beyond which an address is text."""

_BEGINS = re.compile(r"(?<![a-z0-9.+-])https?:(?=//)", re.IGNORECASE)
_RUN = re.compile(r"[^\s<>`]*")
_BEHIND = "*_~”’»…。，、；：！？）】」』"
"""Marks of emphasis, and what ends a clause in writing that puts no space behind it."""

_LINK = Markup('<a href="{0}" target="_blank" rel="noopener noreferrer nofollow">{0}</a>')


def _finder() -> Any:
    finder: Any = LinkifyIt()
    for scheme in ("ftp:", "//", "mailto:"):
        finder.add(scheme, None)
    return finder


_FINDER: Final = _finder()


def address_at(text: str, start: int, scheme: str) -> str:
    """The address that begins at ``start`` with ``scheme`` (``https:``); empty when it is none."""
    found = _RUN.match(text, start, min(len(text), start + MAX_ADDRESS + 1))
    run = found[0] if found else ""
    if len(run) > MAX_ADDRESS:
        return ""
    run = run.rstrip(_BEHIND)
    length: int = _FINDER.test_schema_at(run, scheme.lower(), len(scheme))
    return run[: len(scheme) + length].rstrip(_BEHIND) if length else ""


def _found(text: str) -> Iterator[tuple[int, str]]:
    """Where addresses begin, and what they are."""
    end = 0
    for number, begins in enumerate(_BEGINS.finditer(text)):
        if number == MAX_ADDRESSES:
            return
        if begins.start() < end:  # part of the one before
            continue
        address = address_at(text, begins.start(), begins[0])
        if address:
            end = begins.start() + len(address)
            yield begins.start(), address


def linked(text: str, *, goes_on: bool = False) -> Markup:
    """``text`` escaped, every character as it was written, its addresses as links.

    ``goes_on``: the text was cut off behind its last character, so an address that ends there may
    not be whole, and is text.
    """
    pieces: list[str] = []
    end = 0
    for start, address in _found(text):
        behind = start + len(address)
        if goes_on and behind == len(text):
            break
        pieces += (escape(text[end:start]), _LINK.format(address))
        end = behind
    return Markup("").join([*pieces, escape(text[end:])])
