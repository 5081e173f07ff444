"""models.json, auth.json and settings.json as people write them, and where a key comes from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from enso.host.contract import RunSettled
from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.runtimes.models.config_values import ValueNotResolved, resolve
from tests.model_server import ModelServer
from tests.runtimes.agent_files import write_json, write_provider
from tests.runtimes.conftest import MakeRuntimes
from tests.runtimes.live_thread import new_thread

MODELS_JSON = """\ufeff{
  // where the lab is
  "providers": {
    "lab": { // "quoted" // twice
      "name": "The // lab, }", "baseUrl": "http://127.0.0.1:1/v1",
      "api": "openai-completions", "apiKey": "k",
      "models": [ { "id": "m", "contextWindow": 1000, }, ],
    },
  },
}
"""


# -- the files ------------------------------------------------------------------------------------


def test_comments_and_trailing_commas_are_let_by(tmp_path: Path) -> None:
    """As pi takes them, and never inside a string."""
    (tmp_path / "models.json").write_text(MODELS_JSON, encoding="utf-8")
    runtimes = BuiltinRuntimes(tmp_path, None)
    readiness = runtimes.readiness()
    assert readiness.warnings == ()
    assert readiness.model is not None
    assert (readiness.model.model, readiness.model.context_window) == ("m", 1000)
    assert runtimes.provider_name("lab") == "The // lab, }"


@pytest.mark.parametrize(
    "text, says",
    [
        ('{\n  "providers": {\n    "lab": oops\n  }\n}', "line 3, column 12"),
        ("[]", "must hold a JSON object"),
        ("", "line 1, column 1"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_file_is_said_in_a_sentence_with_the_place(
    text: str, says: str, tmp_path: Path
) -> None:
    """What is wrong, and where: never a crash, and every page still works."""
    (tmp_path / "models.json").write_text(text)
    readiness = BuiltinRuntimes(tmp_path, "lab/m").readiness()
    assert readiness.model is None
    assert len(readiness.warnings) == 1
    assert str(tmp_path / "models.json") in readiness.warnings[0]
    assert says in readiness.warnings[0]
    assert readiness.warnings[0] in readiness.what_to_do


def test_bytes_that_are_no_text_are_said(tmp_path: Path) -> None:
    """A file in another encoding is named."""
    (tmp_path / "models.json").write_bytes(b'{"a": "\xff"}')
    assert "is not UTF-8 text" in BuiltinRuntimes(tmp_path, None).readiness().warnings[0]


def test_a_broken_provider_leaves_the_others_usable(
    make_runtimes: MakeRuntimes, agent_dir: Path
) -> None:
    """The sentence names the field, and not the value: it may be a key."""
    write_provider(agent_dir, "bad", {"apiKey": ["SECRET"], "models": [{"id": "m"}]})
    runtimes = make_runtimes("labserver/lab-coder")
    readiness = runtimes.readiness()
    assert readiness.model is not None
    assert "providers.bad.apiKey" in readiness.warnings[0]
    assert "SECRET" not in readiness.warnings[0]
    refused = make_runtimes("bad/m").readiness().what_to_do
    assert refused == f"ENSO_MODEL names bad/m. {readiness.warnings[0]}"


def test_a_model_without_an_id_is_named_by_its_place(
    make_runtimes: MakeRuntimes, agent_dir: Path
) -> None:
    """The place in the list is how a person finds it."""
    write_provider(agent_dir, "bad", {"apiKey": "k", "models": [{"id": "a"}, {"name": "b"}]})
    assert "providers.bad.models[1].id is missing" in make_runtimes().readiness().warnings[0]


def test_a_broken_auth_json_names_the_provider(
    make_runtimes: MakeRuntimes, agent_dir: Path
) -> None:
    """A credential that is none is said, and the others are used."""
    write_json(agent_dir / "auth.json", {"openai": 7, "anthropic": {"type": "api_key", "key": "k"}})
    readiness = make_runtimes("anthropic/claude-x").readiness()
    assert readiness.model is not None
    assert "auth.json: openai:" in readiness.warnings[0]


def test_an_endpoint_that_enso_does_not_speak_is_said(
    make_runtimes: MakeRuntimes, agent_dir: Path
) -> None:
    """A protocol that is none of the four is named with those that are."""
    fields = {"baseUrl": "http://127.0.0.1:1", "api": "smoke-signals", "apiKey": "k"}
    write_provider(agent_dir, "far", {**fields, "models": [{"id": "m"}]})
    said = make_runtimes("far/m").readiness().what_to_do
    assert "no api that Enso speaks: anthropic-messages, google-generative-ai" in said


# -- where a key comes from -----------------------------------------------------------------------


def key_sent(
    make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer, model: str = "openai/gpt-4o"
) -> str:
    """The key that a request of this model carries."""
    thread = new_thread(make_runtimes(model), tmp_path)
    assert thread.run("Hello") == RunSettled("complete")
    return server.requests()[-1].headers["authorization"].removeprefix("Bearer ")


@pytest.fixture
def openai_at(server: ModelServer, agent_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """OpenAI at the endpoint, with a key in each of the three places; the agent directory."""
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    write_provider(agent_dir, "openai", {"baseUrl": f"{server.url}/v1", "apiKey": "from-models"})
    write_json(agent_dir / "auth.json", {"openai": {"type": "api_key", "key": "from-auth"}})
    return agent_dir


def test_auth_json_goes_before_models_json(
    openai_at: Path, make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """What a person logged in with is used first."""
    assert key_sent(make_runtimes, tmp_path, server) == "from-auth"


def test_models_json_goes_before_the_environment(
    openai_at: Path, make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """What is written for an endpoint is meant for it."""
    (openai_at / "auth.json").unlink()
    assert key_sent(make_runtimes, tmp_path, server) == "from-models"


def test_the_environment_is_the_last_place(
    openai_at: Path, make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """The provider's usual variable, when nothing else is written."""
    (openai_at / "auth.json").unlink()
    write_provider(openai_at, "openai", {"baseUrl": f"{server.url}/v1"})
    assert key_sent(make_runtimes, tmp_path, server) == "from-environment"


