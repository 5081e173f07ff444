"""The state of a thread besides its messages: status, dialogs, queue, model, commands."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from enso.wire.messages import Refusal
from enso.wire.shape import Shape, left_out


class Context(Shape):
    """How full the model's context is: tokens in use, and its size where that is known."""

    tokens: int
    window: int | None


class Activity(Shape):
    """What a run does now. ``until``: ISO 8601, when a wait ends; ``attempt`` of ``attempts``.

    ``fixed``: the wait cannot be ended by trying again at once.
    """

    kind: Literal[
        "asking", "answering", "tools", "retry-wait", "compacting", "stopping", "needs-you"
    ]
    detail: str
    until: str | None = left_out()
    attempt: int | None = left_out()
    attempts: int | None = left_out()
    fixed: bool | None = left_out()


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
    directory: str | None = left_out()
    draft: str | None = left_out()
    placeholder: str | None = left_out()
    created_at: str | None = left_out()
    expires_at: str | None = left_out()


class QueuedPrompt(Shape):
    """A prompt that waits its turn. ``fixed``: it cannot be taken back."""

    id: str
    message: str
    when: Literal["steer", "after"]
    fixed: bool | None = left_out()


class Widget(Shape):
    """Lines that an extension keeps beside the composer: above it, or ``below``."""

    key: str
    lines: list[str]
    below: bool = False


class Surface(Shape):
    """What extensions show beside the conversation: short states, widgets, a title of the page."""

    statuses: list[str] = Field(default_factory=list[str])
    widgets: list[Widget] = Field(default_factory=list[Widget])
    title: str | None = left_out()


class ModelInUse(Shape):
    """The model that the next prompt goes to, its thinking level, and the levels that it takes."""

    provider: str
    model: str
    label: str
    level: str | None = left_out()
    levels: list[str] = Field(default_factory=list[str])


class ModelChoice(Shape):
    """A model that can be chosen, with the thinking levels that it takes.

    ``provider_name`` is what people call the provider; none when it is known by its id alone.
    """

    provider: str
    provider_name: str | None = None
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
    source: Literal["enso", "prompt", "skill", "extension"]
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
