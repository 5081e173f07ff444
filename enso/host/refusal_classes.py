"""What class a provider's error is of, by its status and its words.

A rule is compiled when it is first needed, and is not needed for a text without any of its hints:
to compile all of them takes as long as the rest of a page that shows an error.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

from enso.transcript import RefusalClass


class Rule(NamedTuple):
    """An expression that tells a class, in any case of letters.

    What it matches has one of the ``hints`` in it, which are lower case; without any, they do not
    tell.
    """

    refusal_class: RefusalClass
    pattern: str
    hints: tuple[str, ...] = ()

    def fits(self, words: str, folded: str) -> bool:
        """Whether the words tell the class; ``folded`` is the same without their case."""
        if self.hints and not any(hint in folded for hint in self.hints):
            return False
        return _compiled(self.pattern).search(words) is not None


def _rule(refusal_class: RefusalClass, *patterns: str, hints: tuple[str, ...] = ()) -> Rule:
    return Rule(refusal_class, "|".join(patterns), hints)


SAID_PLAINLY: Final[tuple[Rule, ...]] = (
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
        r"too many (?:input )?tokens in (?:the )?(?:prompt|request)|prompt (?:exceeds|has \d)",
        r"available context size|model token limit|range of input length",
        hints=("context", "maximum", "too ", "token", "length", "too_large", "prompt "),
    ),
    _rule(
        "content filter",
        r"content[_ -]?(?:filter|policy|management|moderation)",
        r"\b(?:flagged|blocked)\b.{0,60}\b(?:safety|policy|moderation|content)",
        r"(?:finish_?reason|block_?reason|stopped with|blocked)\W*(?:safety|refusal|recitation"
        r"|sensitive|image_safety|language|other)\b",
        r"\b(?:prohibited_content|blocklist|spii)\b|model refused to complete",
        r"responsible ?ai|cyber_policy_violation|moderation_blocked",
        hints=(
            "content",
            "flagged",
            "block",
            "finish",
            "stopped",
            "spii",
            "refused to",
            "respons",
            "cyber_",
        ),
    ),
    _rule(
        "quota",
        r"insufficient[_ ](?:quota|credits?|balance|funds)",
        r"exceeded your current quota",
        r"credit balance|out of credits?|not enough credits|requires more credits",
        r"billing[_ ](?:hard[_ ]limit|not[_ ]active|error)|payment[_ ]required",
        r"(?:monthly|usage|spend(?:ing)?) (?:usage )?(?:limit|cap) (?:reached|exceeded|has been)",
        r"usage_?limit|out of budget|\bbilling\b",
        r"quota[_ ]?exceeded|quota (?:is )?exhausted",
        r"account (?:is )?(?:suspended|not active|in arrears|overdue)",
        hints=(
            "insufficient",
            "quota",
            "credit",
            "billing",
            "payment",
            "usage",
            "monthly",
            "spend",
            "budget",
            "account",
        ),
    ),
    _rule(
        "model not found",
        r"model[_ ]not[_ ](?:found|exist)",
        r"\bmodels?\b.{0,120}\b(?:does not exist|do not exist|not found|is not available"
        r"|not supported|no longer available|has been (?:deprecated|retired|shut))",
        r"(?:no such|unknown|invalid|unsupported) model\b|not a valid model|no endpoints found",
        r"not_found_error\b.{0,20}\bmodel",
        hints=("model", "endpoints"),
    ),
    _rule(
        "authentication",
        r"no api key|api key (?:is )?(?:missing|required|not (?:found|set))|missing api key",
        r"(?:invalid|incorrect|bad|expired|malformed)\b.{0,20}\b(?:x-)?api[-_ ]?key",
        r"api[-_ ]?key (?:not valid|invalid|expired)|invalid[_ ]api[_ ]key|authentication[_ ]error",
        r"unauthenticated|unauthorized|invalid (?:bearer|access|auth\w*) token",
        r"could not resolve authentication|no auth credentials",
        hints=("api", "auth", "token"),
    ),
)
"""What is believed before the status."""

_SAID: Final[tuple[Rule, ...]] = (
    _rule(
        "rate limit", r"rate[_ -]?limit", r"too many requests", r"throttl", r"resource_exhausted"
    ),
    _rule(
        "overloaded",
        r"overloaded|overload(?:_error)?\b|over capacity|at capacity|no capacity|capacity_exceeded",
        r"loading model|model is (?:currently )?loading|temporarily unavailable|try again later",
        r"service[_ ]unavailable|\bunavailable(?:_error)?\b|\bbusy\b|high demand",
    ),
    _rule(
        "stream cut",
        r"^terminated\b|other side closed|UND_ERR_SOCKET|premature(?:ly)? close",
        r"stream (?:ended|closed|was (?:cut|closed)|interrupted)|ended (?:before|without)",
        r"without (?:a )?(?:finish|stop)[_ ]reason",
        r"incomplete (?:(?:chunked )?read|response|stream)",
        r"peer closed connection|unexpected end of (?:json|stream|file|input)",
        r"aborted by the server|websocket.?(?:closed|error)|disconnected before|cut short",
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
        r"network_error|connection.?(?:lost|closed)",
        r"certificate|\bTLS\b|\bSSL\b|socket hang up|could not connect|failed to connect|dns",
    ),
    _rule("permission", r"permission[_ ]?(?:denied|error)|forbidden|not (?:allowed|permitted)"),
    _rule("server error", r"internal (?:server )?error|server[_ ]error|api_error|bad gateway"),
    _rule("invalid request", r"invalid[_ ](?:request|argument|parameter)|bad request"),
)

_OVERLOADED: Final = "overloaded|over capacity"

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


def classify(status: int | None, words: str) -> RefusalClass:
    """The class: what the words say plainly, then what the status says, then any other word.

    ``words`` is everything that may tell: the provider's codes and sentence. A status of 401 is
    believed before any word.
    """
    if status == 401:
        return "authentication"
    by_status = _by_status(status, words) if status is not None else None
    return _said(SAID_PLAINLY, words) or by_status or _said(_SAID, words) or "unknown"


def _said(rules: tuple[Rule, ...], words: str) -> RefusalClass | None:
    folded = words.casefold()
    return next((rule.refusal_class for rule in rules if rule.fits(words, folded)), None)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _by_status(status: int, words: str) -> RefusalClass | None:
    """What a status means by itself; overload is also told by words, under any server status."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 500 <= status <= 599:
        return "overloaded" if _compiled(_OVERLOADED).search(words) else "server error"
    return "invalid request" if 400 <= status <= 499 else None
