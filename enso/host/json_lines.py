"""One line of a JSONL file: bytes to a value and back, with the rules of JavaScript's ``JSON``.

Session files are written by ``JSON.stringify`` and read by ``JSON.parse`` elsewhere, so a line is
malformed here exactly when it is malformed there. Owns the reading of hostile JSON (lone
surrogates, numbers without bounds, nesting without bounds, bytes that are no UTF-8) and the plain
values that may leave the host. Knows nothing of sessions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from json import decoder
from typing import Any, Final, cast

import orjson

MAX_DEPTH: Final = 96
"""How deep the values nest that leave the host; what lies deeper is read, and left out."""

_BLANK: Final = " \t\r\n\v\f\xa0\ufeff"  # what JavaScript's trim takes, as far as it is met
_scanstring = cast("Callable[[str, int, bool], tuple[str, int]]", vars(decoder)["scanstring"])
_LONGEST_INTEGER: Final = 20  # digits and sign of 64 bits
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(
    r"[ \t\n\r]*(?:(?P<mark>[{}\[\],:])|(?P<quote>\")"
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>true|false|null))"
)
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


class MalformedLine(ValueError):
    """The line holds something that ``JSON.parse`` refuses."""


def is_blank(line: bytes) -> bool:
    """Whether a line holds nothing but white space: no damage, and no entry."""
    return not line.strip() or not line.decode("utf-8", "replace").strip(_BLANK)


def parse_line(line: bytes) -> Any:
    """The value of one line, as ``JSON.parse`` gives it; raises ``MalformedLine``.

    Strings may hold lone surrogates, and numbers may be infinite: ``plain`` makes both harmless.
    Bytes that are no UTF-8 become U+FFFD. Never raises ``RecursionError``.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return _parse_hostile(line.decode("utf-8", "replace"))


def dump_line(value: Mapping[str, Any]) -> bytes:
    """One line as ``JSON.stringify`` writes it, with its newline: no blanks, raw Unicode.

    Lone surrogates are escaped and numbers without a finite value are null, as there. Raises
    ``ValueError`` for what no JSON line can hold (nesting without bounds, foreign types).
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except (TypeError, orjson.JSONEncodeError):
        return _dump_hostile(value)


def clean_text(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD, so that it can be encoded."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A JSON value that any encoder takes: clean text, finite numbers, bounded depth.

    An infinite number and a container below ``depth`` become null.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {clean_text(str(k)): plain(v, depth - 1) for k, v in items} if depth > 0 else None
    if isinstance(value, list):
        return [plain(v, depth - 1) for v in cast("list[Any]", value)] if depth > 0 else None
    return value


# -- reading what the fast parser refuses ---------------------------------------------------------


def _number(text: str) -> int | float:
    """A number as JavaScript holds it, and exact where it fits 64 bits."""
    if len(text) <= _LONGEST_INTEGER and text.lstrip("-").isdigit():
        exact = int(text)
        if -(2**63) <= exact < 2**64:
            return exact
    return float(text)


def _refuse_constant(name: str) -> Any:
    """``NaN`` and ``Infinity`` are words of Python's reader, and no JSON."""
    raise MalformedLine(name)


def _parse_hostile(text: str) -> Any:
    """Read with the standard library, and without recursion where its own runs out."""
    try:
        return _bounded(json.loads(text, parse_int=_number, parse_constant=_refuse_constant))
    except RecursionError:
        return _DeepReader(text).read()
    except ValueError as error:
        raise MalformedLine(str(error)) from None


_Container = dict[str, Any] | list[Any]


def _bounded(value: Any) -> Any:
    """The value with every container below ``MAX_DEPTH`` emptied: how deep the standard library
    reads depends on the Python that runs."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [item for container in level for item in _items(container)]
    for container in level:
        if isinstance(container, (dict, list)):
            cast("_Container", container).clear()
    return value


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


class _DeepReader:
    """Reads JSON with a stack of its own, so that nesting costs memory and never the call stack."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._stack: list[_Container] = []
        self._keys: list[str] = []

    def read(self) -> Any:
        """The one value of the text; raises ``MalformedLine``."""
        value = self._value(self._next())
        while self._stack:
            value = self._step()
        if self._text[self._at :].strip(" \t\n\r"):
            raise MalformedLine("more than one value")
        return value

    def _next(self) -> str:
        """The next token: a mark, a quote, a number or a word."""
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise MalformedLine(f"unexpected text at {self._at}")
        self._at = match.end()
        return match.group().lstrip(" \t\n\r")

    def _value(self, mark: str) -> Any:
        """A whole scalar; or the container that ``mark`` opens, which is now on the stack."""
        if mark in {"{", "["}:
            opened: _Container = {} if mark == "{" else []
            self._stack.append(opened)
            self._keys.append("")
            return opened
        if mark == '"':
            return self._string()
        if mark in _WORDS:
            return _WORDS[mark]
        if mark in "}],:":
            raise MalformedLine(f"unexpected {mark} at {self._at}")
        return _number(mark)

    def _string(self) -> str:
        try:
            text, self._at = _scanstring(self._text, self._at, True)
        except ValueError as error:
            raise MalformedLine(str(error)) from None
        return text

    def _step(self) -> Any:
        """Read one member of the innermost container, or its end; returns that container."""
        container = self._stack[-1]
        mark = self._next()
        closing = "}" if isinstance(container, dict) else "]"
        if mark == closing:
            return self._close()
        if self._keys[-1]:
            if mark != ",":
                raise MalformedLine(f"no comma at {self._at}")
            mark = self._next()
        self._member(container, mark)
        return container

    def _close(self) -> Any:
        self._keys.pop()
        return self._stack.pop()

    def _member(self, container: _Container, mark: str) -> None:
        """Read one member into its container, which stays empty when it lies too deep."""
        depth = len(self._stack)
        key = ""
        if isinstance(container, dict):
            if mark != '"':
                raise MalformedLine(f"no key at {self._at}")
            key = self._string()
            if self._next() != ":":
                raise MalformedLine(f"no colon at {self._at}")
            mark = self._next()
        self._keys[depth - 1] = "seen"
        value = self._value(mark)
        if depth > MAX_DEPTH:  # this container is empty in the end
            return
        if isinstance(container, dict):
            container[key] = value
        else:
            container.append(value)


# -- writing what the fast writer refuses ---------------------------------------------------------


def _dump_hostile(value: Mapping[str, Any]) -> bytes:
    """Write with the standard library: any text, integers of any size."""
    try:
        text = json.dumps(
            plain_numbers(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )
    except (TypeError, RecursionError) as error:
        raise ValueError(f"this cannot be written as JSON: {error}") from None
    escaped = _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    return escaped.encode() + b"\n"


def plain_numbers(value: Any) -> Any:
    """The value with null in place of every number that is not finite; text is left as it is."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {k: plain_numbers(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain_numbers(v) for v in cast("list[Any]", value)]
    return value
