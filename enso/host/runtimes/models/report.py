"""What a runtime says of the agent directory: its files, its providers, the model of new threads.

Asks no provider and starts nothing. A key is never said: only where it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from enso.host.contract import Check, HostReadiness, HostReport
from enso.host.runtimes.models.config_values import ValueNotResolved, missing_variables, resolve
from enso.host.runtimes.models.configuration import FILE_NAMES, Configuration
from enso.host.runtimes.models.known_providers import KNOWN_PROVIDERS
from enso.host.runtimes.models.lenient_json import NotReadable, load_file
from enso.host.runtimes.models.provider_keys import KeyMissing, find_key

_SECRET_FIELDS: Final = frozenset({"apikey", "headers", "key", "env", "access", "refresh", "token"})
HIDDEN: Final = "[not shown]"


def directory_report(configuration: Configuration, readiness: HostReadiness) -> HostReport:
    """The report over this configuration."""
    checks = (
        *_file_checks(configuration),
        *_provider_checks(configuration),
        _model_check(readiness),
    )
    files = {name: _content(configuration.agent_dir / name) for name in FILE_NAMES}
    return HostReport(
        checks=checks,
        # Whatever auth.json holds is a secret or says where one is.
        configuration={
            name: _without_secrets(content)
            for name, content in files.items()
            if content and name != "auth.json"
        },
        secrets=frozenset(_secrets(files)),
    )


def _file_checks(configuration: Configuration) -> Iterator[Check]:
    for problem in configuration.problems:
        yield Check(
            about="configuration",
            state="bad",
            said=problem,
            what_to_do="Mend the file; until then Enso goes on without that part of it.",
        )


def _provider_checks(configuration: Configuration) -> Iterator[Check]:
    """Every provider that was configured or has a key, and where its key is."""
    for provider in dict.fromkeys((*configuration.providers, *KNOWN_PROVIDERS)):
        try:
            source = find_key(configuration, provider)
        except KeyMissing as missing:
            if provider in configuration.providers or provider in configuration.credentials:
                yield Check(about=f"provider {provider}", state="notice", said=f"No key: {missing}")
            continue
        yield Check(
            about=f"provider {provider}", state="good", said=f"its key is in {source.place}"
        )


def _model_check(readiness: HostReadiness) -> Check:
    if readiness.model is None:
        return Check(
            about="model of new threads",
            state="bad",
            said="no prompt could be answered",
            what_to_do=readiness.what_to_do,
        )
    model = readiness.model
    return Check(about="model of new threads", state="good", said=f"{model.provider}/{model.model}")


# -- secrets --------------------------------------------------------------------------------------


def _content(path: Path) -> Any:
    try:
        return load_file(path)
    except NotReadable:
        return None


def _without_secrets(value: Any) -> Any:
    """The value with the names of secret fields, and not what is in them."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {
            name: HIDDEN if name.lower() in _SECRET_FIELDS else _without_secrets(item)
            for name, item in fields
        }
    if isinstance(value, list):
        return [_without_secrets(item) for item in cast("list[Any]", value)]
    return value


def _secrets(files: Mapping[str, Any]) -> Iterator[str]:
    """Every key as it is sent, as far as it is known without running a command."""
    for name, content in files.items():
        yield from _values(content, within=name == "auth.json")
    for known in KNOWN_PROVIDERS.values():
        yield from (os.environ.get(variable, "") for variable in known.key_variables)


def _values(value: Any, *, within: bool) -> Iterator[str]:
    if isinstance(value, str) and within:
        yield from _resolved(value)
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            told = name in ("type", "expires", "accountId")
            secret = within or name.lower() in _SECRET_FIELDS
            yield from _values(item, within=secret and not told)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _values(item, within=within)


def _resolved(value: str) -> Iterator[str]:
    if value.startswith("!"):
        return
    yield value
    if not missing_variables(value):
        try:
            yield resolve(value)
        except ValueNotResolved:
            return
