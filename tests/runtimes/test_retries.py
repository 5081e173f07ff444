"""Refused attempts are made again as pi makes them: which, when, and what is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from enso.host.contract import ActivityChanged, RunNotice, RunSettled
from enso.host.runtimes.builtin.retries import RetryPolicy, requested_delay
from tests.model_server import Gate, ModelServer, Reply, refused
from tests.runtimes.agent_files import write_json
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread, new_thread
from tests.runtimes.test_stopping import stored_after_the_last_prompt
from tests.runtimes.test_turns import MODELS, every_protocol

ANSWER = Reply(text=("Third time lucky.",))


def retry(thread: LiveThread, **settings: Any) -> None:
    """Set how attempts are made again; quickly, if nothing else is said."""
    stored = {"retry": {"baseDelayMs": 1, **settings}}
    write_json(thread.runtimes.agent_dir / "settings.json", stored)


# -- a series -------------------------------------------------------------------------------------


@every_protocol
def test_a_series_is_stored_as_pi_stores_it(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Any
) -> None:
    """Each refused attempt stays, followed by what takes it out of the context; then the answer."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    retry(thread)
    server.script([refused("503", api), refused("429", api), ANSWER])
    assert thread.run("Hello") == RunSettled("complete")
    assert stored_after_the_last_prompt(thread) == [
        *("user", "error", "context_edit", "error", "context_edit", "stop")
    ]
    lines = thread.lines()
    for attempt, edit in ((-5, -4), (-3, -2)):
        assert lines[edit]["parentId"] == lines[edit]["targetId"] == lines[attempt]["id"]
        assert list(lines[edit])[-2:] == ["targetId", "replacement"]
        assert lines[edit]["replacement"] is None
    waits = [a for a in thread.told(ActivityChanged) if a.activity.kind == "retry-wait"]
    assert [(a.activity.attempt, a.activity.attempts) for a in waits] == [(1, 3), (2, 3)]
    assert "refused: overloaded" in waits[0].activity.detail
    assert "error" not in str(server.requests()[-1].body)
    assert tuple(thread.stored_live()) == thread.read_cold()


def test_a_series_that_is_given_up_ends_in_the_refusal(
    thread: LiveThread, server: ModelServer
) -> None:
    """The last attempt has nothing behind it; the run was one from the first to the last."""
    retry(thread)
    server.script([refused("503")] * 4)
    settled = thread.run("Hello")
    assert settled.outcome == "refused"
    assert settled.refusal is not None
    assert settled.refusal.status == 503
    words = stored_after_the_last_prompt(thread)
    assert words == ["user", *("error", "context_edit") * 3, "error"]
    assert thread.told(RunSettled) == [settled]


@pytest.mark.parametrize(
    "kind", ["401", "403", "404", "400", "quota", "empty401", "fastapi", "content filter"]
)
def test_what_will_not_pass_is_not_tried_again(
    kind: str, thread: LiveThread, server: ModelServer
) -> None:
    """A key, a model, a quota, a request that is wrong: one attempt."""
    retry(thread)
    filtered = Reply(text=("I",), finish="content_filter")
    server.script([filtered if kind == "content filter" else refused(kind), ANSWER])
    assert thread.run("Hello").outcome == "refused"
    assert stored_after_the_last_prompt(thread) == ["user", "error"]


@pytest.mark.parametrize(
    "attempt",
    [
        refused("429"),
        refused("500"),
        refused("502html"),
        refused("503"),
        refused("loading"),
        refused("503", "anthropic-messages"),
        Reply(text=("Half",), cut=True),
        Reply(text=("Half",), eof=True),
        Reply(text=("Half",), stream_error={"error": {"message": "Overloaded", "code": 529}}),
    ],
    ids=["429", "500", "502", "503", "loading", "529", "cut", "no end", "in the stream"],
)
def test_what_may_pass_is_tried_again(
    attempt: Reply, thread: LiveThread, server: ModelServer
) -> None:
    """Also a stream that was cut: what it had said stays to be read, and is not sent again."""
    retry(thread)
    server.script([attempt, ANSWER])
    assert thread.run("Hello") == RunSettled("complete")
    assert stored_after_the_last_prompt(thread) == ["user", "error", "context_edit", "stop"]
    assert "Half" not in str(server.requests()[-1].body)


def test_a_connection_that_fails_is_tried_again(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Any
) -> None:
    """Nobody listens: each attempt is stored."""
    thread = new_thread(make_runtimes("labserver/lab-coder"), tmp_path)
    retry(thread, maxRetries=1)
    server.close()
    assert thread.run("Hello").outcome == "refused"
    assert stored_after_the_last_prompt(thread) == ["user", "error", "context_edit", "error"]


def test_attempts_are_counted_anew_after_an_answer(thread: LiveThread, server: ModelServer) -> None:
    """Between two tools there may be as many as before."""
    retry(thread, maxRetries=1)
    look = Reply(tools=[{"name": "ls", "args": {}}])
    server.script([refused("503"), look, refused("503"), ANSWER])
    assert thread.run("Hello") == RunSettled("complete")


