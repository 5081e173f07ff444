"""One thread of the built-in runtime: a prompt in, a stored turn out.

Owns the order of things in a run (design, sections 3 and 5): what is stored when, which events are
told, that a run is always settled, and that an abort leaves a valid branch. What a model is asked
and what its answer looks like is ``request`` and ``answer``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from enso.host.contract import (
    Activity,
    ActivityChanged,
    Command,
    Dialog,
    DialogAnswer,
    EventListener,
    HostError,
    MessageDropped,
    MessageStarted,
    ModelInUse,
    PromptImage,
    PromptRefused,
    QueuedPrompt,
    RunNotice,
    RunSettled,
)
from enso.host.runtimes.builtin.model import Model
from enso.host.runtimes.builtin.prompt_queue import PromptQueue
from enso.host.runtimes.builtin.session_context import has_system_message
from enso.host.runtimes.builtin.system_prompt import system_sections
from enso.host.runtimes.builtin.thread_log import ThreadLog, now_ms
from enso.host.runtimes.builtin.thread_settings import thread_level, thread_model
from enso.host.session_file import SessionFile
from enso.transcript import TranscriptMessage

if TYPE_CHECKING:
    from enso.host.runtimes.builtin.answer import Answer
    from enso.host.runtimes.builtin.answer_fields import Ending

log = logging.getLogger(__name__)

_CLOSING_SECONDS: Final = 5.0


class Services(Protocol):
    """What all threads of the runtime share."""

    def choose(self, branch: Sequence[Mapping[str, Any]]) -> Model:
        """The model of the next prompt to this branch. Raises ``PromptRefused``."""
        ...

    def level(self, branch: Sequence[Mapping[str, Any]], model: Model) -> str:
        """The thinking level of the next prompt to this branch."""
        ...

    def named(self, provider: str, model: str) -> Model:
        """A model by its name. Raises ``PromptRefused`` when it cannot be used."""
        ...

    def take_level(self, model: Model, level: str) -> str:
        """The thinking level nearest to ``level`` that the model takes."""
        ...

    def commands(self, directory: Path) -> tuple[Command, ...]:
        """The slash commands of a thread of this directory."""
        ...

    def provider_name(self, provider: str) -> str:
        """The display name of a provider id."""
        ...

    def warm(self, model: Model) -> None:
        """Start what this model needs, if anything. Blocks; raises nothing."""
        ...

    async def answer(
        self, model: Model, answer: Answer, session: SessionFile, level: str
    ) -> Ending:
        """Ask ``model`` for the next message of the session's branch."""
        ...

    def start(self, run: Any) -> Future[None]:
        """Run a coroutine in the shared loop. Raises ``PromptRefused`` when that has ended."""
        ...

    def in_loop(self, function: Any) -> None:
        """Call a function in the shared loop, soon."""
        ...

    @property
    def in_loop_now(self) -> bool:
        """Whether the caller is in the shared loop, and so must not wait for it."""
        ...


@dataclass(slots=True)
class _Run:
    """The run that is in flight. ``request`` is what an abort cancels, once there is one."""

    aborted: bool = False
    request: asyncio.Task[Any] | None = None
    done: Future[None] | None = None
    message_id: str | None = None


