"""The host: where threads are stored and run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from enso.host.contract.context import (
    BranchRequestDetail,
    RequestNumber,
    StoredThreadContext,
)
from enso.host.contract.live import HostedThread
from enso.host.contract.report import HostReport
from enso.host.contract.stats import StoredThreadStats
from enso.host.contract.stored import (
    Found,
    Listed,
    PermissionModeState,
    StoredBranch,
    StoredEntries,
    StoredLog,
    StoredThread,
    StoredThreadPage,
    StoredThreadRead,
)
from enso.host.contract.tree import ThreadTree
from enso.host.contract.waiting import Command, ModelChoice, ModelInUse
from enso.transcript import ImagePart, TranscriptEntry

ChangeListener = Callable[[frozenset[str]], None]
"""Told the ids of threads whose log was made, grew, shrank or went; called from any worker."""


class HostReadiness(Struct, frozen=True, kw_only=True):
    """Whether a prompt to a new thread could be answered, and what to do if it could not."""

    model: ModelInUse | None
    what_to_do: str = ""
    warnings: tuple[str, ...] = field(default=())


class AgentHost(Protocol):
    """Where threads are stored and run."""

    def create_session(
        self, thread_id: str, new_session_directory: Callable[[], Path]
    ) -> HostedThread:
        """Open the log under this id in the directory it records, or create one under this id.

        ``new_session_directory`` is asked only when there is no log under the id. Raises
        ``SessionDirectoryRefused`` or ``SessionUnreadable``; then nothing was built or written.
        """
        ...

    def list_sessions(self) -> list[StoredThread]:
        """Every stored thread in a directory this host serves, newest first, each id once.

        Waits until every log was looked at.
        """
        ...

    def listed_sessions(self) -> Listed:
        """The same as far as it is known by now, without waiting for what is not.

        While the store is watched (``on_change``), costs what changed since it was last asked.
        """
        ...

    def stored_thread(self, thread_id: str) -> StoredThread | None:
        """The listing's row of one thread; ``None`` when it would not be listed."""
        ...

    def stored_thread_directory(self, thread_id: str) -> Path | None:
        """The directory the log under this id records, served or not; ``None`` without a log."""
        ...

    def empty_fork_directory(self, thread_id: str) -> Path | None:
        """Where a fork of which nothing is stored yet will run; ``None`` for any other thread."""
        ...

    def read_stored_thread(self, thread_id: str) -> StoredThreadRead | None:
        """Read a thread cold; builds and writes nothing. ``None``: no log, or not served."""
        ...

    def read_stored_page(
        self,
        thread_id: str,
        *,
        size: int,
        before: str | None = None,
        since: str | None = None,
        light: bool = False,
    ) -> StoredThreadPage | None:
        """Read the last ``size`` messages of a thread cold, or those before one, or from one on.

        ``light``: of the last ones no more than fill a window (``fills_window``).

        A message is named by its id; of two with one id the later one counts. ``None``: no log, not
        served, or no such message on the branch. Costs what is read, not what the log holds, where
        the log's end tells. Images are not read: each part tells of its own (``sketch``), and is
        read by ``read_stored_image``; only small ones (``enso.images.SMALL``) are there, and those
        that are seen to be damaged.
        """
        ...

    def read_stored_image(self, thread_id: str, entry_id: str, number: int) -> ImagePart | None:
        """The image that is a stored entry's part ``number``, from 0 on, with its bytes.

        ``None``: no log, not served, no such entry, or no image there.
        """
        ...

    def read_stored_entries(
        self, thread_id: str, *, size: int, behind: int = 0
    ) -> StoredEntries | None:
        """Read ``size`` entries of a branch before its last ``behind`` ones, cold, as above."""
        ...

    def open_stored_branch(self, thread_id: str) -> StoredBranch | None:
        """A branch to be walked entry by entry, cold, as above; images are whole."""
        ...

    def read_stored_thread_context(self, thread_id: str) -> StoredThreadContext | None:
        """A stored thread's context, request by request; read cold, as above."""
        ...

    def read_stored_request_detail(
        self, thread_id: str, request: RequestNumber
    ) -> BranchRequestDetail | None:
        """One request element by element; ``None`` also where the branch has no such request."""
        ...

    def read_stored_entry(self, thread_id: str, entry_id: str) -> str | None:
        """An entry as the store has it, as JSON to be looked at; ``None``: no such entry."""
        ...

    def read_stored_thread_stats(self, thread_id: str) -> StoredThreadStats | None:
        """What a stored thread used, read cold. ``None``: no log, or not served."""
        ...

    def open_stored_log(self, thread_id: str) -> StoredLog | None:
        """The thread's log itself, to be handed on; ``None``: no log, or not served."""
        ...

    def read_stored_thread_tree(self, thread_id: str) -> ThreadTree | None:
        """Read every branch of a thread cold, as ``HostedThread.tree`` does of a live one."""
        ...

    def fresh_permission_mode(self) -> PermissionModeState:
        """What a new thread starts in."""
        ...

    def stored_permission_mode(self, transcript: Sequence[TranscriptEntry]) -> PermissionModeState:
        """The mode a transcript ends in: its last ``modes`` entry, else the fresh state."""
        ...

    def readiness(self, transcript: Sequence[TranscriptEntry] = ()) -> HostReadiness:
        """Which model a prompt to the thread of this transcript would go to, without building."""
        ...

    def report(self) -> HostReport:
        """What is configured and what would not work; takes seconds, builds and writes nothing."""
        ...

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id (``OpenAI``); the id itself when it has none."""
        ...

    def models(self) -> list[ModelChoice]:
        """Every configured model that a prompt could go to, in the order of the configuration."""
        ...

    def prepare(self) -> None:
        """Get ready, in the background, for a prompt that is about to come: somebody types.

        Returns at once, raises nothing, and is cheap to call again.
        """
        ...

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The slash commands of a thread of this directory, without building one."""
        ...

    def files(self, directory: Path, query: str, limit: int) -> tuple[str, ...]:
        """Files and directories below a served directory that fit a query, the best first."""
        ...

    def fork(self, thread_id: str, entry_id: str | None, new_id: str) -> str:
        """Store a new thread: the branch up to this user message, without it. Returns its id.

        That is ``new_id``, or the one that the program gave it which writes the log. Entries keep
        their ids; the header names the file it comes from. ``None``: the whole branch. A fork that
        holds no answer yet is not stored, but ``create_session`` under its id continues it. Raises
        ``HostError``.
        """
        ...

    def delete(self, thread_id: str) -> None:
        """Move a stored thread, which must not be live, to the trash. Raises ``HostError``."""
        ...

    def deleted_thread(self, thread_id: str) -> StoredThread | None:
        """The row that a thread in the trash would have; ``None`` when it is not there."""
        ...

    def restore(self, thread_id: str) -> bool:
        """Take a deleted thread back from the trash; False when it is not there."""
        ...

    def find_passages(self, query: str, limit: int) -> Found:
        """Passages of stored threads that hold all words of a query, each by its beginning.

        One or two letters are a whole word.
        The newest first, a few of one thread, of at most ``limit`` threads. Words between quotation
        marks follow one another; case and accents do not matter. Takes a moment at most: what could
        not be looked into yet is told by ``searched``.
        """
        ...

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Watch the store; returns what ends the watch."""
        ...

    def close(self) -> None:
        """End the watch and every child process."""
        ...
