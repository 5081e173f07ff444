"""What a request used and cost, as pi stores it.

Owns the ``usage`` object of an assistant message (source: pi 1.6.0, ``calculateCost`` and its
protocols' usage): ``input`` is without cached tokens. Prices come from ``models.json``, else from
the package ``genai-prices``; a model that neither knows costs nothing that is known, and says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

from enso.host.runtimes.models.model import Model, Rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Counts of one request. ``input`` is without what was read from or written to a cache.

    ``reasoning`` is part of ``output``; ``None`` when the protocol does not tell.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int | None = None

    @property
    def whole_input(self) -> int:
        """Everything that was sent."""
        return self.input + self.cache_read + self.cache_write


def stored_usage(model: Model, tokens: Tokens | None, *, answered: bool) -> dict[str, Any]:
    """The ``usage`` object for these tokens; ``None`` when the provider told of none.

    ``answered``: something had come. Then it cost something that is not known, unless the model is
    free; a request that was refused cost nothing.
    """
    if tokens is None:
        return _nothing_told(unknown=answered and not (model.price and model.price.is_free))
    stored: dict[str, Any] = {
        "input": tokens.input,
        "output": tokens.output,
        "cacheRead": tokens.cache_read,
        "cacheWrite": tokens.cache_write,
    }
    if tokens.reasoning is not None:
        stored["reasoning"] = tokens.reasoning
    stored["totalTokens"] = tokens.whole_input + tokens.output
    stored["cost"] = _cost(model, tokens)
    if model.api == "anthropic-messages":
        stored["cacheWrite1h"] = 0
    return stored


def _nothing_told(*, unknown: bool) -> dict[str, Any]:
    counts = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    cost: dict[str, Any] = {**counts, "total": 0}
    if unknown:
        cost["priceUnknown"] = True
    return {**counts, "totalTokens": 0, "cost": cost}


def _cost(model: Model, tokens: Tokens) -> dict[str, Any]:
    rates = model.price.rates_for(tokens.whole_input) if model.price else _listed(model, tokens)
    known = rates is not None
    rates = rates or Rates()
    parts = {
        "input": rates.input / 1_000_000 * tokens.input,
        "output": rates.output / 1_000_000 * tokens.output,
        "cacheRead": rates.cache_read / 1_000_000 * tokens.cache_read,
        "cacheWrite": rates.cache_write / 1_000_000 * tokens.cache_write,
    }
    cost: dict[str, Any] = {name: _finite(amount) for name, amount in parts.items()}
    cost["total"] = sum(cost.values())
    cost["totalFromProvider"] = False
    return cost if known else {**cost, "priceUnknown": True}


def _listed(model: Model, tokens: Tokens) -> Rates | None:
    """The rates that ``genai-prices`` lists; ``None`` when it knows no such model."""
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - only a run needs it

    usage = Usage(input_tokens=tokens.whole_input, output_tokens=tokens.output)
    look_up: Any = calc_price
    for where in ({"provider_api_url": model.base_url}, {"provider_id": model.provider}):
        try:
            listed: Any = look_up(usage, model.id, **where).model_price
        except LookupError:
            continue
        plain = _rate(listed.input_mtok, tokens)
        return Rates(
            input=plain or 0.0,
            output=_rate(listed.output_mtok, tokens) or 0.0,
            cache_read=_first(_rate(listed.cache_read_mtok, tokens), plain),
            cache_write=_first(_rate(listed.cache_write_mtok, tokens), plain),
        )
    return None


def _rate(listed: Any, tokens: Tokens) -> float | None:
    """A listed rate: one number, or one with tiers of which the highest that is passed holds."""
    if listed is None:
        return None
    base = getattr(listed, "base", None)
    if base is None:
        return float(listed)
    tiers = sorted(cast("list[Any]", listed.tiers), key=lambda tier: tier.start)
    above = [tier.price for tier in tiers if tokens.whole_input > tier.start]
    return float(above[-1] if above else base)


def _first(*rates: float | None) -> float:
    return next((rate for rate in rates if rate is not None), 0.0)


def _finite(amount: float) -> float:
    return amount if math.isfinite(amount) else 0.0
