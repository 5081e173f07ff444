"""Mode, model, level, name, labels and the place in the tree: each is an entry as pi writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import EntryStored, ModelChoice, PromptRefused, RunSettled
from enso.transcript import TranscriptCustom
from tests.model_server import ModelServer
from tests.runtimes.agent_files import change_model, write_json
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import LiveThread, stored_thread, user
from tests.runtimes.test_stopping import streaming


def last(thread: LiveThread) -> dict[str, Any]:
    """The last stored entry, without its place and time."""
    return {k: v for k, v in thread.lines()[-1].items() if k not in ("id", "parentId", "timestamp")}


# -- the file comes with the first answer ---------------------------------------------------------


def test_what_is_set_before_the_first_prompt_leaves_no_file(thread: LiveThread) -> None:
    """It is told at once, kept in memory, and stored with the first answer, in order."""
    thread.runtime.set_mode("plan")
    thread.runtime.set_model("labclaude", "lab-sonnet", "high")
    thread.runtime.rename("Orders")
    assert len(thread.told(EntryStored)) == 4
    assert thread.lines() == []
    assert thread.run("Hello") == RunSettled("complete")
    assert thread.kinds() == [
        *("session", "custom", "model_change", "thinking_level_change", "session_info"),
        *("message:system", "message:user", "message:assistant"),
    ]
    assert thread.last_answer["model"] == "lab-sonnet"
    assert thread.last_answer["thinkingLevel"] == "high"
    assert tuple(thread.stored_live()) == thread.read_cold()


# -- mode -----------------------------------------------------------------------------------------


def test_a_mode_is_stored_with_the_one_before_it(thread: LiveThread, server: ModelServer) -> None:
    """Also while a run is in flight."""
    gate = streaming(thread, server)
    thread.runtime.set_mode("plan")
    thread.runtime.set_mode("auto")
    gate.open()
    thread.wait_settled()
    stored = [line["data"] for line in thread.lines() if line["type"] == "custom"]
    assert [(data["mode"], data["previous"]) for data in stored] == [
        ("plan", "ask"),
        ("auto", "plan"),
    ]
    assert all(isinstance(data["at"], int) for data in stored)
    assert thread.kinds()[-3:] == ["custom", "custom", "message:assistant"]


def test_what_another_program_keeps_with_a_mode_is_kept(
    make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Its own keys stay in the entry that follows."""
    data = {"mode": "build", "previous": None, "at": 1, "tools": ["read"]}
    entries = [{"type": "custom", "customType": "modes", "data": data}, user("Hello")]
    thread = stored_thread(make_runtimes("labserver/lab-coder"), tmp_path, entries)
    thread.runtime.set_mode("edit")
    stored = last(thread)["data"]
    assert (stored["mode"], stored["previous"], stored["tools"]) == ("edit", "build", ["read"])
    assert isinstance(thread.told(EntryStored)[-1].entry, TranscriptCustom)


def test_a_mode_that_is_none_is_refused(thread: LiveThread) -> None:
    """Nothing is stored."""
    with pytest.raises(PromptRefused) as refusal:
        thread.runtime.set_mode("yolo")
    assert refusal.value.code == "unknown-mode"
    assert thread.events == []


# -- model ----------------------------------------------------------------------------------------


def test_the_chosen_model_answers_the_next_prompt(thread: LiveThread, server: ModelServer) -> None:
    """From then on, also after a restart: it is on the branch."""
    thread.run("One")
    thread.runtime.set_model("labclaude", "lab-sonnet")
    changed = {"type": "model_change", "provider": "labclaude", "modelId": "lab-sonnet"}
    assert last(thread) == changed
    in_use = thread.runtime.model()
    assert in_use is not None
    assert (in_use.provider, in_use.model) == ("labclaude", "lab-sonnet")
    thread.run("Two")
    assert thread.last_answer["provider"] == "labclaude"
    assert thread.kinds().count("model_change") == 2


