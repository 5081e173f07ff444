"""The pi of one thread: its process, its log, and what is asked of it outside of a run.

The process is started by the first thing that needs it, and started again when it is gone. What a
run is, is ``pi_runs``'s.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Any

from enso.host.contract import (
    Dialog,
    ModelInUse,
    PromptRefused,
    RunNotice,
)
from enso.host.runtimes.activities import Activities
from enso.host.runtimes.pi.events import ENTRIES, Translator
from enso.host.runtimes.pi.extension_ui import ExtensionUi
from enso.host.runtimes.pi.pi_log import PiLog
from enso.host.runtimes.pi.pi_queue import PiQueue
from enso.host.runtimes.pi.pi_run import PiRun
from enso.host.runtimes.pi.process import PiFailed, PiProcess, Record
from enso.host.runtimes.pi.program import PiUnusable
from enso.host.runtimes.pi.services import PiServices
from enso.host.runtimes.pi.starting import model_in_use, ready, start
from enso.host.session_file import SessionFile
from enso.host.stored_values import object_of


class PiThread:
    """What a thread of pi's has, run or not. ``pi_runs`` says what its runs are.

    ``_translator`` is set by whoever hears what pi tells of runs.
    """

    _translator: Translator

    def __init__(self, session: SessionFile, services: PiServices) -> None:
        self._session = session
        self._services = services
        self._log = PiLog(session, services.provider_name)
        self._queue = PiQueue(self._log.tell)
        self._activities = Activities(self._log.tell)
        self._ui = ExtensionUi(self._log.tell, self._send, self._asked, str(session.cwd))
        self._lock = threading.RLock()
        self._starting = threading.Lock()
        self._queueing = threading.Lock()
        """Held while what is queued is sent, or the queue emptied: pi hears both in this order."""
        self._process: PiProcess | None = None
        self._model: ModelInUse | None = None
        self._model_checked = False
        self._said: tuple[str, ...] = ()
        self._run: PiRun | None = None
        self._closed = False

    # -- what the host looks at -------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What runs this thread."""
        try:
            return f"pi {self._services.program.version}"
        except PiUnusable:
            return "pi"

    @property
    def pid(self) -> int | None:
        """The id of its process, while there is one."""
        return self._process.pid if self._process is not None else None

    @property
    def unknown_events(self) -> Mapping[str, int]:
        """What pi said that Enso does not know, by kind."""
        return dict(self._translator.unknown)

    @property
    def said(self) -> tuple[str, ...]:
        """The end of what pi wrote to its errors."""
        return self._process.said if self._process is not None else self._said

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extensions that pi was told to load, beside those that it finds by itself."""
        return tuple(map(str, self._services.options.extensions))

    def changed_elsewhere(self) -> bool:
        """Whether another program than this thread's pi changed the file."""
        if self._run is not None:
            return self._log.foreign
        return self._log.is_foreign()

    # -- the process ------------------------------------------------------------------------------

    def _ready(self) -> PiProcess:
        """The process, ready; started when there is none. Raises ``PromptRefused``."""
        with self._starting:
            process = self._process
            if process is not None and process.running:
                return process
            if self._closed:
                raise PromptRefused("closed", "This thread was let go. Send it again.")
            return self._start()

    def _start(self) -> PiProcess:
        hear, ended = self._translator.take, self._ended
        forked = self._services.forked(self._session.thread_id, hear, ended)
        process = forked or start(
            self._services.checked_program(),
            self._session,
            self._services.options,
            hear=hear,
            ended=ended,
        )
        with self._lock:
            self._process, self._model_checked = process, False
        if forked is None:
            process.begin()
        try:
            state = ready(process, self._session)
        except PromptRefused:
            self._let_go_of(process)
            raise
        self._log.start_anew()
        self._model = model_in_use(state.get("model"))
        self._queue.can_be_taken_back = self._services.program.protocol.clears_queue
        self._services.learn_from(process, self._session.cwd)
        return process

    def _let_go_of(self, process: PiProcess) -> None:
        with self._lock:
            if self._process is process:
                self._process, self._said = None, process.said
        process.close()

    def _ask(self, command: str, **fields: Any) -> Any:
        """Ask pi something that is done at once, and take in what it stored.

        Raises ``PromptRefused``.
        """
        process = self._ready()
        try:
            data = process.ask(command, **fields)
        except PiFailed as error:
            raise PromptRefused("refused-by-pi", f"pi refused it: {error}") from error
        self._take_in(process)
        return data

    def _take_in(self, process: PiProcess) -> None:
        """Take in what pi stored; before it stored any entry, what it will store."""
        self._log.sync()
        if self._log.holds_entries():
            return
        with contextlib.suppress(PiFailed):  # told by its end
            if self._services.program.protocol.lists_entries:
                told = object_of(process.ask("get_entries")).get("entries")
                self._log.will_store([object_of(entry) for entry in told or ()])
            elif self._services.runs(self._session.cwd, ENTRIES):
                process.ask("prompt", message=f"/{ENTRIES}")

    def _command(self, name: str, *arguments: str) -> None:
        """Run a command of one of Enso's extensions in pi. Raises ``PromptRefused``."""
        process = self._ready()
        if not self._services.runs(self._session.cwd, name):
            raise PromptRefused(
                "not-in-pi",
                "This pi runs without the extension of Enso's that does this: perhaps it has a "
                "guard of its own.",
            )
        self._ask("prompt", message=" ".join((f"/{name}", *arguments)).rstrip())
        del process

    def _send(self, record: Record) -> None:
        if self._process is not None:
            self._process.send(record)

    def _working_process(self) -> PiProcess:
        with self._lock:
            if self._run is None or self._process is None or self._run.stopping:
                raise PromptRefused("not-busy", "Nothing runs in this thread. Send it instead.")
            return self._process

    def _ended(self, sentence: str) -> None:
        """The process ended by itself; called from its reader."""
        with self._lock:
            process, self._process = self._process, None
            self._said = process.said if process is not None else ()
            run = self._run
        self._log.sync()
        self._ui.forget()
        if run is None:
            self._log.tell(RunNotice(sentence))
        else:
            self._refuse(run, PromptRefused("pi-ended", sentence))

    def _asked(self, dialog: Dialog | None) -> None:
        self._activities.asked(dialog)
        if dialog is not None and (run := self._run) is not None:
            run.known()

    def _require_idle(self) -> None:
        if self._closed:
            raise PromptRefused("closed", "This thread was let go. Send it again.")
        if self._run is not None:
            raise PromptRefused(
                "busy", "A run is in flight in this thread. Wait for it, or stop it first."
            )

    # -- what its runs say to it -------------------------------------------------------------------

    def _refuse(self, run: PiRun, refused: PromptRefused) -> None:
        """The run came to nothing."""
        raise NotImplementedError
