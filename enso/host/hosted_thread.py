"""A live thread: a session file, the runtime that writes it, and a read-only view of both."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Protocol, runtime_checkable

from enso.host.context import request_detail
from enso.host.context_walk import ContextWalk
from enso.host.contract import (
    Activity,
    BranchContext,
    BranchRequestDetail,
    BranchStats,
    Command,
    Dialog,
    DialogAnswer,
    EventListener,
    HostedThreadInspection,
    HostedThreadState,
    ModelInUse,
    PermissionModeState,
    PromptImage,
    QueuedPrompt,
    RequestNumber,
    ThreadEvent,
    ThreadRuntime,
    ThreadTree,
    ToolCallVerdict,
)
from enso.host.decode import decode_entry
from enso.host.entry_text import entry_text
from enso.host.modes import stored_mode
from enso.host.session_file import SessionFile
from enso.host.session_log import Entry, branch_of, last_name
from enso.host.session_tree import labels_after, said_parts, tree_of
from enso.host.stats import branch_stats
from enso.host.usage import SpendCount
from enso.transcript import Part, TranscriptEntry, Usage

KEPT_EVENTS: Final = 2000
"""How many events of a run are kept for whoever inspects it."""


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


class RecordingRuntime:
    """A runtime whose events of the current or last run are kept, the newest ``KEPT_EVENTS``."""

    def __init__(self, runtime: ThreadRuntime) -> None:
        self._runtime = runtime
        self._lock = threading.Lock()
        self._events: deque[ThreadEvent] = deque(maxlen=KEPT_EVENTS)

    def events(self) -> list[ThreadEvent]:
        """The kept events, in order; the list is the caller's own."""
        with self._lock:
            return list(self._events)

    def forget_events(self) -> None:
        """Keep none of them any longer; those of the next run are kept again."""
        with self._lock:
            self._events.clear()

    def listen(self, listener: EventListener) -> None:
        """As the contract says."""

        def keep_and_tell(event: ThreadEvent) -> None:
            with self._lock:
                self._events.append(event)
            listener(event)

        self._runtime.listen(keep_and_tell)

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """As the contract says. A prompt that is refused leaves the kept events as they were."""
        with self._recording_anew():
            self._runtime.prompt(message, images)

    def compact(self, instructions: str = "") -> None:
        """As the contract says; a run like a prompt's."""
        with self._recording_anew():
            self._runtime.compact(instructions)

    @contextmanager
    def _recording_anew(self) -> Generator[None]:
        with self._lock:
            before, self._events = self._events, deque[ThreadEvent](maxlen=KEPT_EVENTS)
        try:
            yield
        except BaseException:
            with self._lock:
                before.extend(self._events)
                self._events = before
            raise

    def abort(self) -> None:
        """As the contract says."""
        self._runtime.abort()

    def model(self) -> ModelInUse | None:
        """As the contract says."""
        return self._runtime.model()

    def queue(
        self,
        message: str,
        images: Sequence[PromptImage] = (),
        *,
        when: Literal["steer", "after"],
    ) -> str:
        """As the contract says."""
        return self._runtime.queue(message, images, when=when)

    def take_back(self, item_id: str) -> QueuedPrompt | None:
        """As the contract says."""
        return self._runtime.take_back(item_id)

    def queued(self) -> tuple[QueuedPrompt, ...]:
        """As the contract says."""
        return self._runtime.queued()

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """As the contract says."""
        return self._runtime.answer(dialog_id, answer)

    def dialogs(self) -> tuple[Dialog, ...]:
        """As the contract says."""
        return self._runtime.dialogs()

    def activity(self) -> Activity | None:
        """As the contract says."""
        return self._runtime.activity()

    def retry_now(self) -> bool:
        """As the contract says."""
        return self._runtime.retry_now()

    def set_mode(self, mode: str) -> None:
        """As the contract says."""
        self._runtime.set_mode(mode)

    def set_model(self, provider: str, model: str, level: str | None = None) -> None:
        """As the contract says."""
        self._runtime.set_model(provider, model, level)

    def rename(self, name: str) -> None:
        """As the contract says."""
        self._runtime.rename(name)

    def label(self, entry_id: str, label: str) -> None:
        """As the contract says."""
        self._runtime.label(entry_id, label)

    def go_to(self, entry_id: str | None) -> None:
        """As the contract says."""
        self._runtime.go_to(entry_id)

    def commands(self) -> tuple[Command, ...]:
        """As the contract says."""
        return self._runtime.commands()

    def close(self) -> None:
        """As the contract says."""
        self._runtime.close()


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
        self._view = _BranchView(session, provider_name)

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


class _BranchView:
    """The decoded branch and the spend of a session file, each entry decoded and added once."""

    def __init__(self, session: SessionFile, provider_name: Callable[[str], str]) -> None:
        self._session = session
        self._provider_name = provider_name
        self._lock = threading.Lock()
        self._begin_anew()

    def forget(self) -> None:
        """Keep nothing: what is asked for next is made of all entries once more."""
        with self._lock:
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._branch: list[Entry] = []
        self._decoded: list[TranscriptEntry] = []
        self._counted: list[Entry] = []
        self._walked: list[Entry] = []
        self._walk = ContextWalk()
        self._spend = SpendCount()
        self._labelled: list[Entry] = []
        self._labels: dict[str, str] = {}

    def entries(self, branch: list[Entry]) -> tuple[TranscriptEntry, ...]:
        """The transcript of a branch, root to leaf."""
        with self._lock:
            kept = _common(self._branch, branch)
            decoded = (decode_entry(e, providers=self._provider_name) for e in branch[kept:])
            self._decoded[kept:] = decoded
            self._branch = branch
            return tuple(self._decoded)

    def labels(self, entries: list[Entry]) -> Mapping[str, str]:
        """The labels of the whole file."""
        with self._lock:
            kept = _common(self._labelled, entries)
            if kept < len(self._labelled):
                kept, self._labels = 0, {}
            self._labels = labels_after(self._labels, entries[kept:])
            self._labelled = entries
            return self._labels

    def usage(self, entries: list[Entry]) -> Usage:
        """The spend of every entry of the file."""
        with self._lock:
            kept = _common(self._counted, entries)
            if kept < len(self._counted):
                kept, self._spend = 0, SpendCount()
            for entry in entries[kept:]:
                self._spend.add(entry)
            self._counted = entries
            return self._spend.total()

    def context(self) -> BranchContext:
        """The context at each request of the branch."""
        with self._lock:
            branch = self._session.branch()
            kept = _common(self._walked, branch)
            if kept < len(self._walked):
                kept, self._walk = 0, ContextWalk()
            self._walk.extend(branch[kept:])
            self._walked = branch
            return self._walk.context()


def _entries_and_branch(
    entries: Sequence[Entry], leaf_id: str | None
) -> tuple[list[Entry], list[Entry]]:
    return list(entries), branch_of(entries, leaf_id) if leaf_id is not None else []


def _common(before: Sequence[Entry], after: Sequence[Entry]) -> int:
    """How many entries at the start are the very same objects."""
    pairs = zip(before, after, strict=False)
    differing = (index for index, (old, new) in enumerate(pairs) if old is not new)
    return next(differing, min(len(before), len(after)))
