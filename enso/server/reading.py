"""The reading of a thread, live or cold, in one shape.

Pages, JSON and snapshots all read here, so that they cannot disagree: a live thread answers from
its state, any other from the host's cold read, and which of the two is decided with the thread's
lock held. Looking builds nothing and writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from enso import thread_ids, transcript, wire
from enso.host import contract
from enso.projects import Project, Projects
from enso.server.live_state import LiveThread
from enso.server.messages import interrupted_tail, transcript_to_messages
from enso.server.models import model_in_use
from enso.server.refusals import Refused
from enso.server.registry import ThreadRegistry
from enso.server.slots import Slot
from enso.server.stats import stats_shape
from enso.server.status import cold_status, live_context, live_status, mode_shape, usage_shape
from enso.server.waiting import dialog_shape, queue_shape, shown_surface

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotServed:
    """There is such a thread, in a directory that this server does not serve."""

    directory: Path

    @property
    def sentence(self) -> str:
        """What a person is told."""
        return (
            f"This thread belongs to {self.directory}, which this server does not serve. "
            "Start Enso with that directory as a project to open it."
        )


def there(reading: _T | NotServed | None) -> _T:
    """What was read of a thread; raises ``Refused`` 404 or 403 for one that cannot be read."""
    if isinstance(reading, NotServed):
        raise Refused(403, "directory-not-served", reading.sentence)
    if reading is None:
        raise Refused(404, "thread-not-found", "There is no stored thread under this id.")
    return reading


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadReading:
    """All there is to say of a thread now. ``stored``: false while nothing has its id."""

    thread_id: str
    stored: bool
    cwd: Path | None
    project: Project | None
    name: str | None
    messages: list[wire.Message]
    entries: tuple[transcript.TranscriptEntry, ...]
    permission_mode: wire.PermissionMode
    interrupted: wire.InterruptedTail | None
    status: wire.Status
    usage: wire.Usage
    context: wire.Context | None
    model: wire.ModelInUse | None = None
    what_to_do: str = ""
    dialogs: tuple[wire.Dialog, ...] = ()
    queue: tuple[wire.QueuedPrompt, ...] = ()
    surface: wire.Surface | None = None
    skipped_lines: int = 0

    @property
    def project_id(self) -> str:
        """The id of its project; its directory where that is none; empty for a new thread."""
        if self.project is not None:
            return self.project.id
        return str(self.cwd) if self.cwd is not None else ""

    @property
    def title(self) -> str:
        """The name a person gave it, else the first user message's text, else nothing."""
        if self.name:
            return self.name
        for message in self.messages:
            if message.role == "user":
                texts = [part.content for part in message.parts if isinstance(part, wire.TextPart)]
                if any(text.strip() for text in texts):
                    return " ".join(texts)
        return ""

    def history(self) -> wire.History:
        """The reading as ``GET …/history`` sends it."""
        return wire.History(
            thread_id=self.thread_id,
            project_id=self.project_id,
            messages=self.messages,
            permission_mode=self.permission_mode,
            interrupted=self.interrupted,
        )

    def snapshot(self) -> wire.SnapshotFrame:
        """The reading as a follow's snapshot."""
        return wire.SnapshotFrame(
            thread_id=self.thread_id,
            project_id=self.project_id,
            messages=self.messages,
            permission_mode=self.permission_mode,
            interrupted=self.interrupted,
            status=self.status,
            usage=self.usage,
            context=self.context,
            model=self.model,
            open_dialogs=list(self.dialogs),
            queue=list(self.queue),
            surface=self.surface,
        )


