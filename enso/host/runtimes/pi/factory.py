"""What all threads of pi share, and the factory of their runtimes.

Nothing starts before a thread needs it. What is asked without a thread (which model, which names,
which commands) is answered from what a pi said before, else from the agent directory's files as
the built-in runtime reads them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from enso.host.contract import (
    Check,
    Command,
    HostReadiness,
    HostReport,
    ModelChoice,
    ModelInUse,
    PromptRefused,
)
from enso.host.runtimes.instructions.slash import slash_commands
from enso.host.runtimes.keeper import Keeper
from enso.host.runtimes.models.configuration import ConfigurationFiles
from enso.host.runtimes.models.model import LOCAL_PROVIDER
from enso.host.runtimes.models.model_choice import model_choices
from enso.host.runtimes.models.model_description import provider_name
from enso.host.runtimes.models.report import directory_report
from enso.host.runtimes.pi.catalogue import Catalogue
from enso.host.runtimes.pi.forks import Ended, Forks, Hear
from enso.host.runtimes.pi.guard import EXTENSION
from enso.host.runtimes.pi.learner import Learner, learn_from
from enso.host.runtimes.pi.process import PiFailed, PiProcess
from enso.host.runtimes.pi.program import PiProgram, PiUnusable, Programs, find_pi
from enso.host.runtimes.pi.runtime import PiRuntime
from enso.host.runtimes.pi.starting import REFUSAL_SECONDS, PiOptions
from enso.host.runtimes.thread_settings import transcript_model
from enso.host.session_file import SessionFile
from enso.transcript import TranscriptEntry

BRIDGE = Path(__file__).with_name("bridge") / "enso-bridge.ts"
"""Enso's extension for what pi's RPC mode has no command for."""

_WITHOUT_PI: Final = "Install pi 1.x, or set ENSO_RUNTIME=builtin."

FindPi = Callable[[], tuple[str, ...] | None]


class PiRuntimes:
    """The factory of the runtime over pi; implements ``RuntimeFactory``. Thread-safe.

    ``command`` starts pi, else it is found on the ``PATH`` each time. Without one that Enso can run
    threads are read as ever, and a prompt is refused with the cause. ``programs`` knows the
    versions that were asked for before, and ``refusal_seconds`` is how long a prompt waits to be
    refused.
    """

    def __init__(
        self,
        agent_dir: Path,
        default_model: str | None = None,
        *,
        command: tuple[str, ...] | None = None,
        extensions: Sequence[Path] = (),
        programs: Programs | None = None,
        refusal_seconds: float = REFUSAL_SECONDS,
    ) -> None:
        self._find: FindPi = (lambda: command) if command else find_pi
        self._programs = programs or Programs()
        self._program: PiProgram | None = None
        self._files = ConfigurationFiles(agent_dir)
        self._catalogue = Catalogue()
        self._options = PiOptions(
            agent_dir=agent_dir,
            keeper=Keeper(),
            default_model=default_model,
            extensions=(BRIDGE, EXTENSION, *extensions),
            refusal_seconds=refusal_seconds,
        )
        self._forks = Forks(self._options)
        self._learner = Learner(lambda: self.program, self._options, self._catalogue)

    # -- the contract -----------------------------------------------------------------------------

    def build(self, session: SessionFile) -> PiRuntime:
        """A runtime for one live thread. Starts nothing."""
        return PiRuntime(session, self)

    def fork(self, source: SessionFile, entry_id: str | None) -> SessionFile | None:
        """A fork by pi itself; ``None`` where there is no pi that can. Raises ``PromptRefused``."""
        try:
            program = self.program
        except PiUnusable:
            return None
        return self._forks.fork(program, source, entry_id)

    def readiness(self, transcript: Sequence[TranscriptEntry] = ()) -> HostReadiness:
        """Which model a prompt would go to; only pi itself knows whether it has a key for it."""
        named = transcript_model(transcript)
        model = self.in_use(named) if named else self.default_model()
        if model is not None or not self._has_no_model():
            return HostReadiness(model=model)
        return HostReadiness(
            model=None,
            what_to_do="pi has no model. Sign in with pi in a terminal (/login), or configure one.",
        )

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id; the id itself when it has none."""
        return provider_name(self._files.current(), provider)

    def models(self) -> list[ModelChoice]:
        """Every model that pi has, as it last said."""
        known = self._catalogue.models
        if known is None:
            self.prepare()
        if known is not None:
            return list(known)
        configured = model_choices(self._files.current())
        return [choice for choice in configured if choice.provider != LOCAL_PROVIDER]

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The slash commands of a thread of this directory, as pi last said."""
        known = self._catalogue.commands(directory)
        if known is None and directory.is_dir():
            self._learner.ask(directory)
        return known or slash_commands(directory, self._options.agent_dir)

    def report(self) -> HostReport:
        """The pi that runs threads, beside what the agent directory holds."""
        found = directory_report(self._files.current(), self.readiness())
        return replace(found, checks=(self._check(), *found.checks))

    def _check(self) -> Check:
        try:
            program = self._programs.ask(self._find())
        except PiUnusable as error:
            return Check(about="pi", state="bad", said=str(error), what_to_do=_WITHOUT_PI)
        said = f"pi {program.version} ({program.command[-1]}) runs threads"
        return Check(about="pi", state="good", said=said)

    def prepare(self) -> None:
        """Have pi asked for its models, in the background, once."""
        self._learner.ask(self._options.agent_dir)

    def close(self) -> None:
        """End what no thread ends: every thread closes its own process."""
        self._learner.close()
        self._forks.close()
        self._options.keeper.close()

    # -- for the threads --------------------------------------------------------------------------

    @property
    def program(self) -> PiProgram:
        """The pi that runs threads. Raises ``PiUnusable`` when none does, and never did."""
        if self._program is None:
            self._program = self._programs.ask(self._find())
        return self._program

    @property
    def options(self) -> PiOptions:
        """What it is started with."""
        return self._options

    def checked_program(self) -> PiProgram:
        """The pi as it is now: it may have been updated, or be gone. Raises ``PromptRefused``."""
        try:
            self._program = self._programs.ask(self._find())
        except PiUnusable as error:
            raise PromptRefused("pi-unusable", str(error)) from error
        return self._program

    def in_use(self, named: tuple[str, str]) -> ModelInUse:
        """A model by its names."""
        provider, model = named
        for choice in self.models():
            if (choice.provider, choice.model) == named:
                return ModelInUse(
                    provider=provider,
                    model=model,
                    label=choice.label,
                    context_window=choice.context_window,
                )
        return ModelInUse(provider=provider, model=model, label=model)

    def default_model(self) -> ModelInUse | None:
        """The model named for new threads, else the only one there is."""
        named = self.named_for_new_threads()
        if named is not None:
            return self.in_use(named)
        models = self.models()
        return self.in_use((models[0].provider, models[0].model)) if len(models) == 1 else None

    def named_for_new_threads(self) -> tuple[str, str] | None:
        """``ENSO_MODEL``, else what ``settings.json`` names."""
        if self._options.default_model and "/" in self._options.default_model:
            provider, _, model = self._options.default_model.partition("/")
            return provider, model
        settings = self._files.current().settings
        if settings.default_provider and settings.default_model:
            return settings.default_provider, settings.default_model
        return None

    def model_names(self) -> Sequence[tuple[str, str]]:
        """The models that pi has."""
        return self._catalogue.names()

    def runs(self, directory: Path, name: str) -> bool:
        """Whether a command of this name is an extension's, there."""
        return self._catalogue.runs(directory, f"/{name}")

    def runs_message(self, directory: Path, message: str) -> bool:
        """Whether a message is such a command."""
        return self._catalogue.runs(directory, message)

    def forked(self, thread_id: str, hear: Hear, ended: Ended) -> PiProcess | None:
        """The pi that made this thread as a fork and was not prompted yet, ready; else none."""
        return self._forks.take_over(thread_id, hear, ended)

    def learn_from(self, process: PiProcess, directory: Path) -> None:
        """Ask a pi that is ready for its commands and models. What it does not say stays unknown.

        Raises nothing: a pi that ends meanwhile is told of by its end.
        """
        with contextlib.suppress(PiFailed):
            learn_from(process, self._catalogue, directory)

    # -- within -----------------------------------------------------------------------------------

    def _has_no_model(self) -> bool:
        return self._catalogue.models == ()
