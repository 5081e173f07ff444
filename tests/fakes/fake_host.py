"""The second implementation of ``AgentHost``: threads are plain transcripts of ours, in memory.

What a test does with it::

    host = FakeHost(project)                               # serves one directory that exists
    host.store("t1", user("Hi"), assistant("Hello."))      # a stored thread
    host.script.add(Reply(deltas=("A", "B")))              # what the next prompt is answered
    held = Reply.held("Thinking about it"); host.script.add(held)
    thread.runtime.prompt("Go on"); held.wait_until_held() # act while the run is in flight
    held.release()
    host.grow("t1", user("From elsewhere"))                # as another program would

Dialogs, tools, queue, retries and compaction are scripted: see ``tests.fakes.scripted_runtime``.
A fork, a deleted thread and a branch that was left are as in a real store.

Everything is deterministic: entry ids count up, and time goes on by a second an entry.
``host.asked`` lists, in order, what was asked of it that may cost something.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Final

from msgspec import structs

from enso.host.contract import (
    BranchRequestDetail,
    ChangeListener,
    Check,
    Command,
    Found,
    HostReadiness,
    HostReport,
    Listed,
    ModelChoice,
    ModelInUse,
    PermissionModeState,
    PromptRefused,
    RequestNumber,
    SessionDirectoryRefused,
    SessionNotWritten,
    SessionUnreadable,
    StoredBranch,
    StoredEntries,
    StoredLog,
    StoredThread,
    StoredThreadContext,
    StoredThreadPage,
    StoredThreadRead,
    StoredThreadStats,
    ThreadNotStored,
    ThreadTree,
)
from enso.thread_ids import is_thread_id, refused_id_sentence
from enso.transcript import (
    ImagePart,
    TranscriptCustom,
    TranscriptEntry,
    TranscriptMessage,
    TranscriptToolResult,
    image_of,
)
from tests.fakes.fake_context import fake_context, fake_detail
from tests.fakes.fake_entries import Stored, end_of, entry_text, spend, text_of
from tests.fakes.fake_pages import fake_page, messages_of_window
from tests.fakes.fake_search import find_in
from tests.fakes.fake_stats import fake_stats
from tests.fakes.fake_thread import MODES, FakeThread
from tests.fakes.fake_tree import FakeTree
from tests.fakes.scripted_runtime import (
    COMMANDS,
    MODEL,
    MODEL_CHOICES,
    MODEL_IN_USE,
    PROVIDER,
    Script,
)

BEGINNING_MS: Final = 1_767_225_600_000  # 2026-01-01T00:00:00Z


class FakeHost:
    """An ``AgentHost`` over transcripts in memory. Thread-safe."""

    def __init__(self, *projects: Path, model: ModelInUse | None = MODEL_IN_USE) -> None:
        """Serves the directories ``projects``, all of which exist until ``rename_away``."""
        self.projects = projects
        self.script = Script()
        self.provider_names = {PROVIDER: "Scripted"}
        self.asked: list[str] = []
        self.secrets: set[str] = set()
        self.built: list[FakeThread] = []
        self.closed = False
        self.prepared = 0
        self.waiting = 0
        """How many of the oldest threads are still to be looked at."""
        self._model = model
        self._gone: set[Path] = set()
        self._threads: dict[str, Stored] = {}
        self._trash: dict[str, Stored] = {}
        self._unstored_forks: dict[str, Stored] = {}
        self._listeners: dict[object, ChangeListener] = {}
        self._lock = threading.RLock()
        self._ids = itertools.count(1)

    # -- what a test does to it -------------------------------------------------------------------

    def store(
        self,
        thread_id: str,
        *entries: TranscriptEntry,
        directory: Path | None = None,
        name: str | None = None,
    ) -> None:
        """Put a stored thread there, or another in its place, and tell of it."""
        with self._lock:
            stored = Stored(thread_id, directory or self.projects[0], name)
            stored.version = self._threads[thread_id].version + 1 if self.has(thread_id) else 1
            stored.extend(*(self._placed(entry) for entry in entries))
            self._threads[thread_id] = stored
        self._tell(thread_id)

    def grow(self, thread_id: str, *entries: TranscriptEntry) -> None:
        """Another program appends to a stored thread."""
        with self._lock:
            stored = self._threads[thread_id]
            stored.extend(*(self._placed(entry) for entry in entries))
            stored.version += 1
        self._tell(thread_id)

    def rename(self, thread_id: str, name: str | None) -> None:
        """Another program names a stored thread."""
        with self._lock:
            self._threads[thread_id].name = name
            self._threads[thread_id].version += 1
        self._tell(thread_id)

    def remove(self, thread_id: str) -> None:
        """Another program deletes a stored thread."""
        with self._lock:
            del self._threads[thread_id]
        self._tell(thread_id)

    def make_unreadable(self, thread_id: str, why: str) -> None:
        """From now on the thread can be read cold, and not continued."""
        with self._lock:
            self._threads[thread_id].unreadable = why

    def rename_away(self, directory: Path) -> None:
        """A served directory is gone: its threads read cold and come live no more."""
        self._gone.add(directory)

    def has(self, thread_id: str) -> bool:
        """Whether a thread is stored under this id."""
        return thread_id in self._threads

    def entries(self, thread_id: str) -> list[TranscriptEntry]:
        """What is stored under this id."""
        with self._lock:
            return list(self._threads[thread_id].entries)

    # -- AgentHost: live --------------------------------------------------------------------------

    def create_session(
        self, thread_id: str, new_session_directory: Callable[[], Path]
    ) -> FakeThread:
        """Open what is stored under this id, or create it; refuses before anything is built."""
        self.asked.append(f"create {thread_id}")
        if not is_thread_id(thread_id):
            raise SessionUnreadable(thread_id, refused_id_sentence(thread_id))
        with self._lock:
            stored = self._threads.get(thread_id)
        if stored is None:
            fork = self._unstored_forks.get(thread_id)
            stored = fork or Stored(thread_id, new_session_directory())
        if stored.directory not in self.projects:
            raise SessionDirectoryRefused(
                stored.directory, "this directory is not one Enso serves."
            )
        if stored.directory in self._gone:
            raise SessionDirectoryRefused(stored.directory, "this directory is gone.")
        if stored.unreadable:
            raise SessionUnreadable(thread_id, stored.unreadable)
        live = replace(stored, entries=list(stored.entries), tree=stored.tree.copy())
        thread = FakeThread(self, live, self._model)
        self.built.append(thread)
        return thread

    # -- AgentHost: cold --------------------------------------------------------------------------

    def list_sessions(self) -> list[StoredThread]:
        """Every thread of a served directory, newest first."""
        self.asked.append("list")
        with self._lock:
            rows = [self._row(t) for t in self._threads.values() if t.directory in self.projects]
        return sorted(rows, key=lambda row: (row.modified, row.id), reverse=True)

    def listed_sessions(self) -> Listed:
        """The same; there is nothing to wait for, until a test says so."""
        rows = self.list_sessions()
        known = rows[: len(rows) - self.waiting]
        return Listed(threads=known, looked_at=len(known), waiting=self.waiting)

    def stored_thread(self, thread_id: str) -> StoredThread | None:
        """The row of one thread."""
        with self._lock:
            stored = self._threads.get(thread_id)
            served = stored is not None and stored.directory in self.projects
            return self._row(stored) if stored is not None and served else None

    def stored_thread_directory(self, thread_id: str) -> Path | None:
        """The directory a stored thread records, served or not."""
        stored = self._threads.get(thread_id)
        return stored.directory if stored is not None else None

    def empty_fork_directory(self, thread_id: str) -> Path | None:
        """The directory of a fork that holds nothing."""
        fork = self._unstored_forks.get(thread_id)
        return fork.directory if fork is not None else None

    def read_stored_thread(self, thread_id: str) -> StoredThreadRead | None:
        """A stored thread's transcript; builds nothing."""
        self.asked.append(f"read {thread_id}")
        with self._lock:
            stored = self._threads.get(thread_id)
            if stored is None or stored.directory not in self.projects:
                return None
            return StoredThreadRead(
                id=stored.id,
                cwd=stored.directory,
                entries=tuple(stored.entries),
                usage=spend(stored.entries),
                name=stored.name,
                labels=stored.tree.labels(),
            )

    def read_stored_entries(
        self, thread_id: str, *, size: int, behind: int = 0
    ) -> StoredEntries | None:
        """A stretch of a stored thread's transcript."""
        read = self.read_stored_thread(thread_id)
        if read is None:
            return None
        total = len(read.entries)
        end = max(0, total - behind)
        start = max(0, end - size)
        return StoredEntries(
            id=read.id, cwd=read.cwd, entries=read.entries[start:end], start=start, total=total
        )

    def open_stored_branch(self, thread_id: str) -> StoredBranch | None:
        """A stored thread's transcript, entry by entry."""
        read = self.read_stored_thread(thread_id)
        if read is None:
            return None
        return StoredBranch(walk=lambda: iter(read.entries), close=lambda: None)

    def read_stored_thread_context(self, thread_id: str) -> StoredThreadContext | None:
        """A stored thread's context, request by request."""
        read = self.read_stored_thread(thread_id)
        if read is None:
            return None
        return StoredThreadContext(id=read.id, cwd=read.cwd, branch=fake_context(read.entries))

    def read_stored_request_detail(
        self, thread_id: str, request: RequestNumber
    ) -> BranchRequestDetail | None:
        """One request, element by element."""
        read = self.read_stored_thread(thread_id)
        return fake_detail(read.entries, request) if read is not None else None

    def read_stored_entry(self, thread_id: str, entry_id: str) -> str | None:
        """An entry as JSON."""
        read = self.read_stored_thread(thread_id)
        return entry_text(read.entries, entry_id) if read is not None else None

    def read_stored_thread_stats(self, thread_id: str) -> StoredThreadStats | None:
        """What a stored thread used; builds nothing."""
        self.asked.append(f"stats {thread_id}")
        with self._lock:
            stored = self._threads.get(thread_id)
            if stored is None or stored.directory not in self.projects:
                return None
            entries = list(stored.entries)
        return StoredThreadStats(id=thread_id, cwd=stored.directory, stats=fake_stats(entries))

    def open_stored_log(self, thread_id: str) -> StoredLog | None:
        """The thread's id and its entries, a line each, as Python writes them."""
        if self.stored_thread(thread_id) is None:
            return None
        lines = [repr(thread_id), *(repr(entry) for entry in self._threads[thread_id].entries)]
        text = "".join(f"{line}\n" for line in lines).encode()
        return StoredLog(name=f"{thread_id}.jsonl", size=len(text), stream=BytesIO(text))

    def read_stored_thread_tree(self, thread_id: str) -> ThreadTree | None:
        """Every entry of a stored thread; builds nothing."""
        self.asked.append(f"tree {thread_id}")
        with self._lock:
            stored = self._threads.get(thread_id)
            if stored is None or stored.directory not in self.projects:
                return None
            return stored.tree.read(stored.leaf)

    def read_stored_page(
        self,
        thread_id: str,
        *,
        size: int,
        before: str | None = None,
        since: str | None = None,
        light: bool = False,
    ) -> StoredThreadPage | None:
        """A page of a stored thread's transcript."""
        read = self.read_stored_thread(thread_id)
        if read is not None and light and before is None and since is None:
            size = min(size, messages_of_window(read))
        return fake_page(read, size, before, since) if read is not None else None

    def read_stored_image(self, thread_id: str, entry_id: str, number: int) -> ImagePart | None:
        """The image at a place of an entry."""
        read = self.read_stored_thread(thread_id)
        named = [entry for entry in read.entries if entry.id == entry_id] if read else []
        return image_of(named[-1], number) if named else None

    def fresh_permission_mode(self) -> PermissionModeState:
        """What a new thread starts in."""
        return PermissionModeState(mode="ask", agent=None, modes=MODES)

    def stored_permission_mode(self, transcript: Sequence[TranscriptEntry]) -> PermissionModeState:
        """The mode of the last ``modes`` entry, else the fresh one."""
        named = [
            entry.data["mode"]
            for entry in transcript
            if isinstance(entry, TranscriptCustom)
            and entry.custom_type == "modes"
            and isinstance(entry.data, dict)
            and isinstance(entry.data.get("mode"), str)
        ]
        return structs.replace(self.fresh_permission_mode(), mode=named[-1] if named else "ask")

    # -- AgentHost: forks and the trash -----------------------------------------------------------

    def files(self, directory: Path, query: str, limit: int) -> tuple[str, ...]:
        """The files that are in the directory itself, by a part of their names."""
        names = sorted(entry.name for entry in directory.iterdir() if query in entry.name)
        return tuple(names[:limit])

    def fork(self, thread_id: str, entry_id: str | None, new_id: str) -> str:
        """Store a new thread that begins as a part of another."""
        if not is_thread_id(new_id):
            raise SessionUnreadable(new_id, refused_id_sentence(new_id))
        with self._lock:
            source = self._threads.get(thread_id)
            if source is None:
                raise ThreadNotStored(thread_id)
            if self.has(new_id):
                raise SessionNotWritten(new_id, "A thread is stored under this id already.")
            entries = self._before(source, entry_id)
            tree = FakeTree.line(entries)
            fork = Stored(new_id, source.directory, source.name, entries=entries, tree=tree)
            if any(isinstance(entry, TranscriptMessage) for entry in entries):
                fork.version = 1
                self._threads[new_id] = fork
            else:
                self._unstored_forks[new_id] = fork
        if fork.version:
            self._tell(new_id)
        return new_id

    @staticmethod
    def _before(source: Stored, entry_id: str | None) -> list[TranscriptEntry]:
        if entry_id is None:
            return list(source.entries)
        for index, entry in enumerate(source.entries):
            said = isinstance(entry, TranscriptMessage) and entry.role == "user"
            if said and entry.id == entry_id:
                return source.entries[:index]
        raise PromptRefused("unknown-entry", "This thread has no such message to fork from.")

    def delete(self, thread_id: str) -> None:
        """Put a stored thread into the trash."""
        with self._lock:
            if thread_id not in self._threads:
                raise ThreadNotStored(thread_id)
            self._trash[thread_id] = self._threads.pop(thread_id)
        self._tell(thread_id)

    def deleted_thread(self, thread_id: str) -> StoredThread | None:
        """The row of a thread in the trash."""
        with self._lock:
            stored = self._trash.get(thread_id)
            served = stored is not None and stored.directory in self.projects
            return self._row(stored) if stored is not None and served else None

    def restore(self, thread_id: str) -> bool:
        """Take a thread back from the trash."""
        with self._lock:
            stored = self._trash.pop(thread_id, None)
            if stored is None:
                return False
            self._threads[thread_id] = stored
        self._tell(thread_id)
        return True

    # -- AgentHost: the rest ----------------------------------------------------------------------

    def models(self) -> list[ModelChoice]:
        """Two scripted models."""
        return list(MODEL_CHOICES) if self._model is not None else []

    def prepare(self) -> None:
        """A scripted model is always ready; that it was asked is counted."""
        self.prepared += 1

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The commands of any thread."""
        del directory
        return COMMANDS

    def readiness(self, transcript: Sequence[TranscriptEntry] = ()) -> HostReadiness:
        """The one scripted model, or what to do without one."""
        del transcript
        what_to_do = "" if self._model is not None else "Configure a model."
        return HostReadiness(model=self._model, what_to_do=what_to_do)

    def report(self) -> HostReport:
        """One check, and the secrets that a test gave."""
        state = "good" if self._model else "bad"
        return HostReport(
            checks=(Check(about="model of new threads", state=state, said=MODEL),),
            configuration={"models.json": {"providers": [PROVIDER]}},
            secrets=frozenset(self.secrets),
        )

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id."""
        return self.provider_names.get(provider, provider)

    def find_passages(self, query: str, limit: int) -> Found:
        """Looks at every text of every listed thread."""
        rows = self.list_sessions()
        entries = {row.id: self.entries(row.id) for row in rows}
        return find_in(rows, entries, query, limit)

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Tell ``listener`` of changed threads, from the worker that changes them."""
        key = object()
        with self._lock:
            self._listeners[key] = listener

        def end() -> None:
            with self._lock:
                self._listeners.pop(key, None)

        return end

    def close(self) -> None:
        """End every watch and every live thread."""
        self.closed = True
        with self._lock:
            self._listeners.clear()
            built = list(self.built)
        for thread in built:
            thread.close()

    # -- for its threads --------------------------------------------------------------------------

    def next_place(self) -> tuple[str, int]:
        """The next entry's id and time."""
        number = next(self._ids)
        return f"{number:08x}", BEGINNING_MS + number * 1000

    def write(self, live: Stored, *entries: TranscriptEntry) -> None:
        """A live thread appends; what another program stored in between stays in the log."""
        with self._lock:
            stored = self._threads.get(live.id)
            if stored is None:
                stored = self._threads[live.id] = Stored(live.id, live.directory)
            in_step = stored.version == live.version
            stored.entries.extend(entries)
            stored.tree.take_in(live.tree)
            stored.name = live.name
            stored.version += 1
            live.version = stored.version if in_step else live.version
        self._tell(live.id)

    def rewrite(self, live: Stored) -> None:
        """A live thread that went to another entry appended: its branch is what is read now."""
        with self._lock:
            stored = self._threads[live.id]
            stored.entries = list(live.entries)
            stored.tree.take_in(live.tree)
            stored.name = live.name
            stored.version += 1
            live.version = stored.version
        self._tell(live.id)

    def version(self, thread_id: str) -> int | None:
        """How often the thread was written; ``None`` when it is not stored."""
        with self._lock:
            stored = self._threads.get(thread_id)
            return stored.version if stored is not None else None

    def _placed(self, entry: TranscriptEntry) -> TranscriptEntry:
        entry_id, created_at = self.next_place()
        return structs.replace(
            entry,
            id=entry.id or entry_id,
            created_at=created_at if entry.created_at is None else entry.created_at,
        )

    def _tell(self, thread_id: str) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener(frozenset({thread_id}))

    def _row(self, stored: Stored) -> StoredThread:
        messages = [entry for entry in stored.entries if isinstance(entry, TranscriptMessage)]
        results = [e for e in stored.entries if isinstance(e, TranscriptToolResult)]
        newest = max((message.created_at or 0 for message in messages), default=BEGINNING_MS)
        texts = [text_of(message) for message in messages if message.role == "user"]
        return StoredThread(
            id=stored.id,
            path=Path("/nowhere") / stored.id,
            cwd=stored.directory,
            modified=datetime.fromtimestamp(newest / 1000, UTC),
            message_count=len(messages) + len(results),
            first_message=next((text for text in texts if text), ""),
            name=stored.name,
            end=end_of(stored.entries),
        )
