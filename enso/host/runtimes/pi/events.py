"""What pi says while it works, as events of ours. Format: pi's ``docs/json.md``.

Owns what each record means to a reader, and the message that streams. What is stored is told by
``pi_log``; what a run is, and when it is over, is the runtime's, which is told through ``Hearer``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from enso.host.contract import (
    Activity,
    MessageStarted,
    PartDelta,
    PartReplaced,
    PartStarted,
    RunNotice,
    ThreadEvent,
    ToolProgress,
)
from enso.host.decode import decode_parts
from enso.host.json_lines import plain
from enso.host.runtimes.activities import Activities
from enso.host.runtimes.pi.extension_ui import ExtensionUi, extension_failure
from enso.host.runtimes.pi.guard_dialogs import RunningCall
from enso.host.runtimes.pi.pi_log import PiLog
from enso.host.runtimes.pi.pi_queue import PiQueue
from enso.host.runtimes.pi.process import Record
from enso.host.stored_values import Stored, count_of, object_of, text_of
from enso.transcript import Part, TextPart, ThinkingPart, ToolCallPart

ENTRIES: Final = "enso-entries"
"""The command of Enso's extension that tells all entries, and the key of the status with them."""

_COUNTED: Final = 200
"""How many kinds of unknown events are told apart."""


class Hearer(Protocol):
    """Who is told what concerns a run as a whole."""

    def run_goes_on(self) -> None:
        """Pi works: a run is in flight, whoever began it."""
        ...

    def run_may_be_over(self) -> None:
        """A loop of pi's ended, and more may follow."""
        ...

    def run_settled(self, *, aborted: bool) -> None:
        """Pi will not go on by itself."""
        ...

    def look_for_entry(self) -> None:
        """A message ended whose entry is not there yet, and pi may now be silent for long."""
        ...


@dataclass(slots=True)
class _Streaming:
    """The assistant message that streams: our indexes by pi's, and each part's text so far."""

    id: str
    indexes: dict[int, int] = field(default_factory=dict[int, int])
    texts: dict[int, list[str]] = field(default_factory=dict[int, list[str]])


@dataclass(slots=True)
class Ended:
    """The last assistant message that ended: why, and its text of an error."""

    stop_reason: str = ""
    message: Stored = field(default_factory=dict[str, Any])


