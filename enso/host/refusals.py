"""A provider's error text to a refusal: who, which model, of what class, and its own sentence.

Owns the reading of stored ``errorMessage`` texts: the shapes that pi's provider clients write
(``401: {…}``, ``529 {…}``, ``502 <html>…``, ``Connection error.: …``) and what their words mean.
Knows nothing of sessions.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from enso.host.json_lines import MalformedLine, clean_text, parse_line
from enso.transcript import Refusal, RefusalClass

LONGEST_REASON: Final = 600
NO_REASON: Final = "no reason given"

_LONGEST_READ: Final = 200_000
_STATUS = re.compile(r"(?:Error:\s*)?(?:HTTP\s+)?([1-5]\d\d)(?=[:\s]|$):?\s*", re.IGNORECASE)
_STATUS_INSIDE = re.compile(
    r"(?:\bstatus(?:[ _-]?code)?\b|\bHTTP\b|\berror code\b)\W{0,4}([45]\d\d)\b", re.IGNORECASE
)
_NO_BODY = re.compile(r"status code \(no body\)\s*", re.IGNORECASE)
_PREFIXES = re.compile(
    r"(?:Connection error\.?:\s*|Provider returned error\s*[:\n]\s*|terminated:\s*|Error:\s+"
    r"|(?:event: error\s+)?data:\s*(?=\{))",
    re.IGNORECASE,
)
_HTML = re.compile(r"<(?:!doctype|html|head|body|title|center|h1|p|div)\b", re.IGNORECASE)
_HTML_TITLE = re.compile(r"<(title|h1)\b[^>]*>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
_HTML_HIDDEN = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|$)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
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
        refusal_class=_classify(read),
        status=read.status,
        reason=_one_line(read.reason) or NO_REASON,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Error:
    """What an error text says: its status, its sentence, and every word that may tell its class."""

    status: int | None
    reason: str
    words: str


def _read(text: str) -> _Error:
    """Take the text apart: the status in front, then JSON, HTML or plain words."""
    status, rest = _status_in_front(text.strip())
    rest = _NO_BODY.sub("", rest, count=1)
    while (stripped := _PREFIXES.sub("", rest, count=1) if _PREFIXES.match(rest) else rest) != rest:
        rest = stripped
    body = _json_in(rest)
    if body is not None:
        found, sentence = _status_of(body), _sentence_of(body)
        codes = " ".join(_codes_of(body))
        status = status if status is not None else found
        return _Error(status=status, reason=sentence, words=f"{codes} {sentence} {text[:200]}")
    if status is None and (inside := _STATUS_INSIDE.search(rest)):
        status = int(inside.group(1))
    reason = _html_sentence(rest) if _HTML.search(rest) else rest
    return _Error(status=status, reason=reason, words=f"{text[:4000]} {reason}")


def _status_in_front(text: str) -> tuple[int | None, str]:
    match = _STATUS.match(text)
    if match is None:
        return None, text
    return int(match.group(1)), text[match.end() :]


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
                return _with_place(stored, _html_sentence(value) if _HTML.search(value) else value)
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


def _html_sentence(text: str) -> str:
    """What an HTML page says: its title, else its first heading, else its words."""
    for match in _HTML_TITLE.finditer(text):
        words = _one_line(html.unescape(_TAG.sub(" ", match.group(2))))
        if words:
            return words
    return html.unescape(_TAG.sub(" ", _HTML_HIDDEN.sub(" ", text)))


def _one_line(text: str) -> str:
    """The text on one line, without control characters, cut at ``LONGEST_REASON``."""
    line = " ".join(_CONTROL.sub(" ", clean_text(text)).split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1].rstrip() + "…"


# -- classes --------------------------------------------------------------------------------------

_Rule = tuple[RefusalClass, re.Pattern[str]]


def _rule(refusal_class: RefusalClass, *patterns: str) -> _Rule:
    return refusal_class, re.compile("|".join(patterns), re.IGNORECASE)


_SAID_FIRST: Final[tuple[_Rule, ...]] = (
    _rule(
        "context length",
        r"context[_ -]?(?:length|window)",
        r"maximum (?:prompt|context|input) length",
        r"prompt is too long",
        r"(?:input|prompt|request|messages?)\b.{0,60}\btoo (?:long|many tokens)",
        r"input token count.{0,40}exceeds",
        r"(?:exceeds?|over|greater than|longer than)\b.{0,60}\b"
        r"(?:context|model's maximum|token limit|maximum (?:number of )?(?:input )?tokens)",
        r"reduce the length of the (?:messages|prompt|input)",
        r"request_too_large|model_context_window_exceeded|string_above_max_length",
        r"too many (?:input )?tokens in (?:the )?(?:prompt|request)",
    ),
    _rule(
        "content filter",
        r"content[_ -]?(?:filter|policy|management|moderation)",
        r"\b(?:flagged|blocked)\b.{0,60}\b(?:safety|policy|moderation|content)",
        r"\b(?:safety|prohibited_content|blocklist|recitation|spii)\b(?=\W|$).{0,40}"
        r"(?:finish|block|stop|filter|system|setting)?$",
        r"finish_?reason:?\W*(?:safety|refusal|recitation|prohibited_content|spii)",
        r"responsible ?ai|cyber_policy_violation|moderation_blocked",
    ),
    _rule(
        "quota",
        r"insufficient[_ ](?:quota|credits?|balance|funds)",
        r"exceeded your current quota",
        r"credit balance|out of credits?|not enough credits|requires more credits",
        r"billing[_ ](?:hard[_ ]limit|not[_ ]active|error)|payment[_ ]required",
        r"(?:monthly|usage|spend(?:ing)?) (?:usage )?(?:limit|cap) (?:reached|exceeded|has been)",
        r"quota[_ ]?exceeded|quota (?:is )?exhausted",
        r"account (?:is )?(?:suspended|not active|in arrears|overdue)",
    ),
    _rule(
        "model not found",
        r"model[_ ]not[_ ](?:found|exist)",
        r"\bmodels?\b.{0,120}\b(?:does not exist|do not exist|not found|is not available"
        r"|not supported|no longer available|has been (?:deprecated|retired|shut))",
        r"(?:no such|unknown|invalid|unsupported) model\b|not a valid model|no endpoints found",
        r"not_found_error\b.{0,20}\bmodel",
    ),
    _rule(
        "authentication",
        r"no api key|api key (?:is )?(?:missing|required|not (?:found|set))|missing api key",
        r"(?:invalid|incorrect|bad|expired|malformed)\b.{0,20}\b(?:x-)?api[-_ ]?key",
        r"api[-_ ]?key (?:not valid|invalid|expired)|invalid[_ ]api[_ ]key|authentication[_ ]error",
        r"unauthenticated|unauthorized|invalid (?:bearer|access|auth\w*) token",
        r"could not resolve authentication|no auth credentials",
    ),
)

_SAID: Final[tuple[_Rule, ...]] = (
    _rule(
        "rate limit", r"rate[_ -]?limit", r"too many requests", r"throttl", r"resource_exhausted"
    ),
    _rule(
        "overloaded",
        r"overloaded|overload(?:_error)?\b|over capacity|at capacity|no capacity|capacity_exceeded",
        r"loading model|model is (?:currently )?loading|temporarily unavailable|try again later",
        r"service[_ ]unavailable|\bunavailable(?:_error)?\b|server is busy|high demand",
    ),
    _rule(
        "stream cut",
        r"^terminated\b|other side closed|UND_ERR_SOCKET|premature(?:ly)? close",
        r"stream (?:ended|closed|was (?:cut|closed)|interrupted)|ended (?:before|without)",
        r"without (?:a )?(?:finish|stop)[_ ]reason",
        r"incomplete (?:(?:chunked )?read|response|stream)",
        r"peer closed connection|unexpected end of (?:json|stream|file|input)",
        r"aborted by the server",
    ),
    _rule(
        "timeout",
        r"time[d]?[- ]?out|\bETIMEDOUT\b|ESOCKETTIMEDOUT|deadline[_ ]exceeded|UND_ERR_\w*TIMEOUT",
    ),
    _rule(
        "connection",
        r"connection (?:error|refused|reset|failed)|connect(?:ion)? ECONN|ECONNREFUSED|ECONNRESET",
        r"ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|EPROTO|fetch failed|network error",
        r"getaddrinfo|name or service not known|name resolution|all connection attempts failed",
        r"certificate|\bTLS\b|\bSSL\b|socket hang up|could not connect|failed to connect|dns",
    ),
    _rule("permission", r"permission[_ ]?(?:denied|error)|forbidden|not (?:allowed|permitted)"),
    _rule("server error", r"internal (?:server )?error|server[_ ]error|api_error|bad gateway"),
    _rule("invalid request", r"invalid[_ ](?:request|argument|parameter)|bad request"),
)

_BY_STATUS: Final[dict[int, RefusalClass]] = {
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "model not found",
    407: "authentication",
    408: "timeout",
    413: "context length",
    429: "rate limit",
    451: "content filter",
    503: "overloaded",
    504: "timeout",
    522: "timeout",
    524: "timeout",
    529: "overloaded",
}


def _classify(read: _Error) -> RefusalClass:
    """The class: what the words say plainly, then what the status says, then any other word."""
    if read.status != 401:
        for refusal_class, pattern in _SAID_FIRST:
            if pattern.search(read.words):
                return refusal_class
    if read.status is not None and (by_status := _by_status(read)):
        return by_status
    for refusal_class, pattern in (*_SAID_FIRST, *_SAID):
        if pattern.search(read.words):
            return refusal_class
    return "unknown"


def _by_status(read: _Error) -> RefusalClass | None:
    """What a status means by itself; overload is also told by words, under any server status."""
    status = read.status or 0
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 500 <= status <= 599:
        overloaded = re.search(r"overloaded|over capacity", read.words, re.IGNORECASE)
        return "overloaded" if overloaded else "server error"
    return "invalid request" if 400 <= status <= 499 else None
