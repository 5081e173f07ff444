"""What a failed request said, in the words in which pi stores it.

Owns the text of ``errorMessage`` (source: pi 1.6.0): ``401: {inner object}`` for the OpenAI
protocols, ``529 {whole body}`` for Anthropic's, the whole error object for Google's, ``502 <html>``
where the body is no JSON, ``Connection error.: connect ECONNREFUSED host:port`` and the like where
there was no answer. ``enso.host.refusals`` reads it, live and cold alike. Imported only when a
prompt runs.
"""

from __future__ import annotations

import errno
import json
import socket
import ssl
from collections.abc import Iterator
from typing import Any, Final, cast

import httpx2

from enso.host.runtimes.builtin.retries import requested_delay
from enso.host.runtimes.models.known_providers import Api

_LONGEST_BODY: Final = 4000
_OF_PROVIDERS: Final = frozenset({"anthropic", "google", "httpx2", "openai", "pydantic_ai"})


class AnswerFailed(Exception):
    """An answer that ended in a way that is none: ``str()`` is the text to store."""


def is_refusal(error: Exception) -> bool:
    """Whether it tells of a provider or of a request it cannot take: no fault of ours."""
    root = type(error).__module__.partition(".")[0]
    return isinstance(error, AnswerFailed) or root in _OF_PROVIDERS


def error_text(error: BaseException, api: Api, *, streaming: bool) -> str:
    """The text to store for a failed request; ``streaming``: the answer had begun."""
    chain = list(_chain(error))
    for tell in (_of_our_own, _answered, _told_in_stream):
        for link in chain:
            if (text := tell(link, api)) is not None:
                return text
    for link in chain:
        if isinstance(link, httpx2.TransportError):
            return _not_answered(link, chain, streaming=streaming)
    return str(error) or type(error).__name__


def retry_after(error: BaseException) -> int | None:
    """How many milliseconds the provider asked to wait; ``None`` when it did not say."""
    for link in _chain(error):
        response: Any = getattr(link, "response", None)
        if isinstance(response, httpx2.Response):
            return requested_delay(response.headers)
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, outermost first."""
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        waiting += [cause for cause in (link.__cause__, link.__context__) if cause is not None]
        if isinstance(link, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", link).exceptions


# -- the provider answered ------------------------------------------------------------------------


def _of_our_own(error: BaseException, _api: Api) -> str | None:
    return str(error) if isinstance(error, AnswerFailed) else None


def _answered(error: BaseException, api: Api) -> str | None:
    """The text for an SDK's error that has the response; ``None`` when this is none."""
    response: Any = getattr(error, "response", None)
    if api == "google-generative-ai":
        details: Any = getattr(error, "details", None)
        code: Any = getattr(error, "code", None)
        return _google(details, code) if details and isinstance(code, int) else None
    status: Any = getattr(error, "status_code", None)
    if not isinstance(response, httpx2.Response) or not isinstance(status, int):
        return None
    if status >= 400:
        return _refused(status, _body_text(response), api)
    return _dump(getattr(error, "body", None)) or str(error)


def _told_in_stream(error: BaseException, api: Api) -> str | None:
    """The text for an error that came inside a stream: there is a body, and no response."""
    body: Any = getattr(error, "body", None)
    if not isinstance(body, dict):
        return None
    stored = cast("dict[str, Any]", body)
    text, code = str(stored.get("message") or getattr(error, "message", "")), stored.get("code")
    if api == "openai-responses":
        return f"{code}: {text}" if code else text
    metadata = stored.get("metadata")
    raw = cast("dict[str, Any]", metadata).get("raw") if isinstance(metadata, dict) else None
    if raw and str(raw) not in text:
        text = f"{text}\n{raw}"
    # A gateway says the status that its upstream answered here: pi drops it, a person wants it.
    return f"{code} {text}" if isinstance(code, int) and 400 <= code <= 599 else text


def _body_text(response: httpx2.Response) -> str:
    try:
        return response.text
    except httpx2.ResponseNotRead:
        return ""


def _refused(status: int, text: str, api: Api) -> str:
    """A refusal with its status, as the SDK that pi uses words it for this protocol."""
    if not text.strip():
        return f"{status} status code (no body)"
    body = _parse(text)
    if body is None:
        return f"{status} {text[:_LONGEST_BODY]}"
    inner = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    if api != "anthropic-messages" and isinstance(inner, dict) and inner:
        return f"{status}: {_dump(cast('Any', inner))}"
    return f"{status} {_dump(body)}"


def _google(details: Any, code: int) -> str:
    stored = cast("dict[str, Any]", details) if isinstance(details, dict) else {}
    if "error" in stored:
        return _dump(stored)
    text = stored.get("message")
    if not isinstance(text, str):
        return f"{code} {_dump(stored)}"
    return f"{code} {text[:_LONGEST_BODY]}" if text else f"{code} status code (no body)"


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _dump(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else ""
    return text[:_LONGEST_BODY]


# -- it did not -----------------------------------------------------------------------------------


def _not_answered(
    error: httpx2.TransportError, chain: list[BaseException], *, streaming: bool
) -> str:
    host = _host_of(error)
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return f"Request timed out: no connection to {host} in time"
    if isinstance(error, httpx2.TimeoutException):
        return f"Request timed out: nothing came from {host} in time"
    if isinstance(error, httpx2.ConnectError):
        return f"Connection error.: {_connect_reason(chain, host) or str(error)}"
    if streaming:
        return "terminated: other side closed"
    return f"Connection error.: {host} closed the connection without an answer"


def _host_of(error: httpx2.TransportError) -> str:
    try:
        url = error.request.url
    except RuntimeError:
        return "the provider"
    return f"{url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"


def _connect_reason(chain: list[BaseException], host: str) -> str:
    """Why no connection was made, in the words of the system."""
    for link in reversed(chain):
        if isinstance(link, socket.gaierror):
            return f"getaddrinfo ENOTFOUND {host.rsplit(':', 1)[0]}"
        if isinstance(link, ssl.SSLError):
            return f"{link.reason or link} {host}"
        if isinstance(link, OSError) and link.errno is not None and link.errno in errno.errorcode:
            return f"connect {errno.errorcode[link.errno]} {host}"
    return ""
