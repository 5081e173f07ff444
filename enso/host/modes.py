"""Permission modes: their words, and which one a transcript is in.

A thread's mode is its branch's last ``custom`` entry of type ``modes``; ``active_agent`` names its
agent likewise. What a mode permits is decided where tools run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    mode = next((name for name in _names(transcript, "modes", "mode") if name), FRESH_MODE)
    agent = next(iter(_names(transcript, "active_agent", "agent")), None)
    return PermissionModeState(mode=mode, agent=agent, modes=MODES)


def changed_mode(transcript: Sequence[TranscriptEntry], mode: str, *, at: int) -> dict[str, Any]:
    """The data of the ``modes`` entry that changes a transcript to ``mode``; ``at`` is ms.

    What else the last such entry holds is kept: another program may have put it there.
    """
    stored: Iterator[Any] = (
        entry.data
        for entry in reversed(transcript)
        if isinstance(entry, TranscriptCustom) and entry.custom_type == "modes"
    )
    datas = (cast("dict[str, Any]", data) for data in stored if isinstance(data, dict))
    kept = next(datas, dict[str, Any]())
    return {**kept, "mode": mode, "previous": stored_mode(transcript).mode, "at": at}


def _names(
    transcript: Sequence[TranscriptEntry], custom_type: str, key: str
) -> Iterator[str | None]:
    """The names in the entries of a custom type, the last one first; ``None`` for one without."""
    for entry in reversed(transcript):
        if isinstance(entry, TranscriptCustom) and entry.custom_type == custom_type:
            yield _name(entry.data, key)


def _name(data: Any, key: str) -> str | None:
    """A name stands in an object under its key, or by itself."""
    name: Any = cast("dict[str, Any]", data).get(key) if isinstance(data, dict) else data
    return name if isinstance(name, str) and name else None
