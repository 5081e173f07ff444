"""What the agent directory says of providers and models, read again when a file changed.

Owns the shapes of ``models.json``, ``auth.json`` and ``settings.json`` as far as Enso reads them
(source: pi 1.6.0, ``docs/models-configuration.md``; keys that Enso does not use are let by). A file
that is broken is a sentence in ``problems``; a broken provider leaves the others usable. Never
writes, runs no command, and knows nothing of what is chosen from it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from enso.host.runtimes.models.lenient_json import NotReadable, load_file

FILE_NAMES: Final = ("models.json", "auth.json", "settings.json")

_Shape = TypeVar("_Shape", bound="_Stored")

_Above0 = Annotated[float, msgspec.Meta(gt=0)]
_From0 = Annotated[int, msgspec.Meta(ge=0)]


class _Stored(msgspec.Struct, rename="camel", frozen=True):
    """What every shape has in common: camel case in the file, other keys let by."""


class StoredRates(_Stored, frozen=True, kw_only=True):
    """US dollars a million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class StoredTier(StoredRates, frozen=True, kw_only=True):
    """Rates of a request whose whole input is larger than ``input_tokens_above``."""

    input_tokens_above: float


class StoredCost(StoredRates, frozen=True, kw_only=True):
    """A model's price."""

    tiers: tuple[StoredTier, ...] = ()


class StoredModel(_Stored, frozen=True, kw_only=True):
    """One entry of a provider's ``models``; in ``modelOverrides`` it has no ``id``."""

    id: str = ""
    name: str | None = None
    api: str | None = None
    base_url: str | None = None
    reasoning: bool | None = None
    thinking_level_map: dict[str, str | None] = {}
    input: tuple[str, ...] | None = None
    cost: StoredCost | None = None
    context_window: _Above0 | None = None
    max_tokens: _Above0 | None = None
    sampling_params: dict[str, Any] = {}
    sampling_params_by_thinking_level: dict[str, dict[str, Any]] = {}
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}


class StoredProvider(_Stored, frozen=True, kw_only=True):
    """One provider of ``models.json``."""

    name: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    api: str | None = None
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}
    auth_header: bool = False
    models: tuple[StoredModel, ...] = ()
    model_overrides: dict[str, StoredModel] = {}

    def model(self, model_id: str) -> StoredModel | None:
        """The entry of this model; the last one when there are several, as in pi."""
        return next((entry for entry in reversed(self.models) if entry.id == model_id), None)


class StoredCredential(_Stored, frozen=True, kw_only=True):
    """One provider of ``auth.json``. Only ``api_key`` credentials are used."""

    type: str = ""
    key: str | None = None
    env: dict[str, str] = {}


class StoredProviderRetry(_Stored, frozen=True, kw_only=True):
    """How long a provider may ask to wait, in milliseconds; 0: any time."""

    max_retry_delay_ms: _From0 = 60_000


class StoredRetry(_Stored, frozen=True, kw_only=True):
    """How refused attempts are tried again; times are milliseconds."""

    enabled: bool = True
    max_retries: _From0 = 3
    base_delay_ms: _From0 = 2000
    max_agent_delay_ms: _From0 = 60_000
    provider: StoredProviderRetry = StoredProviderRetry()


class StoredCompactionTokens(_Stored, frozen=True, kw_only=True):
    """How much room is kept free, and how much of a conversation stays as it is; tokens."""

    reserve_tokens: _From0 | None = None
    keep_recent_tokens: _From0 | None = None


class StoredCompaction(StoredCompactionTokens, frozen=True, kw_only=True):
    """When a conversation is summed up; ``model_overrides`` by ``provider/model``."""

    enabled: bool = True
    model_overrides: dict[str, StoredCompactionTokens] = {}


