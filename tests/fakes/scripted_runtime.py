"""A runtime that answers from a script: it streams, asks, waits, refuses and stops as a real one.

``ScriptedRuntime`` implements ``ThreadRuntime`` over any ``ThreadLog``, so that the fake host and
the real one are driven by the same script. Each model message of a run takes the next ``Reply``::

    call = ToolCallPart("c1", "bash", {"command": "make"})

    # A tool call that runs: its progress, its result, then the next reply in the same run.
    script.add(Reply(tool_call=call, progress=("1 of 2", "2 of 2"), result="done"), Reply())

    # A dialog before the call runs. ``deny`` and a stop store an error result; the reason is in it.
    script.add(Reply(tool_call=call, dialog=permission(call), result="done"), Reply())
    dialog = runtime.dialogs()[0]; runtime.answer(dialog.id, DialogAnswer(value="once"))

    # Hold the run while its tool runs, steer it, queue behind it, take back, let it go on.
    held = Reply.held(tool_call=call, result="done", before="result"); script.add(held, Reply())
    held.wait_until_held(); runtime.queue("Faster", when="steer"); held.release()

    # A refused attempt that is tried again: it waits until ``retry_now`` (or a stop).
    script.add(Reply(refusal=..., retried=True), Reply())

    # ``compact`` takes the next reply too: its text is the summary, a refusal makes it fail.

Activities are told for what is scripted: ``tools``, ``needs-you``, ``retry-wait``, ``compacting``
and ``stopping``; plain answers tell none, and ``activity()`` says ``asking`` meanwhile.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from enso.host.commands import ENSO_COMMANDS
from enso.host.contract import (
    Activity,
    ActivityChanged,
    Command,
    Dialog,
    DialogAnswer,
    DialogClosed,
    DialogOpened,
    DialogOption,
    EntryStored,
    EventListener,
    MessageStarted,
    ModelChoice,
    ModelInUse,
    PartDelta,
    PartReplaced,
    PartStarted,
    PromptImage,
    PromptRefused,
    QueueChanged,
    QueuedPrompt,
    RunNotice,
    RunSettled,
    ThreadEvent,
    ToolProgress,
)
from enso.host.modes import changed_mode
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
MODEL_CHOICES = (
    ModelChoice(
        provider=PROVIDER,
        model=MODEL,
        label=MODEL_IN_USE.label,
        levels=("off", "low", "high"),
        context_window=32_000,
    ),
    ModelChoice(
        provider=PROVIDER,
        model="script-2",
        label="Scripted · script-2",
        levels=("off",),
        context_window=None,
    ),
)
COMMANDS = (
    *ENSO_COMMANDS,
    Command(name="review", description="Review a file.", source="prompt", argument_hint="<file>"),
)
MODE_IDS = ("plan", "ask", "edit", "auto")
When = Literal["steer", "after"]
Gate = Literal["message", "end", "result"]


def permission(call: ToolCallPart, dialog_id: str = "d1") -> Dialog:
    """The dialog that asks whether ``call`` may run."""
    return Dialog(
        id=dialog_id,
        kind="permission",
        title=f"Run {call.name}?",
        options=(
            DialogOption(value="once", label="Allow once"),
            DialogOption(value="thread", label="Allow in this thread"),
            DialogOption(value="deny", label="Deny"),
        ),
        tool_name=call.name,
        arguments=call.arguments,
        tool_call_id=call.id,
        created_at=1_767_225_600_000,
    )


@dataclass(kw_only=True)
class Reply:
    """One scripted message of the model.

    ``deltas`` is its text in the pieces it streams in; ``thinking`` likewise, before it.
    ``tool_call`` is one whole call behind the text; with a ``result`` it runs and the run goes on
    with the next reply, without one the run ends there. ``dialog`` is opened before it runs,
    ``progress`` is told while it runs. ``refusal`` makes it a refused attempt, ``retried`` one that
    is tried again. With a ``gate`` the run stops, ``reached`` is set, and it goes on once the test
    sets the gate: ``gate_before`` the message begins (nothing is stored yet), its end (everything
    streamed and nothing of it is stored yet), or the result (the tool runs).
    """

    deltas: Sequence[str] = ("Hello", ", you.")
    thinking: Sequence[str] = ()
    tool_call: ToolCallPart | None = None
    dialog: Dialog | None = None
    progress: Sequence[str] = ()
    result: str | None = None
    retried: bool = False
    refusal: Refusal | None = None
    usage: Usage = field(default_factory=lambda: Usage(input=10, output=5, cost=0.001))
    gate: threading.Event | None = None
    gate_before: Gate = "end"
    reached: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def held(cls, *deltas: str, before: Gate = "end", **fields: Any) -> Reply:
        """A reply that holds its run in flight until ``release``."""
        gate = threading.Event()
        return cls(deltas=deltas or ("Hello",), gate=gate, gate_before=before, **fields)

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
        model: str,
    ) -> TranscriptEntry:
        """Append the answer."""
        ...

    def store_result(self, call: ToolCallPart, text: str, *, is_error: bool) -> TranscriptEntry:
        """Append a tool's result."""
        ...

    def store_summary(self, summary: str) -> TranscriptEntry:
        """Append a compaction of everything so far."""
        ...

    def store_custom(self, custom_type: str, data: Any) -> TranscriptEntry:
        """Append state that is not shown."""
        ...

    def store_model(self, provider: str, model: str) -> TranscriptEntry:
        """Append that the model changed."""
        ...

    def store_level(self, level: str) -> TranscriptEntry:
        """Append that the thinking level changed."""
        ...

    def store_name(self, name: str) -> TranscriptEntry:
        """Append the thread's name."""
        ...

    def store_label(self, entry_id: str, label: str) -> TranscriptEntry | None:
        """Append an entry's label; ``None`` when there is no such entry."""
        ...

    def go_to(self, entry_id: str | None) -> bool:
        """Make another entry the leaf; False when there is none of this id."""
        ...

    def transcript(self) -> Sequence[TranscriptEntry]:
        """The branch as it is."""
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
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._listener: EventListener | None = None
        self._worker: threading.Thread | None = None
        self._aborted = threading.Event()
        self._closed = False
        self._gate: threading.Event | None = None
        self._dialogs: dict[str, Dialog] = {}
        self._answers: dict[str, DialogAnswer] = {}
        self._queue: list[tuple[QueuedPrompt, tuple[PromptImage, ...]]] = []
        self._item_ids = itertools.count(1)
        self._activity: Activity | None = None
        self._retry_now = False
        self.prompts: list[str] = []

    # -- ThreadRuntime: runs ----------------------------------------------------------------------

    def listen(self, listener: EventListener) -> None:
        """Set the listener."""
        self._listener = listener

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """Start a run; refused without a model, while a run is in flight, and after ``close``."""
        with self._lock:
            self._require_idle()
            self.prompts.append(message)
            self._start(self._run, message, tuple(images))

    def compact(self, instructions: str = "") -> None:
        """Start a run that stores the next reply's text as a summary."""
        del instructions
        with self._lock:
            self._require_idle()
            if not self._log.transcript():
                raise PromptRefused("nothing-to-compact", "There is nothing to sum up yet.")
            self._start(self._run_compaction)

    def abort(self) -> tuple[QueuedPrompt, ...]:
        """End the run in flight; ``RunSettled`` follows from its worker."""
        with self._lock:
            if self._worker is None:
                return ()
            left = self.queued()
            if left:
                self._change_queue([])
            self._act("stopping")
            self._aborted.set()
            self._changed.notify_all()
            if self._gate is not None:
                self._gate.set()
            return left

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

    # -- ThreadRuntime: while a run is in flight --------------------------------------------------

    def queue(self, message: str, images: Sequence[PromptImage] = (), *, when: When) -> str:
        """Have a message delivered to the run in flight."""
        with self._lock:
            if self._worker is None or self._aborted.is_set():
                raise PromptRefused("not-busy", "Nothing runs in this thread.")
            item = QueuedPrompt(id=f"q{next(self._item_ids)}", message=message, when=when)
            self._change_queue([*self._queue, (item, tuple(images))])
            return item.id

    def take_back(self, item_id: str) -> QueuedPrompt | None:
        """Take a queued item out again."""
        with self._lock:
            taken = next((item for item, _ in self._queue if item.id == item_id), None)
            if taken is not None:
                self._change_queue([pair for pair in self._queue if pair[0] is not taken])
            return taken

    def queued(self) -> tuple[QueuedPrompt, ...]:
        """What waits; what steers comes first."""
        with self._lock:
            items = [item for item, _ in self._queue]
            return tuple(sorted(items, key=lambda item: item.when != "steer"))

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """Answer an open dialog; the first answer counts."""
        with self._lock:
            if dialog_id not in self._dialogs or dialog_id in self._answers:
                return False
            values = {option.value for option in self._dialogs[dialog_id].options}
            fits = answer.value in values if values else answer.value is not None
            if not (answer.cancelled or fits):
                raise PromptRefused("unknown-answer", "This question has no such answer.")
            self._answers[dialog_id] = answer
            self._changed.notify_all()
            return True

    def dialogs(self) -> tuple[Dialog, ...]:
        """The dialogs that are open and not answered."""
        with self._lock:
            return tuple(d for d in self._dialogs.values() if d.id not in self._answers)

    def activity(self) -> Activity | None:
        """What was told last, while a run is in flight."""
        return self._activity

    def retry_now(self) -> bool:
        """End a retry wait."""
        with self._lock:
            waits = self._activity is not None and self._activity.kind == "retry-wait"
            self._retry_now = self._retry_now or waits
            self._changed.notify_all()
            return waits

    # -- ThreadRuntime: what a person sets --------------------------------------------------------

    def set_mode(self, mode: str) -> None:
        """Append a ``modes`` entry."""
        if mode not in MODE_IDS:
            raise PromptRefused("unknown-mode", f"There is no mode {mode}.")
        with self._lock:
            data = changed_mode(self._log.transcript(), mode, at=1_767_225_600_000)
            self._emit(EntryStored(self._log.store_custom("modes", data)))

    def set_model(self, provider: str, model: str, level: str | None = None) -> None:
        """Choose one of ``MODEL_CHOICES``."""
        with self._lock:
            self._require_idle()
            chosen = next(
                (c for c in MODEL_CHOICES if (c.provider, c.model) == (provider, model)), None
            )
            if chosen is None or (level is not None and level not in chosen.levels):
                raise PromptRefused("model-gone", f"There is no model {provider}/{model}.")
            self._model = ModelInUse(
                provider=provider,
                model=model,
                label=chosen.label,
                context_window=chosen.context_window,
            )
            self._emit(EntryStored(self._log.store_model(provider, model)))
            if level is not None:
                self._emit(EntryStored(self._log.store_level(level)))

    def rename(self, name: str) -> None:
        """Append the name."""
        with self._lock:
            self._emit(EntryStored(self._log.store_name(name.strip())))

    def label(self, entry_id: str, label: str) -> None:
        """Append a label."""
        with self._lock:
            entry = self._log.store_label(entry_id, label.strip())
            if entry is None:
                raise PromptRefused("unknown-entry", "There is no such entry.")
            self._emit(EntryStored(entry))

    def go_to(self, entry_id: str | None) -> None:
        """Continue from another entry."""
        with self._lock:
            self._require_idle()
            if not self._log.go_to(entry_id):
                raise PromptRefused("unknown-entry", "There is no such entry.")

    def commands(self) -> tuple[Command, ...]:
        """Enso's own, and one template."""
        return COMMANDS

    # -- a run, in its worker ---------------------------------------------------------------------

    def _require_idle(self) -> None:
        if self._closed:
            raise PromptRefused("closed", "This thread was closed.")
        if self._model is None:
            raise PromptRefused("no-model", "No model is configured.")
        if self._worker is not None:
            raise PromptRefused("busy", "A run is in flight.")

    def _start(self, run: Any, *args: Any) -> None:
        self._aborted.clear()
        self._activity = Activity(kind="asking")
        self._worker = threading.Thread(target=run, args=args, name="scripted-run", daemon=True)
        self._worker.start()

    def _emit(self, event: ThreadEvent) -> None:
        listener = self._listener
        if listener is not None:
            listener(event)

    def _act(self, kind: Any, **fields: Any) -> None:
        self._activity = Activity(kind=kind, **fields)
        self._emit(ActivityChanged(self._activity))

    def _change_queue(self, queue: list[tuple[QueuedPrompt, tuple[PromptImage, ...]]]) -> None:
        self._queue = queue
        self._emit(QueueChanged(self.queued()))

    def _run(self, message: str, images: Sequence[PromptImage]) -> None:
        reply = self._script.next()
        self._emit(EntryStored(self._log.store_prompt(message, images)))
        while (settled := self._answer(reply)) is None:
            reply = self._script.next()
        self._settle(settled)

    def _answer(self, reply: Reply) -> RunSettled | None:
        """One message of the model and what follows it; ``None`` when the run goes on."""
        if reply.gate_before == "message":
            self._hold(reply)
        if self._aborted.is_set():
            return RunSettled("aborted")
        entry_id, created_at = self._log.begin_answer()
        model = self._model.model if self._model is not None else MODEL
        self._emit(MessageStarted(entry_id, PROVIDER, model, created_at))
        parts = self._stream(entry_id, reply)
        if reply.gate_before == "end":
            self._hold(reply)
        settled = self._finish(entry_id, created_at, reply, parts)
        if settled.outcome == "refused" and reply.retried:
            return self._wait_for_retry()
        if settled.outcome != "complete":
            return settled
        if reply.tool_call is not None and reply.result is not None:
            self._run_tool(reply.tool_call, reply, reply.result)
            if self._aborted.is_set():
                return RunSettled("aborted")
            self._deliver("steer")
            return None
        return None if self._deliver("steer") or self._deliver("after") else settled

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
    ) -> RunSettled:
        stop_reason: StopReason = "tool-use" if reply.tool_call is not None else "stop"
        settled = RunSettled("complete")
        if self._aborted.is_set():
            stop_reason, settled = "aborted", RunSettled("aborted")
        elif reply.refusal is not None:
            stop_reason, settled = "error", RunSettled("refused", reply.refusal)
        model = self._model.model if self._model is not None else MODEL
        entry = self._log.store_answer(entry_id, created_at, reply, parts, stop_reason, model)
        self._emit(EntryStored(entry))
        return settled

    def _run_tool(self, call: ToolCallPart, reply: Reply, result: str) -> None:
        denied = self._ask(reply.dialog) if reply.dialog is not None else ""
        if not denied and not self._aborted.is_set():
            self._act("tools", detail=call.name)
            for text in reply.progress:
                self._emit(ToolProgress(call.id, text))
            if reply.gate_before == "result":
                self._hold(reply)
        if self._aborted.is_set():
            denied = "Command aborted"
        stored = self._log.store_result(call, denied or result, is_error=bool(denied))
        self._emit(EntryStored(stored))

    def _ask(self, dialog: Dialog) -> str:
        """Wait for an answer or a stop; the sentence of a denial, empty when it is none."""
        with self._changed:
            self._dialogs[dialog.id] = dialog
            self._act("needs-you", detail=dialog.title)
            self._emit(DialogOpened(dialog))
            self._changed.wait_for(lambda: dialog.id in self._answers or self._aborted.is_set())
            answer = self._answers.pop(dialog.id, None)
            del self._dialogs[dialog.id]
            if answer is None:
                outcome = "stopped"
            else:
                outcome = "cancelled" if answer.cancelled else answer.value or ""
            self._emit(DialogClosed(dialog.id, outcome))
        denied = answer is not None and outcome in ("cancelled", "deny")
        return f"Denied. {answer.reason}".strip() if denied and answer is not None else ""

    def _wait_for_retry(self) -> RunSettled | None:
        with self._changed:
            self._retry_now = False
            self._act("retry-wait", until=1_767_225_602_000, attempt=1, attempts=3)
            self._changed.wait_for(lambda: self._retry_now or self._aborted.is_set())
            return RunSettled("aborted") if self._aborted.is_set() else None

    def _deliver(self, when: When) -> bool:
        """Say the oldest queued message of a kind; False when there is none."""
        with self._lock:
            pair = next((pair for pair in self._queue if pair[0].when == when), None)
            if pair is None:
                return False
            self._change_queue([other for other in self._queue if other is not pair])
            self._emit(EntryStored(self._log.store_prompt(pair[0].message, pair[1])))
            return True

    def _run_compaction(self) -> None:
        reply = self._script.next()
        self._act("compacting")
        self._hold(reply)
        settled = RunSettled("complete")
        if self._aborted.is_set():
            settled = RunSettled("aborted")
        elif reply.refusal is not None:
            self._emit(RunNotice(f"The conversation was not summed up: {reply.refusal.reason}"))
            settled = RunSettled("failed")
        else:
            self._emit(EntryStored(self._log.store_summary("".join(reply.deltas))))
        self._settle(settled)

    def _settle(self, settled: RunSettled) -> None:
        """The run is over for the next prompt before it is said to be over."""
        with self._lock:
            if self._queue:
                self._change_queue([])
            self._worker, self._gate, self._activity = None, None, None
        self._emit(settled)