def test_a_login_that_is_no_key_is_passed_by(
    openai_at: Path, make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """A subscription's login is for pi alone."""
    login = {"type": "oauth", "access": "x", "refresh": "y", "expires": 1}
    write_json(openai_at / "auth.json", {"openai": login})
    assert key_sent(make_runtimes, tmp_path, server) == "from-models"


def test_a_key_of_auth_json_may_come_with_its_own_variables(
    openai_at: Path, make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """``env`` of a credential goes before the process's environment."""
    credential = {"type": "api_key", "key": "$OPENAI_API_KEY", "env": {"OPENAI_API_KEY": "own"}}
    write_json(openai_at / "auth.json", {"openai": credential})
    assert key_sent(make_runtimes, tmp_path, server) == "own"


def test_a_command_is_run_for_every_request(
    openai_at: Path, make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """A key that changes is asked for anew, and looking at the model runs nothing."""
    count = tmp_path / "count"
    command = f"!echo x >> {count}; echo key-$(wc -l < {count})"
    write_json(openai_at / "auth.json", {"openai": {"type": "api_key", "key": command}})
    thread = new_thread(make_runtimes("openai/gpt-4o"), tmp_path)
    assert thread.runtime.model() is not None
    assert not count.exists()
    thread.run("One")
    thread.run("Two")
    keys = [request.headers["authorization"] for request in server.requests()]
    assert keys == ["Bearer key-1", "Bearer key-2"]


def test_a_command_that_fails_is_a_refused_attempt_that_does_not_say_it(
    openai_at: Path, make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """It is said that there is no key and why, without the command and without a request."""
    command = "!echo very-secret-path; exit 3"
    write_json(openai_at / "auth.json", {"openai": {"type": "api_key", "key": command}})
    thread = new_thread(make_runtimes("openai/gpt-4o"), tmp_path)
    settled = thread.run("Hello")
    assert settled.refusal is not None
    assert settled.refusal.refusal_class == "authentication"
    assert "exit status 3" in settled.refusal.reason
    assert "very-secret-path" not in thread.session.path.read_text()
    assert server.requests() == []


def test_a_header_may_carry_the_key(
    make_runtimes: MakeRuntimes, agent_dir: Path, tmp_path: Path, server: ModelServer
) -> None:
    """An endpoint may be let in by a header of its own, without an apiKey."""
    fields = {"baseUrl": f"{server.url}/v1", "api": "openai-completions"}
    headers = {"Authorization": "Token $$5", "X-Who": "me"}
    write_provider(agent_dir, "gate", {**fields, "headers": headers, "models": [{"id": "m"}]})
    new_thread(make_runtimes("gate/m"), tmp_path).run("Hello")
    sent = server.requests()[-1].headers
    assert (sent["authorization"], sent["x-who"]) == ("Token $5", "me")


def test_a_key_may_go_out_as_a_bearer_too(
    make_runtimes: MakeRuntimes, agent_dir: Path, tmp_path: Path, server: ModelServer
) -> None:
    """``authHeader`` is for proxies in front of a protocol that has a header of its own."""
    fields = {"baseUrl": f"{server.url}/v1beta", "api": "google-generative-ai", "apiKey": "k"}
    write_provider(agent_dir, "proxy", {**fields, "authHeader": True, "models": [{"id": "m"}]})
    new_thread(make_runtimes("proxy/m"), tmp_path).run("Hello")
    assert server.requests()[-1].headers["authorization"] == "Bearer k"


def test_an_endpoint_like_anthropics_gets_the_key_where_it_looks(
    make_runtimes: MakeRuntimes, tmp_path: Path, server: ModelServer
) -> None:
    """In ``x-api-key``, as pi sends it."""
    new_thread(make_runtimes("labclaude/lab-sonnet"), tmp_path).run("Hello")
    assert server.requests()[-1].headers["x-api-key"] == "lab-key"


def test_an_account_of_the_environment_is_told_to_nobody_else(
    make_runtimes: MakeRuntimes,
    tmp_path: Path,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the SDKs read from the environment for their own provider stays there."""
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "SECRET")
    for model in ("labserver/lab-coder", "labclaude/lab-sonnet"):
        new_thread(make_runtimes(model), tmp_path, model.replace("/", "-")).run("Hello")
        assert "SECRET" not in str(server.requests()[-1].headers)


# -- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, resolved",
    [
        ("plain", "plain"),
        ("$ENSO_TEST_A", "alpha"),
        ("${ENSO_TEST_A}bet", "alphabet"),
        ("x-$ENSO_TEST_A-$ENSO_TEST_B", "x-alpha-beta"),
        ("$$ENSO_TEST_A", "$ENSO_TEST_A"),
        ("$!echo", "!echo"),
        ("100$", "100$"),
        ("${not a name}", "${not a name}"),
        ("!echo '  spaced  '", "spaced"),
        ("!printf $ENSO_TEST_A", "alpha"),
    ],
)
def test_a_value_stands_for_what_pi_takes_it_for(
    value: str, resolved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables, escapes and commands."""
    monkeypatch.setenv("ENSO_TEST_A", "alpha")
    monkeypatch.setenv("ENSO_TEST_B", "beta")
    assert resolve(value) == resolved


@pytest.mark.parametrize(
    "value, says",
    [
        ("$ENSO_TEST_UNSET", "ENSO_TEST_UNSET is not set"),
        ("!true", "wrote nothing"),
        ("!exit 4", "exit status 4"),
    ],
)
def test_a_value_that_cannot_be_had_says_why(value: str, says: str) -> None:
    """The reason is a part of a sentence."""
    assert "ENSO_TEST_UNSET" not in os.environ
    with pytest.raises(ValueNotResolved, match=says):
        resolve(value)
