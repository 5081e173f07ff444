"""Permission modes: which one a transcript is in, and how it is changed.

A thread's mode is its branch's last ``custom`` entry of type ``modes``; ``active_agent`` names its
agent likewise. What a person allowed for the thread are its ``modes_allowed`` entries, so that a
resumed, forked or rewound thread has what its branch says. What a mode permits is in
``permission_rules``, and decided where tools run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from enso.host.contract import PermissionModeState
from enso.host.permission_rules import FRESH_MODE, MODES
from enso.transcript import TranscriptCustom, TranscriptEntry

MODE_TYPE: Final = "modes"
ALLOWED_TYPE: Final = "modes_allowed"
"""Types of ``custom`` entries."""


def fresh_mode() -> PermissionModeState:
    """What a new thread starts in."""
    return PermissionModeState(mode=FRESH_MODE, agent=None, modes=MODES)


def stored_mode(transcript: Sequence[TranscriptEntry]) -> PermissionModeState:
    """The mode and the agent that a transcript ends in, else the fresh ones.

    A mode that this server does not know is kept by its name: whoever acts on it treats it as ask.
    """
    mode = next((name for name in _names(transcript, MODE_TYPE, "mode") if name), FRESH_MODE)
    agent = next(iter(_names(transcript, "active_agent", "agent")), None)
    return PermissionModeState(mode=mode, agent=agent, modes=MODES)


def changed_mode(transcript: Sequence[TranscriptEntry], mode: str, *, at: int) -> dict[str, Any]:
    """The data of the ``modes`` entry that changes a transcript to ``mode``; ``at`` is ms.

    What else the last such entry holds is kept: another program may have put it there.
    """
    stored = _datas(transcript, MODE_TYPE)
    datas = (cast("dict[str, Any]", data) for data in stored if isinstance(data, dict))
    kept = next(datas, dict[str, Any]())
    return {**kept, "mode": mode, "previous": stored_mode(transcript).mode, "at": at}


def allowed_calls(transcript: Sequence[TranscriptEntry]) -> frozenset[str]:
    """The keys of the calls that a person allowed for the thread (``permissions.remember_key``)."""
    keys = (_name(data, "key") for data in _datas(transcript, ALLOWED_TYPE))
    return frozenset(key for key in keys if key is not None)


def tells_mode(entry: TranscriptCustom) -> bool:
    """Whether a branch is in the mode of this entry until another tells one."""
    return bool(next(_names((entry,), "modes", "mode"), None))


def tells_agent(entry: TranscriptCustom) -> bool:
    """Whether a branch has the agent of this entry, or none, until another tells of one."""
    return entry.custom_type == "active_agent"


def _names(
    transcript: Sequence[TranscriptEntry], custom_type: str, key: str
) -> Iterator[str | None]:
    """The names in the entries of a custom type, the last one first; ``None`` for one without."""
    for data in _datas(transcript, custom_type):
        yield _name(data, key)


def _datas(transcript: Sequence[TranscriptEntry], custom_type: str) -> Iterator[Any]:
    """What the entries of a custom type hold, the last one first."""
    for entry in reversed(transcript):
        if isinstance(entry, TranscriptCustom) and entry.custom_type == custom_type:
            yield entry.data


def _name(data: Any, key: str) -> str | None:
    """A name stands in an object under its key, or by itself."""
    name: Any = cast("dict[str, Any]", data).get(key) if isinstance(data, dict) else data
    return name if isinstance(name, str) and name else None
