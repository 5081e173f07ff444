"""The runs of one thread of pi's: one at a time, and always settled.

Owns what a run is, from the request for it to its settlement, whatever pi, a person or the end of
the process does meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from enso.host.contract import (
    Activity,
    DraftSuggested,
    PromptImage,
    PromptRefused,
    RunBegan,
    RunNotice,
    RunSettled,
)
from enso.host.refusals import read_refusal
from enso.host.runtimes.pi.events import Translator
from enso.host.runtimes.pi.pi_run import PiRun
from enso.host.runtimes.pi.pi_thread import PiThread
from enso.host.runtimes.pi.process import PiGone, PiProcess
from enso.host.runtimes.pi.services import PiServices
from enso.host.runtimes.pi.starting import require_model
from enso.host.runtimes.thread_settings import thread_model
from enso.host.session_file import SessionFile
from enso.host.stored_values import object_of, text_of
from enso.transcript import Refusal

log = logging.getLogger(__name__)


class PiRuns(PiThread):
    """A thread and its runs; hears from ``events`` what pi tells of them (``events.Hearer``)."""

    def __init__(self, session: SessionFile, services: PiServices) -> None:
        super().__init__(session, services)
        self._translator = Translator(self._log, self._activities, self._ui, self._queue, self)

    # -- a run ------------------------------------------------------------------------------------

    def _begin(self, run: PiRun) -> None:
        with self._lock:
            self._require_idle()
            self._run = run
        self._activities.at(Activity(kind="asking"))
        worker = threading.Thread(target=self._ask_for, args=(run,), name="pi-run", daemon=True)
        worker.start()
        run.wait(self._services.options.refusal_seconds)

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
        run.known()
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
                run.known()
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
        run.known()
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
        run.known()

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


def _request(run: PiRun) -> tuple[str, dict[str, Any]]:
    if run.kind == "compact":
        return "compact", {"customInstructions": run.message} if run.message else {}
    if run.kind == "shell":
        hidden = run.message.startswith("!!")
        fields: dict[str, Any] = {"command": run.message.lstrip("!").strip()}
        return "bash", fields | ({"excludeFromContext": True} if hidden else {})
    return "prompt", {"message": run.message, **images_of(run.images)}


def images_of(images: Sequence[PromptImage]) -> dict[str, Any]:
    """The ``images`` of a command; nothing without any."""
    blocks = [{"type": "image", "data": i.data, "mimeType": i.mime_type} for i in images]
    return {"images": blocks} if blocks else {}


def _refusal_of(run: PiRun, said: str) -> PromptRefused:
    if run.kind == "compact":
        code = "nothing-to-compact" if "ompact" in said else "refused-by-pi"
        return PromptRefused(code, f"pi did not sum up: {said}")
    return PromptRefused("refused-by-pi", said)
