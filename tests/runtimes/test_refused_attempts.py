"""Every way in which a provider does not answer: stored as pi stores it, the same live and cold."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from enso.host.contract import MessageDropped, MessageStarted, RunSettled
from enso.host.runtimes.builtin.timeouts import Timeouts
from enso.transcript import Refusal, RefusalClass
from tests.model_server import Gate, ModelServer, Reply, refused
from tests.runtimes.agent_files import write_json, write_provider
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread, new_thread
from tests.runtimes.test_turns import MODELS, every_protocol

EXPECTED: dict[str, tuple[RefusalClass, int, int, int]] = {
    "401": ("authentication", 401, 401, 401),
    "403": ("permission", 403, 403, 403),
    "404": ("model not found", 404, 404, 404),
    "context": ("context length", 400, 400, 400),
    "400": ("invalid request", 400, 400, 400),
    "429": ("rate limit", 429, 429, 429),
    "quota": ("quota", 429, 400, 429),
    "500": ("server error", 500, 500, 500),
    "503": ("overloaded", 503, 529, 503),
    "502html": ("server error", 502, 502, 502),
    "empty401": ("authentication", 401, 401, 401),
    "fastapi": ("invalid request", 422, 422, 422),
    "loading": ("overloaded", 503, 503, 503),
}
"""Class, and status over the OpenAI protocols, Anthropic's, Google's."""


@pytest.fixture(autouse=True)
def one_attempt(agent_dir: Path) -> None:
    """Nothing is tried again and nothing is summed up: each attempt is looked at by itself."""
    settings = {"retry": {"enabled": False}, "compaction": {"enabled": False}}
    write_json(agent_dir / "settings.json", settings)


def settled_refusal(thread: LiveThread, settled: RunSettled) -> Refusal:
    """The refusal of a run, after checking that it is the same live, stored and read cold."""
    assert settled.outcome == "refused"
    assert settled.refusal is not None
    assert thread.last_answer["stopReason"] == "error"
    assert thread.last_answer["errorMessage"]
    assert thread.cold_answer.refusal == settled.refusal
    assert tuple(thread.stored_live()) == thread.read_cold()
    assert not thread.told(MessageDropped)
    reason = settled.refusal.reason
    assert not reason.startswith(("{", "["))
    assert "<" not in reason
    assert "\n" not in reason
    return settled.refusal


@every_protocol
@pytest.mark.parametrize("kind", EXPECTED)
def test_a_refused_attempt_is_stored_with_its_class_and_status(
    kind: str, api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The bubble names provider, model, class and status, live as after a fresh reading."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([refused(kind, api)])
    refusal = settled_refusal(thread, thread.run("Hello"))
    refusal_class, *statuses = EXPECTED[kind]
    column = {"anthropic-messages": 1, "google-generative-ai": 2}.get(api, 0)
    assert refusal.refusal_class == refusal_class
    assert refusal.status == statuses[column]
    assert refusal.model == MODELS[api].split("/")[1]
    assert thread.last_answer["content"] == []
    assert len(server.requests()) == 1, "no SDK may retry by itself"


WORDS_OF_PI = {
    ("403", "openai-completions"): (
        '403: {"message":"Country, region, or territory not supported",'
        '"type":"request_forbidden","param":null,"code":"region"}'
    ),
    ("503", "anthropic-messages"): (
        '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},'
        '"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy"}'
    ),
    ("404", "google-generative-ai"): (
        '{"error":{"code":404,"message":"models/lab-nope is not found for API version v1beta.",'
        '"status":"NOT_FOUND"}}'
    ),
    ("empty401", "openai-responses"): "401 status code (no body)",
    ("fastapi", "openai-completions"): (
        '422 {"detail":[{"loc":["body","messages"],"msg":"field required"}]}'
    ),
}


@pytest.mark.parametrize("kind, api", WORDS_OF_PI)
def test_an_error_is_stored_in_the_words_of_pi(
    kind: str, api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Whoever reads the file with pi sees what pi would have written."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([refused(kind, api)])
    thread.run("Hello")
    assert thread.last_answer["errorMessage"] == WORDS_OF_PI[kind, api]


@every_protocol
def test_a_cut_stream_keeps_what_had_streamed(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """A connection that breaks in the middle is a refused attempt with the words so far."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([Reply(text=("I will ", "begin"), cut=True)])
    refusal = settled_refusal(thread, thread.run("Hello"))
    assert refusal.refusal_class == "stream cut"
    assert refusal.status is None
    assert [block["text"] for block in thread.last_answer["content"]] == ["I will begin"]
    assert thread.told(MessageStarted)[0].message_id == thread.lines()[-1]["id"]


