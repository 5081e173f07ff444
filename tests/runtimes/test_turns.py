"""A turn over each of the four protocols: what streams, and what is stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from enso.host.contract import (
    EntryStored,
    MessageStarted,
    PartDelta,
    PartStarted,
    PromptImage,
    PromptRefused,
    RunNotice,
    RunSettled,
)
from enso.host.runtimes.builtin.tools import TOOLS
from enso.transcript import TextPart, ThinkingPart, Usage
from tests.model_server import SIGNATURE, Gate, ModelServer, Reply
from tests.runtimes.agent_files import change_model, write_provider
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread, new_thread

MODELS = {
    "openai-completions": "labserver/lab-coder",
    "openai-responses": "labresponses/lab-thinker",
    "anthropic-messages": "labclaude/lab-sonnet",
    "google-generative-ai": "labgoogle/lab-gemini",
}
every_protocol = pytest.mark.parametrize("api", MODELS)

THOUGHTFUL = Reply(
    thinking=("First the ", "costs."),
    text=("Option B ", "is cheaper."),
    usage={"input": 1000, "cached": 300, "output": 200, "reasoning": 50},
)


@every_protocol
def test_a_first_turn_is_stored_as_pi_stores_it(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The file begins with model, level, system message and prompt; the answer has all fields."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([THOUGHTFUL])
    assert thread.run("Which one?") == RunSettled("complete")
    assert thread.kinds() == [
        "session",
        "model_change",
        "thinking_level_change",
        "message:system",
        "message:user",
        "message:assistant",
    ]
    provider, model = MODELS[api].split("/")
    assert thread.lines()[1]["provider"] == provider
    assert thread.lines()[1]["modelId"] == model
    system, prompt, answer = thread.messages()
    assert system["content"] == ""
    assert system["sections"]["cwd"] == f"<cwd>\n{tmp_path}\n</cwd>"
    assert [tool["name"] for tool in system["toolsAdded"]] == list(TOOLS)
    assert prompt["content"] == [{"type": "text", "text": "Which one?"}]
    assert answer["api"] == api
    assert (answer["provider"], answer["model"]) == (provider, model)
    assert [block["type"] for block in answer["content"]] == ["thinking", "text"]
    assert answer["content"][0]["thinking"] == "First the costs."
    assert answer["content"][1]["text"] == "Option B is cheaper."
    assert answer["stopReason"] == "stop"
    assert answer["responseId"]
    assert answer["durationMs"] >= 0
    assert prompt["timestamp"] <= answer["timestamp"]


@every_protocol
def test_usage_is_counted_without_cached_tokens_and_priced(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Tokens of the cache are counted once, and the cost is the rates of models.json."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([THOUGHTFUL])
    thread.run("Which one?")
    usage = thread.last_answer["usage"]
    assert (usage["input"], usage["cacheRead"], usage["cacheWrite"]) == (700, 300, 0)
    assert (usage["output"], usage["totalTokens"]) == (200, 1200)
    assert usage["cost"]["input"] == pytest.approx(700 * 0.6e-6)
    assert usage["cost"]["cacheRead"] == pytest.approx(300 * 0.11e-6)
    assert usage["cost"]["output"] == pytest.approx(200 * 2.2e-6)
    assert usage["cost"]["total"] == pytest.approx(0.000893)
    assert usage["cost"]["totalFromProvider"] is False
    assert thread.cold_answer.usage == Usage(
        input=700, output=200, cache_read=300, cost=usage["cost"]["total"]
    )


@every_protocol
def test_what_streams_is_told_in_order_and_ends_in_the_stored_entry(
    api: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Parts and deltas add up to the stored parts, under the id that the entry then has."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([THOUGHTFUL])
    thread.run("Which one?")
    started = thread.told(MessageStarted)
    assert len(started) == 1
    asking, stored = ["ActivityChanged"], ["EntryStored"] * 4
    assert thread.names[:7] == [*asking, *stored, "ActivityChanged", "MessageStarted"]
    assert thread.names[-2:] == ["EntryStored", "RunSettled"]
    texts: dict[int, str] = {}
    for event in thread.events:
        if isinstance(event, PartStarted):
            assert isinstance(event.part, TextPart | ThinkingPart)
            texts[event.index] = event.part.text
        elif isinstance(event, PartDelta):
            texts[event.index] += event.text
    assert texts == {0: "First the costs.", 1: "Option B is cheaper."}
    last = thread.told(EntryStored)[-1].entry
    assert last.id == started[0].message_id == thread.lines()[-1]["id"]
    assert tuple(thread.stored_live()) == thread.read_cold()


@pytest.mark.parametrize(
    "api, signature",
    [
        ("openai-completions", "reasoning_content"),
        ("anthropic-messages", SIGNATURE),
    ],
)
def test_a_thought_is_stored_with_its_signature(
    api: str, signature: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """What a provider needs to be given back stands beside the thought."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([THOUGHTFUL])
    thread.run("Which one?")
    assert thread.last_answer["content"][0]["thinkingSignature"] == signature


