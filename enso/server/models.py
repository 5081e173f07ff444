"""Which model a thread uses and which it could: the host's answers as they are sent."""

from __future__ import annotations

from collections.abc import Sequence

from enso import transcript, wire
from enso.host import contract
from enso.server.shapes import mended


def model_choices(host: contract.AgentHost) -> list[wire.ModelChoice]:
    """The models that can be chosen."""
    choices = host.models()
    names = {provider: _name(host, provider) for provider in {one.provider for one in choices}}
    return [
        wire.ModelChoice(
            provider=mended(choice.provider),
            provider_name=names[choice.provider],
            model=mended(choice.model),
            label=mended(choice.label),
            levels=list(choice.levels),
            context_window=choice.context_window,
        )
        for choice in choices
    ]


def _name(host: contract.AgentHost, provider: str) -> str | None:
    name = mended(host.provider_name(provider))
    return name if name.strip() and name != provider else None


def model_in_use(
    host: contract.AgentHost,
    model: contract.ModelInUse | None,
    entries: Sequence[transcript.TranscriptEntry],
) -> wire.ModelInUse | None:
    """The model of the next prompt with its thinking level; ``None`` when there is none."""
    if model is None:
        return None
    levels: list[str] = []
    for choice in model_choices(host):
        if (choice.provider, choice.model) == (model.provider, model.model):
            levels = choice.levels
    return wire.ModelInUse(
        provider=mended(model.provider),
        model=mended(model.model),
        label=mended(model.label),
        level=_level(entries) if levels else None,
        levels=levels,
    )


def _level(entries: Sequence[transcript.TranscriptEntry]) -> str | None:
    for entry in reversed(entries):
        if isinstance(entry, transcript.TranscriptThinkingLevel):
            return mended(entry.level)
    return None
