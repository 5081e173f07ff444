"""A runtime that answers from a script: it streams, refuses and is aborted like a real one.

``ScriptedRuntime`` implements ``ThreadRuntime`` over any ``ThreadLog``, so that the fake host and
the real one are driven by the same script.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from enso.host.contract import (
    EntryStored,
    EventListener,
    MessageStarted,
    ModelInUse,
    PartDelta,
    PartReplaced,
    PartStarted,
    PromptImage,
    PromptRefused,
    RunSettled,
    ThreadEvent,
)
from enso.transcript import (
    Part,
    Refusal,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    TranscriptEntry,
    Usage,
)

PROVIDER = "scripted"
MODEL = "script-1"
MODEL_IN_USE = ModelInUse(
    provider=PROVIDER, model=MODEL, label="Scripted · script-1", context_window=32_000
)


@dataclass(kw_only=True)
class Reply:
    """One scripted answer to one prompt.

    ``deltas`` is the answer's text in the pieces it streams in; ``thinking`` likewise, before it.
    ``tool_call`` is one whole call behind the text. ``refusal`` makes it a refused attempt.
    With a ``gate`` the run stops before it ends, ``reached`` is set, and it goes on once the test
    sets the gate; ``gate_before`` chooses whether it stops before the answer begins (nothing is
    stored yet), or after everything has streamed (nothing of the answer is stored yet).
    """

    deltas: Sequence[str] = ("Hello", ", you.")
    thinking: Sequence[str] = ()
    tool_call: ToolCallPart | None = None
    refusal: Refusal | None = None
    usage: Usage = field(default_factory=lambda: Usage(input=10, output=5, cost=0.001))
    gate: threading.Event | None = None
    gate_before: Literal["message", "end"] = "end"
    reached: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def held(cls, *deltas: str, before: Literal["message", "end"] = "end") -> Reply:
        """A reply that holds its run in flight until ``release``."""
        return cls(deltas=deltas or ("Hello",), gate=threading.Event(), gate_before=before)

    def wait_until_held(self, timeout: float = 10) -> None:
        """Return once the run is held; fails the test when it never is."""
        assert self.reached.wait(timeout), "the run never came to its gate"

    def release(self) -> None:
        """Let the held run go on."""
        assert self.gate is not None
        self.gate.set()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the stored message."""
        parts: list[Part] = []
        if self.thinking:
            parts.append(ThinkingPart("".join(self.thinking)))
        if self.deltas:
            parts.append(TextPart("".join(self.deltas)))
        if self.tool_call is not None:
            parts.append(self.tool_call)
        return tuple(parts)


class Script:
    """A queue of replies. When it is empty, prompts are answered with ``Reply()``."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = deque(replies)
        self._lock = threading.Lock()

    def add(self, *replies: Reply) -> None:
        """Answer the next prompts with these."""
        with self._lock:
            self._replies.extend(replies)

    def next(self) -> Reply:
        """The reply to the prompt that was just made."""
        with self._lock:
            return self._replies.popleft() if self._replies else Reply()


class ThreadLog(Protocol):
    """What a scripted runtime writes to."""

    def store_prompt(self, message: str, images: Sequence[PromptImage]) -> TranscriptEntry:
        """Append the prompt; the log need not exist outside memory yet."""
        ...

    def begin_answer(self) -> tuple[str, int]:
        """The answer begins, and with it the stored log: the answer's id and its time in ms."""
        ...

    def store_answer(
        self,
        entry_id: str,
        created_at: int,
        reply: Reply,
        parts: tuple[Part, ...],
        stop_reason: StopReason,
    ) -> TranscriptEntry:
        """Append the answer."""
        ...


