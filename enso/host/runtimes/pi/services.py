"""What the threads of pi share: the program, its options, what pi said of models and commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from enso.host.contract import Command, ModelInUse
from enso.host.runtimes.pi.process import PiProcess, Record
from enso.host.runtimes.pi.program import PiProgram
from enso.host.runtimes.pi.starting import PiOptions


class PiServices(Protocol):
    """What a thread asks of its factory."""

    @property
    def program(self) -> PiProgram:
        """The pi that runs threads, as it was last asked for its version."""
        ...

    @property
    def options(self) -> PiOptions:
        """What it is started with."""
        ...

    def checked_program(self) -> PiProgram:
        """The pi as it is now. Raises ``PromptRefused`` when it cannot be run."""
        ...

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id."""
        ...

    def in_use(self, named: tuple[str, str]) -> ModelInUse:
        """A model by its names, in the words that are known of it."""
        ...

    def default_model(self) -> ModelInUse | None:
        """The model of a new thread, as far as it is known."""
        ...

    def named_for_new_threads(self) -> tuple[str, str] | None:
        """The model that the operator or ``settings.json`` names for new threads."""
        ...

    def model_names(self) -> Sequence[tuple[str, str]]:
        """The models that pi has."""
        ...

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The slash commands of a thread of this directory."""
        ...

    def runs(self, directory: Path, name: str) -> bool:
        """Whether a command of this name is an extension's, there."""
        ...

    def runs_message(self, directory: Path, message: str) -> bool:
        """Whether a message is such a command."""
        ...

    def forked(
        self, thread_id: str, hear: Callable[[Record], None], ended: Callable[[str], None]
    ) -> PiProcess | None:
        """The pi that made this thread as a fork and was not prompted yet, ready; else none."""
        ...

    def learn_from(self, process: PiProcess, directory: Path) -> None:
        """A pi is ready: it is asked for its models and commands."""
        ...