class StoredSettings(_Stored, frozen=True, kw_only=True):
    """The settings that choose a new thread's model, and how runs behave.

    ``spend_limit`` is Enso's own: US dollars a thread.
    """

    default_provider: str | None = None
    default_model: str | None = None
    default_thinking_level: str | None = None
    retry: StoredRetry = StoredRetry()
    compaction: StoredCompaction = StoredCompaction()
    steering_mode: Literal["one-at-a-time", "all"] = "one-at-a-time"
    follow_up_mode: Literal["one-at-a-time", "all"] = "one-at-a-time"
    spend_limit: _Above0 | None = None


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Everything at one moment. ``broken`` says of a provider id why it cannot be used."""

    agent_dir: Path
    providers: Mapping[str, StoredProvider] = field(default_factory=dict[str, StoredProvider])
    broken: Mapping[str, str] = field(default_factory=dict[str, str])
    credentials: Mapping[str, StoredCredential] = field(default_factory=dict[str, StoredCredential])
    settings: StoredSettings = field(default_factory=StoredSettings)
    problems: tuple[str, ...] = ()

    @property
    def models_path(self) -> Path:
        """Where providers are configured."""
        return self.agent_dir / "models.json"


class ConfigurationFiles:
    """The files of one agent directory. Thread-safe."""

    def __init__(self, agent_dir: Path) -> None:
        self._agent_dir = agent_dir
        self._lock = threading.Lock()
        self._read: tuple[object, Configuration] | None = None

    def current(self) -> Configuration:
        """What the files say now; parsed again only when one of them changed."""
        with self._lock:
            stamp = tuple(_stamp(self._agent_dir / name) for name in FILE_NAMES)
            if self._read is None or self._read[0] != stamp:
                self._read = (stamp, read_configuration(self._agent_dir))
            return self._read[1]


def read_configuration(agent_dir: Path) -> Configuration:
    """Read the three files. Never raises: what is wrong is in ``problems`` and ``broken``."""
    problems: list[str] = []
    models, auth, settings = (_load(agent_dir / name, problems) for name in FILE_NAMES)
    providers, broken = _providers(agent_dir / "models.json", models)
    credentials, bad_credentials = _credentials(agent_dir / "auth.json", auth)
    chosen = _valid(StoredSettings, agent_dir / "settings.json", (), settings)
    if isinstance(chosen, str):
        problems.append(chosen)
        chosen = StoredSettings()
    return Configuration(
        agent_dir=agent_dir,
        providers=providers,
        broken=broken,
        credentials=credentials,
        settings=chosen,
        problems=(*problems, *broken.values(), *bad_credentials),
    )


def _load(path: Path, problems: list[str]) -> dict[str, Any]:
    try:
        return load_file(path) or {}
    except NotReadable as error:
        problems.append(str(error))
        return {}


def _providers(
    path: Path, stored: Mapping[str, Any]
) -> tuple[dict[str, StoredProvider], dict[str, str]]:
    """The providers that are well formed, and a sentence for each that is not."""
    providers: dict[str, StoredProvider] = {}
    broken: dict[str, str] = {}
    for name, value in _members(stored.get("providers")):
        provider = _valid(StoredProvider, path, ("providers", name), value)
        if isinstance(provider, str):
            broken[name] = provider
        elif nameless := [i for i, entry in enumerate(provider.models) if not entry.id]:
            broken[name] = f"{path}: providers.{name}.models[{nameless[0]}].id is missing."
        else:
            providers[name] = provider
    return providers, broken


def _credentials(
    path: Path, stored: Mapping[str, Any]
) -> tuple[dict[str, StoredCredential], list[str]]:
    credentials: dict[str, StoredCredential] = {}
    problems: list[str] = []
    for name, value in _members(stored):
        credential = _valid(StoredCredential, path, (name,), value)
        if isinstance(credential, str):
            problems.append(credential)
        else:
            credentials[name] = credential
    return credentials, problems


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()  # pyright: ignore[reportUnknownVariableType]


def _valid(shape: type[_Shape], path: Path, at: tuple[str, ...], value: Any) -> _Shape | str:
    """The value in its shape, or the sentence that says what is wrong with it and where.

    A number or a truth value may stand as text, as in pi.
    """
    try:
        return msgspec.convert(value, shape, strict=False)
    except msgspec.ValidationError as error:
        wrong, _, place = str(error).partition(" - at `$")
        where = f"{'.'.join(at)}{place.rstrip('`')}".lstrip(".") or "the file"
        return f"{path}: {where}: {wrong}."


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
