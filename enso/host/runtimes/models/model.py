"""One model that a thread can use: what is known of it, from whichever file or table.

Pure values. Keys are not among them: they are resolved when a request is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from enso.host.contract import ModelInUse
from enso.host.runtimes.models.known_providers import Api

LOCAL_PROVIDER: Final = "local"
"""The provider id of the bundled model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """US dollars a million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A model's rates; ``tiers`` are (input tokens above, rates) and hold for the whole request."""

    rates: Rates
    tiers: tuple[tuple[float, Rates], ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether nothing costs anything."""
        return self.rates == Rates() and not self.tiers

    def rates_for(self, input_tokens: int) -> Rates:
        """The rates of a request with this whole input: the highest tier that it is above."""
        above = [tier for tier in self.tiers if input_tokens > tier[0]]
        return max(above, key=lambda tier: tier[0])[1] if above else self.rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model and how to reach it.

    ``described`` is false for a model of a known provider that ``models.json`` says nothing of:
    then ``reasoning`` and ``images`` are not known, and the model library's own table decides.
    ``thinking_levels`` maps a level to what the provider calls it, ``None``: not offered.
    """

    provider: str
    provider_name: str
    id: str
    label: str
    api: Api
    base_url: str
    described: bool = True
    reasoning: bool = False
    images: bool = False
    context_window: int | None = None
    max_tokens: int | None = None
    price: Price | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    auth_header: bool = False
    compat: Mapping[str, Any] = field(default_factory=dict[str, Any])
    thinking_levels: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    sampling: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sampling_by_level: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict[str, "Mapping[str, Any]"]
    )

    @property
    def local(self) -> bool:
        """Whether it is the bundled model."""
        return self.provider == LOCAL_PROVIDER

    @property
    def in_use(self) -> ModelInUse:
        """The same for the composer's chip."""
        return ModelInUse(
            provider=self.provider,
            model=self.id,
            label=self.label,
            context_window=self.context_window,
        )
