"""Every shape that leaves the server: closed pydantic models, camelCase on the wire.

The pages and the JSON interface say the same because both are rendered from these. Nothing of ours
is imported here: whoever fills a shape knows both sides.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """The base of every wire shape: closed, frozen, camelCase outside, snake_case inside."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
    )


# -- messages -----------------------------------------------------------------------------------


def _is_none(value: object) -> bool:
    return value is None


def left_out() -> Any:
    """The default of a field that is not sent when there is nothing to say."""
    return Field(default=None, exclude_if=_is_none)


class TextPart(Shape):
    """Text of a message; markdown when the agent wrote it."""

    type: Literal["text"] = "text"
    content: str


class ThinkingPart(Shape):
    """What the model thought; empty when its provider withheld it."""

    type: Literal["thinking"] = "thinking"
    content: str


class ImagePart(Shape):
    """An image, its bytes inline as a data URL; ``url`` is empty when its kind is not shown."""

    type: Literal["image"] = "image"
    mime_type: str
    url: str


class ToolResult(Shape):
    """What a tool answered: its text and images, and the tool's own details (a diff)."""

    content: list[TextPart | ImagePart]
    is_error: bool
    details: Any = left_out()


class ToolCallPart(Shape):
    """A tool call. ``state``: its arguments stream, it runs, it is done, or it never ended."""

    type: Literal["tool-call"] = "tool-call"
    id: str
    name: str
    arguments: Any
    state: Literal["streaming", "running", "done", "failed", "interrupted"]
    result: ToolResult | None = left_out()
    duration_ms: int | None = left_out()


MessagePart = Annotated[
    TextPart | ThinkingPart | ImagePart | ToolCallPart, Field(discriminator="type")
]


class Usage(Shape):
    """Tokens, and US dollars; ``costKnown`` false: the true cost is higher by an unknown price."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    total_tokens: int
    cost: float
    cost_known: bool


class Refusal(Shape):
    """A provider's "no"; ``sentence`` is the whole bubble."""

    provider: str
    model: str
    refusal_class: Annotated[str, Field(alias="class")]
    status: int | None
    reason: str
    sentence: str


class Message(Shape):
    """What a person reads as one: a prompt, a reply with its tool calls, or a quiet marker line.

    ``createdAt`` is ISO 8601 in UTC. A marker has a ``title``; its parts open under it. ``label``
    is a person's bookmark.
    """

    id: str
    role: Literal["user", "assistant", "marker"]
    created_at: str | None = left_out()
    parts: list[MessagePart]
    model: str | None = left_out()
    provider: str | None = left_out()
    usage: Usage | None = left_out()
    stop_reason: Literal["stop", "length", "tool-use", "error", "aborted", "other"] | None = (
        left_out()
    )
    refusal: Refusal | None = left_out()
    title: str | None = left_out()
    marker: Literal["compaction", "branch-summary", "shell", "custom"] | None = left_out()
    streaming: bool = Field(default=False, exclude_if=operator.not_)
    duration_ms: int | None = left_out()
    label: str | None = left_out()


InterruptedTail = Literal[
    "unanswered-prompt", "tool-call-without-result", "tool-result-without-reply"
]


class PermissionModeChoice(Shape):
    """A mode that can be chosen."""

    id: str
    label: str
    description: str


class PermissionMode(Shape):
    """The mode a thread is in, and those it can be put in."""

    mode: str
    agent: str | None = left_out()
    modes: list[PermissionModeChoice]


class History(Shape):
    """A thread as it is mounted: every message of its branch, live or cold."""

    thread_id: str
    project_id: str
    messages: list[Message]
    permission_mode: PermissionMode
    interrupted: InterruptedTail | None = left_out()


# -- threads ------------------------------------------------------------------------------------


class StoredThread(Shape):
    """A row of the rail."""

    thread_id: str
    project_id: str
    title: str | None = left_out()
    name: str | None = left_out()
    last_activity_at: str
    message_count: int
    busy: bool


class StoredThreads(Shape):
    """The listing, newest first."""

    threads: list[StoredThread]


class ThreadSummary(Shape):
    """A live thread in short."""

    thread_id: str
    project_id: str
    busy: bool
    generation: int
    last_activity_at: str
    session_file: str | None


class Threads(Shape):
    """The live threads."""

    threads: list[ThreadSummary]


class InspectedEntry(Shape):
    """One entry of a live branch; ``kind`` is its type, ``other`` kinds with their own name."""

    id: str
    kind: str
    created_at: str | None = left_out()
    text: str | None = left_out()


class ThreadInspection(Shape):
    """One live thread in full."""

    thread_id: str
    session_id: str
    cwd: str
    session_dir: str
    session_file: str | None
    permission_mode: PermissionMode
    commands: list[str]
    busy: bool
    generation: int
    last_activity_at: str
    entries: list[InspectedEntry]


class PromptAccepted(Shape):
    """The answer to a prompt that started a run, or had already started one under its promptId."""

    thread_id: str
    generation: int


class PromptImage(Shape):
    """An image that comes with a prompt: its kind, and its bytes in base64."""

    mime_type: str
    data: str


