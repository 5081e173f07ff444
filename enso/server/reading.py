"""The reading of a thread, live or cold, in one shape.

Pages, JSON and snapshots all read here, so that they cannot disagree: a live thread answers from
its state, any other from the host's cold read, and which of the two is decided with the thread's
lock held. Looking builds nothing and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field

from enso import thread_ids, transcript, wire
from enso.host import contract
from enso.projects import Project, Projects
from enso.server.live_state import LiveThread
from enso.server.messages import (
    heading_of,
    interrupted_tail,
    page_messages,
    transcript_to_messages,
)
from enso.server.models import model_in_use
from enso.server.paging import (
    PAGE_MESSAGES,
    Window,
    first_page,
    last_page,
    page_before,
    page_from,
)
from enso.server.refusals import Refused
from enso.server.registry import ThreadRegistry
from enso.server.shapes import mended
from enso.server.slots import Slot
from enso.server.stats import stats_shape
from enso.server.status import cold_status, live_context, live_status, mode_shape, usage_shape
from enso.server.waiting import dialog_shape, queue_shape, shown_surface

_T = TypeVar("_T")


class NotServed(Struct, frozen=True, kw_only=True):
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


class NotOnBranch(Struct, frozen=True):
    """There is such a thread, and no such message on its branch."""


class ThreadReading(Struct, frozen=True, kw_only=True):
    """All there is to say of a thread now. ``stored``: false while nothing has its id.

    ``messages`` are all, or a page of ``message_count`` with ``messages_before`` before it.
    ``heading`` is the text of the first prompt that has text. ``entries`` are the branch; of a
    thread that was read by a page those that tell its state. ``labels`` are a stored thread's, by
    entry ids; a live one's are on its messages.
    """

    thread_id: str
    stored: bool
    cwd: Path | None
    project: Project | None
    name: str | None
    messages: list[wire.Message]
    message_count: int
    messages_before: int | None = 0
    heading: str
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
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def project_id(self) -> str:
        """The id of its project; its directory where that is none; empty for a new thread."""
        if self.project is not None:
            return self.project.id
        return str(self.cwd) if self.cwd is not None else ""

    @property
    def title(self) -> str:
        """The name a person gave it, else its heading, else nothing."""
        return self.name or self.heading

    @property
    def window(self) -> Window:
        """Its messages, and how many there are before them."""
        return Window(self.messages, self.messages_before)

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

    def require_page(self, thread_id: str) -> ThreadReading:
        """The same with its last messages alone."""
        if not thread_ids.is_thread_id(thread_id):
            raise Refused(404, "malformed-id", thread_ids.refused_id_sentence(thread_id))
        reading = self.page(thread_id, light=True)
        return there(None if isinstance(reading, NotOnBranch) else reading)

    def read_slot(self, slot: Slot) -> ThreadReading | NotServed | None:
        """The same with the slot at hand and its lock held."""
        if slot.live is not None:
            messages = slot.live.state.messages()
            return self._live(slot.thread_id, slot.live, messages, Window(messages, 0))
        stored = self._host.read_stored_thread(slot.thread_id)
        if stored is not None:
            return self._cold(stored)
        return self._not_served(slot.thread_id)

    def page(
        self,
        thread_id: str,
        *,
        before: str | None = None,
        since: str | None = None,
        light: bool = False,
    ) -> ThreadReading | NotServed | NotOnBranch | None:
        """Read a page of a thread: the last one, the one before a message, or all from one on.

        ``light``: of the last one no more than fills a window.
        """
        with self._registry.at(thread_id) as slot:
            return self.page_slot(slot, before=before, since=since, light=light)

    def page_slot(
        self,
        slot: Slot,
        *,
        before: str | None = None,
        since: str | None = None,
        light: bool = False,
    ) -> ThreadReading | NotServed | NotOnBranch | None:
        """The same with the slot at hand and its lock held."""
        if slot.live is not None:
            messages = slot.live.state.messages()
            window = _window(messages, before, since, light=light)
            if window is None:
                return NotOnBranch()
            return self._live(slot.thread_id, slot.live, messages, window)
        page = self._host.read_stored_page(
            slot.thread_id, size=PAGE_MESSAGES, before=before, since=since, light=light
        )
        if page is not None:
            return self._cold_page(page)
        named = before is not None or since is not None
        if named and self._host.stored_thread(slot.thread_id) is not None:
            return NotOnBranch()
        return self._not_served(slot.thread_id)

    def image(self, thread_id: str, entry_id: str, number: int) -> transcript.ImagePart | None:
        """The image that is an entry's part ``number``; ``None`` where there is none."""
        with self._registry.at(thread_id) as slot:
            entries = list(slot.live.state.entries) if slot.live is not None else None
        if entries is None:
            return self._host.read_stored_image(thread_id, entry_id, number)
        named = (entry for entry in reversed(entries) if mended(entry.id) == entry_id)
        entry = next(named, None)
        return transcript.image_of(entry, number) if entry is not None else None

    def stats(
        self, thread_id: str, newest: int | None = None
    ) -> wire.ThreadStats | NotServed | None:
        """What a thread used; ``None`` when it is neither live nor stored.

        Of its requests the ``newest`` alone, where that is said (``enso.server.stats``).
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
        return stats_shape(thread_id, project.id if project else str(cwd), stats, newest)

    def _not_served(self, thread_id: str) -> NotServed | None:
        directory = self._host.stored_thread_directory(thread_id)
        return NotServed(directory=directory) if directory is not None else None

    def fresh(self, thread_id: str) -> ThreadReading:
        """The reading of a thread of which nothing is stored yet."""
        readiness = self._host.readiness()
        cwd = self._host.empty_fork_directory(thread_id)
        return ThreadReading(
            thread_id=thread_id,
            stored=False,
            cwd=cwd,
            project=self._projects.of(cwd) if cwd is not None else None,
            name=None,
            messages=[],
            message_count=0,
            heading="",
            entries=(),
            permission_mode=mode_shape(self._host.fresh_permission_mode()),
            interrupted=None,
            status=cold_status(()),
            usage=usage_shape(transcript.Usage()),
            context=None,
            model=model_in_use(self._host, readiness.model, ()),
            what_to_do=readiness.what_to_do,
        )

    def _live(
        self, thread_id: str, live: LiveThread, messages: list[wire.Message], window: Window
    ) -> ThreadReading:
        state = live.state
        model = live.hosted.runtime.model()
        return ThreadReading(
            thread_id=thread_id,
            stored=True,
            cwd=state.cwd,
            project=self._projects.of(state.cwd),
            name=state.name,
            messages=list(window.messages),
            message_count=len(messages),
            messages_before=window.before,
            heading=heading_of(messages),
            entries=tuple(state.entries),
            permission_mode=mode_shape(state.permission_mode),
            interrupted=None if live.busy else interrupted_tail(state.entries),
            status=live_status(live),
            usage=usage_shape(state.usage),
            context=live_context(live),
            model=model_in_use(self._host, model, state.entries),
            what_to_do="" if model else self._host.readiness(state.entries).what_to_do,
            dialogs=tuple(dialog_shape(dialog) for dialog in state.dialogs.values()),
            queue=tuple(queue_shape(_waiting(live))),
            surface=shown_surface(state.surface),
        )

    def _cold(self, stored: contract.StoredThreadRead) -> ThreadReading:
        messages = transcript_to_messages(stored.entries, stored.labels)
        return self._cold_reading(
            stored,
            stored.entries,
            messages=messages,
            message_count=len(messages),
            messages_before=0,
            heading=heading_of(messages),
        )

    def _cold_page(self, page: contract.StoredThreadPage) -> ThreadReading:
        return self._cold_reading(
            page,
            page.state,
            messages=page_messages(
                page.entries,
                page.later,
                labels=page.labels,
                requests=page.turn_before.requests,
                usage=page.turn_before.usage,
            ),
            message_count=page.message_count,
            messages_before=page.messages_before,
            heading=page.heading,
        )

    def _cold_reading(
        self,
        stored: contract.StoredThreadRead | contract.StoredThreadPage,
        state: Sequence[transcript.TranscriptEntry],
        *,
        messages: list[wire.Message],
        message_count: int,
        messages_before: int | None,
        heading: str,
    ) -> ThreadReading:
        readiness = self._host.readiness(state)
        return ThreadReading(
            thread_id=stored.id,
            stored=True,
            cwd=stored.cwd,
            project=self._projects.of(stored.cwd),
            name=stored.name,
            messages=messages,
            message_count=message_count,
            messages_before=messages_before,
            heading=heading,
            entries=tuple(state),
            permission_mode=mode_shape(self._host.stored_permission_mode(state)),
            interrupted=interrupted_tail(state),
            status=cold_status(state),
            usage=usage_shape(stored.usage),
            context=None,
            model=model_in_use(self._host, readiness.model, state),
            what_to_do=readiness.what_to_do,
            skipped_lines=stored.skipped_lines,
            labels=stored.labels,
        )


def _window(
    messages: Sequence[wire.Message], before: str | None, since: str | None, *, light: bool
) -> Window | None:
    """The page of a live thread; ``None`` when the message that names it is not on the branch."""
    if before is not None:
        return page_before(messages, before)
    if since is not None:
        return page_from(messages, since)
    return first_page(messages) if light else last_page(messages)


def _waiting(live: LiveThread) -> tuple[contract.QueuedPrompt, ...]:
    """What is queued: also what was taken a moment ago, the news of which is still on its way.

    What the runtime has no more, but nobody was told so of yet, is still shown.
    """
    now = live.hosted.runtime.queued()
    ids = {item.id for item in now}
    return (*(item for item in live.state.queue if item.id not in ids), *now)
