"""What all built-in threads share: the configuration, the event loop, the bundled model's process.

``BuiltinRuntimes`` makes a runtime for each live thread and answers which model a prompt would go
to, without making one. Nothing starts before the first prompt.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from enso.host.contract import (
    Command,
    HostReadiness,
    HostReport,
    ModelChoice,
    PromptRefused,
    ThreadRuntime,
)
from enso.host.runtimes.builtin.kept_conversation import KeptConversation
from enso.host.runtimes.builtin.local_model import LocalModel, LocalModelFailed
from enso.host.runtimes.builtin.preparation import Preparation
from enso.host.runtimes.builtin.run_settings import RunSettings, run_settings
from enso.host.runtimes.builtin.timeouts import Timeouts
from enso.host.runtimes.builtin.worker import Worker, WorkerClosed
from enso.host.runtimes.models.configuration import ConfigurationFiles
from enso.host.runtimes.models.model import Model
from enso.host.runtimes.models.model_choice import choose_model, model_choices, usable_model
from enso.host.runtimes.models.model_description import ModelName, provider_name
from enso.host.runtimes.models.provider_keys import may_block
from enso.host.runtimes.models.thinking import DEFAULT_LEVEL, nearest_level
from enso.host.runtimes.thread_settings import (
    thread_level,
    thread_model,
    transcript_model,
)
from enso.host.session_file import SessionFile
from enso.transcript import TranscriptEntry

if TYPE_CHECKING:
    from pydantic_ai.models import Model as LibraryModel

    from enso.host.runtimes.builtin.answer import Request
    from enso.host.runtimes.builtin.connection import Connections


_SHORT_BRANCH: Final = 50
"""New entries that are made a request of in the loop itself, in a millisecond; more by a worker."""


class BuiltinRuntimes:
    """The factory of the built-in runtime; implements ``RuntimeFactory``. Thread-safe.

    ``default_model`` is the operator's ``provider/model`` for new threads, ``spend_limit`` the
    operator's US dollars a thread.
    """

    def __init__(
        self,
        agent_dir: Path,
        default_model: str | None,
        *,
        timeouts: Timeouts | None = None,
        spend_limit: float | None = None,
    ) -> None:
        self._agent_dir = agent_dir
        self._files = ConfigurationFiles(agent_dir)
        self._spend_limit = spend_limit
        self._default_model = default_model
        self._timeouts = timeouts or Timeouts()
        self._worker = Worker("enso-builtin")
        self._local = LocalModel()
        self._preparation = Preparation(
            self._local, lambda model: self._open_connections().prepare(model)
        )
        self._connections: Connections | None = None
        self._has_built = False
        self._lock = threading.Lock()

    # -- the contract -----------------------------------------------------------------------------

    def build(self, session: SessionFile) -> ThreadRuntime:
        """A runtime for one live thread. Starts nothing."""
        # With the tools it is half of this package: no page needs them.
        from enso.host.runtimes.builtin.runtime import BuiltinRuntime  # noqa: PLC0415

        self._has_built = True
        return BuiltinRuntime(session, self)

    def readiness(self, transcript: Sequence[TranscriptEntry] = ()) -> HostReadiness:
        """Which model a prompt to this transcript would go to, or what to do to have one."""
        configuration = self._files.current()
        named = transcript_model(transcript)
        try:
            model = self._choose(named)
        except PromptRefused as refused:
            return HostReadiness(
                model=None, what_to_do=str(refused), warnings=configuration.problems
            )
        return HostReadiness(model=model.in_use, warnings=configuration.problems)

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id; the id itself when it has none."""
        return provider_name(self._files.current(), provider)

    def models(self) -> list[ModelChoice]:
        """Every model that a prompt could go to, in the order in which one is looked for."""
        return model_choices(self._files.current())

    def report(self) -> HostReport:
        """Models, keys, the bundled model and the programs around it."""
        from enso.host.runtimes.builtin.report import runtime_report  # noqa: PLC0415

        return runtime_report(self._files.current(), self.readiness())

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The slash commands of a thread of this directory."""
        from enso.host.runtimes.instructions.slash import slash_commands  # noqa: PLC0415

        return slash_commands(directory, self._agent_dir)

    def prepare(self) -> None:
        """Load what a prompt to a new thread will need, in the background."""
        with contextlib.suppress(PromptRefused):
            self._preparation.begin(self._choose(None))

    def close(self) -> None:
        """End the event loop, every connection, every command and the bundled model's process."""
        self._worker.close(self._close_connections)
        if self._has_built:
            from enso.host.runtimes.builtin.tools import end_running_commands  # noqa: PLC0415

            end_running_commands()
        self._local.close()

    @property
    def local_model(self) -> LocalModel:
        """The bundled model's process."""
        return self._local

    # -- for the threads --------------------------------------------------------------------------

    @property
    def agent_dir(self) -> Path:
        """Where a person keeps configuration, templates and skills."""
        return self._agent_dir

    @property
    def settings(self) -> RunSettings:
        """How runs behave, as the files say it now."""
        return run_settings(self._files.current().settings, spend_limit=self._spend_limit)

    def choose(self, branch: Sequence[Mapping[str, Any]]) -> Model:
        """The model of the next prompt to this branch. Raises ``PromptRefused``."""
        return self._choose(thread_model(branch))

    def named(self, provider: str, model: str) -> Model:
        """A model by its name. Raises ``PromptRefused`` when it cannot be used."""
        return usable_model(self._files.current(), ModelName(provider, model))

    def take_level(self, model: Model, level: str) -> str:
        """The thinking level nearest to ``level`` that the model takes."""
        return nearest_level(model, level)

    def level(self, branch: Sequence[Mapping[str, Any]], model: Model) -> str:
        """The thread's own thinking level, else the one for new threads, as the model takes it."""
        stored = thread_level(branch)
        default = self._files.current().settings.default_thinking_level or DEFAULT_LEVEL
        return nearest_level(model, stored or default)

    async def request(
        self,
        model: Model,
        branch: Sequence[Mapping[str, Any]],
        *,
        level: str,
        thread_id: str,
        kept: KeptConversation,
    ) -> Request:
        """The request for the next message of a branch. Raises ``AnswerFailed``."""
        import asyncio  # noqa: PLC0415

        from enso.host.runtimes.builtin.connection import Asked  # noqa: PLC0415
        from enso.host.runtimes.builtin.request import branch_request  # noqa: PLC0415

        reached, library_model = await self._reach(model)
        asked = Asked(level=level, thread_id=thread_id)
        known = len(kept.last.branch) if kept.last is not None else 0
        make = partial(branch_request, library_model, reached, branch, asked=asked, kept=kept)
        return make() if len(branch) - known <= _SHORT_BRANCH else await asyncio.to_thread(make)

    async def plain_request(
        self, model: Model, *, system: str, prompt: str, level: str, thread_id: str
    ) -> Request:
        """A request that stands alone, without tools. Raises ``AnswerFailed``."""
        from enso.host.runtimes.builtin.connection import Asked  # noqa: PLC0415
        from enso.host.runtimes.builtin.request import plain_request  # noqa: PLC0415

        reached, library_model = await self._reach(model)
        asked = Asked(level=level, thread_id=thread_id)
        return plain_request(library_model, reached, system=system, prompt=prompt, asked=asked)

    def warm(self, model: Model) -> None:
        """Start the bundled model's process, if it is the one; a failure shows when it is asked."""
        if model.local:
            with contextlib.suppress(LocalModelFailed):
                self._local.endpoint()

    def start(self, run: Coroutine[Any, Any, None]) -> Future[None]:
        """Run a coroutine in the shared loop. Raises ``PromptRefused`` when that has ended."""
        try:
            return self._worker.submit(run)
        except WorkerClosed as error:
            raise PromptRefused("closed", "Enso is shutting down.") from error

    def in_loop(self, function: Callable[[], object]) -> None:
        """Call a function in the shared loop, soon."""
        self._worker.call(function)

    @property
    def in_loop_now(self) -> bool:
        """Whether the caller is in the shared loop."""
        return self._worker.is_current

    # -- within -----------------------------------------------------------------------------------

    async def _reach(self, model: Model) -> tuple[Model, LibraryModel]:
        """The model with its endpoint, and the library's for one request to it."""
        import asyncio  # noqa: PLC0415

        from enso.host.runtimes.builtin.request import reachable  # noqa: PLC0415

        configuration = self._files.current()
        # Another worker is asked only for what may block: each hand-over takes its time.
        if model.local or may_block(configuration, model):
            reached, access = await asyncio.to_thread(reachable, model, configuration, self._local)
        else:
            reached, access = reachable(model, configuration, self._local)
        connections = self._open_connections()
        known = connections.built(reached, access)
        return reached, known or await asyncio.to_thread(connections.model, reached, access)

    def _choose(self, named: tuple[str, str] | None) -> Model:
        name = ModelName(*named) if named else None
        return choose_model(self._files.current(), name, self._default_model)

    def _open_connections(self) -> Connections:
        """The clients of the loop; made for its first request, or before it."""
        from enso.host.runtimes.builtin.connection import Connections  # noqa: PLC0415

        with self._lock:
            if self._connections is None:
                self._connections = Connections(self._timeouts)
            return self._connections

    async def _close_connections(self) -> None:
        if self._connections is not None:
            await self._connections.close()
            self._connections = None
