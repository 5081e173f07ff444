"""What a pi said of the models and commands there are, kept for who asks without one.

Every pi that starts is asked; the answers hold for the server, commands for their directory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, cast

from enso.host.commands import ENSO_COMMANDS
from enso.host.contract import Command, ModelChoice
from enso.host.stored_values import Stored, count_of, object_of, text_of

_LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
_OFFERED_WHEN_NAMED: Final = frozenset({"xhigh", "max"})
_HIDDEN: Final = "enso-"
"""Commands of Enso's own extensions begin so: a person has other ways to say the same."""


class Catalogue:
    """Models and commands as pi last told them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: tuple[ModelChoice, ...] | None = None
        self._commands: dict[Path, tuple[Command, ...]] = {}
        self._run_by_pi: dict[Path, frozenset[str]] = {}

    def take_models(self, data: Any) -> None:
        """Take in the answer to ``get_available_models``."""
        models = tuple(_choice(model) for model in _objects(data, "models"))
        with self._lock:
            self._models = models

    def take_commands(self, directory: Path, data: Any) -> None:
        """Take in the answer to ``get_commands`` of a pi in this directory."""
        stored = list(_objects(data, "commands"))
        commands = [_command(one) for one in stored if not _is_hidden(one)]
        names = {command.name for command in commands}
        ours = [command for command in ENSO_COMMANDS if command.name not in names]
        run_by_pi = {text_of(one.get("name")) for one in stored if _source(one) == "extension"}
        with self._lock:
            self._commands[directory] = tuple(sorted([*ours, *commands], key=lambda c: c.name))
            self._run_by_pi[directory] = frozenset(run_by_pi)

    @property
    def models(self) -> tuple[ModelChoice, ...] | None:
        """The models; ``None`` before any pi was asked."""
        return self._models

    def commands(self, directory: Path) -> tuple[Command, ...] | None:
        """The commands in a directory; ``None`` before a pi there was asked."""
        return self._commands.get(directory)

    def runs(self, directory: Path, message: str) -> bool:
        """Whether a message is a command of an extension, which pi runs without a model."""
        name = message[1:].split(" ", 1)[0] if message.startswith("/") else ""
        return name in self._run_by_pi.get(directory, frozenset())

    def names(self) -> Sequence[tuple[str, str]]:
        """The provider and id of every model."""
        return [(choice.provider, choice.model) for choice in self._models or ()]


def _objects(data: Any, name: str) -> Iterable[Stored]:
    listed = object_of(data).get(name)
    return map(object_of, cast("list[Any]", listed)) if isinstance(listed, list) else ()


def _choice(model: Stored) -> ModelChoice:
    return ModelChoice(
        provider=text_of(model.get("provider")),
        model=text_of(model.get("id")),
        label=text_of(model.get("name")) or text_of(model.get("id")),
        levels=_levels(model),
        context_window=count_of(model.get("contextWindow")),
    )


def _levels(model: Stored) -> tuple[str, ...]:
    """The thinking levels of a model, by the rule of pi 1.6.0."""
    if model.get("reasoning") is not True:
        return ("off",)
    mapped = object_of(model.get("thinkingLevelMap"))
    return tuple(level for level in _LEVELS if _offers(mapped, level))


def _offers(mapped: Stored, level: str) -> bool:
    if level in mapped:
        return mapped[level] is not None
    return level not in _OFFERED_WHEN_NAMED


def _is_hidden(command: Stored) -> bool:
    return text_of(command.get("name")).startswith(_HIDDEN)


def _source(command: Stored) -> str:
    return text_of(command.get("source"))


def _command(command: Stored) -> Command:
    source = _source(command)
    return Command(
        name=text_of(command.get("name")),
        description=text_of(command.get("description")),
        source="prompt" if source == "prompt" else "skill" if source == "skill" else "extension",
    )
