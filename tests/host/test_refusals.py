"""A stored error text becomes a refusal: class, status, and the provider's own sentence."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso.host.refusal_classes import SAID_PLAINLY, Rule
from enso.host.refusals import LONGEST_REASON, NO_REASON, read_refusal
from enso.host.session_log import read_session
from enso.transcript import Refusal, RefusalClass
from tests.host.corpus import ALL, CORPUS

CASES: list[dict[str, Any]] = json.loads((CORPUS / "refusals.json").read_text())["cases"]


def refusal(text: str) -> Refusal:
    """The refusal that a text means."""
    return read_refusal(provider_name="P", model="m", error_message=text)


def stored_error_texts() -> list[str]:
    """Every error text of a refused attempt in the corpus."""
    logs = [read_session(recorded.path) for recorded in ALL]
    messages = [entry.get("message") for log in logs if log is not None for entry in log.entries]
    refused = [m for m in messages if isinstance(m, dict) and m.get("stopReason") == "error"]
    return sorted({m["errorMessage"] for m in refused})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["errorMessage"][:40])
def test_a_recorded_refusal_reads_as_it_must(case: dict[str, Any]) -> None:
    """Class, status and the whole bubble; where no bubble is fixed, the reason is the text."""
    read = read_refusal(
        provider_name=case["providerName"],
        model=case["model"],
        error_message=case["errorMessage"],
    )
    assert (read.refusal_class, read.status) == (case["class"], case["status"])
    assert read.reason == case.get("reason", case["errorMessage"])
    if "bubble" in case:
        assert read.sentence == case["bubble"]


@pytest.mark.parametrize("text", stored_error_texts())
def test_every_recorded_error_text_has_a_class_and_a_plain_reason(text: str) -> None:
    """None of them is unknown, and none shows JSON or HTML."""
    read = refusal(text)
    assert read.refusal_class != "unknown"
    assert not [mark for mark in ("{", "</", "<html", "\n") if mark in read.reason]


@pytest.mark.parametrize(
    "text, refusal_class, status, reason",
    [
        # status and a whole body, or its inner object
        ('401: {"message":"Bad key"}', "authentication", 401, "Bad key"),
        ('401 {"error":{"message":"Bad key"}}', "authentication", 401, "Bad key"),
        (
            "401 Incorrect API key provided: sk-…",
            "authentication",
            401,
            "Incorrect API key provided: sk-…",
        ),
        ("401 status code (no body)", "authentication", 401, NO_REASON),
        ("403 status code (no body)", "permission", 403, NO_REASON),
        ('402 {"error":{"message":"Pay first"}}', "quota", 402, "Pay first"),
        ('404 {"error":{"message":"Not found"}}', "model not found", 404, "Not found"),
        ('408: {"message":"Too slow"}', "timeout", 408, "Too slow"),
        ('409: {"message":"Conflict"}', "invalid request", 409, "Conflict"),
        ('418: {"message":"Teapot"}', "invalid request", 418, "Teapot"),
        ("500 Internal Server Error", "server error", 500, "Internal Server Error"),
        ('504: {"message":"Upstream is slow"}', "timeout", 504, "Upstream is slow"),
        ('520: {"message":"Odd"}', "server error", 520, "Odd"),
        (
            '500 {"error":{"message":"Overloaded","type":"overloaded_error"}}',
            "overloaded",
            500,
            "Overloaded",
        ),
        # validation errors name the field
        (
            '422 {"detail":[{"loc":["body","messages",0,"role"],"msg":"Input should be user"}]}',
            "invalid request",
            422,
            "messages.0.role: Input should be user",
        ),
        ('422 {"detail":"Nope"}', "invalid request", 422, "Nope"),
        # pages of proxies
        (
            "502 <html><title>502 Bad&nbsp;Gateway</title></html>",
            "server error",
            502,
            "502 Bad Gateway",
        ),
        ("503 <h1>Down &amp; out</h1><p>later</p>", "overloaded", 503, "Down & out"),
        ("500 <!DOCTYPE html><body>Oops<script>x()</script></body>", "server error", 500, "Oops"),
        # the network
        (
            "Connection error.: getaddrinfo ENOTFOUND api.example",
            "connection",
            None,
            "getaddrinfo ENOTFOUND api.example",
        ),
        ("Connection error.", "connection", None, "Connection error."),
        ("fetch failed", "connection", None, "fetch failed"),
        (
            "Connection error.: connect ETIMEDOUT 10.0.0.1:443",
            "timeout",
            None,
            "connect ETIMEDOUT 10.0.0.1:443",
        ),
        ("Request timed out.", "timeout", None, "Request timed out."),
        (
            "terminated: other side closed (UND_ERR_SOCKET)",
            "stream cut",
            None,
            "other side closed (UND_ERR_SOCKET)",
        ),
        ("terminated", "stream cut", None, "terminated"),
        (
            "Stream ended without finish_reason",
            "stream cut",
            None,
            "Stream ended without finish_reason",
        ),
        (
            "peer closed connection (incomplete chunked read)",
            "stream cut",
            None,
            "peer closed connection (incomplete chunked read)",
        ),
        # errors inside a stream that began well
        (
            'Provider returned error\n{"error":{"message":"Slow down","code":429}}',
            "rate limit",
            429,
            "Slow down",
        ),
        ("Provider returned error\nUpstream broke", "unknown", None, "Upstream broke"),
        (
            'event: error\ndata: {"error":{"type":"overloaded_error","message":"Overloaded"}}',
            "overloaded",
            None,
            "Overloaded",
        ),
        (
            '{"type":"error","error":{"type":"api_error","message":"Internal"}}',
            "server error",
            None,
            "Internal",
        ),
        # Google
        (
            '{"error":{"code":429,"message":"Resource exhausted.","status":"RESOURCE_EXHAUSTED"}}',
            "rate limit",
            429,
            "Resource exhausted.",
        ),
        (
            '400 {"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}',
            "authentication",
            400,
            "API key not valid.",
        ),
        (
            '{"error":{"message":"{\\"error\\":{\\"code\\":503,\\"message\\":\\"Busy\\",\\"status\\":\\"UNAVAILABLE\\"}}"}}',
            "overloaded",
            503,
            "Busy",
        ),
        # words that outweigh the status
        (
            '400: {"message":"prompt is too long: 210000 tokens > 200000 maximum"}',
            "context length",
            400,
            "prompt is too long: 210000 tokens > 200000 maximum",
        ),
        (
            '400 {"error":{"message":"The input token count (12) exceeds the maximum (10)."}}',
            "context length",
            400,
            "The input token count (12) exceeds the maximum (10).",
        ),
        (
            '413 {"error":{"type":"request_too_large","message":"Request too large"}}',
            "context length",
            413,
            "Request too large",
        ),
        (
            '400 {"error":{"message":"Your credit balance is too low"}}',
            "quota",
            400,
            "Your credit balance is too low",
        ),
        ('429: {"message":"Billing","code":"insufficient_quota"}', "quota", 429, "Billing"),
        (
            '400: {"message":"The model `x` does not exist"}',
            "model not found",
            400,
            "The model `x` does not exist",
        ),
        ('400: {"message":"Stopped","code":"content_filter"}', "content filter", 400, "Stopped"),
        (
            "Provider finish_reason: content_filter",
            "content filter",
            None,
            "Provider finish_reason: content_filter",
        ),
        ("No API key for provider: x", "authentication", None, "No API key for provider: x"),
        (
            '503: {"message":"Loading model","type":"unavailable_error","code":503}',
            "overloaded",
            503,
            "Loading model",
        ),
        # nothing to go by
        ("", "unknown", None, NO_REASON),
        (" \n\t", "unknown", None, NO_REASON),
        ("Something odd", "unknown", None, "Something odd"),
        ("500", "server error", 500, NO_REASON),
        ("{}", "unknown", None, NO_REASON),
        ('{"a":1}', "unknown", None, NO_REASON),
        ('Upstream said: {"a":1}', "unknown", None, "Upstream said"),
        (
            "Unknown field {name} in the request",
            "unknown",
            None,
            "Unknown field {name} in the request",
        ),
        # what a client puts in front, and bodies that are cut off
        (
            'OpenAI API error (429): {"message":"Slow down","type":"requests"}',
            "rate limit",
            429,
            "Slow down",
        ),
        ("OpenAI API error (401): 401 status code (no body)", "authentication", 401, NO_REASON),
        ("Mistral API error (503): Service unavailable", "overloaded", 503, "Service unavailable"),
        (
            '400: {"message":"Prompt \\"x\\" is wrong... [truncated 9000 chars]',
            "invalid request",
            400,
            'Prompt "x" is wrong',
        ),
        (
            '500: {"error":{"type":"x","data":"aaaa... [truncated 9 chars]',
            "server error",
            500,
            NO_REASON,
        ),
        (
            "status_code: 401, model_name: m, body: {'message': 'Bad key', 'x': 1}",
            "authentication",
            401,
            "Bad key",
        ),
        (
            "Error Code rate_limit_exceeded: Slow down",
            "rate limit",
            None,
            "Error Code rate_limit_exceeded: Slow down",
        ),
        (
            "Throttling error: Too many tokens, please wait",
            "rate limit",
            None,
            "Throttling error: Too many tokens, please wait",
        ),
        ("Provider stopped with: SAFETY", "content filter", None, "Provider stopped with: SAFETY"),
        (
            "The model refused to complete the request",
            "content filter",
            None,
            "The model refused to complete the request",
        ),
        (
            "Provider finish_reason: network_error",
            "connection",
            None,
            "Provider finish_reason: network_error",
        ),
        ("1234 tokens were wrong", "unknown", None, "1234 tokens were wrong"),
    ],
)
def test_error_texts(
    text: str, refusal_class: RefusalClass, status: int | None, reason: str
) -> None:
    """The shapes that providers' clients write, and the words that tell the class."""
    read = refusal(text)
    assert (read.refusal_class, read.status, read.reason) == (refusal_class, status, reason)


