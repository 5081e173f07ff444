"""What a host says of itself: what is configured, what would not work, what must stay secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

CheckState = Literal["good", "notice", "bad"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. ``bad``: something would not work; ``what_to_do`` about it.

    A ``notice`` is a lack that Enso gets along with.
    """

    about: str
    state: CheckState
    said: str
    what_to_do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """The checks of a host, and its configuration without keys: file name → content.

    ``secrets`` are keys and tokens in plain, so that they can be found in whatever is handed on;
    they are never shown.
    """

    checks: tuple[Check, ...]
    configuration: Mapping[str, Any]
    secrets: frozenset[str] = field(repr=False)
