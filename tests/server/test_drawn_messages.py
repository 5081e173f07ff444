"""Messages: what a person reads of each kind."""

from __future__ import annotations

import re
from typing import Any

import pytest

from enso import transcript, wire
from tests.look.scenes import (
    SPENT,
    agent,
    call,
    pane,
    png,
    refused,
    result,
    user,
)
from tests.server.drawn import (
    RENDER,
    Page,
    assert_safe,
    drawn,
    words,
)


def test_a_refusal_reads_exactly_as_its_sentence() -> None:
    """The bubble is the sentence, the provider and the model in bold."""
    entry = refused("r1")
    assert entry.refusal is not None
    html = drawn(entry)
    bubble = html[html.index('<p class="refusal"') : html.index("</p>")] + "</p>"
    assert Page(bubble).text == entry.refusal.sentence
    assert "<strong>OpenAI · gpt-5.2</strong> refused: rate limit (429) — Rate limit" in bubble


def test_refused_attempts_of_one_prompt_fold_into_one_bubble() -> None:
    """The last is read, the others are counted and open; another prompt's stay apart."""
    html = drawn(user("u", "x"), refused("r1"), refused("r2"), refused("r3"), user("v", "y"),
                 refused("r4"))  # fmt: skip
    read = assert_safe(html)
    assert html.count('<section class="attempts"') == 1
    assert "3 attempts were refused" in html
    folded = html[html.index("<section") : html.index("</section>")]
    assert folded.index("m-k-r3") < folded.index("<details>") < folded.index("m-k-r1")
    assert "m-k-r4" not in folded
    assert {"m-k-r1", "m-k-r2", "m-k-r3", "m-k-r4"} <= set(read.ids())


def test_many_tool_calls_in_a_row_fold_to_a_count() -> None:
    """A run over many messages is one line that opens, and says what failed."""
    entries: list[transcript.TranscriptEntry] = [user("u", "go")]
    for n in range(7):
        entries += [agent(f"a{n}", call(f"c{n}", "read", path=f"f{n}")),
                    result(f"c{n}", "x", is_error=n == 3)]  # fmt: skip
    html = drawn(*entries, agent("end", transcript.TextPart("Done.")))
    assert_safe(html)
    assert '<details class="run" id="run-k-a0"><summary><span>7 tool calls: 7 read</span>' in html
    assert "1 failed" in html
    assert html.index("</details>\n<article") < html.index("Done.")
    few = drawn(*entries[:9])
    assert "run-k" not in few


def test_a_run_that_goes_on_is_watched_and_not_folded() -> None:
    """The call that runs now is in view, with those before it."""
    calls = [
        wire.ToolCallPart(id=f"c{n}", name="read", arguments={"path": f"f{n}"}, state=state)
        for n in range(8)
        for state in ["running" if n == 7 else "done"]
    ]
    messages = [
        wire.Message(id=f"a{n}", role="assistant", parts=[one]) for n, one in enumerate(calls)
    ]
    assert 'class="run"' not in RENDER.messages(messages, key="k")


def test_parallel_calls_of_one_message_fold_too() -> None:
    """Eight calls of one message are one line as well, between its text and what follows."""
    calls = [call(f"c{n}", "read", path=f"f{n}") for n in range(8)]
    html = drawn(
        agent("a", transcript.TextPart("All at once."), *calls, transcript.TextPart("So."))
    )
    assert "8 tool calls: 8 read" in html
    assert html.index("All at once.") < html.index('class="run"') < html.index("So.")
    assert {f"p-k-a-{n}" for n in range(10)} <= set(assert_safe(html).ids())


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"stop_reason": "aborted"}, "Stopped."),
        ({"stop_reason": "length"}, "Cut off at the model’s output limit."),
        ({"stop_reason": "stop"}, "An empty reply."),
    ],
)
def test_a_reply_that_ended_otherwise_says_how(fields: dict[str, Any], said: str) -> None:
    """Stopped, cut off, or empty: in words."""
    assert said in words(drawn(agent("a", **fields)))


@pytest.mark.parametrize(
    "tail, said",
    [
        ("unanswered-prompt", "This prompt was never answered."),
        ("tool-call-without-result", "The run ended before this call told its result"),
        ("tool-result-without-reply", "The run ended before the model answered"),
    ],
)
def test_an_interrupted_tail_is_said_in_words_with_what_to_do(tail: str, said: str) -> None:
    """A torn end of a branch says what happened, and that the next prompt goes on from there."""
    html = RENDER.pane(pane(interrupted=tail))
    told = words(html[html.index('id="interrupted-t1">') + len('id="interrupted-t1">') :
                      html.index('<div class="dialogs"')].removesuffix("</div>\n"))  # fmt: skip
    assert told.startswith(said)
    assert told.endswith("The next prompt continues from here.")


def test_the_bytes_of_an_image_are_inline_and_other_kinds_are_named() -> None:
    """A picture is never fetched; one of another kind says which."""
    html = drawn(user("u", "x", png(2, 2), transcript.ImagePart("image/svg+xml", "AAAA")))
    assert '<img src="data:image/png;base64,' in html
    assert "An image of the kind “image/svg+xml” is not shown." in html


def test_a_long_prompt_shows_its_start_and_opens_to_the_rest() -> None:
    """Nothing of what was written is lost."""
    text = "".join(f"line {n}\n" for n in range(200))
    html = drawn(user("u", text))
    assert "Show the other 176 lines" in html
    said = re.findall(r"line (\d+)", Page(html).text)
    assert said == [str(n) for n in range(200)]


def test_spend_says_what_is_not_known() -> None:
    """An unknown price is said, never hidden in a sum."""
    unknown = SPENT.model_copy(update={"cost_known": False})
    assert "943 k tokens · at least $0.31" in RENDER.pane(pane(usage=unknown))
    free = unknown.model_copy(update={"cost": 0.0})
    assert "943 k tokens · price unknown" in RENDER.pane(pane(usage=free))
    little = unknown.model_copy(update={"cost": 0.0004})
    assert "943 k tokens · price unknown" in RENDER.pane(pane(usage=little))
    several = little.model_copy(update={"unpriced_requests": 3})
    assert "943 k tokens · 3 requests of unknown price" in RENDER.pane(pane(usage=several))