def test_a_long_reason_is_cut() -> None:
    """It ends with an ellipsis, at its bound."""
    read = refusal("500 " + "word " * 1_000)
    assert len(read.reason) <= LONGEST_REASON
    assert read.reason.endswith("…")


def test_a_reason_is_one_line_without_control_characters() -> None:
    """Line ends of every kind, escapes of terminals, and marks that turn text around."""
    read = refusal("500 a\r\nb\x1b[31mc\u2028d\u202ee\x00f\x85g\ud83dh")
    assert read.reason == "a b [31mc d e f g\ufffdh"


FRAGMENTS = st.sampled_from(
    [
        *("401 ", "429: ", "{", "}", '{"error":', '"message":', '"x"', "'", "[", "]", ",", "\\"),
        *("<html>", "<title>", "</title>", "&amp;", "\n", "\ud83d", "... [truncated 3 chars]"),
        *("Connection error.: ", "terminated", "overloaded", "OpenAI API error (500): "),
    ]
)


@given(st.lists(FRAGMENTS | st.text(max_size=10), max_size=12).map("".join))
def test_any_text_gives_a_refusal(text: str) -> None:
    """Never an exception; a known class; one bounded line that can be encoded."""
    read = refusal(text)
    assert read.refusal_class in get_args(RefusalClass)
    assert 0 < len(read.reason) <= LONGEST_REASON
    assert read.reason == " ".join(read.reason.split())
    assert read.sentence.encode()


@pytest.mark.parametrize("rule", SAID_PLAINLY, ids=lambda rule: rule.refusal_class)
@given(data=st.data())
def test_whatever_a_rule_matches_has_one_of_its_hints(rule: Rule, data: st.DataObject) -> None:
    """A rule is not tried on a text without any."""
    pattern = re.compile(rule.pattern, re.IGNORECASE)
    text = data.draw(st.from_regex(pattern, alphabet=st.characters(codec="ascii")))
    assert rule.fits(text, text.casefold())
