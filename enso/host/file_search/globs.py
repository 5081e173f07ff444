"""Glob patterns of paths, as ripgrep and fd read them.

``*`` and ``?`` stay within a name, ``**`` as a whole name stands for any directories, ``{a,b}`` for
either, ``[a-z]`` and ``[!a-z]`` for a character, and a
backslash takes the meaning from what follows.
Source: the crate globset 0.4 with ``literal_separator``.
"""

from __future__ import annotations

import re
from typing import Final

_ONE: Final = "[^/]"
_MANY: Final = "[^/]*"


class BadGlob(ValueError):
    """The pattern is none: ``str()`` says why."""


def compile_glob(pattern: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """A regular expression for whole paths; raises ``BadGlob``."""
    source = _Translation(pattern).source()
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    try:
        return re.compile(rf"(?:{source})\Z", flags)
    except re.error as error:
        raise BadGlob(f"error parsing glob '{pattern}': {error.msg}") from error


class _Translation:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def source(self) -> str:
        """The regular expression of the whole pattern."""
        parts: list[str] = []
        while self._at < len(self._pattern):
            parts.append(self._next())
        if self._depth:
            raise self._bad("unclosed alternate group; missing '}'")
        return "".join(parts)

    def _next(self) -> str:
        char = self._take()
        match char:
            case "?":
                return _ONE
            case "*":
                return self._stars()
            case "[":
                return self._class()
            case "{":
                self._depth += 1
                return "(?:"
            case "}" if self._depth:
                self._depth -= 1
                return ")"
            case "}":
                raise self._bad("unopened alternate group; missing '{'")
            case "," if self._depth:
                return "|"
            case "\\":
                return re.escape(self._take() or "\\")
            case _:
                return re.escape(char)

    def _take(self) -> str:
        char = self._pattern[self._at : self._at + 1]
        self._at += 1
        return char

    def _stars(self) -> str:
        start = self._at - 1
        while self._pattern[self._at : self._at + 1] == "*":
            self._at += 1
        before = self._pattern[start - 1 : start] if start else ""
        after = self._pattern[self._at : self._at + 1]
        whole = self._at - start == 2 and before in {"", "/"} and after in {"", "/"}
        if not whole:
            return _MANY
        if after:  # any directories, or none
            self._at += 1
            return "(?:.*/)?"
        return ".*" if not before else ".+"

    def _class(self) -> str:
        negated = self._pattern[self._at : self._at + 1] in {"!", "^"}
        start = self._at + (1 if negated else 0)
        end = self._pattern.find("]", start + 1)
        if end == -1:
            raise self._bad("unclosed character class; missing ']'")
        self._at = end + 1
        members = "".join(_member(char) for char in self._pattern[start:end])
        return f"(?!/)[{'^' if negated else ''}{members}]"

    def _bad(self, why: str) -> BadGlob:
        return BadGlob(f"error parsing glob '{self._pattern}': {why}")


def _member(char: str) -> str:
    return char if char == "-" else re.escape(char)
