"""A live thread: a session file, the runtime that writes it, and a read-only view of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from enso.host.branch_view import BranchView
from enso.host.context import request_detail
from enso.host.contract import (
    BranchContext,
    BranchRequestDetail,
    BranchStats,
    HostedThreadInspection,
    HostedThreadState,
    PermissionModeState,
    RequestNumber,
    ThreadEvent,
    ThreadRuntime,
    ThreadTree,
    ToolCallVerdict,
)
from enso.host.entry_text import entry_text
from enso.host.modes import stored_mode
from enso.host.recording_runtime import RecordingRuntime
from enso.host.runtime_abilities import GuardedRuntime, OwningRuntime, RestingRuntime
from enso.host.session_file import SessionFile
from enso.host.session_log import Entry, branch_of, last_name
from enso.host.session_tree import said_parts, tree_of
from enso.host.stats import branch_stats
from enso.transcript import Part, TranscriptEntry, Usage


class SessionThread:
    """A live thread over one session file; implements ``HostedThread``. Thread-safe."""

    def __init__(
        self, session: SessionFile, runtime: ThreadRuntime, provider_name: Callable[[str], str]
    ) -> None:
        self._session = session
        self._runtime = RecordingRuntime(runtime)
        self._guarded = runtime if isinstance(runtime, GuardedRuntime) else None
        self._owning = runtime if isinstance(runtime, OwningRuntime) else None
        self._resting = runtime if isinstance(runtime, RestingRuntime) else None
        self._view = BranchView(session, provider_name)

    @property
    def runtime(self) -> ThreadRuntime:
        """What runs it."""
        return self._runtime

    @property
    def loaded_extension_paths(self) -> Sequence[str]:
        """Those of a runtime that loads extensions."""
        return self._owning.extensions if self._owning else ()

    def inspect(self) -> HostedThreadInspection:
        """The branch and where it is kept, as of now."""
        return self.state_of_now()().inspection

    def state_of_now(self) -> Callable[[], HostedThreadState]:
        """The state of these entries, decoded when it is asked for."""
        entries, branch = self._session.read(_entries_and_branch)
        file = self.session_file

        def state() -> HostedThreadState:
            """Decode them."""
            decoded = self._view.entries(branch)
            return HostedThreadState(
                inspection=self._inspection(entries, decoded, file),
                usage=self._view.usage(entries),
                permission_mode=stored_mode(decoded),
            )

        return state

    def _inspection(
        self, entries: list[Entry], decoded: tuple[TranscriptEntry, ...], file: Path | None
    ) -> HostedThreadInspection:
        session = self._session
        return HostedThreadInspection(
            session_id=session.thread_id,
            cwd=session.cwd,
            session_dir=session.directory,
            session_file=file,
            entries=decoded,
            commands=tuple(command.name for command in self._runtime.commands()),
            name=last_name(entries),
            labels=self._view.labels(entries),
            runtime=self._owning.name if self._owning else "builtin",
            unknown_events=self._owning.unknown_events if self._owning else {},
            said=self._owning.said if self._owning else (),
        )

    def tree(self) -> ThreadTree:
        """Every entry of the file, and the leaf."""
        return self._session.read(tree_of)

    def said(self, entry_id: str) -> Sequence[Part] | None:
        """The parts of a prompt or of an extension's message, anywhere in the file."""
        return said_parts(self._session.entries(), entry_id)

    def usage(self) -> Usage:
        """The spend of the whole file."""
        return self._view.usage(self._session.entries())

    def branch_context(self) -> BranchContext:
        """The branch's context, request by request."""
        return self._view.context()

    def branch_request_detail(self, request: RequestNumber) -> BranchRequestDetail | None:
        """One request element by element."""
        return request_detail(self._session.branch(), request)

    def stored_entry(self, entry_id: str) -> str | None:
        """An entry as it is stored, or will be, as JSON to be looked at."""
        return entry_text(self._session.entries(), entry_id)

    def branch_stats(self) -> BranchStats:
        """What the thread used so far, of every branch of the file."""
        return self._session.read(branch_stats)

    def emitted_events(self) -> list[ThreadEvent]:
        """The last events of the current or last run; a fresh copy per call."""
        return self._runtime.events()

    def permission_mode(self) -> PermissionModeState:
        """The mode the branch ends in."""
        return stored_mode(self._view.entries(self._session.branch()))

    def probe_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any]
    ) -> ToolCallVerdict | None:
        """What the runtime's own guard says; ``None`` for a runtime that has none."""
        return self._guarded.probe_tool_call(tool_name, arguments) if self._guarded else None

    def changed_elsewhere(self) -> bool:
        """Whether another program changed the session file."""
        if self._owning:
            return self._owning.changed_elsewhere()
        return self._session.changed_elsewhere()

    @property
    def session_file(self) -> Path | None:
        """The file, once it exists."""
        return self._session.path if self._session.exists() else None

    @property
    def weight(self) -> int:
        """How many bytes of the file are held in memory; a program of its own is not counted."""
        return 0 if self._owning else self._session.weight

    def rest(self) -> bool:
        """Let go of what is in the file, and of what is made of it; never of another program's."""
        if self._owning or not self._session.rest():
            return False
        if self._resting is not None:
            self._resting.rest()
        self._view.forget()
        self._runtime.forget_events()
        return True

    def close(self) -> None:
        """Close the runtime. The file stays as it is."""
        self._runtime.close()


def _entries_and_branch(
    entries: Sequence[Entry], leaf_id: str | None
) -> tuple[list[Entry], list[Entry]]:
    return list(entries), branch_of(entries, leaf_id) if leaf_id is not None else []
