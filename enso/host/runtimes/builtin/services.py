"""What all threads of the built-in runtime share, as one thread sees it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from enso.host.contract import Command
from enso.host.runtimes.builtin.kept_conversation import KeptConversation
from enso.host.runtimes.builtin.run_settings import RunSettings
from enso.host.runtimes.models.model import Model

if TYPE_CHECKING:
    from enso.host.runtimes.builtin.answer import Request

Branch = Sequence[Mapping[str, Any]]


class Services(Protocol):
    """The configuration, the event loop and the ways to every model."""

    @property
    def agent_dir(self) -> Path:
        """Where a person keeps configuration, templates and skills."""
        ...

    @property
    def settings(self) -> RunSettings:
        """How runs are retried, summed up and limited, as the files say it now."""
        ...

    def choose(self, branch: Branch) -> Model:
        """The model of the next prompt to this branch. Raises ``PromptRefused``."""
        ...

    def named(self, provider: str, model: str) -> Model:
        """A model by its name. Raises ``PromptRefused`` when it cannot be used."""
        ...

    def level(self, branch: Branch, model: Model) -> str:
        """The thinking level of the next prompt to this branch."""
        ...

    def take_level(self, model: Model, level: str) -> str:
        """The thinking level nearest to ``level`` that the model takes."""
        ...

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The slash commands of a thread of this directory."""
        ...

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id."""
        ...

    def warm(self, model: Model) -> None:
        """Start what this model needs, if anything. Blocks; raises nothing."""
        ...

    async def request(
        self, model: Model, branch: Branch, *, level: str, thread_id: str, kept: KeptConversation
    ) -> Request:
        """The request for the next message of a branch. Raises ``AnswerFailed``."""
        ...

    async def plain_request(
        self, model: Model, *, system: str, prompt: str, level: str, thread_id: str
    ) -> Request:
        """A request that stands alone, without tools. Raises ``AnswerFailed``."""
        ...

    def start(self, run: Coroutine[Any, Any, None]) -> Future[None]:
        """Run a coroutine in the shared loop. Raises ``PromptRefused`` when that has ended."""
        ...

    def in_loop(self, function: Callable[[], object]) -> None:
        """Call a function in the shared loop, soon."""
        ...

    @property
    def in_loop_now(self) -> bool:
        """Whether the caller is in the shared loop, and so must not wait for it."""
        ...
