"""One thread run by pi: what can be asked of it, and its one run at a time.

Owns which run is in flight, that it is always settled, and the process: started by the first thing
that needs it, started again when it is gone. What pi says is ``events``'s; what it stores is
``pi_log``'s.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, Literal

from enso.host.contract import (
    Activity,
    Command,
    Dialog,
    DialogAnswer,
    DraftSuggested,
    EventListener,
    ModelInUse,
    PromptImage,
    PromptRefused,
    QueuedPrompt,
    RunBegan,
    RunNotice,
    RunSettled,
)
from enso.host.modes import MODES
from enso.host.refusals import read_refusal
from enso.host.runtimes.builtin.activities import Activities
from enso.host.runtimes.builtin.thread_settings import thread_model
from enso.host.runtimes.pi.events import Translator
from enso.host.runtimes.pi.extension_ui import ExtensionUi
from enso.host.runtimes.pi.guard import MODE_COMMAND
from enso.host.runtimes.pi.pi_log import PiLog
from enso.host.runtimes.pi.pi_queue import PiQueue
from enso.host.runtimes.pi.pi_run import PiRun
from enso.host.runtimes.pi.process import PiFailed, PiGone, PiProcess, Record
from enso.host.runtimes.pi.program import PiUnusable
from enso.host.runtimes.pi.services import PiServices
from enso.host.runtimes.pi.starting import model_in_use, ready, require_model, start
from enso.host.session_file import SessionFile
from enso.host.stored_values import object_of, text_of
from enso.transcript import Refusal

log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 4.0
"""How long who prompts waits for a refusal, at most; what comes later is told in the pane."""

STOP_SECONDS: Final = 15.0
"""How long pi may take to stop a run; then its process is ended."""


class PiRuntime:
    """The runtime of one live thread; implements ``ThreadRuntime``."""

    def __init__(self, session: SessionFile, services: PiServices) -> None:
        self._session = session
        self._services = services
        self._log = PiLog(session, services.provider_name)
        self._queue = PiQueue(self._log.tell)
        self._activities = Activities(self._log.tell)
        self._ui = ExtensionUi(self._log.tell, self._send, self._asked, str(session.cwd))
        self._translator = Translator(self._log, self._activities, self._ui, self._queue, self)
        self._lock = threading.RLock()
        self._starting = threading.Lock()
        self._process: PiProcess | None = None
        self._model: ModelInUse | None = None
        self._model_checked = False
        self._said: tuple[str, ...] = ()
        self._run: PiRun | None = None
        self._closed = False

    # -- runs -------------------------------------------------------------------------------------

    def listen(self, listener: EventListener) -> None:
        """Set the listener."""
        self._log.listen(listener)

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """Start a run. Raises ``PromptRefused`` when pi does not take the prompt, and says why.

        Waits a moment for that; a ``!command`` is run as a person's own, not by a model.
        """
        if not message.strip() and not images:
            raise PromptRefused("empty", "The prompt is empty.")
        kind = "shell" if message.startswith("!") and not images else "prompt"
        self._begin(PiRun(kind, message, tuple(images)))

    def compact(self, instructions: str = "") -> None:
        """Start a run that sums up. Raises ``PromptRefused`` when there is nothing to sum up."""
        self._begin(PiRun("compact", instructions))

    def abort(self) -> None:
        """End the run that is in flight; what had streamed is kept, what was queued is not."""
        with self._lock:
            run, process = self._run, self._process
            if run is None or run.stopping:
                return
            run.stopping = True
            self._activities.stopping()
        self._ui.cancel_all()
        if process is None or not process.running:
            return
        if self._services.program.protocol.clears_queue:
            process.start("clear_queue")
        stop = process.start("abort_bash" if run.kind == "shell" else "abort")
        limit = threading.Timer(STOP_SECONDS, self._give_up_on, (run, process))
        limit.daemon = True
        limit.start()
        stop.add_done_callback(lambda _: self._stopped(run, limit))

    def close(self) -> None:
        """End a run and the process, and tell nothing afterwards."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        self._log.listen(None)
        self._ui.cancel_all()
        if process is not None:
            process.close()

    def model(self) -> ModelInUse | None:
        """The model of the next prompt, as far as it is known without a pi."""
        named = thread_model(self._session.branch())
        if self._model is not None and named in (None, (self._model.provider, self._model.model)):
            return self._model
        return self._services.in_use(named) if named else self._services.default_model()

    # -- while a run is in flight -----------------------------------------------------------------

    def queue(
        self,
        message: str,
        images: Sequence[PromptImage] = (),
        *,
        when: Literal["steer", "after"],
    ) -> str:
        """Have a message delivered to the run in flight; returns the queued item's id."""
        if not message.strip() and not images:
            raise PromptRefused("empty", "The prompt is empty.")
        process = self._working_process()
        waiting = self._queue.sending(message, images, when)
        command = "steer" if when == "steer" else "follow_up"
        try:
            data = process.ask(command, message=message, **_images(images))
        except PiFailed as error:
            self._queue.not_sent(waiting)
            raise PromptRefused("refused-by-pi", f"pi did not take it: {error}") from error
        if object_of(data).get("disposition") == "handled":
            self._queue.not_sent(waiting)
        return waiting.item.id

    def take_back(self, item_id: str) -> QueuedPrompt | None:
        """Take a queued item out again: pi empties its queues, and the others are put back."""
        kept = [one for one in self._queue.waiting if one.text is not None]
        found = next((one for one in kept if one.item.id == item_id), None)
        process = self._process
        if found is None or process is None or not self._services.program.protocol.clears_queue:
            return None
        try:
            data = object_of(process.ask("clear_queue"))
        except PiFailed:
            return None
        left = [*data.get("steering", ()), *data.get("followUp", ())]
        for one in kept:
            if one is not found and one.text in left:
                self.queue(one.text or "", one.images, when=one.item.when)
        return found.item if found.text in left else None

    def queued(self) -> tuple[QueuedPrompt, ...]:
        """What waits, in the order of delivery."""
        return self._queue.items

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """Answer a dialog; the first answer counts."""
        return self._ui.answer(dialog_id, answer)

    def dialogs(self) -> tuple[Dialog, ...]:
        """The dialogs that wait, oldest first."""
        return self._ui.open()

    def activity(self) -> Activity | None:
        """What the run in flight is doing."""
        return self._activities.current

    def retry_now(self) -> bool:
        """Pi knows no way to end a retry wait without giving up: never."""
        return False

    # -- what a person sets -----------------------------------------------------------------------

    def set_mode(self, mode: str) -> None:
        """Change the permission mode, through Enso's guard in pi."""
        if mode not in {choice.id for choice in MODES}:
            raise PromptRefused("unknown-mode", f"Enso knows no mode “{mode[:60]}”.")
        self._command(MODE_COMMAND, mode)

    def set_model(self, provider: str, model: str, level: str | None = None) -> None:
        """Choose the model and the thinking level of the next prompt."""
        self._require_idle()
        process = self._ready()
        try:
            data = process.ask("set_model", provider=provider, modelId=model)
            if level:
                process.ask("set_thinking_level", level=level)
        except PiFailed as error:
            raise PromptRefused("unknown-model", f"pi did not take this model: {error}") from error
        self._model, self._model_checked = model_in_use(data), True
        self._log.sync()

    def rename(self, name: str) -> None:
        """Name the thread, or take its name away."""
        told = " ".join(name.split())
        if not told:
            self._command("enso-name")
            return
        self._ask("set_session_name", name=told)

    def label(self, entry_id: str, label: str) -> None:
        """Label an entry of the file."""
        self._require_entry(entry_id)
        self._command("enso-label", entry_id, label.strip())

    def go_to(self, entry_id: str | None) -> None:
        """Continue from another entry of the file."""
        self._require_idle()
        target = self._require_entry(entry_id) if entry_id is not None else self._first_prompt()
        self._command("enso-go-to", target["id"])
        message = object_of(target.get("message"))
        said = message.get("role") == "user" or target.get("type") == "custom_message"
        self._session.go_to(target["parentId"] if said else target["id"])

    def commands(self) -> tuple[Command, ...]:
        """The slash commands of this thread."""
        return self._services.commands(self._session.cwd)

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
        process = start(
            self._services.checked_program(),
            self._session,
            self._services.options,
            hear=self._translator.take,
            ended=self._ended,
        )
        with self._lock:
            self._process, self._model_checked = process, False
        process.begin()
        try:
            state = ready(process, self._session)
        except PromptRefused:
            self._let_go_of(process)
            raise
        self._log.start_anew()
        self._model = model_in_use(state.get("model"))
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
        self._log.sync()
        return data

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

    # -- a run ------------------------------------------------------------------------------------

    def _begin(self, run: PiRun) -> None:
        with self._lock:
            self._require_idle()
            self._run = run
        self._activities.at(Activity(kind="asking"))
        worker = threading.Thread(target=self._ask_for, args=(run,), name="pi-run", daemon=True)
        worker.start()
        run.wait(WAIT_SECONDS)

    def _ask_for(self, run: PiRun) -> None:
        """Make pi ready and send what the run is; what fails is the run's refusal."""
        try:
            process = self._ready()
            self._require_model(run)
            if run.stopping:
                self._settle(run, RunSettled("aborted"))
                return
            command, fields = _request(run)
            answer = process.start(command, **fields)
        except PromptRefused as refused:
            self._refuse(run, refused)
        except Exception as error:
            log.exception("A run of thread %s could not begin", self._session.thread_id)
            self._refuse(run, PromptRefused("failed", f"Enso failed: {error}"))
        else:
            answer.add_done_callback(partial(self._answered, run))

    def _require_model(self, run: PiRun) -> None:
        if self._model_checked or run.kind == "shell":
            return
        if run.kind == "prompt" and self._services.runs_message(self._session.cwd, run.message):
            return
        named = thread_model(self._session.branch()) or self._services.named_for_new_threads()
        process = self._process
        said = process.said if process is not None else ()
        require_model(named, self._model, self._services.model_names(), said)
        self._model_checked = True

    def _answered(self, run: PiRun, answer: Future[Any]) -> None:
        """Pi answered what a run is; called from its reader."""
        error = answer.exception()
        if isinstance(error, PiGone):
            return  # told by its end
        if error is not None:
            self._refuse(run, _refusal_of(run, str(error)))
            return
        self._log.sync()
        run.accept()
        if self._is_done(run, object_of(answer.result())):
            self._settle(run, RunSettled("aborted" if run.stopping else "complete"))

    def _is_done(self, run: PiRun, data: Mapping[str, Any]) -> bool:
        if run.kind != "prompt":
            return True
        if self._services.program.protocol.settles:
            return data.get("disposition") == "handled" and not run.working
        return self._services.runs_message(self._session.cwd, run.message) and not run.working

    def _refuse(self, run: PiRun, refused: PromptRefused) -> None:
        """The run came to nothing: who asked is told, or else whoever looks at the pane."""
        with self._lock:
            if self._run is not run:
                return
            if run.refuse(refused):
                self._forget()
                return
        self._log.tell(RunNotice(str(refused)))
        if not run.working and run.kind != "extension" and run.message:
            self._log.tell(DraftSuggested(run.message))
        self._settle(run, RunSettled("aborted" if run.stopping else "failed"))

    def _settle(self, run: PiRun, settled: RunSettled) -> None:
        with self._lock:
            if self._run is not run:
                return
            self._translator.settle()
            self._forget()
        run.accept()
        self._log.tell(settled)

    def _forget(self) -> None:
        self._run = None
        self._ui.cancel_all()
        self._queue.clear()
        self._activities.settled()

    def _stopped(self, run: PiRun, limit: threading.Timer) -> None:
        """Pi answered that it is idle; called from its reader."""
        limit.cancel()
        self._log.sync()
        self._settle(run, RunSettled("aborted"))

    def _give_up_on(self, run: PiRun, process: PiProcess) -> None:
        """Pi did not stop in time: its process is ended."""
        with self._lock:
            if self._run is not run:
                return
        self._let_go_of(process)
        self._ui.forget()
        self._log.tell(RunNotice("pi did not stop, so its process was ended."))
        self._settle(run, RunSettled("aborted"))

    # -- what pi tells of runs (``events.Hearer``) ------------------------------------------------

    def run_goes_on(self) -> None:
        """Pi works."""
        with self._lock:
            if (run := self._run) is None:
                run = self._run = PiRun("extension")
                self._log.tell(RunBegan())
            if run.kind == "compact":
                return  # taken when it is done, or refused
            run.working = True
        run.accept()

    def run_may_be_over(self) -> None:
        """Before 1.0 nothing tells that a run is over: pi is asked whether it goes on."""
        run, process = self._run, self._process
        if run is None or process is None or self._services.program.protocol.settles:
            return
        if run.kind in ("prompt", "extension"):
            process.start("get_state").add_done_callback(partial(self._look_if_over, run))

    def _look_if_over(self, run: PiRun, answer: Future[Any]) -> None:
        process = self._process
        if answer.exception() is not None or process is None or self._run is not run:
            return
        state = object_of(answer.result())
        now = self._activities.doing
        waits = now is not None and now.kind in ("retry-wait", "compacting")
        if state.get("isStreaming") is True or state.get("isCompacting") is True:
            timer = threading.Timer(0.05, self.run_may_be_over)
            timer.daemon = True
            timer.start()
        elif not waits:
            self.run_settled(aborted=False)

    def run_settled(self, *, aborted: bool) -> None:
        """Pi will not go on by itself."""
        run = self._run
        if run is not None and run.kind in ("prompt", "extension"):
            self._settle(run, self._outcome(aborted=aborted or run.stopping))

    def _outcome(self, *, aborted: bool) -> RunSettled:
        last = self._translator.last
        if aborted or last.stop_reason == "aborted":
            return RunSettled("aborted")
        if last.stop_reason != "error":
            return RunSettled("complete")
        return RunSettled("refused", self._refusal())

    def _refusal(self) -> Refusal:
        message = self._translator.last.message
        return read_refusal(
            provider_name=self._services.provider_name(text_of(message.get("provider"))),
            model=text_of(message.get("model")),
            error_message=text_of(message.get("errorMessage")),
        )

    def look_for_entry(self) -> None:
        """A message's entry was not there yet: what pi answers to anything comes after it is."""
        if self._process is not None:
            self._process.start("get_state").add_done_callback(self._looked)

    def _looked(self, _answer: Future[Any]) -> None:
        self._log.sync()
        self._log.tell_unstored()

    # -- within -----------------------------------------------------------------------------------

    def _asked(self, dialog: Dialog | None) -> None:
        self._activities.asked(dialog)
        if dialog is not None and (run := self._run) is not None:
            run.accept()

    def _require_idle(self) -> None:
        if self._closed:
            raise PromptRefused("closed", "This thread was let go. Send it again.")
        if self._run is not None:
            raise PromptRefused(
                "busy", "A run is in flight in this thread. Wait for it, or stop it first."
            )

    def _require_entry(self, entry_id: str) -> Mapping[str, Any]:
        entries = reversed(self._session.entries())
        found = next((entry for entry in entries if entry["id"] == entry_id), None)
        if found is None:
            raise PromptRefused("unknown-entry", "This thread has no such entry.")
        return found

    def _first_prompt(self) -> Mapping[str, Any]:
        for entry in self._session.branch():
            if object_of(entry.get("message")).get("role") == "user":
                return entry
        raise PromptRefused("unknown-entry", "This thread has no prompt yet.")


def _request(run: PiRun) -> tuple[str, dict[str, Any]]:
    if run.kind == "compact":
        return "compact", {"customInstructions": run.message} if run.message else {}
    if run.kind == "shell":
        hidden = run.message.startswith("!!")
        fields: dict[str, Any] = {"command": run.message.lstrip("!").strip()}
        return "bash", fields | ({"excludeFromContext": True} if hidden else {})
    return "prompt", {"message": run.message, **_images(run.images)}


def _images(images: Sequence[PromptImage]) -> dict[str, Any]:
    blocks = [{"type": "image", "data": i.data, "mimeType": i.mime_type} for i in images]
    return {"images": blocks} if blocks else {}


def _refusal_of(run: PiRun, said: str) -> PromptRefused:
    if run.kind == "compact":
        code = "nothing-to-compact" if "ompact" in said else "refused-by-pi"
        return PromptRefused(code, f"pi did not sum up: {said}")
    return PromptRefused("refused-by-pi", said)