class Reader:
    """Reads threads. Usable from any worker."""

    def __init__(
        self, *, host: contract.AgentHost, registry: ThreadRegistry, projects: Projects
    ) -> None:
        self._host = host
        self._registry = registry
        self._projects = projects

    def read(self, thread_id: str) -> ThreadReading | NotServed | None:
        """Read a thread; ``None`` when it is neither live nor stored."""
        with self._registry.at(thread_id) as slot:
            return self.read_slot(slot)

    def require(self, thread_id: str) -> ThreadReading:
        """Read a thread that must be there; raises ``Refused`` 404 or 403 with what is missing."""
        if not thread_ids.is_thread_id(thread_id):
            raise Refused(404, "malformed-id", thread_ids.refused_id_sentence(thread_id))
        return there(self.read(thread_id))

    def read_slot(self, slot: Slot) -> ThreadReading | NotServed | None:
        """The same with the slot at hand and its lock held."""
        if slot.live is not None:
            return self._live(slot.thread_id, slot.live)
        stored = self._host.read_stored_thread(slot.thread_id)
        if stored is not None:
            return self._cold(stored)
        return self._not_served(slot.thread_id)

    def stats(self, thread_id: str) -> wire.ThreadStats | NotServed | None:
        """What a thread used; ``None`` when it is neither live nor stored.

        A live thread's log is walked without its lock: a run goes on meanwhile.
        """
        with self._registry.at(thread_id) as slot:
            live = slot.live
        if live is not None:
            cwd, stats = live.state.cwd, live.hosted.branch_stats()
        else:
            stored = self._host.read_stored_thread_stats(thread_id)
            if stored is None:
                return self._not_served(thread_id)
            cwd, stats = stored.cwd, stored.stats
        project = self._projects.of(cwd)
        return stats_shape(thread_id, project.id if project else str(cwd), stats)

    def _not_served(self, thread_id: str) -> NotServed | None:
        directory = self._host.stored_thread_directory(thread_id)
        return NotServed(directory=directory) if directory is not None else None

    def fresh(self, thread_id: str) -> ThreadReading:
        """The reading of a thread of which nothing is stored yet."""
        readiness = self._host.readiness()
        return ThreadReading(
            thread_id=thread_id,
            stored=False,
            cwd=None,
            project=None,
            name=None,
            messages=[],
            entries=(),
            permission_mode=mode_shape(self._host.fresh_permission_mode()),
            interrupted=None,
            status=cold_status(()),
            usage=usage_shape(transcript.Usage()),
            context=None,
            model=model_in_use(self._host, readiness.model, ()),
            what_to_do=readiness.what_to_do,
        )

    def _live(self, thread_id: str, live: LiveThread) -> ThreadReading:
        state = live.state
        model = live.hosted.runtime.model()
        return ThreadReading(
            thread_id=thread_id,
            stored=True,
            cwd=state.cwd,
            project=self._projects.of(state.cwd),
            name=state.name,
            messages=state.messages(),
            entries=tuple(state.entries),
            permission_mode=mode_shape(state.permission_mode),
            interrupted=None if live.busy else interrupted_tail(state.entries),
            status=live_status(live),
            usage=usage_shape(state.usage),
            context=live_context(live),
            model=model_in_use(self._host, model, state.entries),
            what_to_do="" if model else self._host.readiness(state.entries).what_to_do,
            dialogs=tuple(dialog_shape(dialog) for dialog in state.dialogs.values()),
            queue=tuple(queue_shape(state.queue)),
            surface=shown_surface(state.surface),
        )

    def _cold(self, stored: contract.StoredThreadRead) -> ThreadReading:
        readiness = self._host.readiness(stored.entries)
        return ThreadReading(
            thread_id=stored.id,
            stored=True,
            cwd=stored.cwd,
            project=self._projects.of(stored.cwd),
            name=stored.name,
            messages=transcript_to_messages(stored.entries, stored.labels),
            entries=stored.entries,
            permission_mode=mode_shape(self._host.stored_permission_mode(stored.entries)),
            interrupted=interrupted_tail(stored.entries),
            status=cold_status(stored.entries),
            usage=usage_shape(stored.usage),
            context=None,
            model=model_in_use(self._host, readiness.model, stored.entries),
            what_to_do=readiness.what_to_do,
            skipped_lines=stored.skipped_lines,
        )
