"""What a run waits for and does, and what a person chooses and sends."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class DialogOption(Struct, frozen=True, kw_only=True):
    """One answer that can be chosen; ``value`` is what ``DialogAnswer`` says."""

    value: str
    label: str


class Dialog(Struct, frozen=True, kw_only=True):
    """A question that holds up a run until a person answers it, however long that takes.

    A ``permission`` asks about a call of ``tool_name`` with ``arguments``; its values are ``once``,
    ``thread`` and ``deny``. A ``confirm``'s are ``yes`` and ``no``. An ``input`` or ``editor`` is
    answered by any text, begun from ``draft``. ``directory`` is where the call would run, where
    that is known. Times are milliseconds since the epoch.
    """

    id: str
    kind: Literal["permission", "select", "confirm", "input", "editor"]
    title: str
    message: str = ""
    options: tuple[DialogOption, ...] = ()
    tool_name: str = ""
    arguments: Any = None
    tool_call_id: str = ""
    directory: str = ""
    draft: str = ""
    placeholder: str = ""
    created_at: int
    expires_at: int | None = None


class DialogAnswer(Struct, frozen=True, kw_only=True):
    """What a person said: a value, or that the question was put away; ``reason`` for a ``deny``."""

    value: str | None = None
    cancelled: bool = False
    reason: str = ""


class QueuedPrompt(Struct, frozen=True, kw_only=True):
    """A message that waits: ``steer`` for the current tools, ``after`` for the run to settle.

    ``can_be_taken_back``: whether ``take_back`` can do anything for it, as long as it waits.
    """

    id: str
    message: str
    when: Literal["steer", "after"]
    can_be_taken_back: bool = True


class Activity(Struct, frozen=True, kw_only=True):
    """What a busy run is doing now, for the status line.

    ``until`` (ms since the epoch) is when a ``retry-wait`` ends; ``attempt`` of ``attempts`` is the
    retry that follows it. ``can_be_cut_short``: whether ``retry_now`` can end it.
    """

    kind: Literal[
        "asking", "answering", "tools", "retry-wait", "compacting", "stopping", "needs-you"
    ]
    detail: str = ""
    until: int | None = None
    attempt: int = 0
    attempts: int = 0
    can_be_cut_short: bool = True


class Widget(Struct, frozen=True, kw_only=True):
    """Lines that an extension keeps beside the composer."""

    key: str
    lines: tuple[str, ...]
    below: bool = False


class Surface(Struct, frozen=True, kw_only=True):
    """What extensions show beside the conversation: short states, widgets, a title."""

    statuses: tuple[str, ...] = ()
    widgets: tuple[Widget, ...] = ()
    title: str = ""


class Command(Struct, frozen=True, kw_only=True):
    """A slash command, named without its slash.

    ``prompt`` and ``skill`` ones are expanded by the runtime when a prompt begins with them, an
    ``extension``'s is run by it; an ``enso`` one is done by whoever takes it from the person,
    through the contract's methods.
    """

    name: str
    description: str
    source: Literal["enso", "prompt", "skill", "extension"]
    argument_hint: str = ""


class ModelChoice(Struct, frozen=True, kw_only=True):
    """A model that can be chosen, with the thinking levels that it takes."""

    provider: str
    model: str
    label: str
    levels: tuple[str, ...]
    context_window: int | None


class ModelInUse(Struct, frozen=True, kw_only=True):
    """The model that the next prompt goes to, in words for the composer's chip."""

    provider: str
    model: str
    label: str
    context_window: int | None = None


class PromptImage(Struct, frozen=True):
    """An image that comes with a prompt; ``data`` is base64."""

    mime_type: str
    data: str
