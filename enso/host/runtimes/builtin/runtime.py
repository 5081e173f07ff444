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
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from enso.host.contract import (
    EntryStored,
    EventListener,
    HostError,
    MessageDropped,
    MessageStarted,
    ModelInUse,
    PromptImage,
    PromptRefused,
    RunNotice,
    RunSettled,
    ThreadEvent,
)
from enso.host.decode import decode_entry
from enso.host.runtimes.builtin.model import Model
from enso.host.runtimes.builtin.session_context import has_system_message
from enso.host.runtimes.builtin.system_prompt import system_sections
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
        self._lock = threading.Lock()
        self._listener: EventListener | None = None
        self._run: _Run | None = None
        self._closed = False

    # -- the contract -----------------------------------------------------------------------------

    def listen(self, listener: EventListener) -> None:
        """Set the listener."""
        self._listener = listener

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """Start a run. Raises ``PromptRefused``; then nothing was stored."""
        with self._lock:
            if self._closed:
                raise PromptRefused("closed", "This thread was let go. Send the prompt again.")
            if self._run is not None:
                raise PromptRefused(
                    "busy", "A run is in flight in this thread. Wait for it, or stop it first."
                )
            if not message.strip() and not images:
                raise PromptRefused("empty", "The prompt is empty.")
            branch = self._session.branch()
            model = self._services.choose(branch)
            level = self._services.level(branch, model)
            run = _Run()
            prompt = _user_message(message, images)
            run.done = self._services.start(self._run_prompt(run, model, level, prompt))
            self._run = run

    def abort(self) -> None:
        """End the run that is in flight; what had streamed is kept."""
        with self._lock:
            run = self._run
        if run is not None:
            self._services.in_loop(lambda: _cancel(run))

    def model(self) -> ModelInUse | None:
        """The model of the next prompt."""
        try:
            return self._services.choose(self._session.branch()).in_use
        except PromptRefused:
            return None

    def close(self) -> None:
        """End a run, and tell nothing afterwards."""
        with self._lock:
            self._closed = True
            run = self._run
        if run is not None and run.done is not None:
            self._services.in_loop(lambda: _cancel(run))
            if not self._services.in_loop_now:
                _wait(run.done)
        self._listener = None

    # -- a run ------------------------------------------------------------------------------------

    async def _run_prompt(
        self, run: _Run, model: Model, level: str, message: dict[str, Any]
    ) -> None:
        settled = RunSettled("failed")
        try:
            self._store_prompt(model, level, message)
            settled = await self._run_answer(run, model, level)
        except HostError as error:
            self._give_up(run, str(error))
        except Exception as error:
            log.exception("A run of thread %s failed", self._session.thread_id)
            self._give_up(run, f"Enso failed: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._run = None
            self._tell(settled)

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
            "timestamp": _now_ms(),
            "toolsAdded": [],
        }

    async def _run_answer(self, run: _Run, model: Model, level: str) -> RunSettled:
        # The library is large: a server that only shows pages never loads it.
        library, _ = await asyncio.gather(
            asyncio.to_thread(_load_library), asyncio.to_thread(self._services.warm, model)
        )
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

    # -- storing and telling ----------------------------------------------------------------------

    def _store(self, kind: str, fields: Mapping[str, Any], entry_id: str | None = None) -> Any:
        entry = self._session.append(kind, fields, entry_id=entry_id)
        decoded = decode_entry(entry, providers=self._services.provider_name)
        self._tell(EntryStored(decoded))
        return decoded

    def _tell(self, event: ThreadEvent) -> None:
        listener = self._listener
        if listener is None:
            return
        try:
            listener(event)
        except Exception:
            log.exception("The listener of thread %s failed", self._session.thread_id)


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
    return {"role": "user", "content": content, "timestamp": _now_ms()}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
