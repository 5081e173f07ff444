"""Finding keys and tokens in what is handed on, and putting words in their place.

A secret is found by its value, where this server knows it (its keys, its token, its environment),
or by its shape (``enso.server.secret_shapes``). Lines of JSON are read, so that no escape hides
one; a line without a finding is handed on byte for byte. Says how many were found and where, and
never what.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from enso.server.secret_gate import SecretGate
from enso.server.secret_shapes import SHAPES

_NAME_OF_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
SHORTEST = 8
"""Characters below which a value that is known to be a key is too common to be looked for."""
LONG = 20
KEPT_PLACES = 20


@dataclass(slots=True)
class Findings:
    """What was found so far: how many of each kind, and the first places of each file."""

    kinds: Counter[str] = field(default_factory=Counter[str])
    places: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def total(self) -> int:
        """How many were found."""
        return self.kinds.total()

    def take(self, kinds: Iterable[str], file: str, place: str) -> None:
        """Note what was found at a place of a file."""
        found = list(kinds)
        if not found:
            return
        self.kinds.update(found)
        told = self.places.setdefault(file, [])
        if len(told) < KEPT_PLACES:
            told.append(place)


def is_worth_hiding(value: str) -> bool:
    """Whether a value that is meant to be a key is one: “ollama” or “none” are words."""
    if len(value) < SHORTEST:
        return False
    has_digit = any(letter.isdigit() for letter in value)
    return len(value) >= LONG or has_digit or not (value.islower() or value.isupper())


def environment_secrets(environment: Mapping[str, str]) -> Iterator[str]:
    """The values of variables that are called keys, tokens, secrets or passwords."""
    return (value for name, value in environment.items() if _NAME_OF_SECRET.search(name))


class Redactor:
    """Puts words in the place of secrets; with ``keep`` it only counts them.

    One for each thing that is handed on: ``findings`` is what it met so far.
    """

    def __init__(self, known: Iterable[str] = (), *, keep: bool = False) -> None:
        worth = {value for value in known if is_worth_hiding(value)}
        # The longest first: one may be a part of another.
        longest_first = sorted(worth, key=lambda value: (-len(value), value))
        self._known = [
            form
            for value in longest_first
            for form in sorted({value, json.dumps(value)[1:-1]}, key=lambda form: -len(form))
        ]
        self._gate = SecretGate(longest_first)
        self._keep = keep
        self.findings = Findings()

    def text(self, text: str, file: str, place: str = "") -> str:
        """``text`` without its secrets, which are noted as found at that place of the file."""
        clean, found = self._cleaned(text)
        self.findings.take(found, file, place)
        return text if self._keep else clean

    def value(self, value: Any, file: str, place: str = "") -> Any:
        """A JSON value without the secrets in its texts, names of fields among them."""
        if not self._gate.holds(json.dumps(value, ensure_ascii=False).encode(errors="replace")):
            return value
        found: list[str] = []
        clean = self._in_value(value, found)
        self.findings.take(found, file, place)
        return value if self._keep else clean

    def json_line(self, line: bytes, file: str, place: str) -> bytes:
        """A line of JSON without its secrets; as it was where it has none, or is no JSON at all.

        A line of which the bytes tell that it has none is not parsed.
        """
        if not self._gate.holds(line):
            return line
        try:
            value = _loaded(line)
        except (ValueError, RecursionError):
            text = line.decode("utf-8", "surrogateescape")
            return self.text(text, file, place).encode("utf-8", "surrogateescape")
        found: list[str] = []
        clean = self._in_value(value, found)
        self.findings.take(found, file, place)
        if not found or self._keep:
            return line
        return json.dumps(clean, separators=(",", ":")).encode() + line[len(line.rstrip(b"\r\n")) :]

    def _in_value(self, value: Any, found: list[str]) -> Any:
        if isinstance(value, str):
            clean, kinds = self._cleaned(value)
            found += kinds
            return clean
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value).items()
            return {
                self._in_value(name, found): self._in_field(name, item, found)
                for name, item in fields
            }
        if isinstance(value, list):
            return [self._in_value(item, found) for item in cast("list[Any]", value)]
        return value

    def _in_field(self, name: str, value: Any, found: list[str]) -> Any:
        """A field's value, which its name may give away: ``"password": "…"``."""
        clean = self._in_value(value, found)
        if not isinstance(clean, str) or clean != value or not _NAME_OF_SECRET.search(name):
            return clean
        told = f'{name}="{clean}"'
        redacted, kinds = self._cleaned(told)
        found += kinds
        return redacted[len(name) + 2 : -1] if kinds else clean

    def _cleaned(self, text: str) -> tuple[str, list[str]]:
        found: list[str] = []
        for form in self._known:
            if form in text:
                found += ["known key"] * text.count(form)
                text = text.replace(form, words_for("known key"))
        for shape in SHAPES:
            if any(hint in text for hint in shape.hints):
                text = shape.pattern.sub(_Replacement(shape.kind, found), text)
        return text, found


def words_for(kind: str) -> str:
    """What stands where a secret was."""
    return f"[redacted {kind}]"


class _Replacement:
    """Replaces the group ``secret`` of a match, or ``path``, and notes the kind."""

    def __init__(self, kind: str, found: list[str]) -> None:
        self._kind = kind
        self._found = found

    def __call__(self, match: re.Match[str]) -> str:
        groups = match.groupdict()
        name = "secret" if groups.get("secret") is not None else "path"
        start, end = match.span(name)
        whole, begin = match.group(), match.start()
        if "[redacted " in match.group(name):
            return whole
        self._found.append(self._kind)
        return whole[: start - begin] + words_for(self._kind) + whole[end - begin :]


def _loaded(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line)
