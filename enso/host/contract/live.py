"""A live thread: its runtime, and a read-only view of what it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from enso.host.contract.context import BranchContext, BranchRequestDetail, RequestNumber
from enso.host.contract.events import ThreadEvent
from enso.host.contract.runtime import ThreadRuntime
from enso.host.contract.stats import BranchStats
from enso.host.contract.stored import PermissionModeState
from enso.host.contract.tree import ThreadTree
from enso.transcript import Part, TranscriptEntry, Usage


class HostedThreadInspection(Struct, frozen=True, kw_only=True):
    """What one live thread holds. ``session_file`` is ``None`` until the file exists.

    ``labels`` are those of the whole file, by the ids of the entries that they are on.
    ``runtime`` names what runs it. ``unknown_events`` counts by kind what a runtime of another
    program said that Enso does not know; ``said`` is the end of what it wrote to its errors.
    """

    session_id: str
    cwd: Path
    session_dir: Path
    session_file: Path | None
    entries: tuple[TranscriptEntry, ...]
    commands: tuple[str, ...]
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    runtime: str = ""
    unknown_events: Mapping[str, int] = field(default_factory=dict[str, int])
    said: tuple[str, ...] = ()


class HostedThreadState(Struct, frozen=True, kw_only=True):
    """What a live thread is shown by: its inspection, spend and mode, all of one moment."""

    inspection: HostedThreadInspection
    usage: Usage
    permission_mode: PermissionModeState


class ToolCallVerdict(Struct, frozen=True, kw_only=True):
    """What would be said of a tool call: allowed, asked about, or refused with a reason."""

    verdict: Literal["allow", "ask", "refuse"]
    reason: str = ""


class HostedThread(Protocol):
    """A live thread: its runtime, and a read-only view of what it holds."""

    @property
    def runtime(self) -> ThreadRuntime:
        """What runs it."""
        ...

    @property
    def loaded_extension_paths(self) -> Sequence[str]:
        """The extensions that were loaded, for inspection."""
        ...

    def inspect(self) -> HostedThreadInspection:
        """The branch and where it is kept, as of now."""
        ...

    def state_of_now(self) -> Callable[[], HostedThreadState]:
        """The state as of now, made when it is called: what comes meanwhile is not in it.

        So that what takes long can be done after what somebody waits for. Costs little by itself.
        """
        ...

    def tree(self) -> ThreadTree:
        """Every entry of the log, on the branch or not, and the place the thread is at now."""
        ...

    def said(self, entry_id: str) -> Sequence[Part] | None:
        """What ``go_to`` to this entry gives back, to be said differently; ``None``: nothing.

        The parts of a prompt or of an extension's message, on the branch or not.
        """
        ...

    def usage(self) -> Usage:
        """The spend of the whole file, every branch, as pi's ``getSessionStats`` adds it."""
        ...

    def branch_stats(self) -> BranchStats:
        """What the thread used so far: by request, by turn, by tool; of every branch."""
        ...

    def emitted_events(self) -> list[ThreadEvent]:
        """The last events of the current or last run; a fresh copy per call."""
        ...

    def branch_context(self) -> BranchContext:
        """The branch's context, request by request: what each was assembled from, in sizes."""
        ...

    def branch_request_detail(self, request: RequestNumber) -> BranchRequestDetail | None:
        """One request element by element; ``None`` for one that the branch does not have."""
        ...

    def stored_entry(self, entry_id: str) -> str | None:
        """An entry as it is stored, or will be, as JSON to be looked at."""
        ...

    def permission_mode(self) -> PermissionModeState:
        """The mode this thread is in now."""
        ...

    def probe_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any]
    ) -> ToolCallVerdict | None:
        """What the runtime would say of this call; runs nothing. ``None``: no rule knows it."""
        ...

    def changed_elsewhere(self) -> bool:
        """Whether another process changed the thread's log since this one last read or wrote it."""
        ...

    @property
    def session_file(self) -> Path | None:
        """Where the log is kept; ``None`` until the file exists. Reads nothing."""
        ...

    @property
    def weight(self) -> int:
        """How many bytes of its log this thread holds in memory and could let ``rest``; or 0."""
        ...

    def rest(self) -> bool:
        """Let go of what the log holds, while nothing runs; whoever asks for it has it read again.

        Everything is answered as before but ``emitted_events``, of which there are none until the
        next run, and what is asked for raises ``SessionUnreadable`` once the log is gone. False
        when nothing can be let go of.
        """
        ...

    def close(self) -> None:
        """Close the runtime and let go of the log."""
        ...
