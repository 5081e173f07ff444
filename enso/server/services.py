"""What the routes of one server share: built once, handed to each blueprint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from enso import thread_ids, transcript, wire
from enso.host import contract
from enso.projects import Projects
from enso.server.follow import Follow, Outgoing
from enso.server.presenter import Presenter
from enso.server.press import Press
from enso.server.rail import Rail
from enso.server.reading import NotOnBranch, NotServed, Reader, ThreadReading, there
from enso.server.recent_log import RecentLog
from enso.server.refusals import Refused
from enso.server.registry import ThreadRegistry
from enso.server.render import Renderer
from enso.server.slots import Slot
from enso.server.waiting import dialog_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of one server. ``sockets`` counts the follows it has room for.

    ``settings`` are what the operator set, to be told: no secret is among them, but in
    ``own_secrets``.
    """

    host: contract.AgentHost
    projects: Projects
    registry: ThreadRegistry
    reader: Reader
    rail: Rail
    presenter: Presenter
    press: Press
    renderer: Renderer
    sockets: threading.BoundedSemaphore
    heartbeat_seconds: float
    log: RecentLog
    settings: Mapping[str, Any]
    own_secrets: tuple[str, ...] = field(default=(), repr=False)

    def read(self, thread_id: str) -> ThreadReading:
        """Read a thread that must be there; raises ``Refused`` 404 or 403 with what is missing."""
        return self.reader.require(thread_id)

    def page(self, thread_id: str, *, before: str | None) -> ThreadReading:
        """Read a page of a thread: the last one, or the one before a message.

        Raises ``Refused`` as ``read`` does, and 404 for a message that is not on the branch.
        """
        if not thread_ids.is_thread_id(thread_id):
            raise Refused(404, "malformed-id", thread_ids.refused_id_sentence(thread_id))
        reading = self.reader.page(thread_id, before=before)
        if isinstance(reading, NotOnBranch):
            raise Refused(404, "message-not-found", "That message is not on this thread's branch.")
        return there(reading)

    def image(self, thread_id: str, entry_id: str, number: int) -> transcript.ImagePart:
        """The image that is an entry's part ``number``, with its bytes.

        Raises ``Refused`` 404 for one that is not there, and as ``read`` does.
        """
        found = self.reader.image(thread_id, entry_id, number)
        if found is None:
            self.page(thread_id, before=None)  # says what is missing
            raise Refused(404, "image-not-found", "There is no such image in this thread.")
        return found

    def stats(self, thread_id: str, newest: int | None = None) -> wire.ThreadStats:
        """What a thread used, which must be there; raises ``Refused`` as ``read`` does.

        Of its requests the ``newest`` alone, where that is said.
        """
        if not thread_ids.is_thread_id(thread_id):
            raise Refused(404, "malformed-id", thread_ids.refused_id_sentence(thread_id))
        return there(self.reader.stats(thread_id, newest))

    def tree(self, thread_id: str) -> contract.ThreadTree:
        """Every branch of a thread that must be there, live or cold; raises ``Refused``."""
        with self.registry.at(thread_id) as slot:
            hosted = slot.live.hosted if slot.live is not None else None
        if hosted is not None:
            return hosted.tree()  # not with the lock held: it takes as long as the file is large
        tree = (
            self.host.read_stored_thread_tree(thread_id)
            if thread_ids.is_thread_id(thread_id)
            else None
        )
        if tree is None:
            self.read(thread_id)  # says what is missing
            raise Refused(409, "changing", "This thread is being changed. Try again.")
        return tree

    def belongs_elsewhere(self, thread_id: str) -> bool:
        """Whether the thread is stored in a directory that this server does not serve."""
        if self.registry.is_live(thread_id) or self.host.stored_thread(thread_id) is not None:
            return False
        return self.host.stored_thread_directory(thread_id) is not None

    def snapshot(self, slot: Slot, follow: Follow) -> Outgoing:
        """The snapshot of a follow: empty for a thread that is not stored yet."""
        reading = self._to_show(slot, follow)
        if not isinstance(reading, ThreadReading):
            reading = self.reader.fresh(slot.thread_id)
        return self.press.snapshot(slot, follow, reading)

    def _to_show(
        self, slot: Slot, follow: Follow
    ) -> ThreadReading | NotServed | NotOnBranch | None:
        """What a follow's snapshot says: all of it as JSON, what its page shows as HTML."""
        if follow.dialect == "json":
            return self.reader.read_slot(slot)
        reading = self.reader.page_slot(slot, since=follow.first or None)
        # The page's beginning is not on this branch any more: it begins anew.
        return self.reader.page_slot(slot) if isinstance(reading, NotOnBranch) else reading

    def commands(self, thread_id: str) -> tuple[contract.Command, ...]:
        """The slash commands of a thread, live, cold or not stored yet; builds nothing.

        Raises ``Refused`` 403 for a thread of a directory that is not served.
        """
        with self.registry.at(thread_id) as slot:
            if slot.live is not None:
                return slot.live.hosted.runtime.commands()
        return self.host.commands(self.directory(thread_id))

    def directory(self, thread_id: str, project_id: str | None = None) -> Path:
        """Where a thread runs, or would run; raises ``Refused`` 403 for one that is not served."""
        with self.registry.at(thread_id) as slot:
            if slot.live is not None:
                return slot.live.state.cwd
        if self.belongs_elsewhere(thread_id):
            self.read(thread_id)
        known = self.host.stored_thread_directory(thread_id)
        known = known or self.host.empty_fork_directory(thread_id)
        return known if known is not None else self.new_session_directory(project_id)()

    def waiting(self) -> list[wire.WaitingDialog]:
        """Every dialog that waits for a person, oldest first."""
        waiting: list[wire.WaitingDialog] = []
        for thread_id in self.registry.live_ids():
            with self.registry.at(thread_id) as slot:
                dialogs = list(slot.live.state.dialogs.values()) if slot.live else []
            waiting += [
                wire.WaitingDialog(thread_id=thread_id, dialog=dialog_shape(dialog))
                for dialog in dialogs
            ]
        return sorted(waiting, key=lambda one: one.dialog.created_at or "")

    def new_session_directory(self, project_id: str | None) -> Callable[[], Path]:
        """Where a new thread goes: its project's directory. Refused only when it is asked."""

        def choose() -> Path:
            """The directory of the project that was asked for."""
            for project in self.projects.all:
                if project_id in {None, "", project.id}:
                    return project.directory
            raise Refused(
                400,
                "unknown-project",
                f"“{project_id}” is no project of this server. Choose one of: "
                + ", ".join(project.id for project in self.projects.all),
            )

        return choose
