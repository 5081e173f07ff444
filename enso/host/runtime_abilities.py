"""What some runtimes can do beside the contract; a live thread asks which its own does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from enso.host.contract import ToolCallVerdict


@runtime_checkable
class GuardedRuntime(Protocol):
    """A runtime that says of a tool call what its guard would."""

    def probe_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any]
    ) -> ToolCallVerdict | None:
        """As ``HostedThread`` says."""
        ...


@runtime_checkable
class OwningRuntime(Protocol):
    """A runtime whose own program writes the log: Enso only reads it."""

    @property
    def name(self) -> str:
        """What it is, with its version."""
        ...

    @property
    def unknown_events(self) -> Mapping[str, int]:
        """What the program said that Enso does not know, counted by kind."""
        ...

    @property
    def said(self) -> tuple[str, ...]:
        """The end of what the program wrote to its errors."""
        ...

    @property
    def extensions(self) -> Sequence[str]:
        """The extensions that the program was told to load."""
        ...

    def changed_elsewhere(self) -> bool:
        """Whether yet another program changed the log."""
        ...


@runtime_checkable
class RestingRuntime(Protocol):
    """A runtime that keeps something of the conversation between two runs."""

    def rest(self) -> None:
        """Let go of it."""
        ...