def test_switched_off_nothing_is_tried_again(thread: LiveThread, server: ModelServer) -> None:
    """As the settings say."""
    retry(thread, enabled=False)
    server.script([refused("503"), ANSWER])
    assert thread.run("Hello").outcome == "refused"


# -- the wait -------------------------------------------------------------------------------------


def waiting(thread: LiveThread, server: ModelServer, *replies: Reply) -> None:
    """A run that waits a minute to try again."""
    retry(thread, baseDelayMs=60_000)
    server.script([refused("503"), *replies])
    thread.start("Hello")
    thread.wait_until(lambda: "retry-wait" in thread.activities)


def test_a_wait_says_until_when(thread: LiveThread, server: ModelServer) -> None:
    """For a countdown."""
    before = datetime.now(UTC).timestamp() * 1000
    waiting(thread, server)
    activity = thread.runtime.activity()
    assert activity is not None
    assert activity.until is not None
    assert before + 60_000 <= activity.until <= before + 120_000
    thread.runtime.abort()
    thread.wait_settled()


def test_an_impatient_person_tries_again_now(thread: LiveThread, server: ModelServer) -> None:
    """The wait ends, the run goes on."""
    waiting(thread, server, ANSWER)
    assert thread.runtime.retry_now()
    assert thread.wait_settled() == RunSettled("complete")
    assert not thread.runtime.retry_now()


def test_only_a_wait_can_be_ended(thread: LiveThread, server: ModelServer) -> None:
    """A run that asks is not hurried."""
    gate = Gate()
    server.script([replace(ANSWER, first_gate=gate)])
    thread.start("Hello")
    gate.reached.wait(20)
    assert not thread.runtime.retry_now()
    gate.open()
    assert thread.wait_settled() == RunSettled("complete")


def test_a_provider_that_says_when_is_not_asked_earlier(
    thread: LiveThread, server: ModelServer
) -> None:
    """Its wish is longer than the backoff, so it holds."""
    retry(thread)
    server.script([replace(refused("429"), headers={"retry-after": "30"})])
    before = datetime.now(UTC).timestamp() * 1000
    thread.start("Hello")
    thread.wait_until(lambda: "retry-wait" in thread.activities)
    activity = thread.runtime.activity()
    assert activity is not None
    assert activity.until is not None
    assert activity.until >= before + 30_000
    thread.runtime.abort()
    thread.wait_settled()


def test_a_provider_that_asks_for_too_long_is_not_waited_for(
    thread: LiveThread, server: ModelServer
) -> None:
    """The person is told how long, and decides."""
    retry(thread)
    server.script([replace(refused("429"), headers={"retry-after": "7200"}), ANSWER])
    assert thread.run("Hello").outcome == "refused"
    assert "Lab server asks to wait 2 hours" in thread.told(RunNotice)[-1].sentence
    assert stored_after_the_last_prompt(thread) == ["user", "error"]


# -- the rule itself ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attempt, requested, delay",
    [
        (1, None, 2000),
        (2, None, 4000),
        (3, None, 8000),
        (4, None, None),
        (1, 500, 2000),
        (1, 20_000, 20_000),
        (1, 60_000, 60_000),
        (1, 60_001, None),
    ],
)
def test_the_backoff_doubles_and_a_wish_holds(
    attempt: int, requested: int | None, delay: int | None
) -> None:
    """With pi's values."""
    assert RetryPolicy().delay(attempt, requested) == delay


def test_a_backoff_has_a_longest_and_a_wish_may_have_none() -> None:
    """As the settings say: 0 is any time."""
    policy = RetryPolicy(attempts=100, longest_delay=5000, longest_requested=0)
    assert policy.delay(99, None) == 5000
    assert policy.delay(1, 9_999_999) == 9_999_999


def at(seconds: float) -> str:
    """A time from now, as HTTP writes it."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    "headers, least, most",
    [
        ({"retry-after": "20"}, 20_000, 20_000),
        ({"retry-after": "0.5"}, 500, 500),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1500, 1500),
        ({"retry-after": lambda: at(60)}, 50_000, 60_000),
        ({"retry-after": lambda: at(-60)}, 0, 0),
    ],
)
def test_a_wish_is_read_from_the_headers(
    headers: dict[str, str | Callable[[], str]], least: int, most: int
) -> None:
    """Seconds, milliseconds or a date; one that has passed is now."""
    said = {name: value if isinstance(value, str) else value() for name, value in headers.items()}
    found = requested_delay(said)
    assert found is not None
    assert least <= found <= most


@pytest.mark.parametrize("text", ["", "soon", "-3", "nan", "inf", "Mon, 99 Foo 2026 00:00:00 GMT"])
def test_what_is_no_wish_is_none(text: str) -> None:
    """Whatever stands there."""
    assert requested_delay({"retry-after": text}) is None
    assert requested_delay({}) is None
