"""How runs behave, as ``settings.json`` says it. Source of names and values: pi 1.6.0."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from enso.host.runtimes.builtin.retries import RetryPolicy
from enso.host.runtimes.models.configuration import StoredCompaction, StoredSettings
from enso.host.runtimes.models.model import Model

RESERVE_TOKENS: Final = 16_384
KEEP_RECENT_TOKENS: Final = 20_000

Delivery = Literal["one-at-a-time", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSettings:
    """When a conversation is summed up by itself, and how much of it stays; tokens."""

    enabled: bool
    reserve: int
    keep: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """``spend_limit`` is US dollars a thread; ``None``: none."""

    retry: RetryPolicy = field(default_factory=RetryPolicy)
    stored_compaction: StoredCompaction = field(default_factory=StoredCompaction)
    steering: Delivery = "one-at-a-time"
    follow_up: Delivery = "one-at-a-time"
    spend_limit: float | None = None

    def compaction(self, model: Model) -> CompactionSettings:
        """The settings for this model: its own, else the general ones, else pi's.

        A window that is smaller than what pi reserves and keeps is shared out by its size.
        """
        stored = self.stored_compaction
        own = stored.model_overrides.get(f"{model.provider}/{model.id}")
        reserve = _first(own and own.reserve_tokens, stored.reserve_tokens)
        keep = _first(own and own.keep_recent_tokens, stored.keep_recent_tokens)
        window = model.context_window or 0
        small = 0 < window <= RESERVE_TOKENS + KEEP_RECENT_TOKENS
        return CompactionSettings(
            enabled=stored.enabled,
            reserve=reserve if reserve is not None else window // 4 if small else RESERVE_TOKENS,
            keep=keep if keep is not None else window // 3 if small else KEEP_RECENT_TOKENS,
        )


def run_settings(stored: StoredSettings, *, spend_limit: float | None) -> RunSettings:
    """The settings that are stored; ``spend_limit`` is the operator's, and goes before."""
    retry = stored.retry
    return RunSettings(
        retry=RetryPolicy(
            enabled=retry.enabled,
            attempts=retry.max_retries,
            base_delay=retry.base_delay_ms,
            longest_delay=retry.max_agent_delay_ms,
            longest_requested=retry.provider.max_retry_delay_ms,
        ),
        stored_compaction=stored.compaction,
        steering=stored.steering_mode,
        follow_up=stored.follow_up_mode,
        spend_limit=spend_limit if spend_limit is not None else stored.spend_limit,
    )


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
