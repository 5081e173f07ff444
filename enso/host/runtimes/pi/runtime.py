"""One thread run by pi: what can be asked of it. Implements ``ThreadRuntime``.

What pi says is ``events``'s; what it stores is ``pi_log``'s; its process and its runs are
``pi_thread``'s and ``pi_runs``'s.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final, Literal

from enso.host.contract import (
    Activity,
    Command,
    Dialog,
    DialogAnswer,
    EventListener,
    ModelInUse,
    PromptImage,
    PromptRefused,
    QueuedPrompt,
)
from enso.host.modes import MODES
from enso.host.runtimes.pi.guard import MODE_COMMAND
from enso.host.runtimes.pi.pi_queue import Waiting
from enso.host.runtimes.pi.pi_run import PiRun
from enso.host.runtimes.pi.pi_runs import PiRuns, images_of
from enso.host.runtimes.pi.process import PiFailed
from enso.host.runtimes.pi.starting import model_in_use
from enso.host.runtimes.thread_settings import thread_model
from enso.host.stored_values import object_of

STOP_SECONDS: Final = 15.0
"""How long pi may take to stop a run; then its process is ended."""

_SAID: Final = frozenset({"message", "custom_message"})
"""Types of entries that hold something a model is told."""


class PiRuntime(PiRuns):
    """The runtime of one live thread; implements ``ThreadRuntime``."""

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
        if not any(entry["type"] in _SAID for entry in self._session.branch()):
            # pi before 1.0 asks a model to sum up nothing.
            raise PromptRefused(
                "nothing-to-compact", "There is nothing to sum up: nothing was said yet."
            )
        self._begin(PiRun("compact", instructions))

    def abort(self) -> tuple[QueuedPrompt, ...]:
        """End the run that is in flight; what had streamed is kept, what was queued is returned.

        What pi 1.x takes out is what it answers to ``clear_queue``. It counts a message as queued
        until it says that this begins: where it delivers several at once (``all``), one that
        already was on its way may be returned and said. pi 0.73 has no such command, and would say
        what waits in its next run: so it is waited for until it stopped, what it told of last is
        returned, and its process is ended.
        """
        with self._queueing:  # what was sent before goes to pi before the queue is emptied
            with self._lock:
                run, process = self._run, self._process
                if run is None or run.stopping:
                    return ()
                run.stopping = True
                doing = self._activities.doing
                waited, told = self._queue.waiting, self._queue.items
                self._queue.clear()
                self._activities.stopping()
            if process is None or not process.running:
                self._ui.cancel_all()
                return told
            protocol = self._services.program.protocol
            cleared = process.start("clear_queue") if protocol.clears_queue else None
        self._ui.cancel_all()
        sums_up = doing is not None and doing.kind == "compacting"
        if sums_up and not protocol.stops_summaries:
            threading.Thread(target=self._give_up_on, args=(run, process), daemon=True).start()
            return told
        stop = process.start("abort_bash" if run.kind == "shell" else "abort")
        limit = threading.Timer(STOP_SECONDS, self._give_up_on, (run, process))
        limit.daemon = True
        limit.start()
        if cleared is None and told:
            cleared = left = Future[Any]()
            stop.add_done_callback(lambda _: left.set_result(self._queue.last))
            stop.add_done_callback(lambda _: self._let_go_of(process))
        stop.add_done_callback(lambda _: self._stopped(run, limit))
        return self._taken_out(waited, told, cleared)

    def _taken_out(
        self,
        waited: Sequence[Waiting],
        told: tuple[QueuedPrompt, ...],
        cleared: Future[Any] | None,
    ) -> tuple[QueuedPrompt, ...]:
        """What pi took out of its queue; without an answer, what it last told of."""
        if cleared is None:
            return told
        try:
            return self._queue.items_of(waited, object_of(cleared.result(STOP_SECONDS)))
        except (PiFailed, FutureTimeout):
            return told

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
        command = "steer" if when == "steer" else "follow_up"
        with self._queueing:
            process = self._working_process()
            waiting = self._queue.sending(message, images, when)
            answer = process.start(command, message=message, **images_of(images))
        try:
            data = process.answer_to(command, answer)
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
        self._take_in(process)

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

    # -- within -----------------------------------------------------------------------------------

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
