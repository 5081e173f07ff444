"""What the scripted model endpoint can be told to answer: replies, gates, and refusals by kind."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class Gate:
    """Where a reply waits: ``reached`` is set when it got there, ``open()`` lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()

    def open(self) -> None:
        """Let the reply that waits here, or will, go on."""
        self._opened.set()

    def wait(self) -> None:
        """Called by the server: say that it is reached, and wait until it is opened."""
        self.reached.set()
        self._opened.wait()


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What one request gets.

    ``text`` and ``thinking`` are deltas; ``tools`` are ``{"name", "args", "id"?}``. ``gate`` is
    waited at after the deltas, ``first_gate`` before the status line. ``cut`` drops the connection
    after the deltas, ``eof`` ends the body there without an end of the answer, ``stream_error``
    says an error inside the 200 stream. ``usage`` are counts ``input`` (all of it), ``cached``,
    ``written`` (into the cache), ``output`` (thinking among it) and ``reasoning``; ``None`` leaves
    the usage out. A ``status`` other than 200 answers ``body`` (text, or JSON) with ``headers``.
    """

    text: Sequence[str] = ()
    thinking: Sequence[str] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    finish: str | None = None
    usage: Mapping[str, int] | None = field(default_factory=lambda: {"input": 100, "output": 10})
    delay: float = 0.0
    gate: Gate | None = None
    first_gate: Gate | None = None
    cut: bool = False
    eof: bool = False
    stream_error: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Any = ""


def chop(text: str, size: int = 17) -> tuple[str, ...]:
    """``text`` in deltas of ``size`` characters."""
    return tuple(text[i : i + size] for i in range(0, len(text), size))


def _openai(status: int, message: str, type_: str, code: str | None = None) -> tuple[int, Any]:
    return status, {"error": {"message": message, "type": type_, "param": None, "code": code}}


def _anthropic(status: int, type_: str, message: str) -> tuple[int, Any]:
    error = {"type": type_, "message": message}
    return status, {"type": "error", "error": error, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


def _google(status: int, name: str, message: str) -> tuple[int, Any]:
    return status, {"error": {"code": status, "message": message, "status": name}}


_BAD_GATEWAY = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
    "<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n"
    "</body>\r\n</html>\r\n"
)
_OVERFLOW = (
    "This model's maximum context length is 32768 tokens. However, your messages resulted in 41962 "
    "tokens. Please reduce the length of the messages."
)

REFUSALS: Mapping[str, tuple[tuple[int, Any], tuple[int, Any], tuple[int, Any]]] = {
    "401": (
        _openai(
            401,
            "Incorrect API key provided: sk-lab-****cdef.",
            "invalid_request_error",
            "invalid_api_key",
        ),
        _anthropic(401, "authentication_error", "invalid x-api-key"),
        _google(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
    ),
    "403": (
        _openai(403, "Country, region, or territory not supported", "request_forbidden", "region"),
        _anthropic(403, "permission_error", "Your API key may not use the specified resource."),
        _google(403, "PERMISSION_DENIED", "Permission denied on this resource."),
    ),
    "404": (
        _openai(
            404,
            "The model `lab-nope` does not exist or you do not have access to it.",
            "invalid_request_error",
            "model_not_found",
        ),
        _anthropic(404, "not_found_error", "model: lab-nope"),
        _google(404, "NOT_FOUND", "models/lab-nope is not found for API version v1beta."),
    ),
    "context": (
        _openai(400, _OVERFLOW, "invalid_request_error", "context_length_exceeded"),
        _anthropic(
            400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"
        ),
        _google(
            400,
            "INVALID_ARGUMENT",
            "The input token count (213462) exceeds the maximum number of tokens allowed (200000).",
        ),
    ),
    "400": (
        _openai(
            400,
            "Invalid value for 'temperature': must be between 0 and 2.",
            "invalid_request_error",
        ),
        _anthropic(400, "invalid_request_error", "max_tokens: 400000 > 64000"),
        _google(400, "INVALID_ARGUMENT", "Invalid JSON payload received."),
    ),
    "429": (
        _openai(
            429,
            "Rate limit reached for lab-coder on requests per min (RPM): Limit 3, Used 3.",
            "requests",
            "rate_limit_exceeded",
        ),
        _anthropic(429, "rate_limit_error", "This request would exceed your account's rate limit."),
        _google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check rate limit)."),
    ),
    "quota": (
        _openai(
            429,
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
            "insufficient_quota",
        ),
        _anthropic(
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
        ),
        _google(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
    ),
    "500": (
        _openai(
            500, "The server had an error while processing your request. Sorry!", "server_error"
        ),
        _anthropic(500, "api_error", "Internal server error"),
        _google(500, "INTERNAL", "An internal error has occurred."),
    ),
    "503": (
        _openai(503, "The engine is currently overloaded.", "server_error", "overloaded"),
        _anthropic(529, "overloaded_error", "Overloaded"),
        _google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    ),
    "502html": ((502, _BAD_GATEWAY),) * 3,
    "empty401": ((401, ""),) * 3,
    "fastapi": ((422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}),) * 3,
    "loading": (
        (
            503,
            {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}},
        ),
    )
    * 3,
}
"""Bodies by kind: for the OpenAI protocols, for Anthropic's, for Google's."""


def refused(kind: str, api: str = "openai-completions") -> Reply:
    """The refusal of this kind as the service behind ``api`` writes it."""
    column = {"anthropic-messages": 1, "google-generative-ai": 2}.get(api, 0)
    status, body = REFUSALS[kind][column]
    headers = {"content-type": "text/html"} if kind == "502html" else {}
    return Reply(status=status, body=body, headers=headers)