def test_choosing_what_is_chosen_stores_nothing(thread: LiveThread) -> None:
    """No entry without a change."""
    thread.run("One")
    before = thread.kinds()
    thread.runtime.set_model("labserver", "lab-coder")
    thread.runtime.set_model("labserver", "lab-coder", "off")
    assert thread.kinds() == before


@pytest.mark.parametrize(
    "model, asked, taken",
    [("labclaude/lab-sonnet", "low", "low"), ("labserver/lab-coder", "high", "off")],
)
def test_a_level_is_what_the_model_takes(
    model: str, asked: str, taken: str, thread: LiveThread
) -> None:
    """One that it has not is the nearest that it has."""
    thread.runtime.set_model(*model.split("/"), asked)
    thread.run("Hello")
    assert thread.last_answer["thinkingLevel"] == taken


def test_a_model_that_is_not_there_is_refused_by_name(thread: LiveThread, agent_dir: Path) -> None:
    """In a sentence that says what to do; nothing is stored, and the old one stays."""
    with pytest.raises(PromptRefused, match="labserver/lab-nope was chosen"):
        thread.runtime.set_model("labserver", "lab-nope")
    with pytest.raises(PromptRefused, match="no provider “nowhere”"):
        thread.runtime.set_model("nowhere", "any")
    assert thread.events == []
    in_use = thread.runtime.model()
    assert in_use is not None
    assert in_use.model == "lab-coder"


def test_a_model_that_goes_away_is_said_and_another_can_be_chosen(
    thread: LiveThread, agent_dir: Path
) -> None:
    """Nothing switches by itself: the person chooses, and goes on in the same thread."""
    thread.run("One")
    change_model(agent_dir, "labserver", {"id": "lab-other"})
    assert thread.runtime.model() is None
    with pytest.raises(PromptRefused) as refusal:
        thread.start("Two")
    assert refusal.value.code == "model-gone"
    assert "labserver/lab-coder" in str(refusal.value)
    thread.runtime.set_model("labserver", "lab-other")
    assert thread.run("Two") == RunSettled("complete")
    assert thread.last_answer["model"] == "lab-other"


def test_nothing_is_set_while_a_run_needs_it(thread: LiveThread, server: ModelServer) -> None:
    """Model, place and compaction wait for the end of the run."""
    gate = streaming(thread, server)
    for change in (
        lambda: thread.runtime.set_model("labclaude", "lab-sonnet"),
        lambda: thread.runtime.go_to(None),
        thread.runtime.compact,
    ):
        with pytest.raises(PromptRefused) as refusal:
            change()
        assert refusal.value.code == "busy"
    gate.open()
    assert thread.wait_settled() == RunSettled("complete")


def test_the_configured_models_can_be_chosen_from(make_runtimes: MakeRuntimes) -> None:
    """Each with its levels and its window, in the order of the configuration."""
    choices = make_runtimes().models()
    named = {f"{choice.provider}/{choice.model}": choice for choice in choices}
    assert list(named)[:4] == [
        *("labserver/lab-coder", "labresponses/lab-thinker"),
        *("labclaude/lab-sonnet", "labgoogle/lab-gemini"),
    ]
    assert named["labserver/lab-coder"] == ModelChoice(
        provider="labserver",
        model="lab-coder",
        label="Lab Coder",
        levels=("off",),
        context_window=32768,
    )
    assert named["labclaude/lab-sonnet"].levels == ("off", "minimal", "low", "medium", "high")


def test_a_model_without_a_key_is_no_choice(make_runtimes: MakeRuntimes, agent_dir: Path) -> None:
    """It could not answer."""
    path = agent_dir / "models.json"
    path.write_text(path.read_text().replace('"apiKey": "lab-key"', '"apiKey": "$NOT_SET_AT_ALL"'))
    assert not any(choice.provider.startswith("lab") for choice in make_runtimes().models())


# -- name and labels ------------------------------------------------------------------------------


def test_a_thread_is_named_and_unnamed(thread: LiveThread, server: ModelServer) -> None:
    """One line, whatever was typed; also while a run is in flight."""
    gate = streaming(thread, server)
    thread.runtime.rename("  The \n orders ")
    gate.open()
    thread.wait_settled()
    assert thread.session.name == "The orders"
    thread.runtime.rename("")
    assert thread.session.name is None
    assert last(thread) == {"type": "session_info", "name": ""}


