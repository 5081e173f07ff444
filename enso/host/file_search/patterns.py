"""Search patterns, as ripgrep reads them, for Python's ``re``.

Owns the differences between the two, as far as people meet them: what is written differently is
rewritten, and what ripgrep does not have is refused. Source: the crate regex 1.
"""

from __future__ import annotations

import re
from typing import Final

_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_TOKEN: Final = re.compile(
    r"\\[xuU]\{(?P<code>[0-9A-Fa-f]+)\}"
    r"|\\(?P<escaped>.)"
    r"|\[:(?P<named>[a-z]+):\]"
    r"|(?P<look>\(\?<?[=!])"
    r"|(?P<group>\(\?<)"
    r"|(?P<open>\[(?:\^?\])?)"
    r"|(?P<close>\])"
    r"|(?P<line>\n)",
    re.DOTALL,
)


class BadPattern(ValueError):
    """The pattern is none: ``str()`` says why, in ripgrep's form."""


def compile_pattern(pattern: str, *, literal: bool, ignore_case: bool) -> re.Pattern[str]:
    """A regular expression that finds lines in a text of many; raises ``BadPattern``."""
    source = re.escape(pattern) if literal else _Rewriting(pattern).source()
    if "\n" in pattern:
        raise BadPattern(r'the literal "\n" is not allowed in a regex')
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
    try:
        return re.compile(source, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise _bad(pattern, getattr(error, "msg", "the pattern is too large")) from error


class _Rewriting:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._in_set = False

    def source(self) -> str:
        """The pattern for Python."""
        return _TOKEN.sub(self._rewritten, self._pattern)

    def _rewritten(self, found: re.Match[str]) -> str:
        token = found.group()
        match found.lastgroup:
            case "code":
                return re.escape(chr(min(int(found["code"], 16), 0x10FFFF)))
            case "escaped":
                return self._escaped(found["escaped"])
            case "named":
                return _CLASSES.get(found["named"], token) if self._in_set else token
            case "look" if not self._in_set:
                raise _bad(
                    self._pattern,
                    "look-around, including look-ahead and look-behind, is not supported",
                )
            case "group" if not self._in_set:
                return "(?P<"
            case "open":
                return self._opened(token)
            case "close":
                self._in_set = False
                return token
            case _:
                return token

    def _escaped(self, char: str) -> str:
        if char == "z" and not self._in_set:
            return r"\Z"
        if char.isdecimal() and char != "0" and not self._in_set:
            raise _bad(self._pattern, "backreferences are not supported")
        return f"\\{char}" if char.isascii() else re.escape(char)

    def _opened(self, token: str) -> str:
        if not self._in_set:
            self._in_set = True
            return token
        self._in_set = not token.endswith("]")
        return f"\\{token}"  # Python warns of a set within a set


def _bad(pattern: str, why: str) -> BadPattern:
    return BadPattern(f"regex parse error:\n    {pattern}\nerror: {why}")