@every_protocol
def test_a_stream_that_ends_without_an_end_is_cut(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """An answer without the protocol's last word is not taken for a whole one."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([Reply(text=("I will ", "begin"), eof=True)])
    refusal = settled_refusal(thread, thread.run("Hello"))
    assert refusal.refusal_class == "stream cut"


@pytest.mark.parametrize(
    "api, finish",
    [
        ("openai-completions", "content_filter"),
        ("openai-responses", "content_filter"),
        ("anthropic-messages", "refusal"),
        ("google-generative-ai", "SAFETY"),
    ],
)
def test_a_filtered_answer_is_refused_by_the_content_filter(
    api: str, finish: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The provider's filter is named, and the words before it are kept."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([Reply(text=("I can't ",), finish=finish)])
    refusal = settled_refusal(thread, thread.run("Hello"))
    assert refusal.refusal_class == "content filter"
    assert thread.last_answer["rawStopReason"].endswith(finish)
    assert thread.last_answer["usage"]["output"] == 10


IN_STREAM: dict[str, tuple[object, RefusalClass, int | None, str]] = {
    "openai-completions": (
        {
            "error": {
                "message": "Provider returned error",
                "code": 429,
                "metadata": {"raw": "Too hot"},
            }
        },
        "rate limit",
        429,
        "Too hot",
    ),
    "openai-responses": (
        {"type": "error", "code": "server_error", "message": "Bad day", "param": None},
        "server error",
        None,
        "server_error: Bad day",
    ),
    "anthropic-messages": (
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        "overloaded",
        None,
        "Overloaded",
    ),
    "google-generative-ai": (
        {"error": {"code": 503, "message": "It is overloaded.", "status": "UNAVAILABLE"}},
        "overloaded",
        503,
        "It is overloaded.",
    ),
}


@every_protocol
def test_an_error_inside_a_stream_is_read_like_any_other(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """A provider may fail after it answered 200: the words so far stay, and its reason is said."""
    error, refusal_class, status, reason = IN_STREAM[api]
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([Reply(text=("I will ",), stream_error=error)])
    refusal = settled_refusal(thread, thread.run("Hello"))
    assert (refusal.refusal_class, refusal.status) == (refusal_class, status)
    assert refusal.reason == reason
    assert thread.last_answer["content"][0]["text"] == "I will "


@every_protocol
def test_a_refused_connection_names_where(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Nobody listens there: the sentence says which host and port."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.close()
    refusal = settled_refusal(thread, thread.run("Hello"))
    assert refusal.refusal_class == "connection"
    assert refusal.status is None
    assert refusal.reason == f"connect ECONNREFUSED {server.url.removeprefix('http://')}"


def test_a_host_without_an_address_is_a_connection_fault(
    make_runtimes: MakeRuntimes, agent_dir: Path, tmp_path: Path
) -> None:
    """A name that leads nowhere is said by its name."""
    model = {"baseUrl": "http://nowhere.invalid/v1", "api": "openai-completions", "apiKey": "k"}
    write_provider(agent_dir, "lost", {**model, "models": [{"id": "m"}]})
    thread = new_thread(make_runtimes("lost/m"), tmp_path)
    refusal = settled_refusal(thread, thread.run("Hello"))
    assert refusal.refusal_class == "connection"
    assert "nowhere.invalid" in refusal.reason


@every_protocol
def test_silence_is_a_timeout(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """A provider that takes the request and says nothing is given up, in words."""
    gate = Gate()
    thread = new_thread(make_runtimes(MODELS[api], timeouts=Timeouts(silence=0.3)), tmp_path)
    server.script([Reply(text=("Late",), first_gate=gate)])
    refusal = settled_refusal(thread, thread.run("Hello"))
    gate.open()
    assert refusal.refusal_class == "timeout"
    assert "nothing came" in refusal.reason


def test_silence_in_the_middle_keeps_what_had_streamed(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The clock runs anew with each sign of life."""
    gate = Gate()
    runtimes = make_runtimes("labserver/lab-coder", timeouts=Timeouts(silence=0.3))
    thread = new_thread(runtimes, tmp_path)
    server.script([Reply(text=("One ", "two"), gate=gate)])
    refusal = settled_refusal(thread, thread.run("Hello"))
    gate.open()
    assert refusal.refusal_class == "timeout"
    assert thread.last_answer["content"][0]["text"] == "One two"


def test_a_host_that_does_not_take_the_connection_is_a_timeout(
    make_runtimes: MakeRuntimes, agent_dir: Path, tmp_path: Path
) -> None:
    """A full queue of connections is not waited for longer than the limit."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        host, port = full.getsockname()
        waiting = [socket.create_connection((host, port))]
        base_url = f"http://{host}:{port}/v1"
        fields = {"baseUrl": base_url, "api": "openai-completions", "apiKey": "k"}
        write_provider(agent_dir, "full", {**fields, "models": [{"id": "m"}]})
        runtimes = make_runtimes("full/m", timeouts=Timeouts(connect=0.3, silence=0.3))
        refusal = settled_refusal(thread := new_thread(runtimes, tmp_path), thread.run("Hello"))
        assert refusal.refusal_class == "timeout"
        waiting[0].close()


def test_a_refused_attempt_is_not_sent_again(thread: LiveThread, server: ModelServer) -> None:
    """The next prompt goes out without the attempt that failed, and no prompt is lost."""
    server.script([Reply(text=("I will ",), cut=True), Reply(text=("Yes.",))])
    thread.run("First question")
    thread.run("Second question")
    sent = server.requests()[-1].body["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "user"]
    assert [message["content"] for message in sent[1:]] == ["First question", "Second question"]


def test_a_key_is_never_stored(thread: LiveThread, server: ModelServer) -> None:
    """A refused key stands in no file."""
    server.script([refused("401")])
    thread.run("Hello")
    assert "lab-key" not in thread.session.path.read_text()