class Translator:
    """Takes pi's records of one thread in, in order, from one worker."""

    def __init__(
        self,
        log: PiLog,
        activities: Activities,
        ui: ExtensionUi,
        queue: PiQueue,
        hearer: Hearer,
    ) -> None:
        self._log = log
        self._activities = activities
        self._ui = ui
        self._queue = queue
        self._hearer = hearer
        self._streaming: _Streaming | None = None
        self._running: dict[str, str] = {}
        self.unknown: Counter[str] = Counter()
        self.last = Ended()
        self._handlers: Mapping[str, Callable[[Record], None]] = {
            "message_start": self._message_start,
            "message_update": self._message_update,
            "message_end": self._message_end,
            "agent_start": self._agent_start,
            "agent_end": lambda _: hearer.run_may_be_over(),
            "agent_settled": self._agent_settled,
            "turn_start": lambda _: activities.at(Activity(kind="asking")),
            "turn_end": _nothing,
            "tool_execution_start": self._tool_start,
            "tool_execution_update": self._tool_update,
            "tool_execution_end": self._tool_end,
            "queue_update": queue.update,
            "entry_appended": lambda record: log.appended(object_of(record.get("entry"))),
            "session_info_changed": _nothing,
            "thinking_level_changed": _nothing,
            "compaction_start": self._compaction_start,
            "compaction_end": self._compaction_end,
            "auto_retry_start": self._retry,
            "auto_retry_end": _nothing,
            "summarization_retry_scheduled": self._retry,
            "summarization_retry_attempt_start": self._summing_again,
            "summarization_retry_finished": _nothing,
            "bash_execution_update": self._shell_output,
            "extension_error": lambda record: self._say(extension_failure(record)),
            "extension_ui_request": self._extension_ui,
            "response": self._stray_response,
        }

    def take(self, record: Record) -> None:
        """Take in one record. What pi appended before it said this is told first."""
        kind = text_of(record.get("type"))
        if kind != "message_update":
            self._log.sync()
        handler = self._handlers.get(kind)
        if handler is None:
            self._count(kind or "without a type")
        else:
            handler(record)

    def settle(self) -> None:
        """The run is over, or its process is: nothing streams any more."""
        self._log.settle()
        self._streaming = None
        self._running.clear()

    def _count(self, kind: str) -> None:
        name = kind if kind in self.unknown or len(self.unknown) < _COUNTED else "other"
        self.unknown[name[:100]] += 1

    def _tell(self, event: ThreadEvent) -> None:
        self._log.tell(event)

    def _say(self, sentence: str) -> None:
        self._tell(RunNotice(sentence))

    # -- messages ---------------------------------------------------------------------------------

    def _message_start(self, record: Record) -> None:
        message = object_of(record.get("message"))
        if message.get("role") != "assistant":
            return
        self._streaming = streaming = _Streaming(self._log.new_id())
        self._activities.at(Activity(kind="answering"))
        self._tell(
            MessageStarted(
                streaming.id,
                text_of(message.get("provider")),
                text_of(message.get("model")),
                count_of(message.get("timestamp")) or _now_ms(),
            )
        )

    def _message_update(self, record: Record) -> None:
        update = object_of(record.get("assistantMessageEvent"))
        kind, _, step = text_of(update.get("type")).partition("_")
        streaming, index = self._streaming, count_of(update.get("contentIndex"))
        if streaming is None or index is None or kind not in ("text", "thinking", "toolcall"):
            if kind not in ("start", "done", "error"):
                self._count(f"message_update/{text_of(update.get('type'))}")
        elif step == "start":
            self._start_part(streaming, index, _first_part(kind, update, index))
        elif step == "delta":
            self._grow_part(streaming, index, kind, text_of(update.get("delta")))
        else:
            self._end_part(streaming, index, _whole_part(kind, update))

    def _start_part(self, streaming: _Streaming, index: int, part: Part) -> None:
        ours = streaming.indexes.setdefault(index, len(streaming.indexes))
        streaming.texts[index] = []
        self._tell(PartStarted(streaming.id, ours, part))

    def _grow_part(self, streaming: _Streaming, index: int, kind: str, text: str) -> None:
        if kind == "toolcall" or not text or index not in streaming.indexes:
            return  # arguments are shown when they are whole
        streaming.texts[index].append(text)
        self._tell(PartDelta(streaming.id, streaming.indexes[index], text))

    def _end_part(self, streaming: _Streaming, index: int, part: Part | None) -> None:
        if part is None or index not in streaming.indexes:
            return
        came = "".join(streaming.texts.pop(index, ()))
        if isinstance(part, TextPart | ThinkingPart) and part.text == came:
            return
        self._tell(PartReplaced(streaming.id, streaming.indexes[index], part))

    def _message_end(self, record: Record) -> None:
        message = object_of(record.get("message"))
        role = message.get("role")
        streamed_as = ""
        if role == "assistant":
            streamed_as = self._streaming.id if self._streaming is not None else ""
            self._streaming = None
            self.last = Ended(text_of(message.get("stopReason")), message)
        if role in ("bashExecution", "custom", "compactionSummary", "branchSummary"):
            self._log.sync()
        elif not self._log.ended(message, streamed_as):
            self._hearer.look_for_entry()

    # -- runs and tools ---------------------------------------------------------------------------

    def _agent_start(self, _record: Record) -> None:
        self._hearer.run_goes_on()
        self._activities.at(Activity(kind="asking"))

    def _agent_settled(self, record: Record) -> None:
        self._hearer.run_settled(aborted=record.get("aborted") is True)

    def _tool_start(self, record: Record) -> None:
        call_id, tool = text_of(record.get("toolCallId")), text_of(record.get("toolName"))
        self._running[call_id] = tool
        self._ui.call_began(RunningCall(call_id, tool, plain(record.get("args"))))
        self._at_tools()

    def _tool_update(self, record: Record) -> None:
        self._ui.call_goes_on(text_of(record.get("toolCallId")))
        result = object_of(record.get("partialResult"))
        parts = decode_parts(result.get("content"))
        texts = [part.text for part in parts if isinstance(part, TextPart)]
        if texts:
            self._tell(ToolProgress(text_of(record.get("toolCallId")), "\n".join(texts)))

    def _tool_end(self, record: Record) -> None:
        self._running.pop(text_of(record.get("toolCallId")), None)
        self._ui.call_goes_on(text_of(record.get("toolCallId")), ended=True)
        if self._running:
            self._at_tools()

    def _at_tools(self) -> None:
        names = dict.fromkeys(self._running.values())
        self._activities.at(Activity(kind="tools", detail=", ".join(names)))

    def _shell_output(self, record: Record) -> None:
        del record  # the whole output is an entry when the command has ended

    # -- waiting ----------------------------------------------------------------------------------

    def _retry(self, record: Record) -> None:
        self._hearer.run_goes_on()
        self._activities.at(
            Activity(
                kind="retry-wait",
                until=_now_ms() + (count_of(record.get("delayMs")) or 0),
                attempt=count_of(record.get("attempt")) or 0,
                attempts=count_of(record.get("maxAttempts")) or 0,
                can_be_cut_short=False,
            )
        )

    def _compaction_start(self, _record: Record) -> None:
        self._hearer.run_goes_on()
        self._activities.at(Activity(kind="compacting"))

    def _summing_again(self, _record: Record) -> None:
        self._activities.at(Activity(kind="compacting"))

    def _compaction_end(self, record: Record) -> None:
        error = text_of(record.get("errorMessage"))
        if error and record.get("reason") != "manual":  # whoever asked by hand is answered
            self._say(error)
        self._hearer.run_may_be_over()

    def _extension_ui(self, record: Record) -> None:
        if record.get("method") == "setStatus" and record.get("statusKey") == ENTRIES:
            self._log.will_store(_listed(text_of(record.get("statusText"))))
        elif not self._ui.take(record):
            self._count(f"extension_ui_request/{text_of(record.get('method'))}")

    def _stray_response(self, record: Record) -> None:
        self._count(f"response/{text_of(record.get('command'))}")


