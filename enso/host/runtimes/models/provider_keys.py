"""The key of a provider: where it is configured, and what it is when a request is made.

In pi's order (1.6.0, ``docs/models.md``): ``auth.json``, then ``apiKey`` of ``models.json``, then
the provider's usual environment variables. Keys are never logged, and no error says one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from enso.host.runtimes.models.config_values import (
    ValueNotResolved,
    missing_variables,
    resolve,
)
from enso.host.runtimes.models.configuration import Configuration
from enso.host.runtimes.models.known_providers import KNOWN_PROVIDERS
from enso.host.runtimes.models.model import Model

_KEY_HEADERS: Final = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key"})


class KeyMissing(Exception):
    """A provider has no key: ``str()`` says what is missing and where it could be put."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySource:
    """Where a key is. ``value`` is as written (``$NAME``, ``!command``); ``None``: in a header."""

    value: str | None
    place: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a request needs to be let in: the key, and all headers of the configuration."""

    key: str | None
    headers: Mapping[str, str]


def find_key(configuration: Configuration, provider: str) -> KeySource:
    """The first source that has a key. Runs no command. Raises ``KeyMissing``."""
    unset: list[str] = []
    for source in _sources(configuration, provider):
        missing = missing_variables(source.value or "", source.variables)
        if not missing:
            return source
        unset.append(
            f"{source.place} needs the environment variable {missing[0]}, which is not set"
        )
    raise KeyMissing(_missing_sentence(configuration, provider, unset))


def resolve_access(configuration: Configuration, model: Model) -> Access:
    """The key and headers for one request. May block for a ``!command``. Raises ``KeyMissing``."""
    source = find_key(configuration, model.provider)
    try:
        key = None if source.value is None else resolve(source.value, source.variables)
    except ValueNotResolved as error:
        raise KeyMissing(f"{source.place} gives no key: {error}.") from error
    headers: dict[str, str] = {}
    for name, value in model.headers.items():
        try:
            headers[name] = resolve(value, source.variables)
        except ValueNotResolved as error:
            raise KeyMissing(
                f"the header “{name}” of {model.provider} in {configuration.models_path} has no "
                f"value: {error}."
            ) from error
    return Access(key=key, headers=headers)


def may_block(configuration: Configuration, model: Model) -> bool:
    """Whether ``resolve_access`` would run a command of the configuration, so may take seconds."""
    try:
        key = find_key(configuration, model.provider).value
    except KeyMissing:
        return False
    return any(value.startswith("!") for value in (key or "", *model.headers.values()))


def _sources(configuration: Configuration, provider: str) -> list[KeySource]:
    sources: list[KeySource] = []
    credential = configuration.credentials.get(provider)
    if credential and credential.type == "api_key" and credential.key:
        place = f"{provider} in {configuration.agent_dir / 'auth.json'}"
        sources.append(KeySource(value=credential.key, place=place, variables=credential.env))
    stored = configuration.providers.get(provider)
    place = f"{provider} in {configuration.models_path}"
    if stored and stored.api_key:
        sources.append(KeySource(value=stored.api_key, place=place))
    known = KNOWN_PROVIDERS.get(provider)
    sources += [
        KeySource(value=f"${variable}", place=f"the variable {variable}")
        for variable in (known.key_variables if known else ())
        if os.environ.get(variable)
    ]
    if stored and any(name.lower() in _KEY_HEADERS for name in stored.headers):
        sources.append(KeySource(value=None, place=place))
    return sources


def _missing_sentence(configuration: Configuration, provider: str, unset: list[str]) -> str:
    if unset:
        return f"{unset[0]}."
    known = KNOWN_PROVIDERS.get(provider)
    credential = configuration.credentials.get(provider)
    login = ""
    if credential and credential.type == "oauth":
        login = " (the subscription login in auth.json is for pi alone)"
    if known:
        variable = known.key_variables[0]
        return (
            f"there is no key for it{login}. Set {variable} in the environment and start Enso "
            f"again, or put the key into {configuration.agent_dir / 'auth.json'}."
        )
    return (
        f"there is no key for it{login}. Give “{provider}” an apiKey in "
        f"{configuration.models_path} (any word, if the endpoint needs none)."
    )