class BuiltinRuntime:
    """The runtime of one live thread; implements ``ThreadRuntime``."""

    def __init__(self, session: SessionFile, services: Services) -> None:
        self._session = session
        self._services = services
        self._log = ThreadLog(session, services.provider_name)
        self._queue = PromptQueue(self._log.tell)
        self._tell = self._log.tell
        self._store = self._log.store
        self._lock = threading.Lock()
        self._activity: Activity | None = None
        self._run: _Run | None = None
        self._closed = False

    # -- the contract -----------------------------------------------------------------------------

    def listen(self, listener: EventListener) -> None:
        """Set the listener."""
        self._log.listen(listener)

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """Start a run. Raises ``PromptRefused``; then nothing was stored."""
        with self._lock:
            self._require_idle()
            _require_words(message, images)
            branch = self._session.branch()
            model = self._services.choose(branch)
            level = self._services.level(branch, model)
            run = _Run()
            prompt = _user_message(message, images)
            run.done = self._services.start(self._run_prompt(run, model, level, prompt))
            self._run = run

    def abort(self) -> None:
        """End the run that is in flight; what had streamed is kept, what was queued is not."""
        with self._lock:
            run = self._run
            if run is None:
                return
            self._queue.clear()
            self._act(Activity(kind="stopping"))
        self._services.in_loop(lambda: _cancel(run))

    def model(self) -> ModelInUse | None:
        """The model of the next prompt."""
        try:
            return self._services.choose(self._session.branch()).in_use
        except PromptRefused:
            return None

    # -- while a run is in flight -----------------------------------------------------------------

    def queue(
        self,
        message: str,
        images: Sequence[PromptImage] = (),
        *,
        when: Literal["steer", "after"],
    ) -> str:
        """Have a message delivered to the run in flight; returns the queued item's id."""
        with self._lock:
            if self._run is None or self._run.aborted:
                raise PromptRefused("not-busy", "Nothing runs in this thread. Send it instead.")
            _require_words(message, images)
            return self._queue.add(message, images, when)

    def take_back(self, item_id: str) -> QueuedPrompt | None:
        """Take a queued item out again."""
        return self._queue.take_back(item_id)

    def queued(self) -> tuple[QueuedPrompt, ...]:
        """What waits, in the order of delivery."""
        return self._queue.items

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """No dialog is ever open yet."""
        del dialog_id, answer
        return False

    def dialogs(self) -> tuple[Dialog, ...]:
        """None."""
        return ()

    def activity(self) -> Activity | None:
        """What the run in flight is doing."""
        return self._activity

    def retry_now(self) -> bool:
        """Nothing is retried yet."""
        return False

    # -- what a person sets -----------------------------------------------------------------------

    def set_mode(self, mode: str) -> None:
        """Change the permission mode, also while busy."""
        self._log.set_mode(mode)

    def set_model(self, provider: str, model: str, level: str | None = None) -> None:
        """Choose the model and the thinking level of the next prompt."""
        with self._lock:
            self._require_idle()
            chosen = self._services.named(provider, model)
            branch = self._session.branch()
            before = thread_level(branch)
            wanted = level or self._services.level(branch, chosen)
            taken = self._services.take_level(chosen, wanted)
            if thread_model(branch) != (chosen.provider, chosen.id):
                self._store("model_change", {"provider": chosen.provider, "modelId": chosen.id})
            if before != taken:
                self._store("thinking_level_change", {"thinkingLevel": taken})

    def compact(self, instructions: str = "") -> None:
        """Not possible yet."""
        del instructions
        raise PromptRefused("nothing-to-compact", "There is nothing to sum up yet.")

    def rename(self, name: str) -> None:
        """Name the thread, or take its name away."""
        self._log.rename(name)

    def label(self, entry_id: str, label: str) -> None:
        """Label an entry of the file."""
        self._log.label(entry_id, label)

    def go_to(self, entry_id: str | None) -> None:
        """Continue from another entry of the file."""
        with self._lock:
            self._require_idle()
            self._log.go_to(entry_id)

    def commands(self) -> tuple[Command, ...]:
        """The slash commands of this thread."""
        return self._services.commands(self._session.cwd)

    def _require_idle(self) -> None:
        if self._closed:
            raise PromptRefused("closed", "This thread was let go. Send it again.")
        if self._run is not None:
            raise PromptRefused(
                "busy", "A run is in flight in this thread. Wait for it, or stop it first."
            )

    def close(self) -> None:
        """End a run, and tell nothing afterwards."""
        with self._lock:
            self._closed = True
            run = self._run
        if run is not None and run.done is not None:
            self._services.in_loop(lambda: _cancel(run))
            if not self._services.in_loop_now:
                _wait(run.done)
        self._log.listen(None)

    # -- a run ------------------------------------------------------------------------------------

    async def _run_prompt(
        self, run: _Run, model: Model, level: str, message: dict[str, Any]
    ) -> None:
        settled = RunSettled("failed")
        try:
            self._store_prompt(model, level, message)
            settled = await self._run_answer(run, model, level)
            while settled.outcome == "complete" and self._deliver():
                settled = await self._run_answer(run, model, level)
        except HostError as error:
            self._give_up(run, str(error))
        except Exception as error:
            log.exception("A run of thread %s failed", self._session.thread_id)
            self._give_up(run, f"Enso failed: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._run, self._activity = None, None
                self._queue.clear()
            self._tell(settled)

    def _deliver(self) -> bool:
        """Say the next queued message; False when none waits."""
        waiting = self._queue.next("steer") or self._queue.next("after")
        if waiting is not None:
            message = _user_message(waiting.item.message, waiting.images)
            self._store("message", {"message": message})
        return waiting is not None

    def _act(self, activity: Activity) -> None:
        self._activity = activity
        self._tell(ActivityChanged(activity))

    def _store_prompt(self, model: Model, level: str, message: dict[str, Any]) -> None:
        """What a prompt adds to the branch, in pi's order; on disk at once if there is a file."""
        branch = self._session.branch()
        if thread_model(branch) != (model.provider, model.id):
            self._store("model_change", {"provider": model.provider, "modelId": model.id})
        if thread_level(branch) is None:
            self._store("thinking_level_change", {"thinkingLevel": level})
        if not has_system_message(branch):
            self._store("message", {"message": self._system_message()})
        self._store("message", {"message": message})
        has_image = any(block["type"] == "image" for block in message["content"])
        if has_image and model.described and not model.images:
            self._tell(RunNotice(f"{model.label} sees no images: it is told that there was one."))

    def _system_message(self) -> dict[str, Any]:
        return {
            "role": "system",
            "content": "",
            "sections": system_sections(self._session.cwd),
            "timestamp": now_ms(),
            "toolsAdded": [],
        }

    async def _run_answer(self, run: _Run, model: Model, level: str) -> RunSettled:
        # The library is large: a server that only shows pages never loads it.
        library, _ = await asyncio.gather(
            asyncio.to_thread(_load_library), asyncio.to_thread(self._services.warm, model)
        )
        run.message_id = None
        self._act(Activity(kind="asking"))
        answer = library.answer.Answer(
            model, level, begin=lambda: self._begin(run, model, answer.started_at), tell=self._tell
        )
        run.request = asyncio.ensure_future(
            self._services.answer(model, answer, self._session, level)
        )
        if run.aborted:
            run.request.cancel()
        try:
            ending = await run.request
        except asyncio.CancelledError:
            if not run.aborted:
                raise
            ending = answer.aborted()
        except Exception as error:
            if not library.errors.is_refusal(error):
                raise
            ending = answer.failed(error)
        return self._store_answer(run, answer, ending)

    def _begin(self, run: _Run, model: Model, started_at: int) -> str:
        """The first sign of an answer: from here on the thread is on disk."""
        self._session.begin()
        run.message_id = self._session.new_entry_id()
        if not run.aborted:
            self._act(Activity(kind="answering"))
        self._tell(MessageStarted(run.message_id, model.provider, model.id, started_at))
        return run.message_id

    def _store_answer(self, run: _Run, answer: Answer, ending: Ending) -> RunSettled:
        self._session.begin()
        stored = self._store("message", {"message": answer.fields(ending)}, entry_id=run.message_id)
        if ending.stop_reason == "aborted":
            return RunSettled("aborted")
        if isinstance(stored, TranscriptMessage) and stored.refusal is not None:
            return RunSettled("refused", stored.refusal)
        return RunSettled("complete")

    def _give_up(self, run: _Run, sentence: str) -> None:
        """A fault of ours: the prompt is kept if it can be, and a person is told."""
        try:
            self._session.begin()
        except HostError as error:
            log.warning("Thread %s could not be stored: %s", self._session.thread_id, error)
        if run.message_id is not None:
            self._tell(MessageDropped(run.message_id))
        self._tell(RunNotice(sentence))


class _Library(NamedTuple):
    """The modules that need the model library."""

    answer: Any
    errors: Any


def _load_library() -> _Library:
    """Import what a run needs: a second of work, the first time."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    from enso.host.runtimes.builtin import answer, provider_errors, request  # noqa: PLC0415

    assert request  # noqa: S101 - imported here so that it is not imported in the event loop
    return _Library(answer, provider_errors)


def _cancel(run: _Run) -> None:
    """Stop a run, once: a second cancellation would cut its clearing up short."""
    if not run.aborted and run.request is not None:
        run.request.cancel()
    run.aborted = True


def _wait(done: Future[None]) -> None:
    try:
        done.result(_CLOSING_SECONDS)
    except TimeoutError:
        log.warning("A run did not end within %g seconds", _CLOSING_SECONDS)


def _user_message(message: str, images: Sequence[PromptImage]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": message}]
    content += [
        {"type": "image", "data": image.data, "mimeType": image.mime_type} for image in images
    ]
    return {"role": "user", "content": content, "timestamp": now_ms()}


def _require_words(message: str, images: Sequence[PromptImage]) -> None:
    if not message.strip() and not images:
        raise PromptRefused("empty", "The prompt is empty.")
