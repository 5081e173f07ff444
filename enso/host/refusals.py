"""A provider's error text to a refusal: who, which model, of what class, and its own sentence.

Owns the reading of stored ``errorMessage`` texts: the shapes that pi's provider clients write
(``401: {…}``, ``529 {…}``, ``502 <html>…``, ``Connection error.: …``) and which sentence in
them is the provider's own. Knows nothing of sessions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from enso.host.json_lines import MalformedLine, clean_text, parse_line
from enso.host.refusal_classes import classify
from enso.transcript import Refusal

LONGEST_REASON: Final = 600
NO_REASON: Final = "no reason given"

_LONGEST_READ: Final = 200_000
_WORDS: Final = 4_000  # as many characters are searched for words that tell the class
_STATUS = re.compile(
    r"(?:Error:\s*)?(?:HTTP\s+|[\w .-]{1,60}?\berror \()?([1-5]\d\d)(?:\)?:\s*|\)|(?=\s|$)\s*)",
    re.IGNORECASE,
)
_STATUS_INSIDE = re.compile(
    r"(?:\bstatus(?:[ _-]?code)?\b|\bHTTP\b|\berror code\b)\W{0,4}([45]\d\d)\b", re.IGNORECASE
)
_NO_BODY = re.compile(r"status code \(no body\)\s*", re.IGNORECASE)
_PREFIXES = re.compile(
    r"(?:Connection error\.?:\s*|Provider returned error\s*[:\n]\s*|terminated:\s*|Error:\s+"
    r"|(?:event: error\s+)?data:\s*(?=\{))",
    re.IGNORECASE,
)
_LIKE_JSON = re.compile(r"\{\s*(?:[\"']|\}|$)|\[\s*[\[{\"]")
_SENTENCE_IN_JSON = re.compile(
    r"""(["'])(?:message|msg|detail|error_description|error)\1\s*:\s*"""
    r"""(?:"((?:[^"\\]|\\.)*)|'((?:[^'\\]|\\.)*))""",
    re.DOTALL,
)
_CUT = re.compile(r"\s*(?:\.\.\.|…)?\s*\[truncated \d+ chars\]\s*$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


def read_refusal(*, provider_name: str, model: str, error_message: str) -> Refusal:
    """The refusal that a stored error text means; any text gives one.

    The reason is the provider's own sentence: one line of plain text, at most ``LONGEST_REASON``
    characters, never raw JSON or HTML.
    """
    read = _read(error_message[:_LONGEST_READ])
    return Refusal(
        provider=provider_name,
        model=model,
        refusal_class=classify(read.status, read.words),
        status=read.status,
        reason=_one_line(read.reason) or NO_REASON,
    )


class _Error(NamedTuple):
    """What an error text says: its status, its sentence, and every word that may tell its class."""

    status: int | None
    reason: str
    words: str


def _read(text: str) -> _Error:
    """Take the text apart: the status in front, then JSON, HTML or plain words."""
    status, rest = _status_in_front(text.strip())
    if rest.startswith("<") and _is_page(rest):
        return _Error(status=status, reason=_without_html(rest), words=text[:_WORDS])
    body = _json_in(rest)
    if body is not None:
        sentence = _sentence_of(body) or _before_json(rest)
        status = status if status is not None else _status_of(body)
        codes = " ".join(_codes_of(body))
        return _Error(status=status, reason=sentence, words=f"{codes} {sentence} {text[:200]}")
    if status is None and (inside := _STATUS_INSIDE.search(rest)):
        status = int(inside.group(1))
    if _LIKE_JSON.search(rest):
        reason = _sentence_in_fragment(rest) or _before_json(rest)
    else:
        reason = _without_html(rest)
    return _Error(status=status, reason=reason, words=f"{text[:_WORDS]} {reason}")


def _status_in_front(text: str) -> tuple[int | None, str]:
    """The status that a text begins with, and the text without it and without set phrases."""
    status: int | None = None
    while (match := _STATUS.match(text)) and (status in (None, int(match.group(1)))):
        status, text = int(match.group(1)), text[match.end() :]
    text = _NO_BODY.sub("", text, count=1)
    while match := _PREFIXES.match(text):
        text = text[match.end() :]
    return status, text


# -- JSON bodies ----------------------------------------------------------------------------------


def _json_in(text: str) -> Any:
    """The JSON object or list that the text is or ends in; ``None`` without one."""
    start = min((at for at in (text.find("{"), text.find("[{")) if at >= 0), default=-1)
    if start < 0:
        return None
    end = max(text.rfind("}"), text.rfind("]")) + 1
    try:
        value = parse_line(text[start:end].encode("utf-8", "replace"))
    except MalformedLine:
        return None
    return cast("Any", value) if isinstance(value, (dict, list)) and value else None


def _before_json(text: str) -> str:
    """The words before JSON that says nothing."""
    match = _LIKE_JSON.search(text)
    return text[: match.start()].rstrip(" :\n\t") if match else text


def _sentence_in_fragment(text: str) -> str:
    """The sentence in JSON that is cut off or otherwise broken, or in another language's like."""
    found = [match.group(2) or match.group(3) or "" for match in _SENTENCE_IN_JSON.finditer(text)]
    said = [_unescaped(_CUT.sub("", sentence)) for sentence in found if sentence.strip()]
    return next((sentence for sentence in said if not _LIKE_JSON.match(sentence.strip())), "")


def _unescaped(text: str) -> str:
    """A piece of a JSON string as text; an escape that was cut off is left out."""
    whole = re.sub(r"\\(?:u[0-9a-fA-F]{0,3})?$", "", text).replace("\\'", "'")
    try:
        value = parse_line(f'"{whole}"'.encode("utf-8", "replace"))
    except MalformedLine:
        return whole.replace("\\", "")
    return value if isinstance(value, str) else whole


def _objects(body: Any, depth: int = 8) -> Iterator[Mapping[str, Any]]:
    """The objects of a body that may describe the error, the inner ones first.

    Inner bodies may stand as text: a proxy quotes the body it was given.
    """
    if depth == 0:
        return
    if isinstance(body, str) and body.lstrip().startswith(("{", "[")):
        inner = _json_in(body)
        if inner is not None:
            yield from _objects(inner, depth - 1)
    elif isinstance(body, list):
        for item in cast("list[Any]", body)[:8]:
            yield from _objects(item, depth - 1)
    elif isinstance(body, dict):
        stored = cast("dict[str, Any]", body)
        for key in (
            "error",
            "errors",
            "detail",
            "response",
            "metadata",
            "raw",
            "message",
            "details",
        ):
            if key in stored:
                yield from _objects(stored[key], depth - 1)
        yield stored


def _sentence_of(body: Any) -> str:
    """The sentence for a person in a body: the innermost message, or what stands in its place."""
    for stored in _objects(body):
        for key in ("message", "msg", "error_message", "detail", "error_description", "title"):
            value = stored.get(key)
            if isinstance(value, str) and value.strip() and _json_in(value) is None:
                return _with_place(stored, _without_html(value))
    for stored in _objects(body):
        for key in ("error", "reason", "code", "type", "status"):
            value = stored.get(key)
            if isinstance(value, str) and value.strip():
                return value
    return ""


def _with_place(stored: Mapping[str, Any], sentence: str) -> str:
    """The sentence with the field it is about, as validation errors name it (``loc``)."""
    place = stored.get("loc")
    if not isinstance(place, list):
        return sentence
    named = ".".join(str(part) for part in cast("list[Any]", place) if part != "body")
    return f"{named}: {sentence}" if named else sentence


def _status_of(body: Any) -> int | None:
    for stored in _objects(body):
        for key in ("status", "status_code", "statusCode", "code"):
            value = stored.get(key)
            if isinstance(value, str) and value.isascii() and value.isdigit():
                value = int(value[:4])
            if isinstance(value, int) and 400 <= value <= 599:
                return value
    return None


def _codes_of(body: Any) -> Iterator[str]:
    """The words by which programs tell errors apart."""
    for stored in _objects(body):
        for key in ("type", "code", "status", "reason", "error", "param"):
            value = stored.get(key)
            if isinstance(value, str):
                yield value[:200]


# -- text -----------------------------------------------------------------------------------------


def _is_page(text: str) -> bool:
    from enso.host.refusal_pages import is_page  # noqa: PLC0415 - few errors hold a tag

    return is_page(text)


def _without_html(text: str) -> str:
    """The text; where it holds an HTML page, what that says."""
    if "<" not in text:
        return text
    from enso.host.refusal_pages import holds_page, page_words  # noqa: PLC0415 - as above

    if not holds_page(text):
        return text
    words = ""
    for words in page_words(text):
        if _one_line(words):
            break
    return words


def _one_line(text: str) -> str:
    """The text on one line, without control characters, cut at ``LONGEST_REASON``."""
    line = " ".join(_CONTROL.sub(" ", clean_text(text)).split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1].rstrip() + "…"