def test_a_reasoning_item_of_the_responses_protocol_is_stored_whole(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """The signature is the item itself, encrypted content and all, as pi replays it."""
    thread = new_thread(make_runtimes(MODELS["openai-responses"]), tmp_path)
    server.script([THOUGHTFUL])
    thread.run("Which one?")
    thinking, text = thread.last_answer["content"]
    item = json.loads(thinking["thinkingSignature"])
    assert item["type"] == "reasoning"
    assert item["encrypted_content"] == SIGNATURE
    assert item["summary"] == [{"type": "summary_text", "text": "First the costs."}]
    assert json.loads(text["textSignature"])["id"].startswith("msg_")


def test_a_signed_text_of_google_keeps_its_signature(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Google signs texts too, and wants the signature back on the same part."""
    thread = new_thread(make_runtimes(MODELS["google-generative-ai"]), tmp_path)
    server.script([THOUGHTFUL])
    thread.run("Which one?")
    assert thread.last_answer["content"][1]["textSignature"] == SIGNATURE


def test_tokens_written_to_a_cache_are_counted_and_priced(
    server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Anthropic charges for what it caches, so it is no part of the input."""
    thread = new_thread(make_runtimes(MODELS["anthropic-messages"]), tmp_path)
    server.script([Reply(text=("Yes.",), usage={"input": 900, "written": 400, "output": 5})])
    thread.run("Is it?")
    usage = thread.last_answer["usage"]
    assert (usage["input"], usage["cacheWrite"]) == (500, 400)
    assert usage["cost"]["cacheWrite"] == pytest.approx(400 * 0.75e-6)


def test_a_model_without_a_price_costs_nothing_that_is_known(
    server: ModelServer, make_runtimes: MakeRuntimes, agent_dir: Path, tmp_path: Path
) -> None:
    """A sum with such a request in it is a lower bound, and says so."""
    change_model(agent_dir, "labserver", {"cost": None})
    thread = new_thread(make_runtimes("labserver/lab-coder"), tmp_path)
    thread.run("Hello")
    assert thread.last_answer["usage"]["cost"]["priceUnknown"] is True
    assert thread.last_answer["usage"]["cost"]["total"] == 0
    usage = thread.cold_answer.usage
    assert usage is not None
    assert not usage.cost_known


def test_an_answer_whose_usage_is_not_told_has_no_known_cost(
    thread: LiveThread, server: ModelServer
) -> None:
    """Some endpoints tell no usage: nothing is counted, and the cost is said to be unknown."""
    server.script([Reply(text=("Yes.",), usage=None)])
    thread.run("Is it?")
    assert thread.last_answer["usage"]["totalTokens"] == 0
    usage = thread.cold_answer.usage
    assert usage is not None
    assert not usage.cost_known


def test_a_price_that_models_json_leaves_out_is_looked_up(
    server: ModelServer, make_runtimes: MakeRuntimes, agent_dir: Path, tmp_path: Path
) -> None:
    """A known model of a known provider has its list price, also through a proxy."""
    write_provider(agent_dir, "openai", {"baseUrl": f"{server.url}/v1", "apiKey": "k"})
    thread = new_thread(make_runtimes("openai/gpt-4o"), tmp_path)
    server.script([Reply(text=("Yes.",), usage={"input": 1_000_000, "output": 0})])
    thread.run("Is it?")
    cost = thread.last_answer["usage"]["cost"]
    assert cost["total"] == pytest.approx(2.5)
    assert "priceUnknown" not in cost


@pytest.mark.parametrize(
    "api, finish",
    [
        ("openai-completions", "length"),
        ("openai-responses", "max_output_tokens"),
        ("anthropic-messages", "max_tokens"),
        ("google-generative-ai", "MAX_TOKENS"),
    ],
)
def test_an_answer_cut_by_its_length_says_so(
    api: str, finish: str, server: ModelServer, make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """It is complete as a run, and its message ends with ``length``."""
    thread = new_thread(make_runtimes(MODELS[api]), tmp_path)
    server.script([Reply(text=("A long",), finish=finish)])
    assert thread.run("Tell me all") == RunSettled("complete")
    assert thread.last_answer["stopReason"] == "length"
    assert thread.cold_answer.stop_reason == "length"


def test_an_empty_answer_is_an_answer(thread: LiveThread, server: ModelServer) -> None:
    """A model may say nothing: one request is made, and nothing is made up."""
    server.script([Reply(usage={"input": 10, "output": 1})])
    assert thread.run("Say nothing at all.") == RunSettled("complete")
    assert thread.last_answer["content"] == []
    assert thread.last_answer["stopReason"] == "stop"
    assert len(server.requests()) == 1


def test_a_second_prompt_while_busy_is_refused_in_words(
    thread: LiveThread, server: ModelServer
) -> None:
    """One run at a time: the second prompt starts nothing and stores nothing."""
    gate = Gate()
    server.script([Reply(text=("Wait",), gate=gate)])
    thread.start("First")
    thread.wait_for(MessageStarted)
    with pytest.raises(PromptRefused, match="in flight") as refused:
        thread.start("Second")
    assert refused.value.code == "busy"
    gate.open()
    thread.wait_settled()
    assert thread.kinds().count("message:user") == 1


def test_an_empty_prompt_is_refused(thread: LiveThread, server: ModelServer) -> None:
    """There is nothing to ask a model."""
    with pytest.raises(PromptRefused, match="empty"):
        thread.start(" \n")
    assert thread.events == []
    assert server.requests() == []


def test_a_prompt_may_follow_as_soon_as_a_run_is_settled(
    thread: LiveThread, server: ModelServer
) -> None:
    """Whoever hears that a run is settled can start the next one, in the same file."""
    for word in ("One", "Two", "Three"):
        server.script([Reply(text=(word,))])
        assert thread.run(word) == RunSettled("complete")
    texts = [message["content"][0]["text"] for message in thread.messages()[1:]]
    assert texts == ["One", "One", "Two", "Two", "Three", "Three"]
    assert thread.kinds().count("model_change") == 1
    assert thread.kinds().count("message:system") == 1


def test_nothing_is_on_disk_before_the_answer_begins(
    thread: LiveThread, server: ModelServer
) -> None:
    """A first prompt is held in memory until there is a sign of an answer."""
    first, last = Gate(), Gate()
    server.script([Reply(text=("Here",), first_gate=first, gate=last)])
    thread.start("Hello?")
    first.reached.wait(20)
    assert not thread.session.path.exists()
    first.open()
    thread.wait_for(MessageStarted)
    assert thread.kinds()[-1] == "message:user"
    last.open()
    thread.wait_settled()
    assert thread.kinds()[-1] == "message:assistant"


def test_a_prompt_to_a_stored_thread_is_on_disk_at_once(
    thread: LiveThread, server: ModelServer
) -> None:
    """From the second prompt on, a prompt is in the file before the model is asked."""
    thread.run("First")
    gate = Gate()
    server.script([Reply(text=("Second",), first_gate=gate)])
    thread.start("And now?")
    gate.reached.wait(20)
    assert thread.messages()[-1]["content"][0]["text"] == "And now?"
    gate.open()
    thread.wait_settled(2)


def test_an_image_is_sent_and_stored(thread: LiveThread, server: ModelServer) -> None:
    """A model that sees gets the image itself."""
    thread.run("What is this?", [PromptImage("image/png", "aGVsbG8=")])
    assert thread.messages()[1]["content"][1] == {
        "type": "image",
        "data": "aGVsbG8=",
        "mimeType": "image/png",
    }
    sent = server.requests()[0].body["messages"][-1]["content"]
    assert sent[1]["image_url"]["url"] == "data:image/png;base64,aGVsbG8="


def test_a_model_that_sees_no_images_is_told_that_there_was_one(
    server: ModelServer, make_runtimes: MakeRuntimes, agent_dir: Path, tmp_path: Path
) -> None:
    """The image is stored, the model gets a note, and the person is told."""
    change_model(agent_dir, "labserver", {"input": ["text"]})
    thread = new_thread(make_runtimes("labserver/lab-coder"), tmp_path)
    thread.run("What is this?", [PromptImage("image/png", "aGVsbG8=")])
    sent = json.dumps(server.requests()[0].body["messages"][-1])
    assert "image omitted" in sent
    assert "aGVsbG8=" not in sent
    assert thread.messages()[1]["content"][1]["data"] == "aGVsbG8="
    assert "sees no images" in thread.told(RunNotice)[0].sentence
