"""Thinking levels: which there are, and which of them a model takes. Source: pi 1.6.0."""

from __future__ import annotations

from typing import Final

from enso.host.runtimes.models.model import Model

LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""From none to most, as they are stored."""

DEFAULT_LEVEL: Final = "medium"
"""Of a new thread, when the settings name none."""


def offered_levels(model: Model) -> tuple[str, ...]:
    """The levels that ``model`` takes; all of them when nothing is known of it."""
    if not model.described:
        return LEVELS
    if not model.reasoning:
        return ("off",)
    offered = model.thinking_levels
    return tuple(
        level
        for level in LEVELS
        if (level in offered and offered[level] is not None)
        or (level not in offered and level not in ("xhigh", "max"))
    )


def nearest_level(model: Model, level: str) -> str:
    """``level`` if the model takes it, else the next one up that it takes, else the next down."""
    offered = offered_levels(model)
    if level in offered or not offered:
        return level if offered else "off"
    wanted = LEVELS.index(level) if level in LEVELS else LEVELS.index(DEFAULT_LEVEL)
    up = [known for known in LEVELS[wanted:] if known in offered]
    down = [known for known in reversed(LEVELS[:wanted]) if known in offered]
    return (up or down)[0]
