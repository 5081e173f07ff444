"""One request to a model: what streams is told as it comes, and what is to be stored at the end.

Owns the life of one assistant message, from the request to its ``message`` fields. It neither opens
files nor knows of runs. Imported only when a prompt runs, the library with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from enso.host.contract import (
    PartDelta,
    PartReplaced,
    PartStarted,
    ThreadEvent,
)
from enso.host.runtimes.builtin.answer_fields import (
    Ending,
    arguments_of,
    ending_of,
    stored_content,
    tokens_of,
)
from enso.host.runtimes.builtin.provider_errors import error_text, retry_after
from enso.host.runtimes.builtin.spend import stored_usage
from enso.host.runtimes.models.model import Model
from enso.transcript import Part
from enso.transcript import TextPart as Text
from enso.transcript import ThinkingPart as Thinking
from enso.transcript import ToolCallPart as ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything that one request is made of. ``messages`` are ready to go out as they are."""

    model: LibraryModel
    settings: ModelSettings
    messages: list[ModelMessage]
    parameters: ModelRequestParameters


class Answer:
    """One assistant message that comes into being.

    ``begin`` is called once, when the first sign of it came, and gives the message's id; ``tell``
    takes the events that follow.
    """

    def __init__(
        self,
        model: Model,
        level: str,
        *,
        begin: Callable[[], str],
        tell: Callable[[ThreadEvent], None],
    ) -> None:
        self._model = model
        self._level = level
        self._begin = begin
        self._tell = tell
        self._message_id: str | None = None
        self._told: dict[int, int] = {}  # the library's part index to ours
        self._response: Callable[[], ModelResponse] | None = None
        self.started_at = _now_ms()

    async def stream(self, request: Request) -> Ending:
        """Make the request and tell what streams. Raises what the library raises.

        Calls are not run here: whoever asked decides what becomes of them.
        """
        # Not by the library's agent, which takes 5 ms before it asks: the loop is ours anyway. Nor
        # by its ``direct`` functions, which walk a conversation that is ready some times more.
        async with request.model.request_stream(
            request.messages, request.settings, request.parameters
        ) as stream:
            self._response = stream.get
            async for event in stream:
                self._tell_event(event)
            return ending_of(stream.get(), self._model)

    def failed(self, error: BaseException) -> Ending:
        """The ending for an exception of ``stream``."""
        text = error_text(error, self._model.api, streaming=self._message_id is not None)
        return Ending(stop_reason="error", error=text, retry_after=retry_after(error))

    def aborted(self) -> Ending:
        """The ending of an answer that a person stopped, in pi's words."""
        error = "Request was aborted" if self._message_id else "Request aborted"
        return Ending(stop_reason="aborted", error=error)

    def fields(self, ending: Ending) -> dict[str, Any]:
        """The message to store, in pi's order of keys."""
        response = self._response() if self._response else ModelResponse(parts=[])
        message: dict[str, Any] = {
            "role": "assistant",
            "content": stored_content(response.parts, self._model),
            "api": self._model.api,
            "provider": self._model.provider,
            "model": self._model.id,
            "usage": stored_usage(
                self._model,
                tokens_of(response.usage, self._model),
                answered=bool(response.parts),
            ),
            "stopReason": ending.stop_reason,
            "timestamp": self.started_at,
        }
        if response.provider_response_id:
            message["responseId"] = response.provider_response_id
        if response.model_name and response.model_name != self._model.id:
            message["responseModel"] = response.model_name
        if ending.raw is not None:
            message["rawStopReason"] = ending.raw
        if ending.error is not None:
            message["errorMessage"] = ending.error
        message["durationMs"] = max(0, _now_ms() - self.started_at)
        message["thinkingLevel"] = self._level
        return message

    # -- telling ----------------------------------------------------------------------------------

    def _tell_event(self, event: Any) -> None:
        """One event of the library's stream as events of ours; its notes to itself are let by."""
        if not isinstance(event, PartStartEvent | PartDeltaEvent | PartEndEvent):
            return
        if self._message_id is None:
            self._message_id = self._begin()
        if isinstance(event, PartStartEvent):
            self._tell_start(event.index, event.part)
        elif isinstance(event, PartDeltaEvent):
            self._tell_delta(event.index, event.delta)
        elif isinstance(event.part, ToolCallPart):
            self._tell_replaced(event.index, event.part)

    def _tell_start(self, index: int, part: ModelResponsePart) -> None:
        if index in self._told:
            self._tell_replaced(index, part)
        elif (ours := _part(part)) is not None:
            self._told[index] = len(self._told)
            self._tell(PartStarted(self._id, self._told[index], ours))

    def _tell_replaced(self, index: int, part: ModelResponsePart) -> None:
        ours = _part(part)
        if index in self._told and ours is not None:
            self._tell(PartReplaced(self._id, self._told[index], ours))

    def _tell_delta(self, index: int, delta: Any) -> None:
        if not isinstance(delta, TextPartDelta | ThinkingPartDelta) or index not in self._told:
            return
        if delta.content_delta:
            self._tell(PartDelta(self._id, self._told[index], delta.content_delta))

    @property
    def _id(self) -> str:
        return self._message_id or ""


def _part(part: ModelResponsePart) -> Part | None:
    """A part as a person sees it; ``None`` for kinds that Enso does not use."""
    if isinstance(part, TextPart):
        return Text(part.content)
    if isinstance(part, ThinkingPart):
        return Thinking(part.content)
    if isinstance(part, ToolCallPart):
        return ToolCall(part.tool_call_id, part.tool_name, arguments_of(part))
    return None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
