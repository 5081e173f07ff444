"""One AG-UI run over a thread: from the client's request to the event that closes it.

The run is the thread's own: it goes on when the client leaves, and every other eye sees it. A
dialog ends the client's run as an interrupt; the thread's run waits, and goes on with the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Interrupt,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    UserMessage,
)
from ag_ui.encoder import EventEncoder
from pydantic import TypeAdapter

from enso import wire
from enso.server.actions import answer_dialog
from enso.server.agui.conversation import conversation, used
from enso.server.agui.intake import Intake, intake
from enso.server.agui.translation import Translation
from enso.server.follow import Closed, Follow
from enso.server.prompts import checked_id, start_prompt
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.slash import SlashDone

PROTOCOL_VERSION = "1.0"
_FRAME: TypeAdapter[wire.Frame] = TypeAdapter(wire.Frame)
_ALIVE = ": nothing new\n\n"
_CLIENT_TOOLS = "Tools of the client are not offered to the agent: it has its own."


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A run that began: its server-sent events, and what is let go of when they end."""

    lines: Iterator[str]
    held: ExitStack


def open_run(services: Services, asked: RunAgentInput) -> Opened:
    """Follow the thread, then prompt or answer it; raises ``Refused`` or ``HostError``."""
    thread_id = checked_id(asked.thread_id)
    taken = intake(asked)
    if services.belongs_elsewhere(thread_id):
        services.read(thread_id)
    if not services.sockets.acquire(blocking=False):
        raise Refused(503, "full", "This server has no room for another follow now.")
    with ExitStack() as stack:
        stack.callback(services.sockets.release)
        follow = stack.enter_context(
            services.registry.follow(thread_id, dialect="json", snapshot=services.snapshot)
        )
        run = Run(services, follow, asked, taken)
        run.begin()
        return Opened(lines=run.lines(), held=stack.pop_all())


