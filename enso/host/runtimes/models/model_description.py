"""What is known of a model by its name: from ``models.json``, else from the known providers.

Owns how a provider's fields, a model's entry and its override come together (source: pi 1.6.0,
``docs/models-configuration.md``). Whether it can be used is for ``model_choice``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from enso.host.runtimes.models.configuration import (
    Configuration,
    StoredCost,
    StoredModel,
    StoredProvider,
    StoredRates,
)
from enso.host.runtimes.models.known_providers import APIS, KNOWN_PROVIDERS, Api
from enso.host.runtimes.models.local_weights import LOCAL_MODEL
from enso.host.runtimes.models.model import LOCAL_PROVIDER, Model, Price, Rates
from enso.host.runtimes.models.provider_names import PROVIDER_NAMES


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model as a thread or a setting names it."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


def provider_name(configuration: Configuration, provider: str) -> str:
    """The display name of a provider id; the id itself when it has none."""
    stored = configuration.providers.get(provider)
    if stored and stored.name:
        return stored.name
    if provider == LOCAL_PROVIDER:
        return LOCAL_MODEL.provider_name
    return PROVIDER_NAMES.get(provider, provider)


def described_model(configuration: Configuration, name: ModelName) -> Model | None:
    """What is known of a model, with a key or without; ``None`` when there is no such model."""
    if name.provider == LOCAL_PROVIDER and name.provider not in configuration.providers:
        return LOCAL_MODEL if name.model == LOCAL_MODEL.id else None
    stored = configuration.providers.get(name.provider)
    entry = stored.model(name.model) if stored else None
    known = KNOWN_PROVIDERS.get(name.provider)
    if entry is None and known is None:
        return None
    api = _api(entry, stored, known.api if known else None)
    base_url = (
        (entry and entry.base_url) or (stored and stored.base_url) or (known and known.base_url)
    )
    if api is None or not base_url or not name.model:
        return None
    model = Model(
        provider=name.provider,
        provider_name=provider_name(configuration, name.provider),
        id=name.model,
        label=name.model,
        api=api,
        base_url=base_url,
        described=False,
    )
    return _with_description(model, stored, entry)


def _api(entry: StoredModel | None, stored: StoredProvider | None, known: Api | None) -> Api | None:
    named = (entry and entry.api) or (stored and stored.api)
    if not named:
        return known
    return next((api for api in APIS if api == named), None)  # pyright: ignore[reportReturnType]


def _with_description(
    model: Model, stored: StoredProvider | None, entry: StoredModel | None
) -> Model:
    """``model`` with what ``models.json`` says of it: its entry, or else its override."""
    if stored is None:
        return model
    override = stored.model_overrides.get(model.id)
    model = replace(model, headers=stored.headers, auth_header=stored.auth_header)
    model = replace(model, compat=stored.compat)
    if entry is not None:
        model = replace(model, described=True)
    for said in (entry, override):
        if said is not None:
            model = _described_by(model, said)
    return model


def _described_by(model: Model, said: StoredModel) -> Model:
    changes: dict[str, Any] = {}
    if said.name:
        changes["label"] = said.name
    if said.reasoning is not None:
        changes |= {"reasoning": said.reasoning, "described": True}
    if said.input is not None:
        changes["images"] = "image" in said.input
    if said.context_window:
        changes["context_window"] = int(said.context_window)
    if said.max_tokens:
        changes["max_tokens"] = int(said.max_tokens)
    if said.cost:
        changes["price"] = _price(said.cost)
    return replace(
        model,
        headers={**model.headers, **said.headers},
        compat={**model.compat, **said.compat},
        thinking_levels={**model.thinking_levels, **said.thinking_level_map},
        sampling={**model.sampling, **said.sampling_params},
        sampling_by_level={**model.sampling_by_level, **said.sampling_params_by_thinking_level},
        **changes,
    )


def _price(cost: StoredCost) -> Price:
    return Price(
        rates=_rates(cost),
        tiers=tuple((tier.input_tokens_above, _rates(tier)) for tier in cost.tiers),
    )


def _rates(stored: StoredRates) -> Rates:
    return Rates(
        input=stored.input,
        output=stored.output,
        cache_read=stored.cache_read,
        cache_write=stored.cache_write,
    )