def test_an_entry_is_labelled_as_pi_labels_it(thread: LiveThread) -> None:
    """Any entry of the file; the empty label takes it away again."""
    thread.run("Hello")
    target = thread.lines()[-2]["id"]
    thread.runtime.label(target, " here ")
    assert last(thread) == {"type": "label", "targetId": target, "label": "here"}
    thread.runtime.label(target, "")
    assert last(thread) == {"type": "label", "targetId": target}
    with pytest.raises(PromptRefused) as refusal:
        thread.runtime.label("ffffffff", "nowhere")
    assert refusal.value.code == "unknown-entry"


# -- the tree -------------------------------------------------------------------------------------


def test_going_to_a_prompt_lets_it_be_said_differently(
    thread: LiveThread, server: ModelServer
) -> None:
    """Nothing is written until the next prompt, which becomes its sibling; the old branch stays."""
    thread.run("One")
    thread.run("Two")
    before = thread.session.path.read_bytes()
    second = next(line for line in thread.lines() if "Two" in str(line))
    thread.runtime.go_to(second["id"])
    assert thread.session.path.read_bytes() == before
    thread.run("Two, differently")
    assert thread.session.path.read_bytes().startswith(before)
    again = next(line for line in thread.lines() if "Two, differently" in str(line))
    assert again["parentId"] == second["parentId"]
    sent = str(server.requests()[-1].body["messages"])
    assert "Two, differently" in sent
    assert "'Two'" not in sent


def test_going_to_an_answer_goes_on_behind_it(thread: LiveThread) -> None:
    """What came later is left, and can be gone to again."""
    thread.run("One")
    first = thread.lines()[-1]["id"]
    thread.run("Two")
    second = thread.lines()[-1]["id"]
    thread.runtime.go_to(first)
    assert thread.session.leaf_id == first
    thread.runtime.go_to(second)
    thread.run("Three")
    prompts = [e for e in thread.read_cold() if getattr(e, "role", "") == "user"]
    assert len(prompts) == 3


def test_going_before_everything_begins_anew(thread: LiveThread, server: ModelServer) -> None:
    """A second root, with a system message of its own."""
    thread.run("One")
    thread.runtime.go_to(None)
    thread.run("Another beginning")
    roots = [line for line in thread.lines()[1:] if line["parentId"] is None]
    assert len(roots) == 2
    assert "One" not in str(server.requests()[-1].body["messages"][1:])
    assert server.requests()[-1].body["messages"][0]["role"] == "system"


def test_an_unknown_entry_cannot_be_gone_to(thread: LiveThread) -> None:
    """The place stays."""
    thread.run("One")
    leaf = thread.session.leaf_id
    with pytest.raises(PromptRefused) as refusal:
        thread.runtime.go_to("ffffffff")
    assert refusal.value.code == "unknown-entry"
    assert thread.session.leaf_id == leaf


# -- settings files -------------------------------------------------------------------------------


def test_settings_are_read_as_they_are_now(thread: LiveThread, server: ModelServer) -> None:
    """A person edits them between two prompts."""
    write_json(thread.runtimes.agent_dir / "settings.json", {"retry": {"enabled": False}})
    assert not thread.runtimes.settings.retry.enabled
    write_json(thread.runtimes.agent_dir / "settings.json", {"retry": {"maxRetries": 7}})
    assert thread.runtimes.settings.retry.attempts == 7


def test_settings_that_are_broken_are_said_and_the_usual_ones_hold(
    thread: LiveThread, agent_dir: Path
) -> None:
    """A typo stops nobody."""
    write_json(agent_dir / "settings.json", {"retry": {"maxRetries": -1}})
    assert thread.runtimes.settings.retry.attempts == 3
    assert "retry.maxRetries" in str(thread.runtimes.readiness().warnings)
    assert thread.run("Hello") == RunSettled("complete")
