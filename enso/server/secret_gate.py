r"""Which lines must be read for secrets, told by their bytes: nearly all lines are let by unread.

Owns no shape of its own: a line passes only where no shape of ``enso.server.secret_shapes`` and no
known key can be in any text of it. What JSON writes of a text is the text itself but for escapes: a
printable letter or a slash that is spelled by one (``\u0073``, ``\/``) has its line read, and the
blanks that a shape allows may be spelled by others. What an image is (base64) is not looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

_IMAGE: Final = re.compile(rb'"data":"[A-Za-z0-9+/]{1000,}={0,2}"')
_LONG: Final = 4096
_SPELLED: Final = re.compile(rb"\\u00[2-7]")

_PLAIN: Final = re.compile(r"[ !#-.0-\[\]-~]+")  # what JSON never spells in another way

_SPELT: Final = rb"\\u[0-9a-fA-F]{4}"
_BLANKS: Final = rb"(?:[\s\\\"'\x80-\xff]|\\[nrtfbv]|%b)*" % _SPELT
_IS: Final = _BLANKS + rb"[:=]" + _BLANKS
_VALUE: Final = _IS + rb"(?:[^\s\"'\\$<>{}()\[\],;]|%b){12}" % _SPELT

# Each begins with one letter that is seldom in text and quickly found.
_ISSUED: Final = (
    re.compile(
        rb"-(?:(?:(?<=sk-)|(?<=glpat-)|(?<=GOCSPX-)|(?<=xai-)|(?<=pypi-))[A-Za-z0-9_-]{20}"
        rb"|(?:(?<=xapp-)|(?<=xox[abeoprs]-))[A-Za-z0-9-]{10})"
    ),
    re.compile(
        rb"_(?:(?<=gh[pousr]_)[A-Za-z0-9]{36}|(?<=github_pat_)[A-Za-z0-9_]{60}"
        rb"|(?:(?<=gsk_)|(?<=hf_)|(?<=fw_)|(?<=npm_)|(?<=[rs]k_live_)|(?<=[rs]k_test_))"
        rb"[A-Za-z0-9]{20})"
    ),
    re.compile(
        rb"\.(?:(?:(?<=ya29\.)|(?<=SG\.))[A-Za-z0-9_-]{20}|eyJ[A-Za-z0-9_-]{10}|(?<=hooks\.)slack)"
    ),
    re.compile(rb"A(?:Iza[A-Za-z0-9_-]{35}|(?:KI|SI)A[A-Z0-9]{16})"),
)

_NAMED: Final = tuple(
    (name, re.compile(name + rest))
    for name, rest in (
        (b"PRIVATE KEY", b""),
        (b"://", rb"(?:[^\s:/@\"'\\]|%b){1,400}:(?:[^\s/@\"'\\]|%b){3,800}@" % (_SPELT, _SPELT)),
        (b"KEY", _VALUE),
        (b"TOKEN", _VALUE),
        (b"SECRET", _VALUE),
        (b"PASSW", rb"(?:OR)?D" + _VALUE),
        (b"CREDENTIAL", b"S?" + _VALUE),
    )
)
"""Words, and what a secret's frame has behind them."""

_NAMED_IN_ANY_CASE: Final = tuple(
    (name, re.compile(name + rest))
    for name, rest in (
        (b"authorization", _IS + rb"(?:bearer|basic|token)"),
        (b"bearer", _BLANKS + rb"[a-z0-9._~+/-]{20}"),
        (b"api-key", rb"(?:%b[a-z0-9._~+/=-]{8}|%b)" % (_IS, _VALUE)),
        (b"api_key", _VALUE),
        (b"apikey", _VALUE),
        (b"secret", rb"(?:[_-]?(?:access)?[_-]?key)?" + _VALUE),
        (b"passw", rb"(?:or)?d" + _VALUE),
    )
)
_TOKEN: Final = re.compile(
    rb"token(?:"
    + b"|".join(
        rb"(?<=%b%btoken)" % (whose, joined)
        for whose in (b"access", b"auth", b"refresh", b"session")
        for joined in (b"", b"_", b"-")
    )
    + rb")"
    + _VALUE
)


class SecretGate:
    """Tells lines that may hold a secret from those that cannot; ``known`` are keys to look for."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = [form for value in known for form in _spellings(value)]

    def holds(self, line: bytes) -> bool:
        """Whether a secret may be in any text of the line, which is JSON or plain text."""
        if len(line) > _LONG:
            line = _IMAGE.sub(b'""', line)
        return (
            any(form in line for form in self._known)
            or (b"\\u00" in line and _SPELLED.search(line) is not None)
            or b"\\/" in line
            or any(shape.search(line) is not None for shape in _ISSUED)
            or _is_named(line)
        )


def _is_named(line: bytes) -> bool:
    """Whether a name that a secret's value may stand behind is in the line."""
    for name, frame in _NAMED:
        if name in line and frame.search(line) is not None:
            return True
    lower = line.lower()
    for name, frame in _NAMED_IN_ANY_CASE:
        if name in lower and frame.search(lower) is not None:
            return True
    return _TOKEN.search(lower) is not None


def _spellings(value: str) -> set[bytes]:
    """What of a text is in a line that holds it, however often it was written as JSON in JSON."""
    plain = max(_PLAIN.findall(value), key=len, default="")
    if plain:
        return {plain.encode()}
    first = value[:1]
    return {first.encode("utf-8", "surrogatepass"), json.dumps(first)[2:7].encode()}
