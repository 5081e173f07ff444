"""A prompt template with its arguments put in their places. Source: pi 1.6.0.

``$1`` … are arguments, ``$@`` and ``$ARGUMENTS`` all of them, ``${1:-text}`` and ``${@:-text}``
have a text for when there is none, ``${@:2}`` and ``${@:2:1}`` are some of them. What is put in is
not looked through again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_PLACE: Final = re.compile(
    r"\$\{(?P<name>[0-9]+|ARGUMENTS|@):-(?P<without>[^}]*)\}"
    r"|\$\{@:(?P<first>[0-9]+)(?::(?P<count>[0-9]+))?\}"
    r"|\$(?P<plain>ARGUMENTS|@|[0-9]+)"
)
_ARGUMENT: Final = re.compile(
    r'"(?P<double>(?:\\"|[^"])*+)"(?P<after_double>\S*)'
    r"|'(?P<single>(?:\\'|[^'])*+)'(?P<after_single>\S*)"
    r"|(?P<plain>\S+)"
)
_MANY: Final = 9  # digits of a number of an argument that can be there


def expand_template(body: str, arguments: str) -> str:
    """The body of a template with what a person wrote behind its name."""
    given = split_arguments(arguments)
    return _PLACE.sub(lambda place: _put(place, given), body)


def split_arguments(text: str) -> list[str]:
    """The arguments in a text. Quotes at the beginning of one hold its blanks together.

    A quote that does not close is a character, and so is one within a word.
    """
    return [_argument(found) for found in _ARGUMENT.finditer(text)]


def _argument(found: re.Match[str]) -> str:
    if found["double"] is not None:
        return found["double"].replace('\\"', '"') + found["after_double"]
    if found["single"] is not None:
        return found["single"].replace("\\'", "'") + found["after_single"]
    return found["plain"]


def _put(place: re.Match[str], given: Sequence[str]) -> str:
    if place["first"] is not None:
        first = max(0, _number(place["first"]) - 1)
        last = None if place["count"] is None else first + _number(place["count"])
        return " ".join(given[first:last])
    if place["name"] is not None:
        return _named(place["name"], given) or place["without"]
    return _named(place["plain"], given)


def _named(name: str, given: Sequence[str]) -> str:
    if name in {"@", "ARGUMENTS"}:
        return " ".join(given)
    number = _number(name)
    return given[number - 1] if 1 <= number <= len(given) else ""


def _number(digits: str) -> int:
    return int(digits[:_MANY])