class PromptRequest(Shape):
    """A prompt. A repeat of a ``promptId`` starts nothing; ``projectId`` is for a new thread."""

    message: str
    images: list[PromptImage] = Field(default_factory=list[PromptImage], max_length=16)
    prompt_id: str | None = Field(default=None, max_length=200)
    project_id: str | None = Field(default=None, max_length=4096)


class ErrorBody(Shape):
    """What went wrong: a code for programs, a sentence for people."""

    code: str
    message: str


class Error(Shape):
    """The body of every answer that is not a success."""

    error: ErrorBody


# -- frames -------------------------------------------------------------------------------------


class Context(Shape):
    """How full the model's context is: tokens in use, and its size where that is known."""

    tokens: int
    window: int | None


class Activity(Shape):
    """What a run does now. ``until``: ISO 8601, when a wait ends; ``attempt`` of ``attempts``."""

    kind: Literal[
        "asking", "answering", "tools", "retry-wait", "compacting", "stopping", "needs-you"
    ]
    detail: str
    until: str | None = left_out()
    attempt: int | None = left_out()
    attempts: int | None = left_out()


class Status(Shape):
    """Whether a thread is live and busy, and the one word for it."""

    live: bool
    busy: bool
    generation: int
    word: Literal["cold", "held", "busy", "needs you", "refused", "interrupted"]
    refusal: Refusal | None = left_out()
    activity: Activity | None = left_out()


class DialogOption(Shape):
    """One answer that can be chosen."""

    value: str
    label: str


class DialogTool(Shape):
    """The tool call that a permission is asked for."""

    name: str
    arguments: Any


class Dialog(Shape):
    """A question that holds up a run until a person answers it. Times are ISO 8601 in UTC."""

    id: str
    kind: Literal["permission", "select", "confirm", "input", "editor"]
    title: str
    message: str | None = left_out()
    options: list[DialogOption]
    tool: DialogTool | None = left_out()
    created_at: str | None = left_out()
    expires_at: str | None = left_out()


class DialogAnswer(Shape):
    """An answer to a dialog: a value, or that it was cancelled; ``reason`` goes with a denial."""

    value: str | None = Field(default=None, max_length=100_000)
    cancelled: bool = False
    reason: str | None = Field(default=None, max_length=10_000)


class ModeRequest(Shape):
    """The permission mode to go into."""

    mode: str = Field(max_length=100)


class ModelRequest(Shape):
    """The model, and perhaps the thinking level, that the next prompt goes to."""

    provider: str = Field(max_length=500)
    model: str = Field(max_length=500)
    thinking_level: str | None = Field(default=None, max_length=50)


class QueueRequest(Shape):
    """A prompt for a run in flight: after the tools that run now, or after all of it."""

    message: str
    when: Literal["steer", "after"] = "steer"
    images: list[PromptImage] = Field(default_factory=list[PromptImage], max_length=16)


class NameRequest(Shape):
    """A thread's new name; empty takes it away."""

    name: str = Field(max_length=2000)


class EntryRequest(Shape):
    """An entry of the branch, by its id; none for the whole branch or its root."""

    entry_id: str | None = Field(default=None, max_length=200)


class LabelRequest(Shape):
    """A label on an entry; empty takes it away."""

    entry_id: str = Field(max_length=200)
    label: str = Field(max_length=500)


class CompactRequest(Shape):
    """What a summary should look at."""

    instructions: str = Field(default="", max_length=20_000)


class Done(Shape):
    """The answer to a command that was taken; ``id`` names what it made or touched."""

    id: str | None = left_out()


class ModelChoice(Shape):
    """A model that can be chosen, with the thinking levels that it takes."""

    provider: str
    model: str
    label: str
    levels: list[str]
    context_window: int | None = None


class Models(Shape):
    """The models that can be chosen."""

    models: list[ModelChoice]


class Command(Shape):
    """A slash command: its name without the slash, and what it does."""

    name: str
    description: str
    source: Literal["enso", "prompt", "skill"]
    argument_hint: str | None = left_out()


class Commands(Shape):
    """The slash commands of a thread."""

    commands: list[Command]


class WaitingDialog(Shape):
    """A dialog that waits for a person, and the thread that it holds up."""

    thread_id: str
    dialog: Dialog


class Waiting(Shape):
    """Every dialog that waits, oldest first."""

    dialogs: list[WaitingDialog]


class QueuedPrompt(Shape):
    """A prompt that waits its turn."""

    id: str
    message: str
    when: Literal["steer", "after"]


class ModelInUse(Shape):
    """The model that the next prompt goes to, its thinking level, and the levels that it takes."""

    provider: str
    model: str
    label: str
    level: str | None = left_out()
    levels: list[str] = []


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
    open_dialogs: list[Dialog] = []
    queue: list[QueuedPrompt] = []
    model: ModelInUse | None = left_out()


class StatusFrame(Status):
    """The status changed."""

    type: Literal["status"] = "status"


class MessageFrame(Shape):
    """A message as it now is: a new one, or one that changed."""

    type: Literal["message"] = "message"
    message: Message


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


class NoticeFrame(Shape):
    """A sentence for the person, not part of the thread."""

    type: Literal["notice"] = "notice"
    message: str


class ModelFrame(Shape):
    """The model or its thinking level changed; ``model`` is null when there is none."""

    type: Literal["model"] = "model"
    model: ModelInUse | None


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
    | HeartbeatFrame,
    Field(discriminator="type"),
]
