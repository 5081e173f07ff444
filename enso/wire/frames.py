"""Frames: what a follow is told, the whole state first and then each change."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from enso.wire.messages import InterruptedTail, Message, MessagePart, PermissionMode, Usage
from enso.wire.shape import Shape, left_out
from enso.wire.state import Context, Dialog, ModelInUse, QueuedPrompt, Status, Surface
from enso.wire.threads import StoredThread


class SnapshotFrame(Shape):
    """The whole state, now."""

    type: Literal["snapshot"] = "snapshot"
    thread_id: str
    project_id: str
    messages: list[Message]
    permission_mode: PermissionMode
    interrupted: InterruptedTail | None = left_out()
    status: Status
    usage: Usage
    context: Context | None = None
    open_dialogs: list[Dialog] = Field(default_factory=list[Dialog])
    queue: list[QueuedPrompt] = Field(default_factory=list[QueuedPrompt])
    model: ModelInUse | None = left_out()
    surface: Surface | None = left_out()


class StatusFrame(Status):
    """The status changed."""

    type: Literal["status"] = "status"


class MessageFrame(Shape):
    """A message as it now is: a new one, or one that changed.

    ``replaces`` is the id that the same message had until now: it takes that one's place.
    """

    type: Literal["message"] = "message"
    message: Message
    replaces: str | None = left_out()


class MessageDroppedFrame(Shape):
    """A message that streamed and was not kept."""

    type: Literal["message-dropped"] = "message-dropped"
    message_id: str


class PartDeltaFrame(Shape):
    """Text to append to a part of a streaming message."""

    type: Literal["part-delta"] = "part-delta"
    message_id: str
    index: int
    delta: str


class PartFrame(Shape):
    """A part as it now is: a new one, or one that changed."""

    type: Literal["part"] = "part"
    message_id: str
    index: int
    part: MessagePart


class DialogFrame(Shape):
    """A dialog opened (``dialog``), or one was settled (``closed`` is its id, with the outcome)."""

    type: Literal["dialog"] = "dialog"
    dialog: Dialog | None = left_out()
    closed: str | None = left_out()
    outcome: str | None = left_out()


class QueueFrame(Shape):
    """The queue as it now is."""

    type: Literal["queue"] = "queue"
    queue: list[QueuedPrompt]


class ToolProgressFrame(Shape):
    """The tail of a running tool's output so far, in place of what was told before."""

    type: Literal["tool-progress"] = "tool-progress"
    message_id: str
    call_id: str
    text: str


class UsageFrame(Shape):
    """The thread's spend and context changed."""

    type: Literal["usage"] = "usage"
    usage: Usage
    context: Context | None = None


class ModeFrame(Shape):
    """The permission mode changed."""

    type: Literal["mode"] = "mode"
    permission_mode: PermissionMode


class RailFrame(Shape):
    """The rail changed: the rows that did, and the ids of those that went."""

    type: Literal["rail"] = "rail"
    threads: list[StoredThread]
    gone: list[str]


class Link(Shape):
    """A way to something, in words; ``href`` is a path of this server."""

    label: str
    href: str


class NoticeFrame(Shape):
    """A sentence for the person, not part of the thread; ``links``: what it offers."""

    type: Literal["notice"] = "notice"
    message: str
    links: list[Link] | None = left_out()


class ModelFrame(Shape):
    """The model or its thinking level changed; ``model`` is null when there is none."""

    type: Literal["model"] = "model"
    model: ModelInUse | None


class SurfaceFrame(Shape):
    """What extensions show changed; ``surface`` is all of it."""

    type: Literal["surface"] = "surface"
    surface: Surface


class DraftFrame(Shape):
    """A text for the composer, unless a person has begun another there."""

    type: Literal["draft"] = "draft"
    text: str


class HeartbeatFrame(Shape):
    """Nothing changed; the connection lives. ``at`` is ISO 8601 in UTC."""

    type: Literal["heartbeat"] = "heartbeat"
    at: str


Frame = Annotated[
    SnapshotFrame
    | StatusFrame
    | MessageFrame
    | MessageDroppedFrame
    | PartDeltaFrame
    | PartFrame
    | UsageFrame
    | ModeFrame
    | ModelFrame
    | DialogFrame
    | QueueFrame
    | ToolProgressFrame
    | RailFrame
    | NoticeFrame
    | SurfaceFrame
    | DraftFrame
    | HeartbeatFrame,
    Field(discriminator="type"),
]
