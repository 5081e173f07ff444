"""What a host asks of a runtime: the protocol behind which every runtime stands.

``enso.host.runtimes`` has the implementations; which one a server uses is ``enso.composition``'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from enso.host.contract import Command, HostReadiness, HostReport, ModelChoice, ThreadRuntime
from enso.host.session_file import SessionFile
from enso.transcript import TranscriptEntry


class RuntimeFactory(Protocol):
    """Builds what runs a thread, and knows what a prompt would go to before anything is built."""

    def build(self, session: SessionFile) -> ThreadRuntime:
        """The runtime of one thread, which from now on alone appends to ``session``."""
        ...

    def readiness(self, transcript: Sequence[TranscriptEntry]) -> HostReadiness:
        """Whether a prompt to the thread of this transcript could be answered, and by what."""
        ...

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id; the id itself when it has none."""
        ...

    def models(self) -> list[ModelChoice]:
        """Every model that a prompt could go to."""
        ...

    def report(self) -> HostReport:
        """What the runtime finds configured, and what would not work."""
        ...

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The slash commands of a thread of this directory."""
        ...

    def prepare(self) -> None:
        """Get ready for a prompt, in the background."""
        ...

    def close(self) -> None:
        """End every child process."""
        ...


@runtime_checkable
class Forking(Protocol):
    """A factory whose own program writes the logs, and can make forks of them."""

    def fork(self, source: SessionFile, entry_id: str | None) -> SessionFile | None:
        """The fork, as ``AgentHost.fork`` says; ``None``: the program cannot. ``HostError``."""
        ...