def _nothing(_record: Record) -> None:
    """The record says what its entry or another record says too."""


def _listed(text: str) -> Sequence[Stored]:
    """The entries in a JSON text; none when it is no list of objects."""
    try:
        return msgspec.json.decode(text, type=list[dict[str, Any]])
    except msgspec.MsgspecError:
        return []


def _first_part(kind: str, update: Stored, index: int) -> Part:
    if kind == "text":
        return TextPart("")
    if kind == "thinking":
        return ThinkingPart("")
    if "toolName" in update:
        return ToolCallPart(text_of(update.get("id")), text_of(update.get("toolName")), {})
    return _partial_call(update, index)


def _partial_call(update: Stored, index: int) -> Part:
    """The call as versions before 1.0 tell it: in the whole message so far."""
    parts = decode_parts(object_of(update.get("partial")).get("content"))
    part = parts[index] if index < len(parts) else None
    return (
        ToolCallPart(part.id, part.name, {})
        if isinstance(part, ToolCallPart)
        else part or TextPart("")
    )


def _whole_part(kind: str, update: Stored) -> Part | None:
    if kind == "toolcall":
        parts = decode_parts([update.get("toolCall")])
        return parts[0] if isinstance(parts[0], ToolCallPart) else None
    content = update.get("content")
    if not isinstance(content, str):
        return None
    return TextPart(text_of(content)) if kind == "text" else ThinkingPart(text_of(content))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
