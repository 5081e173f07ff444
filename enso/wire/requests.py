"""What programs and pages send, and what a command is answered with."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from enso.wire.shape import Shape, left_out


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


class AguiRun(Shape):
    """The envelope of an AG-UI run (``RunAgentInput`` of protocol 1.0); its insides are AG-UI's.

    The last message, when it is a user's, is the prompt; ``resume`` answers dialogs by their id.
    ``forwardedProps.projectId`` chooses a new thread's project.
    """

    thread_id: str
    run_id: str
    protocol_version: str | None = None
    parent_run_id: str | None = None
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    context: list[dict[str, Any]] | None = None
    state: Any = None
    forwarded_props: Any = None
    resume: list[dict[str, Any]] | None = None


class DialogAnswer(Shape):
    """An answer to a dialog: a value, or that it was cancelled; ``reason`` goes with a denial."""

    value: str | None = Field(default=None, max_length=100_000)
    cancelled: bool = False
    reason: str | None = Field(default=None, max_length=10_000)


class ModeRequest(Shape):
    """The permission mode to go into; ``project_id``: where a new thread begins."""

    mode: str = Field(max_length=100)
    project_id: str | None = Field(default=None, max_length=4096)


class ModelRequest(Shape):
    """The model, and perhaps the thinking level, that the next prompt goes to.

    ``project_id``: where a new thread begins.
    """

    provider: str = Field(max_length=500)
    model: str = Field(max_length=500)
    thinking_level: str | None = Field(default=None, max_length=50)
    project_id: str | None = Field(default=None, max_length=4096)


class QueueRequest(Shape):
    """A prompt for a run in flight: after the tools that run now, or after all of it."""

    message: str = ""
    when: Literal["steer", "after"] = "steer"
    images: list[PromptImage] = Field(default_factory=list[PromptImage], max_length=16)


class NameRequest(Shape):
    """A thread's new name; empty takes it away. ``project_id``: where a new thread begins."""

    name: str = Field(max_length=2000)
    project_id: str | None = Field(default=None, max_length=4096)


class EntryRequest(Shape):
    """An entry of the branch, by its id; none for the whole branch or its root."""

    entry_id: str | None = Field(default=None, max_length=200)


class LabelRequest(Shape):
    """A label on an entry; empty takes it away."""

    entry_id: str = Field(max_length=200)
    label: str = Field(default="", max_length=500)


class CompactRequest(Shape):
    """What a summary should look at."""

    instructions: str = Field(default="", max_length=20_000)


class Draft(Shape):
    """What was said once and can be said differently now: a text for the composer, and images."""

    message: str
    images: list[PromptImage] = Field(default_factory=list[PromptImage])


class Done(Shape):
    """The answer to a command that was taken; ``id`` names what it made or touched.

    ``draft``: the thread was taken to before a prompt, which can be said differently; or a run was
    stopped in which this was queued.
    """

    id: str | None = left_out()
    draft: Draft | None = left_out()