class ScriptedRuntime:
    """A ``ThreadRuntime`` that answers each prompt with the next reply of its script.

    Each run has a worker of its own, and its events come in this order: the prompt's
    ``EntryStored``; ``MessageStarted``; for each part ``PartStarted`` and its ``PartDelta``; the
    answer's ``EntryStored``; ``RunSettled``.
    """

    def __init__(
        self, log: ThreadLog, script: Script, *, model: ModelInUse | None = MODEL_IN_USE
    ) -> None:
        self._log = log
        self._script = script
        self._model = model
        self._lock = threading.Lock()
        self._listener: EventListener | None = None
        self._worker: threading.Thread | None = None
        self._aborted = threading.Event()
        self._closed = False
        self._gate: threading.Event | None = None
        self.prompts: list[str] = []

    # -- ThreadRuntime ----------------------------------------------------------------------------

    def listen(self, listener: EventListener) -> None:
        """Set the listener."""
        self._listener = listener

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """Start a run; refused without a model, while a run is in flight, and after ``close``."""
        with self._lock:
            if self._closed:
                raise PromptRefused("closed", "This thread was closed.")
            if self._model is None:
                raise PromptRefused("no-model", "No model is configured.")
            if self._worker is not None:
                raise PromptRefused("busy", "A run is in flight.")
            self.prompts.append(message)
            self._aborted.clear()
            self._worker = threading.Thread(
                target=self._run, args=(message, tuple(images)), name="scripted-run", daemon=True
            )
            self._worker.start()

    def abort(self) -> None:
        """End the run in flight; ``RunSettled`` follows from its worker."""
        with self._lock:
            if self._worker is None:
                return
            self._aborted.set()
            if self._gate is not None:
                self._gate.set()

    def model(self) -> ModelInUse | None:
        """The model of the next prompt."""
        return self._model

    def close(self) -> None:
        """End the run in flight, and emit nothing afterwards."""
        self.abort()
        with self._lock:
            worker, self._closed = self._worker, True
        if worker is not None and worker is not threading.current_thread():
            worker.join()
        self._listener = None

    # -- a run, in its worker ---------------------------------------------------------------------

    def _emit(self, event: ThreadEvent) -> None:
        listener = self._listener
        if listener is not None:
            listener(event)

    def _run(self, message: str, images: Sequence[PromptImage]) -> None:
        reply = self._script.next()
        self._emit(EntryStored(self._log.store_prompt(message, images)))
        if reply.gate_before == "message":
            self._hold(reply)
        if self._aborted.is_set():
            self._settle(RunSettled("aborted"))
            return
        entry_id, created_at = self._log.begin_answer()
        self._emit(MessageStarted(entry_id, PROVIDER, MODEL, created_at))
        parts = self._stream(entry_id, reply)
        if reply.gate_before == "end":
            self._hold(reply)
        self._finish(entry_id, created_at, reply, parts)

    def _stream(self, entry_id: str, reply: Reply) -> tuple[Part, ...]:
        """Emit the reply's parts as they would come; returns them whole."""
        index = 0
        for deltas, empty in ((reply.thinking, ThinkingPart("")), (reply.deltas, TextPart(""))):
            if deltas:
                self._emit(PartStarted(entry_id, index, empty))
                for delta in deltas:
                    self._emit(PartDelta(entry_id, index, delta))
                index += 1
        if reply.tool_call is not None:
            started = ToolCallPart(reply.tool_call.id, reply.tool_call.name, {})
            self._emit(PartStarted(entry_id, index, started))
            self._emit(PartReplaced(entry_id, index, reply.tool_call))
        return reply.parts

    def _hold(self, reply: Reply) -> None:
        if reply.gate is None:
            return
        with self._lock:
            self._gate = reply.gate
            if self._aborted.is_set():
                reply.gate.set()
        reply.reached.set()
        reply.gate.wait()

    def _finish(
        self, entry_id: str, created_at: int, reply: Reply, parts: tuple[Part, ...]
    ) -> None:
        stop_reason: StopReason = "tool-use" if reply.tool_call is not None else "stop"
        settled = RunSettled("complete")
        if self._aborted.is_set():
            stop_reason, settled = "aborted", RunSettled("aborted")
        elif reply.refusal is not None:
            stop_reason, settled = "error", RunSettled("refused", reply.refusal)
        entry = self._log.store_answer(entry_id, created_at, reply, parts, stop_reason)
        self._emit(EntryStored(entry))
        self._settle(settled)

    def _settle(self, settled: RunSettled) -> None:
        """The run is over for the next prompt before it is said to be over."""
        with self._lock:
            self._worker, self._gate = None, None
        self._emit(settled)