class Run:
    """One request's way through a thread. ``begin`` once, then ``lines``."""

    def __init__(
        self, services: Services, follow: Follow, asked: RunAgentInput, taken: Intake
    ) -> None:
        self._services = services
        self._follow = follow
        self._asked = asked
        self._taken = taken
        self._translation = Translation(own_prompt=taken.message is not None)
        self._dialogs: dict[str, wire.Dialog] = {}
        self._done = SlashDone()
        self._generation = 0
        self._history: list[wire.Message] = []
        self._idle = False

    def begin(self) -> None:
        """Take the thread as it is, then do what was asked of it."""
        before = self._next()
        if not isinstance(before, wire.SnapshotFrame):  # a follow begins with one, unless it closed
            raise Refused(503, "stopping", "This server is stopping.")
        self._history = before.messages
        self._translation.begin(before.messages)
        self._dialogs = {dialog.id: dialog for dialog in before.open_dialogs}
        self._generation = before.status.generation
        if self._taken.message is not None:
            self._done = start_prompt(
                self._services,
                self._asked.thread_id,
                message=self._taken.message,
                images=self._taken.images,
                prompt_id=f"agui-{self._asked.run_id}"[:200],
                project_id=self._taken.project_id,
            )
            # A repeat of a prompt whose run is over starts nothing, as does most of slash commands.
            self._idle = not before.status.busy and self._done.generation <= self._generation
            self._generation = self._done.generation
        else:
            self._idle = not before.status.busy
        for dialog_id, answer in self._taken.answers:
            answer_dialog(self._services, self._asked.thread_id, dialog_id, answer)
            self._dialogs.pop(dialog_id, None)

    def lines(self) -> Iterator[str]:
        """The events of the run as server-sent events, with signs of life between them."""
        encoder = EventEncoder()
        for event in self._events():
            yield encoder.encode(event) if event is not None else _ALIVE

    # -- within -----------------------------------------------------------------------------------

    def _events(self) -> Iterator[BaseEvent | None]:
        yield RunStartedEvent(
            thread_id=self._asked.thread_id,
            run_id=self._asked.run_id,
            protocol_version=PROTOCOL_VERSION,
        )
        yield from self._introduction()
        while not self._idle and not self._dialogs:
            frame = self._next()
            if isinstance(frame, Closed):
                yield RunErrorEvent(message=frame.reason, code="closed")
                return
            if frame is None:
                yield None
                continue
            yield from self._translation.take(frame)
            self._notice(frame)
        yield from self._translation.end()
        yield self._ending()

    def _introduction(self) -> Iterator[BaseEvent]:
        """What the client may not have: the history, and what is to be told besides it."""
        if self._taken.brings_tools:
            yield CustomEvent(name="enso.notice", value=_CLIENT_TOOLS)
        if self._taken.message is None and not self._taken.answers:
            yield MessagesSnapshotEvent(messages=conversation(self._history))
        elif self._history and len(self._asked.messages) == 1 and self._taken.message is not None:
            last = UserMessage(id=self._taken.message_id, content=self._taken.message)
            yield MessagesSnapshotEvent(messages=[*conversation(self._history), last])
        if self._done.said:
            key = f"said-{self._asked.run_id}"
            yield TextMessageStartEvent(message_id=key, role="assistant")
            yield TextMessageContentEvent(message_id=key, delta=self._done.said)
            yield TextMessageEndEvent(message_id=key)

    def _notice(self, frame: wire.Frame) -> None:
        """What a frame says of the run itself: whether it is over, and what it waits for."""
        match frame:
            case wire.SnapshotFrame():
                self._dialogs = {dialog.id: dialog for dialog in frame.open_dialogs}
                self._idle = self._over(frame.status)
            case wire.StatusFrame():
                self._idle = self._over(frame)
            case wire.DialogFrame():
                if frame.dialog is not None:
                    self._dialogs[frame.dialog.id] = frame.dialog
                if frame.closed is not None:
                    self._dialogs.pop(frame.closed, None)
            case _:
                pass

    def _over(self, status: wire.Status) -> bool:
        return not status.busy and status.generation >= self._generation

    def _next(self) -> wire.Frame | Closed | None:
        text = self._follow.next(self._services.heartbeat_seconds)
        return _FRAME.validate_json(text) if isinstance(text, str) else text

    def _ending(self) -> BaseEvent:
        messages = self._translation.messages()
        last = next((one for one in reversed(messages) if one.role == "assistant"), None)
        if not self._dialogs and last is not None and last.refusal is not None:
            refusal = last.refusal
            return RunErrorEvent(
                message=refusal.sentence, code=refusal.refusal_class, usage=used(messages)
            )
        return RunFinishedEvent(
            thread_id=self._asked.thread_id,
            run_id=self._asked.run_id,
            outcome=self._outcome(last),
            usage=used(messages),
        )

    def _outcome(self, last: wire.Message | None) -> RunFinishedOutcome:
        if self._dialogs:
            interrupts = [interrupt(dialog) for dialog in self._dialogs.values()]
            return RunFinishedInterruptOutcome(interrupts=interrupts)
        if last is not None and last.stop_reason == "aborted":
            return RunFinishedCancelledOutcome()
        return RunFinishedSuccessOutcome()


def interrupt(dialog: wire.Dialog) -> Interrupt:
    """A dialog as what a run waits for; the schema says what an answer looks like."""
    value: dict[str, Any] = {"type": "string"}
    if dialog.options:
        value |= {"oneOf": [{"const": one.value, "title": one.label} for one in dialog.options]}
    schema = {
        "type": "object",
        "properties": {"value": value, "reason": {"type": "string"}},
        "required": ["value"],
    }
    asked = [dialog.title, dialog.message or ""]
    return Interrupt(
        id=dialog.id,
        reason=dialog.kind,
        message="\n".join(filter(None, asked)),
        response_schema=schema,
        expires_at=dialog.expires_at,
        metadata={"tool": dialog.tool.model_dump()} if dialog.tool else None,
    )
