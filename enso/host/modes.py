"""Permission modes: their words, and which one a transcript is in.

A thread's mode is its branch's last ``custom`` entry of type ``modes``; ``active_agent`` names its
agent likewise. What a mode permits is decided where tools run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from enso.host.contract import PermissionModeChoice, PermissionModeId, PermissionModeState
from enso.transcript import TranscriptCustom, TranscriptEntry

FRESH_MODE: Final[PermissionModeId] = "ask"

MODES: Final[tuple[PermissionModeChoice, ...]] = (
    PermissionModeChoice(
        id="plan", label="Plan", description="Reads and searches; changes nothing and runs nothing."
    ),
    PermissionModeChoice(
        id="ask", label="Ask", description="Asks before it changes a file or runs a command."
    ),
    PermissionModeChoice(
        id="edit", label="Edit", description="Edits files by itself; asks before it runs a command."
    ),
    PermissionModeChoice(
        id="auto", label="Auto", description="Edits files and runs commands without asking."
    ),
)


def fresh_mode() -> PermissionModeState:
    """What a new thread starts in."""
    return PermissionModeState(mode=FRESH_MODE, agent=None, modes=MODES)


def stored_mode(transcript: Sequence[TranscriptEntry]) -> PermissionModeState:
    """The mode and the agent that a transcript ends in, else the fresh ones.

    A mode that this server does not know is kept by its name: whoever acts on it treats it as ask.
    """
    mode = _last_name(transcript, custom_type="modes", keys=("mode",))
    agent = _last_name(transcript, custom_type="active_agent", keys=("agent", "name"))
    return PermissionModeState(mode=mode or FRESH_MODE, agent=agent, modes=MODES)


def _last_name(
    transcript: Sequence[TranscriptEntry], *, custom_type: str, keys: tuple[str, ...]
) -> str | None:
    """The name in the last entry of this custom type; ``None`` when it holds none."""
    for entry in reversed(transcript):
        if isinstance(entry, TranscriptCustom) and entry.custom_type == custom_type:
            return _name(entry.data, keys)
    return None


def _name(data: Any, keys: tuple[str, ...]) -> str | None:
    if isinstance(data, str):
        return data or None
    stored = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    named = (stored.get(key) for key in keys)
    return next((name for name in named if isinstance(name, str) and name), None)
